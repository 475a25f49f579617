"""Half-precision numbers taken for single-precision ones by their bits: exact, and several times NumPy's conversion."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Sign, exponent and fraction of a half, moved to where those of a single are, are the same number with an exponent
# that is 112 too small; so are those of the smallest halves, which become as small singles.
_PLACES = 13
_BITS = np.int32(-0x70002000)  # the sign, and 15 bits from the 13th on
_SCALE = np.float32(2.0**112)
_ROOT = np.float32(2.0**56)
#: Columns multiplied at a time: those of a few hundred rows stay in the processor's cache.
_BLOCK = 2048


def singles(values: NDArray[Any]) -> NDArray[np.float32]:
    """The same finite numbers in float32.

    >>> singles(np.array([-1.5, 0.25], np.float16))
    array([-1.5 ,  0.25], dtype=float32)
    """
    if values.dtype != np.float16:
        return values.astype(np.float32, copy=False)
    numbers = _moved(values).view(np.float32)
    numbers *= _SCALE
    return numbers


def products(query: NDArray[np.float32], columns: NDArray[np.float16]) -> NDArray[np.float32]:
    """``query @ columns``, one block of columns after the other."""
    n_rows, n_columns = columns.shape
    totals = np.empty(n_columns, np.float32)
    scaled = query * _ROOT  # half of the exponent before the product and half after: neither can overflow
    block = np.empty((n_rows, min(_BLOCK, n_columns)), np.int32)
    for start in range(0, n_columns, _BLOCK):
        part = columns[:, start : start + _BLOCK]
        bits = _moved(part, block[:, : part.shape[1]])
        np.matmul(scaled, bits.view(np.float32), out=totals[start : start + _BLOCK])
    totals *= _ROOT
    return totals


def _moved(halves: NDArray[Any], out: NDArray[np.int32] | None = None) -> NDArray[np.int32]:
    bits = np.left_shift(halves.view(np.int16), _PLACES, out=out, dtype=np.int32)
    return np.bitwise_and(bits, _BITS, out=bits)
