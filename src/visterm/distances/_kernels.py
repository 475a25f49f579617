"""Sums over pairs of rows that no matrix product gives. Each docstring gives the NumPy equivalent."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute.compiled import SUMS, compiled
from visterm.contracts import Compressed

Array = NDArray[Any]
_CODES = 256  # this many small codes are compared at a time: with their sums they fill the first cache
_TILE = 16  # rows of B that stay in the cache while rows of A pass by
_TINY = 1e-30  # rows are shares: smaller values count as zero


@compiled(fastmath=SUMS)
def l1_dense(A: Array, B: Array, out: Array) -> None:
    """``out[i, j] = abs(A[i] - B[j]).sum()``."""
    zero = A.dtype.type(0)
    for first in range(0, B.shape[0], _TILE):
        for i in range(A.shape[0]):
            for j in range(first, min(first + _TILE, B.shape[0])):
                a, b = A[i], B[j]
                total = zero
                for d in range(a.shape[0]):
                    total += abs(a[d] - b[d])
                out[i, j] = total


@compiled(fastmath=SUMS)
def chi2_dense(A: Array, B: Array, out: Array) -> None:
    """``out[i, j] = ((A[i] - B[j])**2 / (A[i] + B[j])).sum() / 2`` with 0/0 = 0."""
    zero, half, tiny = A.dtype.type(0), A.dtype.type(0.5), A.dtype.type(_TINY)
    for first in range(0, B.shape[0], _TILE):
        for i in range(A.shape[0]):
            for j in range(first, min(first + _TILE, B.shape[0])):
                a, b = A[i], B[j]
                total = zero
                for d in range(a.shape[0]):
                    apart = a[d] - b[d]
                    total += apart * apart / (a[d] + b[d] + tiny)
                out[i, j] = total * half


@compiled(fastmath=SUMS)
def intersection_dense(A: Array, B: Array, out: Array) -> None:
    """``out[i, j] = 1 - minimum(A[i], B[j]).sum()``."""
    zero, one = A.dtype.type(0), A.dtype.type(1)
    for first in range(0, B.shape[0], _TILE):
        for i in range(A.shape[0]):
            for j in range(first, min(first + _TILE, B.shape[0])):
                a, b = A[i], B[j]
                total = zero
                for d in range(a.shape[0]):
                    total += min(a[d], b[d])
                out[i, j] = one - total


@compiled
def _spread(A: Compressed, i: int, row: Array) -> None:
    """Row ``i`` of ``A`` as a dense one; ``row`` holds zeros elsewhere."""
    for entry in range(A.indptr[i], A.indptr[i + 1]):
        row[A.indices[entry]] = A.data[entry]


@compiled
def _clear(A: Compressed, i: int, row: Array) -> None:
    """Undo ``_spread``."""
    for entry in range(A.indptr[i], A.indptr[i + 1]):
        row[A.indices[entry]] = 0


@compiled(fastmath=SUMS)
def l1_sparse(A: Compressed, B: Compressed, b_sums: Array, width: int, out: Array) -> None:
    """``l1_dense`` for CSR rows: ``|a - b|`` is ``|a| + |b|`` unless both are non-zero; ``b_sums`` are sums of ``|b|``.

    As in the other kernels, entries that only ``b`` has add nothing by themselves. This avoids a branch, so that terms
    are vectorised.
    """
    row = np.zeros(width, A.data.dtype)
    zero = A.data.dtype.type(0)
    for i in range(len(A.indptr) - 1):
        _spread(A, i, row)
        own = zero
        for entry in range(A.indptr[i], A.indptr[i + 1]):
            own += abs(A.data[entry])
        for j in range(len(B.indptr) - 1):
            total = zero
            for entry in range(B.indptr[j], B.indptr[j + 1]):
                other = row[B.indices[entry]]
                total += abs(other - B.data[entry]) - abs(other) - abs(B.data[entry])
            out[i, j] = max(own + b_sums[j] + total, zero)
        _clear(A, i, row)


@compiled(fastmath=SUMS)
def chi2_sparse(A: Compressed, B: Compressed, b_sums: Array, width: int, out: Array) -> None:
    """``chi2_dense`` for CSR rows: a term is ``a + b - 4 a b / (a + b)``; ``b_sums`` are the rows' sums."""
    row = np.zeros(width, A.data.dtype)
    kind = A.data.dtype
    zero, half, two, tiny = kind.type(0), kind.type(0.5), kind.type(2), kind.type(_TINY)
    for i in range(len(A.indptr) - 1):
        _spread(A, i, row)
        own = zero
        for entry in range(A.indptr[i], A.indptr[i + 1]):
            own += A.data[entry]
        for j in range(len(B.indptr) - 1):
            common = zero
            for entry in range(B.indptr[j], B.indptr[j + 1]):
                other = row[B.indices[entry]]
                common += other * B.data[entry] / (other + B.data[entry] + tiny)
            out[i, j] = max((own + b_sums[j]) * half - two * common, zero)
        _clear(A, i, row)


@compiled(fastmath=SUMS)
def intersection_sparse(A: Compressed, B: Compressed, b_sums: Array, width: int, out: Array) -> None:
    """``intersection_dense`` for CSR rows: the common part is at most ``b_sums``."""
    row = np.zeros(width, A.data.dtype)
    zero, one = A.data.dtype.type(0), A.data.dtype.type(1)
    for i in range(len(A.indptr) - 1):
        _spread(A, i, row)
        for j in range(len(B.indptr) - 1):
            common = zero
            for entry in range(B.indptr[j], B.indptr[j + 1]):
                common += min(row[B.indices[entry]], B.data[entry])
            out[i, j] = one - min(common, b_sums[j])
        _clear(A, i, row)


@compiled
def smallest(block: Array, out: Array) -> None:
    """``out[i] = argsort(block[i], kind="stable")[: out.shape[1]]``, in one pass over the row."""
    k = out.shape[1]
    values = np.empty(k, block.dtype)
    for i in range(block.shape[0]):
        n_found = 0
        for j in range(block.shape[1]):
            value = block[i, j]
            if n_found == k and value >= values[k - 1]:
                continue
            place = min(n_found, k - 1)
            while place > 0 and values[place - 1] > value:
                values[place] = values[place - 1]
                out[i, place] = out[i, place - 1]
                place -= 1
            values[place] = value
            out[i, place] = j
            n_found = min(n_found + 1, k)


@compiled
def nearest_codes(A: Array, columns: Array, rows: Array, squared: Array) -> None:
    """``squared[i], rows[i]``: the smallest ``((A[i] - B)**2).sum(axis=1)`` and their rows; ``columns`` is ``B.T``.

    Only the smallest sums are written to memory. The order of additions does not depend on the position of a row.
    """
    k = rows.shape[1]
    sums = np.empty(_CODES, A.dtype)
    squared[:] = np.inf
    rows[:] = 0
    for first in range(0, columns.shape[1], _CODES):
        width = min(_CODES, columns.shape[1] - first)
        for i in range(A.shape[0]):
            sums[:] = 0
            for d in range(A.shape[1]):
                value = A[i, d]
                line = columns[d, first : first + width]
                for c in range(width):
                    apart = line[c] - value
                    sums[c] += apart * apart
            limit = squared[i, k - 1]
            for c in range(width):
                if sums[c] < limit:
                    place = k - 1
                    while place > 0 and squared[i, place - 1] > sums[c]:
                        squared[i, place] = squared[i, place - 1]
                        rows[i, place] = rows[i, place - 1]
                        place -= 1
                    squared[i, place] = sums[c]
                    rows[i, place] = first + c
                    limit = squared[i, k - 1]
