"""Compiled loops of the measures."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

#: With more relevant pictures than this, the ranking is sorted; otherwise each is compared with all pictures.
_SORT_FROM = 24


@njit(nogil=True, cache=True, error_model="numpy")
def place(scores: Any, indptr: Any, indices: Any, above: Any, tied: Any) -> None:
    """For every relevant picture of every query, count the pictures above it and those tied with it.

    In NumPy, with ``row = scores[query]`` and ``own = row[indices[entry]]``: ``above[entry] = (row > own).sum()`` and
    ``tied[entry] = (row == own).sum()``.
    """
    n_pictures = scores.shape[1]
    for query in range(scores.shape[0]):
        row = scores[query]
        start, end = indptr[query], indptr[query + 1]
        if end - start > _SORT_FROM:
            ascending = np.sort(row)
            for entry in range(start, end):
                own = row[indices[entry]]
                last = np.searchsorted(ascending, own, side="right")
                above[entry] = n_pictures - last
                tied[entry] = last - np.searchsorted(ascending, own, side="left")
        else:
            for entry in range(start, end):
                own = row[indices[entry]]
                n_above = n_tied = 0
                for picture in range(n_pictures):
                    n_above += row[picture] > own
                    n_tied += row[picture] == own
                above[entry] = n_above
                tied[entry] = n_tied
