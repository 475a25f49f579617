"""The index: one vector per picture, searched exactly; it can change while others read it.

It stores both a model's scores for every word (a few hundred numbers per picture) and the codes by which pictures are
compared. Text search reads the dimensions of its words; a search for similar pictures multiplies with all dimensions.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.errors import InputError
from visterm.search._folder import About, IndexFolder
from visterm.search._segments import Segment, merged, new_segment
from visterm.search.snapshot import SHORTEST, Nearest, Snapshot

DTYPES = ("float32", "float16")
METRICS = ("dot", "cosine", "euclidean")


class Index:
    """Vectors by key, in memory or, with ``folder``, memory-mapped from disk.

    ``metric`` says what near means: "dot" (the largest product), "cosine" or "euclidean". Adding an existing key
    replaces its vector. Any number of threads and processes can read while one writes: a reader works on the
    :class:`Snapshot` it took, and sees a change whole or not at all. ``about`` says what made the vectors; a folder
    with other vectors is refused. A picture takes ``n_dims`` numbers of 4 or 2 bytes, and its key. The search is exact
    for the vectors as stored; euclidean ones are stored relative to a centre, so only their spread is rounded.

    New vectors go to a new segment. A segment at least half as long as the one before is merged with it, so there are
    never many segments.

    >>> index = Index(2, metric="euclidean")
    >>> index.add(["beach", "wood", "lake"], [[0.9, 0.8], [0.1, 0.2], [0.7, 0.7]])
    >>> index.nearest([1.0, 1.0], 2).keys
    ['beach', 'lake']
    >>> index.remove(["beach"])
    1
    >>> index.nearest([1.0, 1.0], 2).keys
    ['lake', 'wood']
    """

    def __init__(
        self, n_dims: int, *, metric: str = "dot", dtype: str = "float32", folder: Path | None = None, about: str = ""
    ) -> None:
        if metric not in METRICS:
            raise InputError(f"unknown metric {metric!r}: choose one of {', '.join(METRICS)}")
        if dtype not in DTYPES:
            raise InputError(f"vectors must be {' or '.join(DTYPES)}, not {dtype!r}")
        if n_dims < 1:
            raise InputError(f"vectors need at least one dimension, not {n_dims}")
        self.n_dims, self.metric, self.dtype, self.about = n_dims, metric, dtype, about
        self._guard = threading.RLock()
        self._in_memory = Snapshot((), metric, n_dims)
        self._folder = None if folder is None else IndexFolder(folder, About(n_dims, metric, dtype, about))
        self.snapshot()  # fails if the folder holds another index

    @classmethod
    def open(cls, folder: Path) -> Index:
        """Open the index in ``folder``."""
        found = IndexFolder.read(folder).about
        return cls(found.n_dims, metric=found.metric, dtype=found.dtype, folder=folder, about=found.about)

    def __len__(self) -> int:
        return _n_alive(self.snapshot().segments)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and any(part.find(key) is not None for part in self.snapshot().segments)

    def missing(self, keys: Iterable[str]) -> list[str]:
        """The ``keys`` that have no vector here, in their order."""
        parts = self.snapshot().segments
        return [key for key in keys if not any(part.find(key) is not None for part in parts)]

    def keys(self) -> list[str]:
        """The keys of all vectors."""
        parts = self.snapshot().segments
        return [key for part in parts for key, alive in zip(part.keys, part.alive.tolist(), strict=True) if alive]

    def snapshot(self) -> Snapshot:
        """The index as it is now; the same object until something is written."""
        return self._in_memory if self._folder is None else self._folder.current()

    def check(self) -> list[str]:
        """What is wrong with the files of the index, one line each; empty if nothing is."""
        return [] if self._folder is None else self._folder.check()

    def tidy(self) -> None:
        """Remove what an unfinished write left."""
        if self._folder is not None:
            with self._folder.holding():
                pass

    def nearest(self, query: ArrayLike, n_best: int = 20) -> Nearest:
        """The ``n_best`` pictures nearest ``query``."""
        return self.snapshot().nearest(query, n_best)

    def add(self, keys: Sequence[str], vectors: ArrayLike, *, wait: bool = True) -> None:
        """Add or replace one vector per key, all or none.

        Writers take turns; without ``wait``, a :class:`~visterm.storage.BusyError` says that it is another's turn.
        """
        columns, centre = self._columns(keys, vectors)
        if not len(keys):
            return
        with self._changing(wait=wait) as parts:
            parts[:] = [*_without(parts, keys), new_segment(keys, columns, centre)]
            while len(parts) > 1 and 2 * len(parts[-1]) >= len(parts[-2]):
                parts[-2:] = [merged(parts[-2:])]

    def remove(self, keys: Iterable[str], *, wait: bool = True) -> int:
        """Remove vectors; returns how many there were. Unknown keys are ignored."""
        with self._changing(wait=wait) as parts:
            n_before = _n_alive(parts)
            kept = [part if 2 * len(part.dead) < len(part) else merged([part]) for part in _without(parts, keys)]
            parts[:] = [part for part in kept if len(part)]
            return n_before - _n_alive(parts)

    # Inside

    def _columns(self, keys: Sequence[str], vectors: ArrayLike) -> tuple[NDArray[Any], NDArray[np.float32] | None]:
        """The vectors as columns of the stored type, prepared for the metric; the centre that was subtracted."""
        rows = np.asarray(vectors, dtype=np.float32)
        if rows.shape != (len(keys), self.n_dims) and (len(keys) or rows.size):
            raise InputError(f"expected one vector per key, shape {(len(keys), self.n_dims)}, not {rows.shape}")
        if len(set(keys)) != len(keys):
            raise InputError("a key occurs twice: give each picture one vector")
        for key in keys:
            if not key or "\n" in key or not _is_text(key):
                raise InputError(f"{key!r} cannot be a key: it must be one line of text")
        if self.metric == "cosine":
            rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), SHORTEST)
        centre = None
        if self.metric == "euclidean" and len(rows):
            centre = rows.mean(axis=0, dtype=np.float64).astype(np.float32)
            rows = rows - centre
        with np.errstate(over="ignore"):
            columns = rows.T.astype(self.dtype)
        if not np.isfinite(columns).all():
            raise InputError(f"the vectors contain NaN, infinity or numbers beyond the range of {self.dtype}")
        return columns, centre

    @contextmanager
    def _changing(self, *, wait: bool) -> Iterator[list[Segment]]:
        """The segments, to be changed in place; they become the index when the block ends without an error."""
        if self._folder is None:
            with self._guard:
                parts = list(self._in_memory.segments)
                yield parts
                self._in_memory = Snapshot(parts, self.metric, self.n_dims)
            return
        with self._folder.changing(wait=wait) as before:
            parts = list(before.segments)
            yield parts
            if parts != list(before.segments):
                self._folder.write(parts, before.segments)


def _without(parts: Sequence[Segment], keys: Iterable[str]) -> list[Segment]:
    """The segments with the columns of ``keys`` dead."""
    keys = list(keys)
    found = [np.array([c for key in keys if (c := part.find(key)) is not None], np.int64) for part in parts]
    return [part.without(columns) if len(columns) else part for part, columns in zip(parts, found, strict=True)]


def _n_alive(parts: Iterable[Segment]) -> int:
    return sum(len(part) - len(part.dead) for part in parts)


def _is_text(key: str) -> bool:
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return True
