"""How often people leave out a tag that fits: learned from the numbers of tags that they gave."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]

#: The lowest and the highest omission rate of a fully described picture.
_LEAST, _MOST = 0.02, 0.4
#: The omission rates that are told apart: level 0 is no doubt, the last level the strongest.
RATES = (_LEAST ** (np.arange(16) / 15)).astype(np.float32)
#: At most this share of pictures counts as fully described.
_FULLY = 0.99
#: The least variance of the numbers of tags of full descriptions.
_LEAST_VARIANCE = 0.16
#: A collection counts as if this many more pictures had numbers of tags with the spread of chance.
_PRIOR = 10
_N_STEPS = 20
#: From 50 rounds on, the rate of a Poisson distribution has converged, except next to a mean of 1.
_N_ROUNDS = 50


def omission_rates(n_tags: NDArray[Any]) -> NDArray[np.float64]:
    """For each tagged picture, the probability that people left out a tag that fits; ``n_tags`` are the tags it has.

    Let s be the variance of the numbers of tags, as a share of what it is if tags are given or left out by chance (a
    Poisson distribution without zero). If s is near 0, as where everybody gave four or five tags, hardly anything was
    left out: a full description has the omission rate ``r = 0.4 s^3``, but at least 0.02. A picture may also be
    described only partly. The numbers of tags are a mixture of full descriptions, normal around ``m``, and partial
    ones, uniform up to ``m``. If ``w`` is the probability that a picture with n tags is described fully, its omission
    rate is ``w r + (1 - w) max(r, 1 - n / m)``.

    >>> rates = omission_rates(np.array([1] + [8, 9, 10] * 100))
    >>> bool(rates[0] > 0.8), bool(rates[1] < 0.1)
    (True, True)
    """
    if not len(n_tags):
        return np.empty(0)
    values, places, counts = np.unique(n_tags, return_inverse=True, return_counts=True)
    n = values.astype(np.float64)
    mean = float(counts @ n) / len(n_tags)
    chance = _variance_by_chance(mean)
    variance = _variance(n, counts, mean)
    spread = min(1.0, variance / chance) if chance > 0 else 1.0
    base = max(_LEAST, _MOST * spread**3)
    full, middle = _full_descriptions(n, counts, variance)
    return np.asarray(full * base + (1 - full) * np.maximum(base, 1 - n / middle))[places]


class Doubts:
    """By how much a tag is doubted that people left out: for every picture, a level of ``RATES``; 0 is no doubt.

    >>> Doubts.learned(np.array([0, 4, 4, 4])).rows
    array([1, 2, 3])
    """

    def __init__(self, levels: NDArray[np.uint8]) -> None:
        self.levels = levels
        self.rows = np.flatnonzero(levels)
        self.row_levels = levels[self.rows].astype(np.intp)

    @classmethod
    def learned(cls, n_tags: NDArray[Any]) -> Doubts:
        """The doubts about pictures with ``n_tags`` tags: the levels nearest to their omission rates."""
        levels = np.zeros(len(n_tags), np.uint8)
        tagged = n_tags > 0
        exact = 15 * np.log(omission_rates(n_tags[tagged])) / math.log(_LEAST)
        levels[tagged] = np.maximum(np.rint(exact), 1)
        return cls(levels)


def doubted(log_p: Floats, levels: NDArray[np.uint8]) -> Floats:
    """The log-probability that a tag fits although people left it out.

    If a tag fits with probability p, and people leave out a share r of the tags that fit, then
    ``P(fits | left out) = p r / (p r + 1 - p)``.

    >>> np.exp(doubted(np.log(np.float32([0.5, 0.5])), np.uint8([0, 15]))).round(3)
    array([0.5 , 0.02], dtype=float32)
    """
    rates = RATES[levels]
    return np.asarray(log_p + np.log(rates) - np.log1p(-np.exp(log_p) * (1 - rates)), dtype=np.float32)


def _variance_by_chance(mean: float) -> float:
    """The variance of a Poisson distribution without zero that has this mean."""
    rate = mean
    for _ in range(_N_ROUNDS):
        rate = mean * -math.expm1(-rate)
    return mean * (1 + rate - mean) if mean > 1 else 0.0


def _variance(n: Floats, weights: NDArray[Any], mean: float) -> float:
    """The variance of numbers of tags around their mean; few numbers count less than chance."""
    total = float(weights.sum()) + _PRIOR
    return (float(weights @ (n - mean) ** 2) + _PRIOR * _variance_by_chance(mean)) / total


def _full_descriptions(n: Floats, counts: NDArray[Any], variance: float) -> tuple[Floats, float]:
    """For each number of tags, the probability that the description is full; and the mean of full descriptions.

    Expectation maximisation over the share of full descriptions, their mean and their variance, which is at most their
    mean.
    """
    total = counts.sum()
    middle = float(counts @ n / total)
    part = _FULLY
    full = np.ones_like(n)
    for _ in range(_N_STEPS):
        deviation = math.sqrt(max(min(variance, middle), _LEAST_VARIANCE))
        normal = np.exp(-0.5 * ((n - middle) / deviation) ** 2) / (deviation * math.sqrt(2 * math.pi))
        full = np.where(n < middle, part * normal / (part * normal + (1 - part) / middle), 1.0)
        weights = full * counts
        part, middle = min(weights.sum() / total, _FULLY), float(weights @ n / weights.sum())
        variance = _variance(n, weights, middle)
    return full, middle
