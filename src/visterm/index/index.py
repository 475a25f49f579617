"""The index: one vector per picture, stored like features, and searched exactly; it can change while others read it.

It stores both a model's scores for every word (a few hundred numbers per picture) and the codes by which pictures are
compared. Text search reads the dimensions of its words; a search for similar pictures compares all dimensions.
"""

import json
import shutil
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.features.prepared import prepare
from visterm.features.store import FeatureStore
from visterm.index.snapshot import Nearest, Snapshot
from visterm.storage import RowSpec, write_error
from visterm.storage.array_folder import MANIFEST, MAX_BYTES

#: The manifest of an index that an earlier version wrote has this format.
_EARLIER = "visterm index"


class Index:
    """Vectors by key, in memory or, with ``folder``, in a :class:`~visterm.features.FeatureStore`.

    Adding an existing key replaces its vector. Any number of threads and processes can read while one writes: a reader
    works on the :class:`Snapshot` it took, and sees a change whole or not at all. ``about`` says what made the vectors;
    a folder with other vectors is refused. An index of an earlier version is deleted, since it can be made again. A
    picture takes ``n_dims`` numbers of 4 or 2 bytes, and its key.

    >>> index = Index(2)
    >>> index.add(["beach", "wood", "lake"], [[0.9, 0.8], [0.1, 0.2], [0.7, 0.7]])
    >>> index.nearest([1.0, 1.0], 2).keys
    ['beach', 'lake']
    >>> index.remove(["beach"])
    1
    >>> index.nearest([1.0, 1.0], 2).keys
    ['lake', 'wood']
    """

    def __init__(self, n_dims: int, *, dtype: str = "float32", folder: Path | None = None, about: str = "") -> None:
        self._spec = RowSpec(n_dims, dtype)
        self._guard = threading.Lock()
        self._vectors: dict[str, NDArray[Any]] = {}
        self._store = None
        if folder is not None:
            if self.is_outdated(folder):
                _discard(folder)
            self._store = FeatureStore(folder, self._spec, recipe=about)
        self._seen = Snapshot(_Places(()), np.empty((0, n_dims), dtype))

    @classmethod
    def open(cls, folder: Path) -> "Index":
        """Open the index in ``folder``."""
        found = FeatureStore.open(folder)
        return cls(found.spec.n_dims, dtype=found.spec.dtype, folder=folder, about=found.recipe)

    @staticmethod
    def is_outdated(folder: Path) -> bool:
        """Whether ``folder`` holds an index in the format of an earlier version."""
        try:
            if not (folder / MANIFEST).is_file():  # never wait for a pipe
                return False
            with (folder / MANIFEST).open("rb") as file:
                found = json.loads(file.read(MAX_BYTES))
        except (OSError, ValueError, RecursionError):
            return False
        return isinstance(found, dict) and found.get("format") == _EARLIER

    @property
    def n_dims(self) -> int:
        """The length of the vectors."""
        return self._spec.n_dims

    @property
    def dtype(self) -> str:
        """The type of the stored numbers."""
        return self._spec.dtype

    def __len__(self) -> int:
        return len(self._vectors if self._store is None else self._store)

    def missing(self, keys: Iterable[str]) -> list[str]:
        """The ``keys`` that have no vector here, in their order."""
        if self._store is not None:
            return self._store.missing(keys)
        return [key for key in keys if key not in self._vectors]

    def keys(self) -> list[str]:
        """The keys of all vectors."""
        return list(self._vectors) if self._store is None else self._store.keys()

    def snapshot(self) -> Snapshot:
        """The index as it is now; the same object until something is written."""
        if self._store is not None:
            keys, rows = self._store.mapped()
            if self._seen.places is not keys:
                self._seen = Snapshot(keys, rows)
        return self._seen

    def nearest(self, query: ArrayLike, n_best: int = 20) -> Nearest:
        """The ``n_best`` pictures nearest to ``query``."""
        return self.snapshot().nearest(query, n_best)

    def add(self, keys: Sequence[str], vectors: ArrayLike, *, wait: bool = True) -> None:
        """Add or replace one vector per key, all or none.

        Writers take turns; without ``wait``, a :class:`~visterm.storage.BusyError` says that it is another's turn.
        """
        if self._store is not None:
            self._store.append(keys, vectors, wait=wait)
            return
        rows = prepare(vectors, keys, self._spec)
        with self._guard:
            self._change(self._vectors | dict(zip(keys, rows, strict=True)))

    def remove(self, keys: Iterable[str], *, wait: bool = True) -> int:
        """Remove vectors; returns how many there were. Unknown keys are ignored."""
        if self._store is None:
            with self._guard:
                gone = set(keys) & self._vectors.keys()
                self._change({key: row for key, row in self._vectors.items() if key not in gone})
            return len(gone)
        n_removed = self._store.remove(keys, wait=wait)
        if self._store.n_dead > len(self._store):
            self._store.compact(wait=wait)
        return n_removed

    def _change(self, vectors: dict[str, NDArray[Any]]) -> None:
        rows = np.array(list(vectors.values()), self._spec.dtype).reshape(len(vectors), self._spec.n_dims)
        self._vectors, self._seen = vectors, Snapshot(_Places(vectors), rows)


class _Places:
    """The places of keys in memory, as :class:`~visterm.features.KeyIndex` has them of keys on disk."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._places = {key: place for place, key in enumerate(keys)}

    def find(self, keys: Sequence[str]) -> NDArray[np.int64]:
        return np.array([self._places.get(key, -1) for key in keys], np.int64)

    def positions(self) -> NDArray[np.int64]:
        return np.arange(len(self._places))

    def keys(self) -> list[str]:
        return list(self._places)


def _discard(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:  # another process was faster
        pass
    except OSError as error:
        raise write_error(folder, error) from error
