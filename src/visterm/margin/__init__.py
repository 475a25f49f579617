"""Margins: one-vs-all, stacked and multitask classifiers by dual coordinate ascent, and kernel ridge for tags."""
