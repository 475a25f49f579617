"""Pictures from a few words."""
