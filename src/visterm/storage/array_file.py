"""A ``.npy`` file that grows at its end: rows are added without rewriting it, and mapped without reading it.

A manifest says how many rows are valid. Bytes after those rows were left by an unfinished write; the next write
overwrites them. The row count in the file's own header is for other tools that open the file.
"""

import math
import mmap
import os
import re
import stat
import zlib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.errors import InputError
from visterm.storage.files import open_new

_HEADER_BYTES = 128
_CHUNK_BYTES = 8 * 2**20
_MAGIC = b"\x93NUMPY\x01\x00" + (_HEADER_BYTES - 10).to_bytes(2, "little")


class ArrayFile:
    """The file at ``path``, whose rows are single values (``width`` None) or ``width`` values of ``dtype``."""

    def __init__(self, path: Path, dtype: str, width: int | None = None) -> None:
        self.path = path
        self.dtype = np.dtype(dtype)
        self._row_shape = () if width is None else (width,)
        self._row_bytes = self.dtype.itemsize * math.prod(self._row_shape)

    def create(self) -> None:
        """Create the file, empty. On return its contents are on disk; its name needs a folder sync."""
        with open_new(self.path) as file:
            file.write(self._header(0))
            file.flush()
            os.fsync(file.fileno())

    def extend(self, rows: NDArray[Any], *, start: int) -> None:
        """Write ``rows`` after the first ``start`` rows; they are on disk on return."""
        with self.path.open("r+b") as file:
            file.seek(self._end_of(start))
            if rows.size:
                file.write(np.ascontiguousarray(rows, dtype=self.dtype).reshape(-1).view(np.uint8).data)
            file.seek(0)
            file.write(self._header(start + len(rows)))
            file.flush()
            os.fsync(file.fileno())

    def trim(self, n_rows: int) -> None:
        """Remove what an unfinished write left after the first ``n_rows`` rows."""
        if self._checked_size(n_rows) == self._end_of(n_rows):
            return
        self._check_header()
        with self.path.open("r+b") as file:
            file.write(self._header(n_rows))
            file.truncate(self._end_of(n_rows))

    def map(self, n_rows: int) -> np.memmap[Any, Any]:
        """The first ``n_rows`` rows, read from disk on access; read-only."""
        self._checked_size(n_rows)
        self._check_header()
        shape = (n_rows, *self._row_shape)
        return np.memmap(self.path, dtype=self.dtype, mode="r", offset=_HEADER_BYTES, shape=shape)

    def problems(self, n_rows: int) -> Iterator[str]:
        """What is wrong with the file, whose first ``n_rows`` rows are valid."""
        try:
            size = self._checked_size(n_rows)
            self._check_header()
        except (InputError, OSError) as error:
            yield f"{self.path.name}: {error}"
            return
        if excess := size - self._end_of(n_rows):
            yield f"{self.path.name}: {excess} bytes of an unfinished write; the next write removes them"

    def checksum(self, n_rows: int, *, start: int = 0, before: int = 0) -> int:
        """The CRC-32 of the first ``n_rows`` rows, given that of the first ``start`` rows, ``before``."""
        with self.path.open("rb") as file:
            file.seek(self._end_of(start))
            left = self._end_of(n_rows) - self._end_of(start)
            while left and (data := file.read(min(left, _CHUNK_BYTES))):
                before, left = zlib.crc32(data, before), left - len(data)
        return before

    def _end_of(self, n_rows: int) -> int:
        return _HEADER_BYTES + n_rows * self._row_bytes

    def _header(self, n_rows: int) -> bytes:
        # The row count has a fixed width, so that a reader sees a number even while it is rewritten.
        shape = ", ".join([f"{n_rows:20d}", *map(str, self._row_shape)])
        text = f"{{'descr': '{self.dtype.str}', 'fortran_order': False, 'shape': ({shape},), }}"
        return _MAGIC + text.encode().ljust(_HEADER_BYTES - len(_MAGIC) - 1) + b"\n"

    def _checked_size(self, n_rows: int) -> int:
        status = self.path.lstat()
        if not stat.S_ISREG(status.st_mode):  # a link or a pipe: never follow, cut or wait for it
            raise InputError(f"{self.path} is not a plain file")
        size = status.st_size
        if size < self._end_of(n_rows):
            raise damaged(self.path, f"cut off at {size} bytes instead of {self._end_of(n_rows)}")
        return size

    def _check_header(self) -> None:
        with self.path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
        # Read as text: threads of Python 3.11 that parse Python at the same time can fail, ``numpy.load`` included.
        if not self._expected_header.fullmatch(header):
            rows = f"{self._row_shape[0]} values" if self._row_shape else "one value"
            raise damaged(self.path, f"not an array of {self.dtype.name} rows of {rows}")

    @cached_property
    def _expected_header(self) -> re.Pattern[bytes]:
        """What :meth:`_header` writes, with any number of rows; ``numpy.save`` writes it without spare room."""
        shape = ", ".join([r" *\d+", *map(str, self._row_shape)])
        text = rf"{{'descr': '{re.escape(self.dtype.str)}', 'fortran_order': False, 'shape': \({shape},?\), }} *\n"
        return re.compile(re.escape(_MAGIC) + text.encode())


def damaged(path: Path, reason: object) -> InputError:
    """The error for a damaged ``path`` that holds derived data; it says what to do.

    >>> damaged(Path("features", "manifest.json"), "it is empty")
    InputError('features/manifest.json is damaged (it is empty): delete the folder, and it is created again')
    """
    return InputError(f"{path} is damaged ({reason}): delete the folder, and it is created again")


def release(array: np.memmap[Any, Any]) -> None:
    """Return the memory of a mapped array to the system; its rows are read from disk on the next access."""
    mapping = array._mmap  # type: ignore[attr-defined]
    if hasattr(mmap, "MADV_DONTNEED"):
        mapping.madvise(mmap.MADV_DONTNEED)
