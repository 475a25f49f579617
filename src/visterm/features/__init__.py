"""Recipes applied to the pictures of a catalogue, and the features they computed, stored by content."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
