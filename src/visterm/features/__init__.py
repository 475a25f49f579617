"""Recipes applied to the pictures of a catalogue, and what they computed, kept by content."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
