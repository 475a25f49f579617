"""Readers of labels: one format a file, each a stream of records."""
