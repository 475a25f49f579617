"""The order in which pictures are drawn to measure on."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: Part of what is hashed, so that the order is not that of the content hashes themselves.
_SALT = b"visterm measuring sample"


def measuring_order(keys: Sequence[str]) -> NDArray[np.intp]:
    """The places of ``keys`` by the hash of these content hashes: random, and decided by nothing but the content.

    Pictures that are added come between the others, wherever their hash says. Names and places do not matter, and
    every copy of a collection has the same order.
    """
    digests = [hashlib.sha256(_SALT + key.encode()).digest() for key in keys]
    return np.array(sorted(range(len(keys)), key=digests.__getitem__), np.intp)
