"""Postcards, the embedded demo collection: painted scenes with their class, tags, caption and the region of everything.

The pictures are synthetic and made on the spot; a series is the same wherever and however often it is made.

>>> from visterm.postcards import CLASSES, TAGS, paint
>>> card = paint(0)
>>> card.class_name in CLASSES and set(card.tags) <= set(TAGS)
True
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
