"""Margin methods: one-vs-all, stacked and multitask classifiers by dual coordinate ascent; kernel ridge for tags."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
