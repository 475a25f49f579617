"""Matrices in the ``vecs`` family of formats: for each vector its length, then its values, little-endian.

The file extension gives the types of both. INRIA's LEAR team published its picture annotation features in this form:
``.hvecs`` (16-bit histograms and tag indicators), ``.hvecs32`` (32-bit histograms), ``.fvec`` and ``.dvec`` (real
numbers). ``.fvecs``, ``.ivecs`` and ``.bvecs`` are those of the TexMex corpus. Each may be compressed as ``.gz``.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from visterm.errors import InputError
from visterm.storage.opening import open_regular

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

#: By extension (without a plural s): the types of the length and of the values.
LAYOUTS = {
    "fvec": ("<u4", "<f4"),
    "dvec": ("<u4", "<f8"),
    "ivec": ("<u4", "<i4"),
    "bvec": ("<u4", "u1"),
    "hvec": ("<u2", "<u2"),
    "hvec32": ("<u4", "<u4"),
}
#: A larger matrix is refused unless the caller allows it.
MAX_BYTES = 2**32
_BLOCK_BYTES = 2**22


def read_hvecs(path: Path, dtype: DTypeLike | None = None, *, max_bytes: int = MAX_BYTES) -> NDArray[Any]:
    """The (n, n_dims) matrix in the file, as ``dtype`` or as stored; needs memory for the matrix and one block."""
    import numpy as np

    head, value = (np.dtype(name) for name in _layout(path))
    try:
        with _open(path) as file:
            first = file.read(head.itemsize)
            if len(first) < head.itemsize:
                raise InputError(f"{path} is empty: expected vectors, each preceded by its length")
            n_dims = int(np.frombuffer(first, head)[0])
        size = _size(path, max_bytes)
        n_bytes = head.itemsize + n_dims * value.itemsize
        if n_dims == 0 or size % n_bytes:
            raise InputError(f"{path} is damaged: its {size} bytes are not whole vectors of {n_dims} values each")
        vector = np.dtype([("n_dims", head), ("values", value, (n_dims,))])
        kind, n_rows = np.dtype(value if dtype is None else dtype), size // n_bytes
        _check_size(path, n_rows * n_dims * kind.itemsize, max_bytes)
        matrix = np.empty((n_rows, n_dims), kind)
        start = 0
        with _open(path) as file:
            for block in _blocks(file, n_bytes * max(1, _BLOCK_BYTES // n_bytes)):
                vectors = np.frombuffer(block, vector)
                odd = np.flatnonzero(vectors["n_dims"] != n_dims)
                if odd.size:
                    raise InputError(
                        f"{path} is damaged: vector {start + odd[0]} does not have {n_dims} values like the first"
                    )
                matrix[start : start + len(vectors)] = vectors["values"]
                start += len(vectors)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path} cannot be decompressed: {error}") from error
    return matrix


def _layout(path: Path) -> tuple[str, str]:
    name = path.name.lower().removesuffix(".gz")
    match = re.search(r"\.(\w?vec)s?(32)?$", name)
    layout = LAYOUTS.get(match[1] + (match[2] or "")) if match else None
    if layout is None:
        raise InputError(f"{path} has no known extension of vector files: .hvecs, .hvecs32, .fvec, .ivecs, ...")
    return layout


@contextmanager
def _open(path: Path) -> Iterator[IO[bytes]]:
    with open_regular(path) as file:
        yield cast(IO[bytes], gzip.GzipFile(fileobj=file)) if path.suffix.lower() == ".gz" else file


def _size(path: Path, max_bytes: int) -> int:
    """The decompressed size of the file in bytes, found without keeping the content."""
    if path.suffix.lower() != ".gz":
        return path.stat().st_size
    size = 0
    with _open(path) as file:
        for block in _blocks(file, _BLOCK_BYTES):
            size += len(block)
            _check_size(path, size, max_bytes)
    return size


def _check_size(path: Path, n_bytes: int, max_bytes: int) -> None:
    if n_bytes > max_bytes:
        raise InputError(f"{path} has more than {max_bytes} bytes: give a larger max_bytes to read it")


def _blocks(file: IO[bytes], n_bytes: int) -> Iterator[bytes]:
    while block := file.read(n_bytes):
        yield block
