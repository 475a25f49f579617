"""The class of the most similar training pictures."""

from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import ClassifierMixin

from visterm.contracts import Features, Scores, check_classes, check_features, rows_with_class, take
from visterm.contracts.estimator import FROM_1, Estimator, StrOptions, declared
from visterm.distances import METRICS, metric_named, nearest
from visterm.neighbours.voting.votes import count_votes


@declared
class KnnClassifier(ClassifierMixin, Estimator):
    """Predicts the most frequent class among the ``n_neighbors`` nearest training pictures.

    Ties go to the rarer class, as Nakayama et al. do for tags. Metrics are those of :mod:`visterm.distances.metrics`.
    Pictures of unknown class (-1) are not neighbours.

    >>> KnnClassifier(n_neighbors=1).fit([[0.0], [1.0]], [3, 8]).predict([[0.2]])
    array([3])
    """

    n_neighbors: Annotated[int, FROM_1] = 16
    _: KW_ONLY
    metric: Annotated[str, StrOptions(set(METRICS))] = "euclidean"
    _fitted_constraints: ClassVar[dict[str, str]] = {
        "classes_": "n_classes",
        "class_counts_": "n_classes >=0",
        "train_classes_": "n_train <n_classes",
        "train_features_": "n_train n_features",
    }

    def fit(self, X: Features, y: ArrayLike) -> Self:
        """Keep the pictures whose class is known."""
        self._validate_params()
        X = check_features(self, X, fitting=True, non_negative=metric_named(self.metric).needs_counts, halves=True)
        y = check_classes(y, X.shape[0])
        known = rows_with_class(y)
        self.classes_, self.train_classes_, self.class_counts_ = np.unique(
            y[known], return_inverse=True, return_counts=True
        )
        self.train_features_ = take(X, known)
        return self

    def predict_proba(self, X: Features) -> Scores:
        """The share of each class among the neighbours."""
        X = check_features(self, X, fitting=False, halves=True)
        neighbours, _ = nearest(X, self.train_features_, self.n_neighbors, metric=self.metric)
        n_train = len(self.train_classes_)
        classes = sparse.csr_array(
            (np.ones(n_train), self.train_classes_, np.arange(n_train + 1)), shape=(n_train, len(self.classes_))
        )
        return count_votes(neighbours, classes) / neighbours.shape[1]

    def predict(self, X: Features) -> NDArray[Any]:
        """The class of most neighbours."""
        shares = self.predict_proba(X)
        rarest_first = np.argsort(self.class_counts_, kind="stable")
        return self.classes_[rarest_first[np.argmax(shares[:, rarest_first], axis=1)]]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = metric_named(self.metric).needs_counts
        return tags
