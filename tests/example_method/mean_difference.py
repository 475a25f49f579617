"""Tags by the difference between the mean picture with a tag and the mean picture without it."""

from typing import Annotated, Any, ClassVar, Self

import numpy as np

from visterm.contracts import AnnotatorMixin, Features, Scores, check_features, check_tags, rows_with_tags
from visterm.contracts.estimator import NOT_NEGATIVE, Estimator, declared


@declared
class MeanDifference(AnnotatorMixin, Estimator):
    """Scores a tag by ``<m+ - m-, x>``, where ``m+`` and ``m-`` are the mean pictures with and without it.

    ``shrinkage`` counts this many further pictures of each kind that lie at the mean of all. Rocchio, 1971.

    >>> MeanDifference().fit([[1.0, 0.0], [0.0, 1.0]], [[1, 0], [0, 1]]).score_tags([[2.0, 0.0]])
    array([[ 1., -1.]])
    """

    shrinkage: Annotated[float, NOT_NEGATIVE] = 1.0
    _fitted_constraints: ClassVar[dict[str, str]] = {"mean_": "n_features", "directions_": "n_features n_tags"}

    def fit(self, X: Features, tags: Any) -> Self:
        """Learn from the tagged pictures."""
        self._validate_params()
        X = check_features(self, X, fitting=True)
        tags = check_tags(tags, X.shape[0])
        rows = rows_with_tags(tags)
        self._count_tags(tags)
        pictures, counts = X[rows].astype(np.float64), self.tag_counts_
        self.mean_ = np.asarray(pictures.mean(axis=0)).ravel()
        sums = np.asarray(pictures.T @ tags[rows].toarray()) - np.outer(self.mean_, counts)
        # m+ - mean is sums / n+; over the pictures without the tag, the sums are the opposite.
        self.directions_ = sums / (counts + self.shrinkage) + sums / (len(rows) - counts + self.shrinkage)
        return self

    def score_tags(self, X: Features) -> Scores:
        """(n_pictures, n_tags), larger is better."""
        X = check_features(self, X, fitting=False)
        return np.asarray(X @ self.directions_ - self.mean_ @ self.directions_)
