"""The baseline for classifiers: the most frequent class, without looking at the picture."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from visterm.contracts import Estimator, Features, Scores, check_classes, check_features, rows_with_class
from visterm.neighbours.voting.tagged_pictures import any_feature


class MajorityClass(ClassifierMixin, Estimator):
    """Predicts the most frequent class for every picture.

    ``predict_proba`` is the class frequency in training: the best answer of a method that does not look at the picture.

    >>> MajorityClass().fit([[0.0], [0.0], [0.0]], [4, 7, 7]).predict([[1.0]])
    array([7])
    """

    _fitted_constraints: ClassVar[dict[str, str]] = {"classes_": "n_classes", "class_frequency_": "n_classes >=0"}

    def fit(self, X: Features, y: ArrayLike) -> Self:
        """Count the classes; pictures of unknown class (-1) are left out."""
        X = check_features(self, any_feature(X), fitting=True, halves=True)
        y = check_classes(y, X.shape[0])
        self.classes_, counts = np.unique(y[rows_with_class(y)], return_counts=True)
        self.class_frequency_ = counts / counts.sum()
        return self

    def predict_proba(self, X: Features) -> Scores:
        """The class frequencies, the same for every picture."""
        X = check_features(self, any_feature(X), fitting=False, halves=True)
        return np.tile(self.class_frequency_, (X.shape[0], 1))

    def predict(self, X: Features) -> NDArray[Any]:
        """The most frequent class (the first of several equally frequent ones)."""
        frequencies = self.predict_proba(X)
        return self.classes_[np.argmax(frequencies, axis=1)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
