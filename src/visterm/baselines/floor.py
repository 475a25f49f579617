"""The honest floor: what is reached without looking at the pictures."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from visterm.contracts import (
    UNKNOWN_CLASS,
    Features,
    Matrix,
    Scores,
    check_classes,
    check_features,
    check_tags,
    is_several,
)
from visterm.contracts.estimator import Estimator
from visterm.errors import InputError


class MajorityClass(ClassifierMixin, Estimator):
    """Every picture belongs to the most frequent class.

    ``predict_proba`` is the class frequency in training, the best a method can say that has not seen the picture.

    >>> MajorityClass().fit([[0.0], [0.0], [0.0]], [4, 7, 7]).predict([[1.0]])
    array([7])
    """

    def fit(self, X: Features, y: ArrayLike) -> Self:
        """Count the classes; pictures of unknown class (-1) are left out."""
        X = check_features(self, _any_feature(X), fitting=True)
        y = check_classes(y, X.shape[0])
        known = y[y != UNKNOWN_CLASS] if y.dtype.kind in "if" else y
        if not len(known):
            raise InputError("no picture has a class: at least one is needed to learn from")
        self.classes_, counts = np.unique(known, return_counts=True)
        self.class_frequency_ = counts / counts.sum()
        return self

    def predict_proba(self, X: Features) -> Scores:
        """The class frequencies, the same for every picture."""
        X = check_features(self, _any_feature(X), fitting=False)
        return np.tile(self.class_frequency_, (X.shape[0], 1))

    def predict(self, X: Features) -> NDArray[Any]:
        """The most frequent class (the first of several equally frequent ones)."""
        frequencies = self.predict_proba(X)
        return self.classes_[np.argmax(frequencies, axis=1)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


class TagFrequency(Estimator):
    """Every picture gets the tags used most: the empirical frequency, the first baseline of Shao et al.

    The frequency is the share of *tagged* training pictures that carry the tag; rows without tags are not counted.

    >>> TagFrequency().fit([[0.0], [0.0], [0.0]], [[1, 0], [1, 1], [0, 0]]).score_tags([[5.0]])
    array([[1. , 0.5]])
    """

    scores_are_probabilities = True

    def fit(self, X: Features, tags: Any) -> Self:
        """Count the tags of the tagged pictures."""
        X = check_features(self, _any_feature(X), fitting=True)
        tags = check_tags(tags, X.shape[0])
        n_tagged = int((np.diff(tags.indptr) > 0).sum())
        if not n_tagged:
            raise InputError("no picture has a tag: at least one is needed to learn from")
        self.tag_counts_ = np.bincount(tags.indices, minlength=tags.shape[1])
        self.tag_frequency_ = self.tag_counts_ / n_tagged
        return self

    def score_tags(self, X: Features) -> Scores:
        """The tag frequencies, the same for every picture."""
        X = check_features(self, _any_feature(X), fitting=False)
        return np.tile(self.tag_frequency_, (X.shape[0], 1))


def _any_feature(X: Features) -> Matrix:
    """One matrix, whichever: only its number of rows is looked at."""
    return next(iter(X.values())) if is_several(X) else X
