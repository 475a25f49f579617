"""The lowest probability at which a picture counts as found, and when nothing does."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: If the best picture is less probable than this, nothing is found; used where it was not measured.
NOTHING_BELOW = 0.2
#: The cut-off is computed from this many best pictures: a large collection has many unlikely ones.
HEAD = 100
#: The values that are tried for the least probability at which something is found.
_LEASTS = np.linspace(0.02, 0.8, 79)
#: Queries are tried on at least this many pictures.
_FEWEST = 8


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


def drawn_rows(n_pictures: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Some pictures to try a query on, few or many: so frequent words, too, sometimes have no relevant picture."""
    n_asked = round(math.exp(rng.uniform(math.log(min(_FEWEST, n_pictures)), math.log(n_pictures))))
    return np.asarray(rng.choice(n_pictures, n_asked, replace=False))


def least_found(trials: Iterable[tuple[NDArray[np.floating[Any]], NDArray[np.bool_]]]) -> float:
    """The lowest probability of the best picture at which something counts as found.

    Each trial is a query: the log-probabilities of some pictures, and which of them are relevant. The value maximises
    the mean F-measure of queries that have relevant pictures (0 where nothing is found) plus the share of the other
    queries for which nothing is found.
    """
    measures, bests, nones = [], [], []
    for log_p, relevant in trials:
        best = math.exp(float(log_p.max()))
        if relevant.any():
            # mutants: >= -> >: an exact tie of real numbers
            found = np.exp(log_p) >= cut_off(log_p, 0.0)
            measures.append(2 * int((found & relevant).sum()) / int(found.sum() + relevant.sum()))
            bests.append(best)
        else:
            nones.append(best)
    if not measures or not nones:
        return NOTHING_BELOW
    value = [
        # mutants: >= -> >, < -> <=: an exact tie of real numbers
        np.where(np.array(bests) >= least, measures, 0.0).mean() + (np.array(nones) < least).mean()
        for least in _LEASTS
    ]
    return float(_LEASTS[int(np.argmax(value))])
