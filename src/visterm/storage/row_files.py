"""Rows on disk: dense rows in one growing array, sparse rows (bags of codewords) in three, as in CSR."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from visterm.errors import InputError
from visterm.storage.array_file import ArrayFile, damaged, release

if TYPE_CHECKING:
    from scipy import sparse

_DTYPES = {False: ("float32", "float16"), True: ("float32", "int32")}


@dataclass(frozen=True, slots=True)
class RowSpec:
    """The shape of rows: ``n_dims`` dense values, or sparse counts for bags of codewords.

    >>> RowSpec(1000, dtype="int32", sparse=True)
    RowSpec(n_dims=1000, dtype='int32', sparse=True)
    """

    n_dims: int
    dtype: str = "float32"
    sparse: bool = False

    def __post_init__(self) -> None:
        if type(self.sparse) is not bool:
            raise InputError(f"rows are sparse (True) or dense (False), not {self.sparse!r}")
        if type(self.n_dims) is not int or not 0 < self.n_dims < 2**31:
            raise InputError(f"rows have between 1 and 2**31 - 1 dimensions, not {self.n_dims!r}")
        if self.dtype not in _DTYPES[self.sparse]:
            kind = "sparse" if self.sparse else "dense"
            raise InputError(f"{kind} rows are {' or '.join(_DTYPES[self.sparse])}, not {self.dtype!r}")


def row_files(folder: Path, generation: str, spec: RowSpec) -> _DenseFiles | _SparseFiles:
    """The files for rows of shape ``spec``."""
    return (_SparseFiles if spec.sparse else _DenseFiles)(folder, generation, spec)


def stored_dtype(spec: RowSpec) -> str:
    """The type of values on disk: always little-endian."""
    return np.dtype(spec.dtype).newbyteorder("<").str


def cut(sizes: NDArray[np.int64], budget: int) -> Iterator[slice]:
    """Cut items of ``sizes`` bytes into runs of at most ``budget`` bytes; a larger item is a run of its own.

    >>> list(cut(np.array([3, 3, 9, 1]), 6))
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    totals = np.cumsum(sizes)
    start = 0
    while start < len(sizes):
        done = totals[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(totals, done + budget, side="right")))
        yield slice(start, stop)
        start = stop


class _DenseFiles:
    """The growing array of dense rows; :class:`_SparseFiles` has the same methods for sparse ones."""

    def __init__(self, folder: Path, generation: str, spec: RowSpec) -> None:
        self._rows = ArrayFile(folder / f"{generation}.rows.npy", stored_dtype(spec), spec.n_dims)

    def arrays(self, n_rows: int, n_values: int) -> list[tuple[ArrayFile, int]]:  # noqa: ARG002 - a sparse matter
        """Every array, with its length for ``n_rows`` rows that have ``n_values`` entries in total."""
        return [(self._rows, n_rows)]

    def extend(self, rows: NDArray[Any], *, n_rows: int, n_values: int) -> int:
        """Write prepared rows after the valid ones; returns the new total number of entries."""
        self._rows.extend(rows, start=n_rows)
        return n_values

    def map(self, n_rows: int, n_values: int) -> DenseRows:  # noqa: ARG002 - a sparse matter
        return DenseRows(self._rows.map(n_rows))


class DenseRows:
    """Dense rows, mapped into memory (``array``); they stay readable when their file is deleted."""

    def __init__(self, array: np.memmap[Any, Any]) -> None:
        self.array = array

    def sizes(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many bytes each of the rows at ``positions`` takes."""
        return np.full(len(positions), self.array.shape[1] * self.array.itemsize, dtype=np.int64)

    def gather(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """A copy of the rows at ``positions``, in that order."""
        return np.asarray(self.array).take(positions, axis=0)

    def release(self) -> None:
        """Return the memory of pages that were read to the system."""
        release(self.array)


class _SparseFiles:
    def __init__(self, folder: Path, generation: str, spec: RowSpec) -> None:
        self._spec = spec
        self._ends = ArrayFile(folder / f"{generation}.ends.npy", "<i8")
        self._columns = ArrayFile(folder / f"{generation}.columns.npy", "<i4")
        self._values = ArrayFile(folder / f"{generation}.values.npy", stored_dtype(spec))

    def arrays(self, n_rows: int, n_values: int) -> list[tuple[ArrayFile, int]]:
        return [(self._ends, n_rows), (self._columns, n_values), (self._values, n_values)]

    def extend(self, rows: sparse.csr_array[Any], *, n_rows: int, n_values: int) -> int:
        self._ends.extend(rows.indptr[1:].astype(np.int64) + n_values, start=n_rows)
        self._columns.extend(rows.indices, start=n_values)
        self._values.extend(rows.data, start=n_values)
        return n_values + int(rows.nnz)

    def map(self, n_rows: int, n_values: int) -> _SparseRows:
        ends, columns, values = (array.map(length) for array, length in self.arrays(n_rows, n_values))
        return _SparseRows(self._ends.path, self._spec.n_dims, ends, columns, values)


class _SparseRows:
    def __init__(self, path: Path, n_dims: int, ends: Any, columns: Any, values: Any) -> None:
        self._path, self._n_dims = path, n_dims
        self._ends, self._columns, self._values = ends, columns, values

    def sizes(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        starts, ends = self._extents(positions)
        return (ends - starts) * (self._columns.itemsize + self._values.itemsize) + self._ends.itemsize

    def gather(self, positions: NDArray[np.int64]) -> sparse.csr_array[Any]:
        from scipy import sparse

        starts, ends = self._extents(positions)
        indptr = np.concatenate(([0], np.cumsum(ends - starts)))
        # Entry j of the returned rows is entry j + shift of those on disk, with one shift per row.
        entries = np.repeat(starts - indptr[:-1], ends - starts)
        entries += np.arange(len(entries))
        columns, values = np.asarray(self._columns)[entries], np.asarray(self._values)[entries]
        if len(columns) and not 0 <= columns.min() <= columns.max() < self._n_dims:
            raise self._damaged()
        if indptr[-1] < 2**31:
            indptr = indptr.astype(np.int32)  # one type for both index arrays, as scikit-learn expects
        return sparse.csr_array((values, columns, indptr), shape=(len(positions), self._n_dims))

    def release(self) -> None:
        for array in (self._ends, self._columns, self._values):
            release(array)

    def _extents(self, positions: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        all_ends = np.asarray(self._ends)
        ends = all_ends[positions]
        starts = np.where(positions > 0, all_ends[positions - 1], 0) if len(positions) else ends
        if np.any(starts < 0) or np.any(starts > ends) or np.any(ends > len(self._values)):
            raise self._damaged()
        return starts, ends

    def _damaged(self) -> InputError:
        return damaged(self._path, "a row is not where it should be")


#: Committed rows, mapped into memory.
MappedRows = DenseRows | _SparseRows
