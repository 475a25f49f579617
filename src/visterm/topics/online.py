"""Stochastic EM: a running average of the statistics of batches."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from visterm.topics.statistics import TopicStatistics

#: The weight of batch number t (from 0) is (t + _OFFSET) ** -_DECAY, a schedule under which stochastic EM converges.
_OFFSET, _DECAY = 2.0, 0.6


@dataclass(frozen=True, slots=True, eq=False)
class OnlineStatistics:
    """The statistics of a typical batch, brought to the number of pictures seen.

    ``average`` is over pictures; ``total`` are the statistics that all pictures seen would have under today's model.
    """

    n_batches: int
    average: TopicStatistics

    @classmethod
    def none(cls, n_topics: int, n_codewords: int, n_tags: int) -> OnlineStatistics:
        """Before the first batch."""
        zeros = np.zeros
        sums = TopicStatistics(0, 0.0, zeros((n_topics, n_codewords)), zeros(n_topics), zeros((n_topics, n_tags)))
        return cls(0, sums)

    @property
    def step(self) -> float:
        """The weight of the next batch; the first one counts in full."""
        return 1.0 if self.n_batches == 0 else (self.n_batches + _OFFSET) ** -_DECAY

    def including(self, batch: TopicStatistics) -> OnlineStatistics:
        """The average after one more batch; an empty one changes nothing."""
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
