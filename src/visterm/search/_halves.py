"""Products with columns of half precision, converted block by block."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from visterm.compute.halves import singles

#: Numbers converted and multiplied at a time: this many stay in the processor's cache.
_BLOCK = 2**19


def products(query: NDArray[np.float32], columns: NDArray[np.float16]) -> NDArray[np.float32]:
    """``query @ columns``, block by block."""
    n_rows, n_columns = columns.shape
    totals = np.empty(n_columns, np.float32)
    n_at_once = max(1, _BLOCK // n_rows)
    block = np.empty((n_rows, min(n_at_once, n_columns)), np.float32)
    for start in range(0, n_columns, n_at_once):
        part = columns[:, start : start + n_at_once]
        np.matmul(query, singles(part, block[:, : part.shape[1]]), out=totals[start : start + n_at_once])
    return totals
