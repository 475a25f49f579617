"""The compiled loop over coded pictures. Its docstring gives the NumPy equivalent."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute.compiled import compiled

Array = NDArray[Any]


@compiled
def nearest_bytes(tables: Array, codes: Array, rows: Array, squared: Array) -> None:
    """``squared[i], rows[i]``: the smallest sums over ``g`` of ``tables[i, g, codes[j, g]]`` and their rows ``j``."""
    k = rows.shape[1]
    squared[:] = np.inf
    rows[:] = 0
    for i in range(tables.shape[0]):
        table, best, limit = tables[i], squared[i], np.float32(np.inf)
        for j in range(codes.shape[0]):
            total = table[0, codes[j, 0]]
            for g in range(1, codes.shape[1]):
                total += table[g, codes[j, g]]
            if total < limit:
                place = k - 1
                while place > 0 and best[place - 1] > total:
                    best[place] = best[place - 1]
                    rows[i, place] = rows[i, place - 1]
                    place -= 1
                best[place] = total
                rows[i, place] = j
                limit = best[k - 1]
