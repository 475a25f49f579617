"""Stochastic variational inference (Hoffman, Blei, Wang and Paisley, JMLR 2013): learning batch by batch."""

from dataclasses import dataclass, fields, replace
from typing import Any

from visterm.topics.inference.em import TopicStatistics

#: The weight of a batch is (t + _OFFSET) ** -_DECAY, where t is the number of batches of its size seen before. Under
#: this schedule, stochastic variational inference converges.
_OFFSET, _DECAY = 2.0, 0.6


@dataclass(frozen=True, slots=True, eq=False)
class OnlineStatistics:
    """Stochastic variational inference: the running average of the statistics of batches.

    ``average`` is over pictures; its ``n_pictures`` counts the pictures seen. ``total`` estimates the statistics of the
    whole collection under the current model. ``n_total`` is the size of the collection; 0 if it is not known, then the
    pictures seen are the collection.
    """

    n_batches: int
    average: TopicStatistics
    n_total: int = 0

    @classmethod
    def none(cls, like: TopicStatistics) -> "OnlineStatistics":
        """Before the first batch; arrays have the shapes of ``like``."""
        return cls(0, replace(_times(like, 0.0), n_pictures=0))

    @classmethod
    def of(cls, statistics: TopicStatistics) -> "OnlineStatistics":
        """After one batch, or after a fit to all pictures."""
        return cls.none(statistics).including(statistics)

    def step(self, n_pictures: int) -> float:
        """The weight of a batch of ``n_pictures``; the first one counts in full."""
        seen = self.average.n_pictures
        return (seen / n_pictures + _OFFSET) ** -_DECAY if seen and n_pictures else 1.0

    def including(self, batch: TopicStatistics) -> "OnlineStatistics":
        """The average after one more batch; an empty batch changes nothing."""
        if batch.n_pictures == 0:
            return self
        step = self.step(batch.n_pictures)
        average = _times(self.average, 1 - step) + _times(batch, step / batch.n_pictures)
        return OnlineStatistics(self.n_batches + 1, average, self.n_total)

    @property
    def n_pictures(self) -> int:
        """The size of the collection, as far as it is known."""
        return self.n_total or self.average.n_pictures

    @property
    def total(self) -> TopicStatistics:
        """The average times the size of the collection."""
        return replace(_times(self.average, self.n_pictures), n_pictures=self.n_pictures)

    def packed(self) -> dict[str, Any]:
        """As a dict of numbers and arrays, which a model folder can hold."""
        own = {"n_batches": self.n_batches, "n_total": self.n_total}
        return own | {f.name: getattr(self.average, f.name) for f in fields(TopicStatistics)}

    @classmethod
    def unpacked(cls, packed: dict[str, Any]) -> "OnlineStatistics":
        """The inverse of :meth:`packed`."""
        average = TopicStatistics(**{f.name: packed[f.name] for f in fields(TopicStatistics)})
        return cls(packed["n_batches"], average, packed["n_total"])


def statistics_before(estimator: Any, batch: TopicStatistics, n_total: int | None) -> OnlineStatistics:
    """What ``estimator`` has learned before ``batch``, by ``fit`` or by earlier batches."""
    begun = hasattr(estimator, "topic_codewords_")
    online = OnlineStatistics.unpacked(estimator.online_) if begun else OnlineStatistics.none(batch)
    return replace(online, n_total=n_total) if n_total else online


def _times(sums: TopicStatistics, factor: float) -> TopicStatistics:
    """The sums times ``factor``, as if that many times the pictures had been seen; the number of pictures stays."""
    scaled = {f.name: getattr(sums, f.name) * factor for f in fields(sums) if f.name != "n_pictures"}
    return replace(sums, **scaled)
