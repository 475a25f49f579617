"""The additive chi2 kernel between rows, compiled."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute.compiled import compiled
from visterm.contracts import Compressed

Array = NDArray[Any]


_TILE = 16  # rows of B that stay in the cache while the loop goes over rows of A
_TINY = np.float32(1e-30)  # keeps 0 / 0 out of sums over dimensions


@compiled(fastmath={"reassoc", "contract"})
def add_chi2(A: Array, B: Array, symmetric: bool, out: Array) -> None:
    """``out[i, j] += sum_d sign(a_d b_d) 2 |a_d b_d| / (|a_d| + |b_d|)``, the additive chi2 kernel of rows.

    ``symmetric`` means that B is A; then every pair is compared once.
    """
    for first in range(0, B.shape[0], _TILE):
        for i in range(first if symmetric else 0, A.shape[0]):
            last = min(first + _TILE, i + 1 if symmetric else B.shape[0])
            for j in range(first, last):
                a, b = A[i], B[j]
                total = a.dtype.type(0)
                for d in range(len(a)):
                    total += a[d] * b[d] / (abs(a[d]) + abs(b[d]) + _TINY)
                out[i, j] += 2 * total
                if symmetric and j < i:
                    out[j, i] += 2 * total


@compiled
def add_chi2_sparse(A: Compressed, B: Compressed, out: Array) -> None:
    """:func:`add_chi2` for the rows of a CSR matrix ``A`` and of ``B``, which is given by columns (CSC)."""
    starts, columns, values = A
    starts_of_columns, rows, values_of_columns = B
    for i in range(len(starts) - 1):
        for place in range(starts[i], starts[i + 1]):
            column, a = columns[place], values[place]
            for other in range(starts_of_columns[column], starts_of_columns[column + 1]):
                b = values_of_columns[other]
                out[i, rows[other]] += 2.0 * a * b / (abs(a) + abs(b) + _TINY)
