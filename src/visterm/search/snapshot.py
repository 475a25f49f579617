"""An index at one moment: vectors that no longer change, and the search for the nearest pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.compute.halves import singles
from visterm.errors import InputError
from visterm.search._halves import products
from visterm.search._segments import Segment

#: Columns scored at a time, so that the sums stay in the processor's cache.
_BLOCK = 16_384
#: A query with fewer nonzero dimensions than this share is summed dimension by dimension.
_SPARSE_SHARE = 0.125
#: Of the nearest by inexact products, this many times as many as wanted, and so many more, are compared exactly.
_TIMES, _MORE = 2, 16
#: Shorter vectors than this are not stretched to length 1.
SHORTEST = 1e-12


@dataclass(frozen=True, slots=True)
class Nearest:
    """The pictures nearest to a query, nearest first: their keys, and dot products, cosines or distances."""

    keys: list[str]
    scores: NDArray[np.float32]


class Snapshot:
    """An index at one moment; it stays the same while the index changes. Slots number its pictures, dead ones too."""

    def __init__(self, segments: Sequence[Segment], metric: str, n_dims: int) -> None:
        self.segments = tuple(segments)
        self.metric, self.n_dims = metric, n_dims
        self._starts = np.cumsum([0, *map(len, segments)])

    @property
    def n_slots(self) -> int:
        """The number of slots."""
        return int(self._starts[-1])

    def keys(self) -> list[str]:
        """The key of every slot."""
        return [key for part in self.segments for key in part.keys]

    def alive(self) -> NDArray[np.bool_]:
        """Which slots hold a picture that was neither removed nor replaced."""
        return np.concatenate([np.empty(0, np.bool_), *(part.alive for part in self.segments)])

    def dimension(self, number: int) -> NDArray[np.float32]:
        """One dimension of all slots; of euclidean vectors, relative to the centre of each segment."""
        rows = [singles(part.vectors[number]) for part in self.segments]
        return rows[0] if len(rows) == 1 else np.concatenate([np.empty(0, np.float32), *rows])

    def halves(self, number: int) -> NDArray[np.float16] | None:
        """One dimension of all slots as stored, if that is float16; else None."""
        rows = [part.vectors[number] for part in self.segments]
        if not rows or rows[0].dtype != np.float16:
            return None
        return rows[0] if len(rows) == 1 else np.concatenate(rows)

    def dimension_at(self, number: int, slots: NDArray[np.intp]) -> NDArray[np.float32]:
        """One dimension of some slots."""
        if len(self.segments) == 1:
            return np.asarray(self.segments[0].vectors[number][slots], np.float32)
        values = np.empty(len(slots), np.float32)
        if (slots[1:] < slots[:-1]).any():
            order = np.argsort(slots)
            values[order] = self.dimension_at(number, slots[order])
            return values
        edges = np.searchsorted(slots, self._starts).tolist()
        for i, part in enumerate(self.segments):
            inside = slice(edges[i], edges[i + 1])
            values[inside] = part.vectors[number][slots[inside] - self._starts[i]]
        return values

    def vectors(self, slots: NDArray[np.intp]) -> NDArray[np.float32]:
        """The vectors of some slots, (n_slots, n_dims); they have length 1 if the metric is the cosine."""
        rows = np.empty((len(slots), self.n_dims), np.float32)
        of_slot = np.searchsorted(self._starts, slots, side="right") - 1
        for i in np.unique(of_slot):
            inside = np.flatnonzero(of_slot == i)
            part = self.segments[i]
            rows[inside] = part.vectors[:, slots[inside] - self._starts[i]].T
            if part.centre is not None:
                rows[inside] += part.centre
        return rows

    def nearest(self, query: ArrayLike, n_best: int = 20) -> Nearest:
        """The ``n_best`` pictures nearest to ``query``."""
        wanted = self._prepared(query)
        slots, scores = [np.empty(0, np.intp)], [np.empty(0, np.float32)]
        for start, part in zip(self._starts.tolist(), self.segments, strict=False):
            find = _best_of if part.centre is None else _nearest_of
            found, values = find(part, wanted, n_best)
            slots.append(found + start)
            scores.append(values)
        every = np.concatenate(scores)
        chosen = largest(every, n_best)
        keys = [self._key(int(slot)) for slot in np.concatenate(slots)[chosen]]
        return Nearest(keys, -every[chosen] if self.metric == "euclidean" else every[chosen])

    def _key(self, slot: int) -> str:
        part = int(np.searchsorted(self._starts, slot, side="right")) - 1
        return self.segments[part].keys[slot - int(self._starts[part])]

    def _prepared(self, query: ArrayLike) -> NDArray[np.float32]:
        vector = np.asarray(query, dtype=np.float32)
        if vector.shape != (self.n_dims,):
            raise InputError(f"a query must have {self.n_dims} numbers, not shape {vector.shape}")
        if not np.isfinite(vector).all():
            raise InputError("the query contains NaN or infinity")
        if self.metric == "cosine":
            return vector / max(float(np.linalg.norm(vector)), SHORTEST)
        return vector


def largest(scores: NDArray[Any], n: int) -> NDArray[np.intp]:
    """The places of the ``n`` largest scores, largest first; ties keep their order.

    >>> largest(np.array([1.0, 3.0, 2.0, 3.0]), 3)
    array([1, 3, 2])
    """
    if n >= len(scores):
        return np.argsort(-scores, kind="stable")
    if n < 1:
        return np.empty(0, np.intp)
    last = np.partition(scores, len(scores) - n)[len(scores) - n]
    above = np.flatnonzero(scores > last)
    level = np.flatnonzero(scores == last)[: n - len(above)]
    chosen = np.concatenate([above, level])
    return chosen[np.argsort(-scores[chosen], kind="stable")]


def _best_of(part: Segment, query: NDArray[np.float32], n_best: int) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """The best columns of a segment, and their scores."""
    scores = _scores(part.vectors, query)
    scores[part.dead] = -np.inf
    chosen = largest(scores, min(n_best, len(part) - len(part.dead)))
    return chosen, scores[chosen]


def _nearest_of(part: Segment, query: NDArray[np.float32], n_best: int) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """The columns of a segment nearest to the query, and their distances below zero.

    ``-|q - x|^2 / 2`` equals ``q.x - |x|^2 / 2`` up to a constant, but the products of long vectors lose digits by
    cancellation. So more columns than wanted are chosen by the products, and the exact differences order them.
    """
    around = query.astype(np.float64) - np.asarray(part.centre)
    scores = _scores(part.vectors, around.astype(np.float32)) - part.half_squares
    scores[part.dead] = -np.inf
    chosen = np.sort(largest(scores, min(_TIMES * n_best + _MORE, len(part) - len(part.dead))))
    apart = np.linalg.norm(part.vectors[:, chosen].astype(np.float64) - around[:, np.newaxis], axis=0)
    first = largest(-apart, n_best)
    return chosen[first], -apart[first].astype(np.float32)


def _scores(vectors: NDArray[Any], query: NDArray[np.float32]) -> NDArray[np.float32]:
    """The product of the query with every column."""
    asked = np.flatnonzero(query)
    if len(asked) < _SPARSE_SHARE * len(query):
        total = np.zeros(vectors.shape[1], np.float32)
        for number in asked:
            total += query[number] * singles(vectors[number])
        return total
    if vectors.dtype == np.float16:
        return products(query, vectors)
    blocks = [query @ vectors[:, start : start + _BLOCK] for start in range(0, vectors.shape[1], _BLOCK)]
    return np.concatenate([np.empty(0, np.float32), *blocks])
