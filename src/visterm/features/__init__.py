"""Recipes applied to the pictures of a catalogue, and what they computed, kept by content."""
