"""An index at one moment: vectors that no longer change, and the search for the nearest pictures."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.compute.halves import singles
from visterm.errors import InputError

#: Numbers compared at a time, so that they stay in the processor's cache.
_BLOCK = 2**17


class Places(Protocol):
    """Which slot holds the vector of each key."""

    def find(self, keys: Sequence[str]) -> NDArray[np.int64]:
        """The slot of each key; -1 if there is none."""

    def positions(self) -> NDArray[np.int64]:
        """The slots of all keys, in order."""

    def keys(self) -> list[str]:
        """All keys, in the order of their slots."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """The pictures nearest to a query, nearest first: their keys and euclidean distances."""

    keys: list[str]
    distances: NDArray[np.float32]


class Snapshot:
    """An index at one moment; it stays the same while the index changes.

    Slots number the stored ``rows``, which have the vectors of all keys; others were replaced or removed.
    """

    def __init__(self, places: Places, rows: NDArray[Any]) -> None:
        self.places = places
        self._rows = np.asarray(rows)  # a plain view of a memory map is faster to index

    @property
    def n_slots(self) -> int:
        """The number of slots."""
        return len(self._rows)

    def find(self, keys: Sequence[str]) -> NDArray[np.int64]:
        """The slot of each key; -1 if it has no vector."""
        return self.places.find(keys)

    def dimension(self, number: int) -> NDArray[np.float32]:
        """One dimension of all slots."""
        return singles(self._rows[:, number])

    def halves(self, number: int) -> NDArray[np.float16] | None:
        """One dimension of all slots as stored, if that is float16; else None."""
        return np.ascontiguousarray(self._rows[:, number]) if self._rows.dtype == np.float16 else None

    def dimension_at(self, number: int, slots: NDArray[np.intp]) -> NDArray[np.float32]:
        """One dimension of some slots."""
        return self._rows[slots, number].astype(np.float32, copy=False)

    def vectors(self, slots: NDArray[np.intp]) -> NDArray[np.float32]:
        """(n_slots, n_dims): the vectors of some slots."""
        return self._rows[slots].astype(np.float32, copy=False)

    def nearest(self, query: ArrayLike, n_best: int = 20) -> Nearest:
        """The ``n_best`` pictures nearest to ``query``, by the exact differences: products would lose digits."""
        vector = np.asarray(query, dtype=np.float32)
        if vector.shape != self._rows.shape[1:]:
            raise InputError(f"a query must have {self._rows.shape[1]} numbers, not shape {vector.shape}")
        if not np.isfinite(vector).all():
            raise InputError("the query contains NaN or infinity")
        squares = np.empty(len(self._rows), np.float32)
        n_at_once = max(1, _BLOCK // len(vector))
        for start in range(0, len(squares), n_at_once):
            apart = self._rows[start : start + n_at_once] - vector
            np.einsum("ij,ij->i", apart, apart, out=squares[start : start + n_at_once])
        alive = squares[self.places.positions()]
        chosen = largest(-alive, n_best)
        keys = self.places.keys()
        return Nearest([keys[i] for i in chosen], np.sqrt(alive[chosen]))


def largest(scores: NDArray[Any], n: int) -> NDArray[np.intp]:
    """The places of the ``n`` largest scores, largest first; ties keep their order.

    >>> largest(np.array([1.0, 3.0, 2.0, 3.0]), 3)
    array([1, 3, 2])
    """
    # mutants: >= -> >: both ways sort all scores
    if n >= len(scores):
        return np.argsort(-scores, kind="stable")
    if n < 1:
        return np.empty(0, np.intp)
    last = np.partition(scores, len(scores) - n)[len(scores) - n]
    above = np.flatnonzero(scores > last)
    level = np.flatnonzero(scores == last)[: n - len(above)]
    chosen = np.concatenate([above, level])
    return chosen[np.argsort(-scores[chosen], kind="stable")]
