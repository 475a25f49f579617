"""Postcards, the built-in demo collection: painted scenes with class, tags, caption and the region of every object.

The pictures are synthetic and painted when needed; a series is the same on every machine and every time.

>>> from visterm.postcards import CLASSES, TAGS, paint
>>> card = paint(0)
>>> card.class_name in CLASSES and set(card.tags) <= set(TAGS)
True
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
