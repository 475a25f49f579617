"""The kinds of queries, as far as it matters whom to trust."""

from __future__ import annotations

from enum import IntEnum


class Asked(IntEnum):
    """What a query is made of; a word is known if a model for tags knows it."""

    UNKNOWN = 0
    KNOWN = 1
    MIXED = 2
    SENTENCE = 3
    #: A sentence without any known word, as in another language.
    FOREIGN = 4
