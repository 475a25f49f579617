"""Joint equal contribution: the tags of the nearest picture, filled up from the next."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from visterm.contracts import Features, Scores
from visterm.errors import InputError
from visterm.neighbours.several import Lookalikes


class JEC(Lookalikes):
    """Joint equal contribution with greedy label transfer (Makadia, Pavlovic and Kumar, ECCV 2008).

    The distance is the sum of the features' base distances, each brought to the same scale. All tags of the nearest
    picture come first, the more frequent in training before the rarer; then those of the other ``n_neighbors - 1``,
    by how often they occur there times how often they occur in training together with the tags of the first.
    Scores keep this order: 1 to 1/2 for the first picture's tags, below 1/2 for the others; they are no probabilities.

    >>> X = {"colour": np.array([[0.0], [1.0], [9.0]]), "texture": np.array([[0.0], [2.0], [7.0]])}
    >>> jec = JEC(n_neighbors=2, metric="l1").fit(X, [[1, 0, 0], [1, 1, 0], [0, 0, 1]])
    >>> jec.score_tags({"colour": np.array([[0.1]]), "texture": np.array([[0.1]])}).argsort()[0, ::-1].tolist()[:2]
    [0, 1]
    """

    scores_are_probabilities = False

    def __init__(self, n_neighbors: int = 5, *, metric: Any = "auto") -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric

    def fit(self, X: Features, tags: Any) -> Self:
        """Keep the tagged pictures and count which tags go together."""
        if self.n_neighbors < 1:
            raise InputError(f"n_neighbors must be at least 1, not {self.n_neighbors!r}")
        self._keep(X, tags)
        self.together_ = np.asarray((self.train_tags_.T @ self.train_tags_).toarray(), np.float32)
        return self

    def score_tags(self, X: Features) -> Scores:
        """The order of greedy transfer as scores between 0 and 1."""
        neighbours, _ = self._neighbours(X)
        scores = np.zeros((len(neighbours), len(self.tag_counts_)))
        most = self.tag_counts_.max()
        for picture, rows in enumerate(neighbours):
            first = self.train_tags_[rows[:1]].indices
            near = np.asarray(self.train_tags_[rows[1:]].sum(axis=0), np.float64).ravel()
            known = self.together_[first].sum(axis=0, dtype=np.float64)
            local = (near / max(1.0, near.sum())) * (known / max(1.0, known.sum()))
            scores[picture] = 0.5 * local / max(local.max(), 1e-300) * (1 - 1e-9)
            scores[picture, first] = 0.5 + 0.5 * self.tag_counts_[first] / most
        return scores

    def neighbours_of(self, X: Features) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """The rows of the training pictures that tags were taken from, nearest first, each of the same weight."""
        neighbours, _ = self._neighbours(X)
        return self.train_rows_[neighbours], np.full(neighbours.shape, 1 / max(1, neighbours.shape[1]))

    def _neighbours(self, X: Features) -> tuple[NDArray[np.intp], NDArray[Any]]:
        return self._nearest(self._check(X), self.n_neighbors, np.full(self._n_features, 1 / self._n_features))
