"""The nearest class mean, where the pictures without a class help to find the means."""

from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import ClassifierMixin

from visterm.compute.rows import unit
from visterm.contracts import Features, Scores, check_classes, check_feature_mapping, rows_with_class
from visterm.contracts.estimator import FROM_0, FROM_1, POSITIVE, Estimator, declared
from visterm.subspace import Directions


@declared
class Prototypes(ClassifierMixin, Estimator):
    """Classifies by the most similar class mean; for classes with one picture or a few.

    Pictures are rows z of unit length in the leading directions of all pictures. The prototype of class k is first the
    mean ``m_k`` of its n_k pictures. Then, ``n_rounds`` times, the pictures without a class say where its others are:

        p_ik = softmax_k(sharpness <z_i, m_k>),    m_k <- (n_k m_k + trust sum_i p_ik^2 z_i) / (n_k + trust)

    with both terms of unit length. So the means of few pictures move far, those of many hardly.

    This is the rectification of prototypes of Liu et al. (ECCV 2020), repeated.

    >>> X = [[2.0, 0.1], [1.9, -0.2], [-2.0, 0.2], [-1.8, 0.0]]
    >>> Prototypes().fit(X, ["sea", None, "wood", None]).predict(X).tolist()
    ['sea', 'sea', 'wood', 'wood']
    """

    learns_from_untagged = True

    sharpness: Annotated[float, POSITIVE] = 20.0
    _: KW_ONLY
    trust: Annotated[float, POSITIVE] = 5.0
    n_rounds: Annotated[int, FROM_0] = 3
    n_dims: Annotated[int, FROM_1] = 256
    _fitted_constraints: ClassVar[dict[str, str]] = {"classes_": "n_classes", "prototypes_": "n_classes n_dims"}

    def fit(self, X: Features, y: ArrayLike) -> Self:
        """Find the means, with the help of the pictures of unknown class (-1)."""
        self._validate_params()
        several = check_feature_mapping(self, X, fitting=True)
        self.directions_ = Directions.of(several, self.n_dims)
        Z = self.directions_.transform(X)
        y = check_classes(y, len(Z))
        known = rows_with_class(y)
        self.classes_, codes = np.unique(y[known], return_inverse=True)
        n = np.bincount(codes)[:, np.newaxis]
        own = np.stack([Z[known[codes == k]].mean(axis=0) for k in range(len(self.classes_))])
        own = self.prototypes_ = unit(own)
        others = np.delete(Z, known, axis=0)
        for _ in range(self.n_rounds if len(others) else 0):
            weights = softmax(self.sharpness * others @ self.prototypes_.T, axis=1) ** 2
            self.prototypes_ = unit(n * own + self.trust * unit(weights.T @ others))
        return self

    def decision_function(self, X: Features) -> Scores:
        """(n_pictures, n_classes) cosines; of two classes, how much nearer the second is."""
        cosines = self._cosines(X)
        return cosines[:, 1] - cosines[:, 0] if cosines.shape[1] == 2 else cosines

    def predict_proba(self, X: Features) -> Scores:
        """(n_pictures, n_classes) shares; they are not calibrated."""
        return np.asarray(softmax(self.sharpness * self._cosines(X), axis=1))

    def predict(self, X: Features) -> NDArray[Any]:
        """The class of the most similar mean."""
        best = self._cosines(X).argmax(axis=1)
        return self.classes_[best]

    def _cosines(self, X: Features) -> Scores:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        return np.asarray(self.directions_.transform(X) @ self.prototypes_.T, np.float64)
