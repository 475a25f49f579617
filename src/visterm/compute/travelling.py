"""What a task takes along to another process: arrays that lie in files travel as path and place, never as data."""

import hashlib
import io
import mmap
import os
import tempfile
import threading
import weakref
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.compute.addressed import AddressedRows
from visterm.compute.threads import one_blas_thread
from visterm.errors import InputError

#: A worker keeps this many tasks ready: a learner alternates between two at most.
_KEPT = 2
_tasks: dict[str, Any] = {}
_turn = threading.Lock()
#: Whether this thread works for a caller elsewhere, who spreads the work already.
is_worker: ContextVar[bool] = ContextVar("is_worker", default=False)


@dataclass(frozen=True, slots=True)
class Place:
    """Where the numbers of an array lie in a file."""

    path: str
    dtype: Any
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @classmethod
    def of(cls, array: NDArray[Any]) -> "Place | None":
        """The place of a memory-mapped array or of a part of one; None if it lies in memory."""
        root: Any = array
        while not (isinstance(root, np.memmap) and isinstance(_owner(root), mmap.mmap)):
            if not isinstance(root, np.ndarray):
                return None
            root = _owner(root)
        file: Any = root.filename
        if file is None or root.mode == "c":  # no file, or changes that are not in the file
            return None
        start = array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
        return cls(str(file), array.dtype, root.offset + start, array.shape, array.strides)

    def open(self) -> NDArray[Any]:
        """The array, mapped. It can be written to, as loops are compiled for, but that never reaches the file."""
        try:
            whole = np.memmap(self.path, np.uint8, mode="c")
        except (OSError, ValueError) as error:
            raise InputError(
                f"a worker cannot open {self.path} ({error}): features must lie on storage that every machine reaches"
                " by the same path"
            ) from error
        return np.ndarray(self.shape, self.dtype, whole, self.offset, self.strides)


def _owner(array: Any) -> Any:
    return array.base


def lies_in_files(data: Any) -> bool:
    """Whether workers elsewhere can open features by themselves: a matrix, or a mapping of name to matrix.

    >>> lies_in_files(np.zeros((2, 3)))
    False
    """
    if isinstance(data, Mapping):
        return all(map(lies_in_files, data.values()))
    if isinstance(data, np.ndarray):
        return Place.of(data) is not None
    return isinstance(data, AddressedRows) or all(
        lies_in_files(getattr(data, name)) for name in ("data", "indices", "indptr")
    )


def laid_out(data: Any) -> Any:
    """Features in files of the temporary folder, which vanish with the arrays, so that workers elsewhere open them.

    What lies in files already stays where it is. The environment variable ``TMPDIR`` names a folder that all machines
    of a cluster reach.
    """
    if isinstance(data, Mapping):
        return {name: laid_out(matrix) for name, matrix in data.items()}
    if isinstance(data, np.ndarray):
        return data if lies_in_files(data) or not data.size else _written(data)
    if isinstance(data, AddressedRows):
        return data
    return sparse.csr_array(tuple(map(laid_out, (data.data, data.indices, data.indptr))), shape=data.shape)


def _written(array: NDArray[Any]) -> NDArray[Any]:
    descriptor, name = tempfile.mkstemp(".npy", "visterm-")
    with os.fdopen(descriptor, "wb") as file:
        np.save(file, array)
    mapped = np.load(name, mmap_mode="r+")  # as loops are compiled for
    weakref.finalize(mapped, Path(name).unlink, missing_ok=True)
    return mapped


class _Pickler(cloudpickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        place = Place.of(obj) if isinstance(obj, np.ndarray) else None
        return super().reducer_override(obj) if place is None else (Place.open, (place,))


def packed(what: Any) -> bytes:
    """A task or a shard as bytes; functions travel by value where others cannot import them."""
    buffer = io.BytesIO()
    _Pickler(buffer, protocol=cloudpickle.DEFAULT_PROTOCOL).dump(what)
    return buffer.getvalue()


def key_of(task: bytes) -> str:
    """Identifies a packed task."""
    return hashlib.blake2b(task, digest_size=16).hexdigest()


def work(key: str, task: bytes | Path, shard: bytes) -> Any:
    """What a worker does with a shard: ``task`` is packed, or a file that holds it, and is unpacked once."""
    function = _ready(key, task)
    token = is_worker.set(True)
    try:
        with one_blas_thread():
            return function(_unpacked(shard))
    finally:
        is_worker.reset(token)


def _ready(key: str, task: bytes | Path) -> Any:
    with _turn:
        if key not in _tasks:
            while len(_tasks) >= _KEPT:
                del _tasks[next(iter(_tasks))]
            _tasks[key] = _unpacked(task.read_bytes() if isinstance(task, Path) else task)
        return _tasks[key]


def _unpacked(packed: bytes) -> Any:
    return cloudpickle.loads(packed)  # what our own caller packed for this worker, in this run
