"""The keys of rows as stored on disk, and the row of each key: 16 bytes of memory per key, no Python objects."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from visterm.errors import InputError

#: A sha256 has this many bytes.
DIGEST_BYTES = 32

Digests = NDArray[np.uint8]
Positions = NDArray[np.int64]


class KeyIndex:
    """The row of each key: the newest row with that key, unless it is among the ``removed`` rows.

    ``digests`` are the keys of all rows as (n_rows, 32) bytes. The index does not change; the first query sorts it.
    """

    def __init__(self, digests: Digests, removed: Positions | None = None) -> None:
        self.digests = digests
        self._removed = np.empty(0, np.int64) if removed is None else removed

    def __len__(self) -> int:
        return len(self._ordered[0])

    def find(self, keys: Sequence[str]) -> Positions:
        """The row of each of ``keys``; -1 if there is none."""
        try:
            return self.find_digests(digests_of(keys))
        except InputError:  # an invalid key has no row
            found = np.full(len(keys), -1, np.int64)
            proper = [place for place, key in enumerate(keys) if _is_key(key)]
            found[proper] = self.find_digests(digests_of([keys[place] for place in proper]))
            return found

    def find_digests(self, digests: Digests) -> Positions:
        """The row of each key, given as bytes; -1 if there is none."""
        all_marks, positions = self._ordered
        found = np.full(len(digests), -1, np.int64)
        asked, words = _words(digests), _words(self.digests)
        marks = _marks(asked)
        order = np.argsort(marks)
        places = np.empty(len(marks), np.intp)
        places[order] = np.searchsorted(all_marks, marks[order])  # in order, which suits the processor's cache
        pending = np.arange(len(digests))
        while len(pending):  # one pass, except for different keys with the same mark
            inside = places[pending] < len(all_marks)
            pending = pending[inside]
            pending = pending[all_marks[places[pending]] == marks[pending]]
            rows = positions[places[pending]]
            same = (words.take(rows, axis=0) == asked.take(pending, axis=0)).all(axis=1)
            found[pending[same]] = rows[same]
            pending = pending[~same]
            places[pending] += 1
        return found

    def is_like(self, other: "KeyIndex") -> bool:
        """Whether both have the same keys in the same rows; then they share their sorted marks."""
        alike = np.array_equal(self.digests, other.digests) and np.array_equal(self._removed, other._removed)
        if alike:
            self._ordered = other._ordered
        return alike

    def positions(self) -> Positions:
        """The rows that have a key, oldest first."""
        return np.sort(self._ordered[1])

    def keys(self) -> list[str]:
        """All keys, in the order of their rows."""
        text = self.digests[self.positions()].tobytes().hex()
        return [text[start : start + 2 * DIGEST_BYTES] for start in range(0, len(text), 2 * DIGEST_BYTES)]

    @cached_property
    def _ordered(self) -> tuple[NDArray[np.uint64], Positions]:
        """The marks of all keys in ascending order, and the row of each."""
        words = _words(self.digests)
        marks = _marks(words)
        order = np.argsort(marks)
        if (marks[order[1:]] == marks[order[:-1]]).any():
            order = np.lexsort((*words.T, marks))  # rows of one key come together, the newest last
        newest = np.ones(len(order), np.bool_)
        ordered = words.take(order, axis=0)
        newest[:-1] = (ordered[1:] != ordered[:-1]).any(axis=1)
        removed = np.zeros(len(order), np.bool_)
        removed[self._removed] = True
        kept = order[newest & ~removed[order]]
        return marks[kept], kept


def common(indexes: Sequence[KeyIndex]) -> KeyIndex:
    """The keys that have a row in all of ``indexes``."""
    first, *others = indexes
    digests = first.digests[first.positions()]
    for other in others:
        if not other.is_like(first):  # the outputs of one recipe are usually alike
            digests = digests[other.find_digests(digests) >= 0]
    return KeyIndex(digests)


def digests_of(keys: Sequence[str]) -> Digests:
    """The keys as (n_keys, 32) bytes; an error names the first invalid key."""
    # One key per line: if every 65th character ends a line and all others are digits, every line is a key.
    n, width = len(keys), 2 * DIGEST_BYTES + 1
    try:
        text = "\n".join([*keys, ""])
        data = bytes.fromhex(text)  # skips blanks: any further blanks leave too few bytes
        proper = len(data) == DIGEST_BYTES * n and len(text) == width * n and text[width - 1 :: width] == "\n" * n
        proper = proper and not any(digit in text for digit in "ABCDEF")
    except (TypeError, ValueError):
        proper = False
    if not proper:
        wrong = next(key for key in keys if not _is_key(key))
        raise InputError(f"a key is the sha256 of a picture as 64 lower-case hex digits, not {wrong!r}")
    return np.frombuffer(data, dtype=np.uint8).reshape(-1, DIGEST_BYTES)


def _is_key(key: object) -> bool:
    return isinstance(key, str) and len(key) == 2 * DIGEST_BYTES and set(key) <= set("0123456789abcdef")


def _words(digests: Digests) -> NDArray[np.uint64]:
    return np.asarray(digests).view("<u8")


def _marks(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A number that two keys hardly ever share."""
    return np.bitwise_xor.reduce(words, axis=1)
