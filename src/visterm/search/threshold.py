"""From which probability on a picture counts as found, and when nothing does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: What the probability of the best picture must be for something to be found, where nobody has measured it.
NOTHING_BELOW = 0.2
#: The best pictures that count for the cut-off: a large collection has many pictures of which each is hardly likely.
HEAD = 100


def cut_off(log_p: NDArray[np.floating[Any]], nothing_below: float) -> float:
    """The probability below which the pictures of one query count as not found; infinite when nothing is found.

    Of pictures with probabilities p in falling order, the first k are expected to have the F-measure
    ``2 sum_{i<=k} p_i / (k + sum_i p_i)``; half of the best is the probability at which a picture neither raises nor
    lowers it. The 100 best count: a large collection has many pictures of which each is hardly likely.

    >>> round(cut_off(np.log([0.9, 0.8, 0.3, 0.01]), 0.2), 3), cut_off(np.log([0.1, 0.01]), 0.2)
    (0.424, inf)
    """
    best = log_p if len(log_p) <= HEAD else np.partition(log_p, len(log_p) - HEAD)[-HEAD:]
    p = np.exp(np.sort(best)[::-1].astype(np.float64))
    if not len(p) or p[0] == 0 or p[0] < nothing_below:
        return math.inf
    expected = np.cumsum(p)
    return float((expected / (np.arange(1, len(p) + 1) + expected[-1])).max())
