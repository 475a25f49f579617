"""The sums over pictures that an M step needs, which shards and machines can merge, and their running average."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.errors import InputError

Array = NDArray[np.float64]

#: The weight of batch number t (from 0) is (t + _OFFSET) ** -_DECAY, a schedule under which stochastic EM converges.
_OFFSET, _DECAY = 2.0, 0.6


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


@dataclass(frozen=True, slots=True, eq=False)
class OnlineStatistics:
    """Stochastic EM: the running average of the statistics of batches, scaled to the number of pictures seen.

    ``average`` is over pictures; ``total`` estimates the statistics of all pictures seen under the current model.
    """

    n_batches: int
    average: TopicStatistics

    @classmethod
    def none(cls, n_topics: int, n_codewords: int, n_tags: int) -> OnlineStatistics:
        """The empty statistics before the first batch."""
        zeros = np.zeros
        sums = TopicStatistics(0, 0.0, zeros((n_topics, n_codewords)), zeros(n_topics), zeros((n_topics, n_tags)))
        return cls(0, sums)

    @property
    def step(self) -> float:
        """The weight of the next batch; the first one counts in full."""
        return 1.0 if self.n_batches == 0 else (self.n_batches + _OFFSET) ** -_DECAY

    def including(self, batch: TopicStatistics) -> OnlineStatistics:
        """The average after one more batch; an empty batch changes nothing."""
        if batch.n_pictures == 0:
            return self
        average = self.average * (1 - self.step) + batch * (self.step / batch.n_pictures)
        return OnlineStatistics(self.n_batches + 1, average)

    @property
    def total(self) -> TopicStatistics:
        """The average times the number of pictures seen."""
        return self.average * self.average.n_pictures

    def packed(self) -> dict[str, Any]:
        """As a dict of numbers and arrays, which a model folder can hold."""
        return {"n_batches": self.n_batches} | {f.name: getattr(self.average, f.name) for f in fields(TopicStatistics)}

    @classmethod
    def unpacked(cls, packed: dict[str, Any]) -> OnlineStatistics:
        """The inverse of :meth:`packed`."""
        return cls(packed["n_batches"], TopicStatistics(**{f.name: packed[f.name] for f in fields(TopicStatistics)}))


def normalised(counts: Array, smoothing: float) -> Array:
    """Rows of ``counts`` plus ``smoothing``, scaled to sum to one: the best topics for the expected counts.

    They maximise sum(counts * log(topics)) + smoothing * sum(log(topics)).
    """
    smoothed = np.ascontiguousarray(counts + smoothing)
    return smoothed / smoothed.sum(axis=1, keepdims=True)
