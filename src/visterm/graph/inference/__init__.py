"""LapVar, and how each kind of model learns with it."""
