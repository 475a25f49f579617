"""How a model's answers are read: as probabilities, in today's names, with thresholds and what people denied.

This is the one place that reads a model's probabilities for a person; ``scores.py`` makes them. ``tag``, ``classify``,
lists, facets, review and search read it, so that each question has one answer.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from visterm.catalogue.labels import Kind
from visterm.collection.naming import CurrentNames
from visterm.collection.scores import class_probabilities, relevance_of, tag_log_probabilities
from visterm.models import Model, checked_scores, using

if TYPE_CHECKING:
    from visterm.calibration import Relevance
    from visterm.collection.moment import Frame
    from visterm.contracts import Features

Floats = NDArray[np.floating[Any]]
#: Probabilities are stored in half precision: so little may be missing to 1.
_ROUNDING = 0.01


class _Judge:
    """Reads what ``model`` says. Without a ``frame``, outside of a collection, its names are its own."""

    kind: ClassVar[Kind]

    def __init__(self, model: Model, frame: Frame | None) -> None:
        self.model = model
        names = model.info.classes if self.kind == "class" else model.info.tags
        self._current = CurrentNames.of(frame, self.kind, names)

    @property
    def names(self) -> list[str]:
        """The classes or tags as they are called now, each once; dropped ones are left out."""
        return self._current.names


class TagJudge(_Judge):
    """Reads what a model says of tags."""

    kind = "tag"

    @cached_property
    def counts(self) -> NDArray[np.float64]:
        """The number of training pictures of each tag, by which ties are broken."""
        return np.asarray(self._current.summed(np.asarray(self.model.info.tag_counts, np.float64)))

    def thresholds(self, precision: float) -> Floats:
        """From which probability on each tag is suggested, so that a share of ``precision`` of suggestions is right.

        Merged tags have the lowest threshold of their parts. A model that was never measured promises what it says.
        """
        with using(self.model):
            return self._current.lowest(self._likely.thresholds(precision))

    def probabilities(self, log_p: Floats) -> Floats:
        """(n_pictures, n_names) probabilities from those of the model's own names; merged tags have the largest."""
        return self._current.largest(np.exp(log_p)) if log_p.size else np.zeros((len(log_p), len(self.names)))

    def rare_order(self, log_p: Floats, X: Features) -> Floats:
        """(n_pictures, n_names) scores that put tags first that stand out more than they usually do."""
        from visterm.contracts import rare_order, unseen

        log_odds = log_p - np.log(-np.expm1(np.minimum(log_p, -1e-7)))
        with using(self.model):
            return self._current.largest(rare_order(unseen(self.model.estimator), X, self._likely.lifts(log_odds)))

    def look(self, X: Features, n_pictures: int) -> Floats:
        """Log-probabilities of the model's own names for pictures that are in no index."""
        with using(self.model):
            found: Floats = checked_scores(tag_log_probabilities(self.model)(X), n_pictures, len(self.model.info.tags))
        return found

    @cached_property
    def _likely(self) -> Relevance:
        return relevance_of(self.model, np.zeros((1, len(self.model.info.tags))))


class ClassJudge(_Judge):
    """Reads what a model says of classes."""

    kind = "class"

    def probabilities(self, log_p: Floats) -> Floats:
        """(n_pictures, n_names) probabilities from those of the model's own names; merged classes add up."""
        return self._current.summed(np.exp(log_p)) if log_p.size else np.zeros((len(log_p), len(self.names)))

    def look(self, X: Features, n_pictures: int) -> Floats:
        """Log-probabilities of the model's own names for pictures that are in no index."""
        with using(self.model), np.errstate(divide="ignore"):
            p = checked_scores(class_probabilities(self.model, X), n_pictures, len(self.model.info.classes))
            found: Floats = np.log(p)
        return found


def none_of(p: Floats) -> Floats:
    """The probability that pictures belong to none of the classes: what the probabilities of these lack to 1.

    >>> none_of(np.array([[0.2, 0.3], [0.6, 0.3999]])).round(2).tolist()
    [0.5, 0.0]
    """
    rest = 1 - p.sum(axis=1)
    return np.asarray(np.where(rest < _ROUNDING, 0.0, rest))
