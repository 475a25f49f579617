"""Labels in and out: readers, writers, and metadata inside picture files."""
