"""Base distances between rows of features."""
