"""The lowest probability at which a picture counts as found, and when nothing does."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: If the best picture is less probable than this, nothing is found; used where it was not measured.
NOTHING_BELOW = 0.2
#: The cut-off is computed from this many best pictures: a large collection has many unlikely ones.
HEAD = 100


def cut_off(log_p: NDArray[np.floating[Any]], nothing_below: float) -> float:
    """The probability below which the pictures of one query count as not found; infinite when nothing is found.

    With probabilities p in falling order, the expected F-measure of the first k pictures is
    ``2 sum_{i<=k} p_i / (k + sum_i p_i)``. The cut-off is half of its maximum over k: a picture with this probability
    neither raises nor lowers it. Only the 100 best pictures count, since a large collection has many unlikely ones.

    >>> round(cut_off(np.log([0.9, 0.8, 0.3, 0.01]), 0.2), 3), cut_off(np.log([0.1, 0.01]), 0.2)
    (0.424, inf)
    """
    best = log_p if len(log_p) <= HEAD else np.partition(log_p, len(log_p) - HEAD)[-HEAD:]
    p = np.exp(np.sort(best)[::-1].astype(np.float64))
    if not len(p) or p[0] == 0 or p[0] < nothing_below:
        return math.inf
    expected = np.cumsum(p)
    return float((expected / (np.arange(1, len(p) + 1) + expected[-1])).max())
