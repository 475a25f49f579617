"""Copies of pictures: the same bytes, the same picture, a burst or series; found, judged by people, and used."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
