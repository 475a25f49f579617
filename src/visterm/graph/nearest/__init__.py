"""Nearest neighbours of all rows, found approximately."""
