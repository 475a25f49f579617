"""Rows of arrays: in parts, at equal distances, of length one."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def slices(n_rows: int, size: int) -> list[slice]:
    """``n_rows`` rows in parts of ``size`` rows, the last one shorter.

    >>> slices(5, 3)
    [slice(0, 3, None), slice(3, 5, None)]
    """
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def evenly(n_rows: int, most: int) -> NDArray[np.intp]:
    """The numbers of at most ``most`` of the rows, from the first to the last at equal distances.

    >>> evenly(3, 10), evenly(9, 3)
    (array([0, 1, 2]), array([0, 4, 8]))
    """
    return np.linspace(0, n_rows - 1, min(n_rows, most)).astype(np.intp)


def unit(rows: NDArray[Any]) -> NDArray[Any]:
    """Rows of length one; zeros stay zeros.

    >>> unit(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, np.finfo(rows.dtype).tiny))
