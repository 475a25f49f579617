"""Class and tags from the most similar training pictures."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import ClassifierMixin

from visterm.contracts import UNKNOWN_CLASS, Features, Scores, check_classes, check_features, check_tags
from visterm.contracts.estimator import Estimator
from visterm.errors import InputError
from visterm.neighbours.choosing import choose_neighbours
from visterm.neighbours.distances import metric_named, nearest


class KnnClassifier(ClassifierMixin, Estimator):
    """The class most frequent among the ``n_neighbors`` nearest training pictures.

    Ties go to the rarer class, as Nakayama et al. do for tags. Metrics are those of :mod:`visterm.distances.named`.
    Pictures of unknown class (-1) are not neighbours.

    >>> KnnClassifier(n_neighbors=1).fit([[0.0], [1.0]], [3, 8]).predict([[0.2]])
    array([3])
    """

    def __init__(self, n_neighbors: int = 16, *, metric: str = "euclidean") -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric

    def fit(self, X: Features, y: ArrayLike) -> Self:
        """Keep the pictures whose class is known."""
        _check_parameters(self.n_neighbors, self.metric)
        X = check_features(self, X, fitting=True, non_negative=metric_named(self.metric).needs_counts)
        y = check_classes(y, X.shape[0])
        known = np.flatnonzero(y != UNKNOWN_CLASS) if y.dtype.kind in "if" else np.arange(len(y))
        if not len(known):
            raise InputError("no picture has a class: at least one is needed to learn from")
        self.classes_, self.train_classes_, self.class_counts_ = np.unique(
            y[known], return_inverse=True, return_counts=True
        )
        self.train_features_ = X[known]
        return self

    def predict_proba(self, X: Features) -> Scores:
        """The share of each class among the neighbours."""
        X = check_features(self, X, fitting=False)
        neighbours, _ = nearest(X, self.train_features_, self.n_neighbors, metric=self.metric)
        votes = np.zeros((len(neighbours), len(self.classes_)))
        np.add.at(votes, (np.arange(len(neighbours))[:, None], self.train_classes_[neighbours]), 1)
        return votes / max(1, neighbours.shape[1])

    def predict(self, X: Features) -> NDArray[Any]:
        """The class of most neighbours."""
        shares = self.predict_proba(X)
        rarest_first = np.argsort(self.class_counts_, kind="stable")
        return self.classes_[rarest_first[np.argmax(shares[:, rarest_first], axis=1)]]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = metric_named(self.metric).needs_counts
        return tags


class KnnAnnotator(Estimator):
    """The tags most frequent among the ``n_neighbors`` nearest tagged training pictures.

    Scores are the share of neighbours that carry the tag; where a list is made of them, ties go to the rarer tag
    (Nakayama et al. 2010). Rows without tags are not neighbours. ``n_neighbors="auto"`` takes the number that tags
    training pictures best when their own tags are covered up.

    With ``shrinkage`` s the score is ``(votes + s * share) / (n_neighbors + s)``, ``share`` being how much of the
    collection carries the tag, counted with half a picture more: tags that no neighbour carries keep the small
    probability that their frequency gives them, rare and never seen ones too, as sums of logarithms need.

    >>> KnnAnnotator(n_neighbors=2).fit([[0.0], [1.0], [9.0]], [[1, 0], [1, 1], [0, 1]]).score_tags([[0.2]])
    array([[1. , 0.5]])
    """

    scores_are_probabilities = True

    def __init__(self, n_neighbors: Any = 16, *, metric: str = "euclidean", shrinkage: float = 0.0) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.shrinkage = shrinkage

    def fit(self, X: Features, tags: Any) -> Self:
        """Keep the tagged pictures."""
        _check_parameters(1 if self.n_neighbors == "auto" else self.n_neighbors, self.metric)
        if not self.shrinkage >= 0:
            raise InputError(f"shrinkage must not be negative, but is {self.shrinkage!r}")
        X = check_features(self, X, fitting=True, non_negative=metric_named(self.metric).needs_counts)
        tags = check_tags(tags, X.shape[0])
        tagged = np.flatnonzero(np.diff(tags.indptr))
        if not len(tagged):
            raise InputError("no picture has a tag: at least one is needed to learn from")
        self.train_rows_ = tagged
        self.train_features_ = X[tagged]
        self.train_tags_ = tags[tagged]
        self.tag_counts_ = np.bincount(tags.indices, minlength=tags.shape[1])
        if self.n_neighbors == "auto":
            self.n_neighbors_ = choose_neighbours(self.train_features_, self.train_tags_, self.metric)
        else:
            self.n_neighbors_ = int(self.n_neighbors)
        return self

    def score_tags(self, X: Features) -> Scores:
        """The share of neighbours that carry each tag."""
        neighbours = self._neighbours(X)
        n_pictures, k = neighbours.shape
        votes = sparse.csr_array(
            (np.ones(neighbours.size), neighbours.ravel(), np.arange(0, neighbours.size + 1, k)),
            shape=(n_pictures, self.train_tags_.shape[0]),
        )
        return self._shrunk((votes @ self.train_tags_).toarray(), k)

    def neighbours_of(self, X: Features) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """The rows of the training pictures that vote, nearest first, and the weight of each."""
        neighbours = self._neighbours(X)
        return self.train_rows_[neighbours], np.full(neighbours.shape, 1 / max(1, neighbours.shape[1]))

    def _neighbours(self, X: Features) -> NDArray[np.intp]:
        X = check_features(self, X, fitting=False)
        return nearest(X, self.train_features_, self.n_neighbors_, metric=self.metric)[0]

    def _shrunk(self, votes: NDArray[Any], k: int) -> Scores:
        if not self.shrinkage:
            return votes / k
        shares = (self.tag_counts_ + 0.5) / (len(self.train_rows_) + 1)
        return (votes + self.shrinkage * shares) / (k + self.shrinkage)


def _check_parameters(n_neighbors: Any, metric: str) -> None:
    if not isinstance(n_neighbors, Integral) or n_neighbors < 1:
        raise InputError(f"n_neighbors must be a whole number of at least 1, not {n_neighbors!r}")
    metric_named(metric)
