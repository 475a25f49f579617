"""Choosing the number of neighbours on pictures whose tags are known, by the F measure of tags."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute.rows import evenly
from visterm.distances import nearest
from visterm.measures import WordF

#: ``auto`` chooses one of these numbers of neighbours.
NEIGHBOUR_COUNTS = (1, 2, 4, 8, 16, 32, 64)
#: This many pictures are left out, one at a time, to choose. More would cost time and change little.
SAMPLE = 2000
#: Every picture gets this many tags when numbers are compared.
_N_TAGS = 5


def f_by_neighbours(
    near: NDArray[np.intp], tags: Any, truth: Any, choices: Sequence[int] = NEIGHBOUR_COUNTS
) -> list[float]:
    """F for every number of neighbours in ``choices``; ``near`` holds the rows of ``tags`` nearest each picture.

    The choices ascend.
    """
    counts = np.bincount(tags.indices, minlength=tags.shape[1])
    votes = np.zeros((len(near), tags.shape[1]))
    found, voted = [], 0
    for k in choices:
        for place in range(voted, min(k, near.shape[1])):
            votes += tags[near[:, place]].toarray()
        voted = min(k, near.shape[1])
        found.append(WordF(_N_TAGS)(truth, votes, frequencies=counts))
    return found


def choose_neighbours(X: Any, tags: Any, metric: str) -> int:
    """The number of neighbours that is best for tagging pictures whose own tags are hidden.

    At most ``SAMPLE`` pictures, evenly spread, are each compared with all others.
    """
    n = int(X.shape[0])
    if n < 3:
        return 1
    rows = evenly(n, SAMPLE)
    near, _ = nearest(X[rows], X, max(NEIGHBOUR_COUNTS), metric=metric, own_rows=rows)
    return NEIGHBOUR_COUNTS[int(np.argmax(f_by_neighbours(near, tags, tags[rows])))]
