"""The parts of an index: vectors that never change once written, and which of them are alive."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Keys(list[str]):
    """The keys of a segment's columns, and the column of each."""

    @cached_property
    def columns(self) -> dict[str, int]:
        """The column of every key."""
        return {key: column for column, key in enumerate(self)}


@dataclass(frozen=True, eq=False)
class Segment:
    """Vectors as columns, (n_rows, n_pictures): each row holds one dimension of all pictures.

    A query of a few words reads a few rows; a query of all dimensions is one product with contiguous rows. ``dead``
    lists the columns that were removed or replaced. For euclidean distances ``centre`` was subtracted from the vectors,
    so that an offset that they share costs no digits.
    """

    name: str
    keys: Keys
    vectors: NDArray[Any]
    centre: NDArray[np.float32] | None = None
    dead: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    dead_name: str = ""

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def alive(self) -> NDArray[np.bool_]:
        """Which columns are not dead."""
        mask = np.ones(len(self), dtype=np.bool_)
        mask[self.dead] = False
        return mask

    @cached_property
    def half_squares(self) -> NDArray[np.float32]:
        """Half the squared length of every column, summed in double precision."""
        totals = np.zeros(len(self))
        for row in self.vectors:
            totals += np.square(row, dtype=np.float64)
        return (0.5 * totals).astype(np.float32)

    def find(self, key: str) -> int | None:
        """The column of ``key``; None if it is dead or absent."""
        column = self.keys.columns.get(key)
        return column if column is not None and self.alive[column] else None

    def without(self, columns: NDArray[np.int64]) -> Segment:
        """The same segment with these columns dead as well."""
        return replace(self, dead=np.union1d(self.dead, columns), dead_name=secrets.token_hex(8))


def new_segment(keys: Sequence[str], vectors: NDArray[Any], centre: NDArray[np.float32] | None = None) -> Segment:
    """A segment of these columns, under a new name."""
    return Segment(secrets.token_hex(8), Keys(keys), np.ascontiguousarray(vectors), centre)


def merged(segments: Sequence[Segment]) -> Segment:
    """One segment with the live columns of several, in their order; the longest one keeps its centre and its digits."""
    keys = [key for part in segments for key, alive in zip(part.keys, part.alive.tolist(), strict=True) if alive]
    centre = max(segments, key=len).centre
    vectors = np.concatenate([_around(part, centre) for part in segments], axis=1)
    return new_segment(keys, vectors, centre)


def _around(part: Segment, centre: NDArray[np.float32] | None) -> NDArray[Any]:
    """The live columns of a segment around another centre."""
    columns = part.vectors[:, part.alive]
    if centre is None or part.centre is None or part.centre is centre:
        return columns
    return (columns + (part.centre - centre)[:, np.newaxis]).astype(columns.dtype)
