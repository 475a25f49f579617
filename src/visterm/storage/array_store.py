"""Features on disk: one row per picture, keyed by the picture's content, in a folder per feature recipe.

The files only ever grow, and a small manifest, replaced atomically, says how much of them counts. So appending and
removing cost what they touch, a process killed at any moment leaves exactly the batches it had finished, and any number
of readers go on while one writer writes. :meth:`FeatureStore.compact` drops what was replaced or removed.
"""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.errors import InputError, VistermError
from visterm.storage._arrays.manifest import Manifest
from visterm.storage._arrays.prepared import RowsLike, prepare, stack
from visterm.storage._arrays.rows import DenseRows, MappedRows, cut
from visterm.storage._arrays.state import DIGEST_BYTES, Files, State
from visterm.storage.atomic import TEMPORARY_PATTERN, sync_folder, write_error
from visterm.storage.lock import WriteLock
from visterm.storage.spec import FeatureSpec

__all__ = ["FeatureSpec", "FeatureStore", "FeatureWriter"]

_ARRAY_NAME = re.compile(r"[0-9a-f]{8}\.(keys|removed|rows|ends|columns|values)\.npy")
_BATCH_BYTES = 32 * 2**20
#: What a row that waits to be written takes beside its values: the key and Python's objects.
_ROW_OVERHEAD = 2048


class FeatureStore:
    """The features of pictures by one recipe, in ``folder``, which is made when it is not there.

    A key is the sha256 of a picture's content as 64 lower-case hex digits. ``recipe`` says what made the features;
    a folder that holds others is refused. Readers see what any process has committed at their next call. A key takes
    about 190 bytes of memory; rows are mapped, and take none until they are asked for.

    >>> from hashlib import sha256
    >>> from tempfile import TemporaryDirectory
    >>> beach, wood = (sha256(content).hexdigest() for content in (b"beach", b"wood"))
    >>> with TemporaryDirectory() as folder:
    ...     store = FeatureStore(Path(folder), FeatureSpec(n_dims=3), recipe="mean colour")
    ...     store.append([beach, wood], [[0.9, 0.8, 0.6], [0.1, 0.4, 0.2]])
    ...     store.rows([wood])
    array([[0.1, 0.4, 0.2]], dtype=float32)
    """

    def __init__(self, folder: Path, spec: FeatureSpec, *, recipe: str = "") -> None:
        self.folder, self.spec, self.recipe = folder, spec, recipe
        self._lock = WriteLock(folder)
        self._guard = threading.RLock()
        self._state: State | None = None
        self._seen: tuple[int, ...] = ()
        self._create_where_absent()
        self._read_manifest()

    @classmethod
    def open(cls, folder: Path) -> FeatureStore:
        """The store that is in ``folder``."""
        manifest = Manifest.read(folder)
        return cls(folder, manifest.spec, recipe=manifest.recipe)

    def __repr__(self) -> str:
        return f"FeatureStore({str(self.folder)!r}, {self.spec}, recipe={self.recipe!r})"

    def __len__(self) -> int:
        return len(self._current().index)

    def __contains__(self, key: object) -> bool:
        return key in self._current().index

    @property
    def n_dead(self) -> int:
        """How many rows take disk space though they were replaced or removed; :meth:`compact` drops them."""
        with self._guard:
            return self._current().n_dead

    def keys(self) -> list[str]:
        """The keys of all rows, oldest row first."""
        with self._guard:
            return self._current().keys()

    def missing(self, keys: Iterable[str]) -> list[str]:
        """Those of ``keys`` that have no row here, in their order."""
        with self._guard:
            index = self._current().index
            return [key for key in keys if key not in index]

    def rows(self, keys: Sequence[str]) -> Any:
        """The rows of ``keys``, in that order: an (n_pictures, n_dims) array, or a ``csr_array`` of bags."""
        mapped, positions = self._locate(keys)
        return mapped.gather(positions)

    def blocks(self, keys: Sequence[str], *, block_bytes: int = _BATCH_BYTES) -> Iterator[tuple[slice, Any]]:
        """The rows of ``keys``, in that order, in blocks of about ``block_bytes``, each with its place in ``keys``.

        All blocks are of the moment of the call, whatever is written meanwhile. Memory peaks at a few blocks.
        """
        if block_bytes < 1:
            raise InputError(f"a block holds at least one byte, not {block_bytes}")
        mapped, positions = self._locate(keys)
        return _stream(mapped, positions, block_bytes)

    def memory_map(self) -> tuple[list[str], np.memmap[Any, Any]]:
        """All keys and all rows in their order, the rows as they lie on disk: nothing is read before it is touched.

        For dense features, and after :meth:`compact` where rows were replaced or removed.
        """
        with self._guard:
            state = self._current()
            if not isinstance(state.mapped, DenseRows):
                raise InputError(f"{self.folder} holds sparse features, which have no single array: use blocks()")
            if state.n_dead:
                raise InputError(f"{self.folder} holds {state.n_dead} replaced or removed rows: call compact() first")
            return state.keys(), state.mapped.array

    def append(self, keys: Sequence[str], rows: RowsLike) -> None:
        """Add one row per key, all or none; they are on disk on return. A key that has a row gets the new one."""
        self._append(keys, prepare(rows, keys, self.spec))

    @contextmanager
    def writer(self, *, batch_bytes: int = _BATCH_BYTES) -> Iterator[FeatureWriter]:
        """Add rows one by one; they are appended in batches of about ``batch_bytes``, the last one when the block ends.

        When the block fails, rows added before are kept. No other process can write meanwhile.
        """
        if batch_bytes < 1:
            raise InputError(f"a batch holds at least one byte, not {batch_bytes}")
        with self._holding():
            writer = FeatureWriter(self, batch_bytes)
            try:
                yield writer
            finally:
                writer.flush()

    def remove(self, keys: Iterable[str]) -> int:
        """Remove the rows of ``keys``, and say how many there were; keys without a row are passed over."""
        with self._writing():
            state = self._current()
            dead = sorted({state.index[key] for key in keys if key in state.index})
            if dead:
                n_removed = state.manifest.n_removed
                state.files.removed.extend(np.array(dead), start=n_removed)
                replace(state.manifest, n_removed=n_removed + len(dead)).write(self.folder)
            return len(dead)

    def compact(self) -> None:
        """Drop replaced and removed rows from disk, by rewriting the others in batches; readers go on meanwhile."""
        with self._writing():
            state = self._current()
            if not state.n_dead:
                return
            positions = np.sort(np.fromiter(state.index.values(), dtype=np.int64, count=len(state.index)))
            files, manifest = self._new_generation()
            digests = state.files.keys.map(state.manifest.n_rows)
            for block, rows in _stream(state.mapped, positions, _BATCH_BYTES):
                manifest = files.append(digests[positions[block]], rows, manifest)
                del rows  # before the next ones are gathered
            manifest.write(self.folder)
            self._tidy()

    def refresh(self) -> None:
        """See what other processes have committed; every other method does so by itself."""
        self._seen = ()
        self._current()

    def check(self) -> list[str]:
        """What is wrong with the files of the store, one line each; nothing in a sound store."""
        manifest = self._read_manifest()
        files = Files(self.folder, manifest)
        strays = self._strays(manifest)
        problems = [line for array, length in files.arrays(manifest) for line in array.problems(length)]
        problems += [f"{path.name}: left by an unfinished write; the next one removes it" for path in strays]
        try:
            State.load(self.folder, manifest).check()
        except (InputError, OSError) as error:
            problems += [] if problems else [str(error)]
        return problems

    def _create_where_absent(self) -> None:
        path = Manifest.path(self.folder)
        try:
            if not path.exists():
                self.folder.mkdir(parents=True, exist_ok=True)
                with self._lock.held():
                    if not path.exists():  # nobody was faster
                        self._new_generation()[1].write(self.folder)
        except OSError as error:
            raise write_error(path, error) from error

    def _new_generation(self) -> tuple[Files, Manifest]:
        """Empty files under new names, which no manifest refers to as yet."""
        manifest = Manifest(self.spec, self.recipe, generation=secrets.token_hex(4))
        files = Files(self.folder, manifest)
        for array, _ in files.arrays(manifest):
            array.create()
        sync_folder(self.folder)
        return files, manifest

    def _append(self, keys: Sequence[str], prepared: Any) -> None:
        digests = _digests(keys)
        with self._writing():
            state = self._current()
            if len(digests):
                state.files.append(digests, prepared, state.manifest).write(self.folder)

    @contextmanager
    def _holding(self) -> Iterator[None]:
        """Hold the lock, and begin without what a killed holder left."""
        with self._lock.held() as first:
            if first:
                self._tidy()
            yield

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the lock and change files; a failure leaves a committed state, and no traces beside it."""
        with self._holding():
            try:
                yield
            except BaseException as error:
                with suppress(VistermError):  # what failed matters more than that tidying did
                    self._tidy()
                if isinstance(error, OSError):
                    raise write_error(self.folder, error) from error
                raise

    def _tidy(self) -> None:
        """Remove what unfinished writes and compactions left. Only for the holder of the lock."""
        manifest = self._read_manifest()
        for path in self._strays(manifest):
            with suppress(OSError):  # Windows keeps a file that is mapped: a later write removes it
                path.unlink()
        try:
            for array, length in Files(self.folder, manifest).arrays(manifest):
                array.trim(length)
        except FileNotFoundError as error:
            raise _unreadable(error) from error
        except OSError as error:
            raise write_error(self.folder, error) from error

    def _strays(self, manifest: Manifest) -> list[Path]:
        """Files of the store's own making that the manifest does not refer to."""
        arrays = (path for path in self.folder.iterdir() if _ARRAY_NAME.fullmatch(path.name))
        strays = [path for path in arrays if not path.name.startswith(manifest.generation)]
        return sorted([*strays, *self.folder.glob(TEMPORARY_PATTERN)])

    def _read_manifest(self) -> Manifest:
        manifest = Manifest.read(self.folder)
        if (manifest.spec, manifest.recipe) != (self.spec, self.recipe):
            raise InputError(
                f"{self.folder} holds other features: {manifest.spec} by {manifest.recipe!r} "
                f"instead of {self.spec} by {self.recipe!r}"
            )
        return manifest

    def _current(self) -> State:
        """What the newest manifest refers to."""
        with self._guard:
            try:
                status = Manifest.path(self.folder).stat()
            except OSError as error:
                raise InputError(f"the features in {self.folder} are gone: {error.strerror or error}") from error
            seen = (status.st_ino, status.st_mtime_ns, status.st_size)
            while self._state is None or self._seen != seen:
                manifest = self._read_manifest()
                try:
                    self._state = State.load(self.folder, manifest, since=self._state)
                    self._seen = seen
                except OSError as error:
                    # A compaction by another process may have ended since the manifest was read.
                    if self._read_manifest() == manifest:
                        raise _unreadable(error) from error
            return self._state

    def _locate(self, keys: Sequence[str]) -> tuple[MappedRows, NDArray[np.int64]]:
        with self._guard:
            state = self._current()
            try:
                positions = np.fromiter(map(state.index.__getitem__, keys), dtype=np.int64, count=len(keys))
            except KeyError as error:
                n_missing = len(self.missing(keys))
                raise InputError(
                    f"{n_missing} of {len(keys)} pictures have no features in {self.folder}, "
                    f"the first is {error.args[0]!r}: compute them first"
                ) from error
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
        _digests([key])
        if not hasattr(row, "tocsr"):
            row = np.array(row)[np.newaxis]  # a copy: the caller may fill the same array again
        prepared = prepare(row, [key], self._store.spec)
        self._pending.append((key, prepared))
        self._n_bytes += prepared.data.nbytes + _ROW_OVERHEAD
        if self._n_bytes >= self._batch_bytes:
            self.flush()

    def flush(self) -> None:
        """Append what was added since the last time."""
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


def _unreadable(error: OSError) -> InputError:
    reason = error.strerror or error
    return InputError(f"cannot read {error.filename}: {reason}; delete its folder to have the features computed again")


def _digests(keys: Sequence[str]) -> NDArray[np.uint8]:
    """The keys as (n_pictures, 32) bytes."""
    for key in keys:
        if not isinstance(key, str) or not re.fullmatch("[0-9a-f]{64}", key):
            raise InputError(f"a key is the sha256 of a picture as 64 lower-case hex digits, not {key!r}")
    return np.frombuffer(bytes.fromhex("".join(keys)), dtype=np.uint8).reshape(-1, DIGEST_BYTES)
