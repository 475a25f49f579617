"""The registry of methods."""
