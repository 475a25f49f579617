"""How likely several words hold together, from how likely each of them and each pair does."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]

#: How much words depend on each other, where it was not measured.
DEPENDENCE = 0.5


def together(log_p: Sequence[Floats], dependence: float) -> Floats:
    """The log-probability that several things hold together.

    It is at most that of the least likely one, and it is the product if they are independent. ``dependence`` says where
    between the two it lies: ``log P = d min_i log P_i + (1 - d) sum_i log P_i``.

    >>> np.exp(together(np.log([0.5, 0.5]), 0.0)), np.exp(together(np.log([0.5, 0.5]), 1.0))
    (np.float64(0.25), np.float64(0.5))
    """
    # What people denied is minus infinity, and 0 times infinity is NaN.
    if dependence in (0.0, 1.0):
        return np.minimum.reduce(log_p) if dependence else np.add.reduce(log_p)
    return dependence * np.minimum.reduce(log_p) + (1 - dependence) * np.add.reduce(log_p)


def pair_weights(n_words: int, pairs: Sequence[tuple[int, int]], weight: float) -> tuple[list[float], float]:
    """The weight of each word of a query, and the weight of each of its ``pairs`` (of places among the words).

    The weight of a pair is taken from its words, so that independent words are as likely with pairs as without:
    ``log P(a, b) = (1 - w) (log P(a) + log P(b)) + w log P(a and b)``.

    >>> pair_weights(2, [(0, 1)], 0.4)
    ([0.6, 0.6], 0.4)
    """
    of_pair = weight / (n_words - 1)
    return [1 - of_pair * sum(word in pair for pair in pairs) for word in range(n_words)], of_pair
