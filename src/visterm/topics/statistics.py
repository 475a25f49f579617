"""The sums over pictures that an M step needs, which shards and machines can merge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from visterm.errors import InputError

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class TopicStatistics:
    """Expected counts of pictures under a topic model; ``+`` merges those of several shards.

    ``codewords`` (n_topics, n_codewords) and ``tags`` (n_topics, n_tags) hold how often each topic is expected to have
    generated each codeword and tag. ``log_proportions`` (n_topics,) is the sum over pictures of E[log theta], ``bound``
    the evidence bound of the pictures.

    >>> a = TopicStatistics(1, -2.0, np.ones((2, 3)), np.zeros(2), np.zeros((2, 0)))
    >>> (a + a).n_pictures, (a + a).bound, (a + a).codewords.sum().item()
    (2, -4.0, 12.0)
    """

    n_pictures: int
    bound: float
    codewords: Array
    log_proportions: Array
    tags: Array

    def __add__(self, other: TopicStatistics) -> TopicStatistics:
        if self.codewords.shape != other.codewords.shape or self.tags.shape != other.tags.shape:
            raise InputError("statistics under different topics cannot be merged")
        return TopicStatistics(
            self.n_pictures + other.n_pictures,
            self.bound + other.bound,
            self.codewords + other.codewords,
            self.log_proportions + other.log_proportions,
            self.tags + other.tags,
        )

    def __mul__(self, factor: float) -> TopicStatistics:
        """The sums times ``factor``, as if that many times the pictures had been seen; the number of pictures stays."""
        return TopicStatistics(
            self.n_pictures,
            self.bound * factor,
            self.codewords * factor,
            self.log_proportions * factor,
            self.tags * factor,
        )


def normalised(counts: Array, smoothing: float) -> Array:
    """Rows of ``counts`` plus ``smoothing``, scaled to sum to one: the best topics for the expected counts.

    They maximise sum(counts * log(topics)) + smoothing * sum(log(topics)).
    """
    smoothed = np.ascontiguousarray(counts + smoothing)
    return smoothed / smoothed.sum(axis=1, keepdims=True)
