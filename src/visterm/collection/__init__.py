"""A person's pictures: the catalogue of truth, readers and writers of labels, features on disk."""
