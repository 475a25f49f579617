"""Postcards, the embedded demo collection: painted scenes with their class, tags, caption and the region of everything.

The pictures are synthetic and made on the spot; a series is the same wherever and however often it is made.

>>> card = paint(0)
>>> card.class_name in CLASSES and set(card.tags) <= set(TAGS)
True
"""

from visterm.postcards.series import (
    GENERATOR_VERSION,
    PostcardsReport,
    make_postcards,
    role_of,
)
from visterm.postcards.studio import CLASSES, TAGS, Postcard, class_of, paint

__all__ = [
    "CLASSES",
    "GENERATOR_VERSION",
    "TAGS",
    "Postcard",
    "PostcardsReport",
    "class_of",
    "make_postcards",
    "paint",
    "role_of",
]
