"""Labelled pictures as arrays, and one way to split, fit and measure."""
