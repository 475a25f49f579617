"""Features on disk: one row per picture, keyed by the picture's content, in a folder per feature recipe.

The files only grow. A small manifest, replaced atomically, says how much of them is valid. So appending and removing
cost only the rows concerned, a process killed at any moment leaves exactly the batches it had finished, and any number
of readers can read while one writer writes. :meth:`FeatureStore.compact` drops replaced and removed rows.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute.halves import singles
from visterm.errors import InputError
from visterm.features._folder import FeatureFolder, described
from visterm.features._keys import KeyIndex, digests_of
from visterm.features.prepared import RowsLike, prepare, stack
from visterm.storage import DenseRows, MappedRows, RowSpec, cut

_BATCH_BYTES = 32 * 2**20
#: Memory of a row that waits to be written, besides its values: the key and Python's objects.
_ROW_OVERHEAD = 2048


@dataclass(frozen=True, slots=True, eq=False)
class LocatedRows:
    """Rows of a store: the files, mapped, and the positions of the rows there."""

    files: MappedRows
    positions: NDArray[np.int64]

    def read(self) -> Any:
        """The rows, as :meth:`FeatureLibrary.features` gives them: halves as singles."""
        return in_single_precision(self.files.gather(self.positions))


def in_single_precision(rows: Any) -> Any:
    """Stored rows in the precision in which methods compute."""
    return singles(rows) if rows.dtype == np.float16 else rows


def kept_spec(folder: Path, spec: RowSpec) -> RowSpec:
    """The shape of the rows in ``folder`` if it holds rows of ``spec`` in another precision, else ``spec``.

    Features that are now stored in half precision stay valid where they were stored in single precision.
    """
    if spec.sparse or not FeatureFolder(folder, None).exists():
        return spec
    kept = FeatureFolder.read(folder).spec
    return kept if replace(kept, dtype=spec.dtype) == spec else spec


class FeatureStore:
    """The features of pictures by one recipe, in ``folder``, which is created if it does not exist.

    A key is the sha256 of a picture's content as 64 lower-case hex digits. ``recipe`` says what computed the features;
    a folder of other features raises an error. At their next call, readers see what any process has committed. A key
    takes 16 bytes of memory; rows are mapped and take none until they are read.

    >>> from hashlib import sha256
    >>> from tempfile import TemporaryDirectory
    >>> beach, wood = (sha256(content).hexdigest() for content in (b"beach", b"wood"))
    >>> with TemporaryDirectory() as folder:
    ...     store = FeatureStore(Path(folder), RowSpec(n_dims=3), recipe="mean colour")
    ...     store.append([beach, wood], [[0.9, 0.8, 0.6], [0.1, 0.4, 0.2]])
    ...     store.rows([wood])
    array([[0.1, 0.4, 0.2]], dtype=float32)
    """

    def __init__(self, folder: Path, spec: RowSpec, *, recipe: str = "") -> None:
        self.folder, self.spec, self.recipe = folder, spec, recipe
        self._folder = FeatureFolder(folder, described(spec, recipe))
        self._folder.create(lambda: self._folder.new_generation(spec, recipe)[1])
        self._folder.manifest()  # raises an error if it holds other features

    @classmethod
    def open(cls, folder: Path) -> "FeatureStore":
        """The existing store in ``folder``."""
        manifest = FeatureFolder.read(folder)
        return cls(folder, manifest.spec, recipe=manifest.recipe)

    def __repr__(self) -> str:
        return f"FeatureStore({str(self.folder)!r}, {self.spec}, recipe={self.recipe!r})"

    def __len__(self) -> int:
        return len(self.key_index())

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and not self.missing([key])

    @property
    def n_dead(self) -> int:
        """How many replaced or removed rows still take disk space; :meth:`compact` drops them."""
        return self._folder.current().n_dead

    def exists(self) -> bool:
        """Whether the folder still holds a store: somebody may have deleted it."""
        return self._folder.exists()

    def key_index(self) -> KeyIndex:
        """The current row of each key: the same object as long as nothing is written."""
        return self._folder.current().keys

    def keys(self) -> list[str]:
        """The keys of all rows, oldest row first."""
        return self.key_index().keys()

    def missing(self, keys: Iterable[str]) -> list[str]:
        """The ``keys`` that have no row here, in their order."""
        keys = list(keys)
        return [keys[place] for place in np.flatnonzero(self.key_index().find(keys) < 0)]

    def rows(self, keys: Sequence[str]) -> Any:
        """The rows of ``keys``, in that order: an (n_pictures, n_dims) array, or a ``csr_array`` of bags.

        Many dense rows are copied in blocks, so that what was read of the file does not stay in memory beside them.
        """
        mapped, positions = self._locate(keys)
        if not isinstance(mapped, DenseRows) or int(mapped.sizes(positions).sum()) <= _BATCH_BYTES:
            return mapped.gather(positions)
        rows = np.empty((len(positions), mapped.array.shape[1]), mapped.array.dtype)
        for block, part in _stream(mapped, positions, _BATCH_BYTES):
            rows[block] = part
        return rows

    def blocks(self, keys: Sequence[str], *, block_bytes: int = _BATCH_BYTES) -> Iterator[tuple[slice, Any]]:
        """The rows of ``keys``, in that order, in blocks of about ``block_bytes``, each with its place in ``keys``.

        All blocks show the state at the time of the call, whatever is written meanwhile. Memory peaks at a few blocks.
        """
        if block_bytes < 1:
            raise InputError(f"a block holds at least one byte, not {block_bytes}")
        mapped, positions = self._locate(keys)
        return _stream(mapped, positions, block_bytes)

    def located(self, keys: Sequence[str]) -> "LocatedRows":
        """Where the rows of ``keys`` lie: a worker elsewhere is told this, and reads them."""
        return LocatedRows(*self._locate(keys))

    def mapped(self) -> tuple[KeyIndex, np.memmap[Any, Any]]:
        """The row of each key and all dense rows, mapped; both stay as they are, whatever is written."""
        state = self._folder.current()
        if not isinstance(state.mapped, DenseRows):
            raise InputError(f"{self.folder} holds sparse features, which have no single array: use blocks()")
        return state.keys, state.mapped.array

    def append(self, keys: Sequence[str], rows: RowsLike, *, wait: bool = True) -> None:
        """Add one row per key, all or none; they are on disk on return. A key that has a row gets the new one.

        Writers take turns; without ``wait``, a :class:`~visterm.storage.BusyError` says that it is another's turn.
        """
        self._append(keys, prepare(rows, keys, self.spec), wait=wait)

    @contextmanager
    def writer(self, *, batch_bytes: int = _BATCH_BYTES, wait: bool = True) -> Iterator["FeatureWriter"]:
        """Add rows one by one; they are appended in batches of about ``batch_bytes``, the last one when the block ends.

        When the block fails, rows added before are kept. Other processes that want to write wait; if one is writing
        already, this one waits or, without ``wait``, gets a :class:`~visterm.storage.BusyError`.
        """
        if batch_bytes < 1:
            raise InputError(f"a batch holds at least one byte, not {batch_bytes}")
        with self._folder.holding(wait=wait):
            writer = FeatureWriter(self, batch_bytes)
            try:
                yield writer
            finally:
                writer.flush()

    def remove(self, keys: Iterable[str], *, wait: bool = True) -> int:
        """Remove the rows of ``keys`` and return how many there were; keys without a row are ignored."""
        with self._folder.changing(wait=wait) as state:
            found = np.unique(state.keys.find(list(keys)))
            dead = found[found >= 0]
            if len(dead):
                self._folder.commit(state.files.remove(dead, state.manifest))
            return len(dead)

    def compact(self, *, wait: bool = True) -> None:
        """Drop replaced and removed rows from disk by rewriting the others in batches; readers can read meanwhile."""
        with self._folder.changing(wait=wait) as state:
            if not state.n_dead:
                return
            positions = state.keys.positions()
            files, manifest = self._folder.new_generation(self.spec, self.recipe)
            for block, rows in _stream(state.mapped, positions, _BATCH_BYTES):
                manifest = files.append(state.keys.digests[positions[block]], rows, manifest)
                del rows  # before the next ones are gathered
            self._folder.commit(manifest)

    def check(self) -> list[str]:
        """The problems of the store's files, one line each; empty for an intact store."""
        return self._folder.check()

    def tidy(self) -> None:
        """Remove what an unfinished write left."""
        with self._folder.holding():
            pass

    def _append(self, keys: Sequence[str], prepared: Any, *, wait: bool = True) -> None:
        digests = digests_of(keys)
        with self._folder.changing(wait=wait) as state:
            if len(digests):
                self._folder.commit(state.files.append(digests, prepared, state.manifest))

    def _locate(self, keys: Sequence[str]) -> tuple[MappedRows, NDArray[np.int64]]:
        state = self._folder.current()
        positions = state.keys.find(keys)
        absent = np.flatnonzero(positions < 0)
        if len(absent):
            raise InputError(
                f"{len(absent)} of {len(keys)} pictures have no features in {self.folder}, "
                f"the first is {keys[absent[0]]!r}: compute them first"
            )
        return state.mapped, positions


class FeatureWriter:
    """Collects rows for a store and appends them in batches; see :meth:`FeatureStore.writer`."""

    def __init__(self, store: FeatureStore, batch_bytes: int) -> None:
        self._store = store
        self._batch_bytes = batch_bytes
        self._pending: list[tuple[str, Any]] = []
        self._n_bytes = 0

    def add(self, key: str, row: Any) -> None:
        """Add the row of one picture: ``n_dims`` values, or for a bag also a sparse row of them."""
        digests_of([key])
        if not hasattr(row, "tocsr"):
            row = np.array(row)[np.newaxis]  # a copy: the caller may fill the same array again
        prepared = prepare(row, [key], self._store.spec)
        self._pending.append((key, prepared))
        self._n_bytes += prepared.data.nbytes + _ROW_OVERHEAD
        if self._n_bytes >= self._batch_bytes:
            self.flush()

    def flush(self) -> None:
        """Append the rows added since the last flush."""
        if not self._pending:
            return
        keys, rows = zip(*self._pending, strict=True)
        self._pending, self._n_bytes = [], 0
        self._store._append(keys, stack(rows))


def _stream(mapped: MappedRows, positions: NDArray[np.int64], block_bytes: int) -> Iterator[tuple[slice, Any]]:
    for block in cut(mapped.sizes(positions), block_bytes):
        rows = mapped.gather(positions[block])
        mapped.release()
        yield block, rows
        del rows  # before the next ones are gathered
