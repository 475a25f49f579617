"""Compiled part of GIST: magnitudes of complex responses, summed in the cells of a grid."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from visterm.compute.compiled import compiled


@compiled(fastmath={"contract"})
def add_magnitudes(
    response: NDArray[np.complex64], margin: int, cell_of: NDArray[np.int64], sums: NDArray[np.float32]
) -> None:
    """Add ``abs(response[margin + y, margin + x])`` to ``sums[cell_of[y], cell_of[x]]`` for all y, x of ``cell_of``.

    NumPy: ``np.add.at(sums, (cell_of[:, None], cell_of), np.abs(response[margin:-margin, margin:-margin]))``.
    """
    side = len(cell_of)
    magnitudes = np.empty(side, np.float32)
    for y in range(side):
        row = response[margin + y, margin : margin + side]
        for x in range(side):
            magnitudes[x] = math.sqrt(row[x].real * row[x].real + row[x].imag * row[x].imag)
        cells = sums[cell_of[y]]
        for x in range(side):
            cells[cell_of[x]] += magnitudes[x]
