"""Bags of visual terms weighed as text retrieval weighs words, and estimators that compare them so."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from visterm.contracts import Features, Matrix, Scores, check_features
from visterm.errors import InputError
from visterm.margin.expansion import ExpansionEstimator
from visterm.ranking.queries import idf


def visterm_idf(X: Matrix) -> NDArray[np.float64]:
    """``-log(share of pictures that have the visterm)`` of every visterm.

    >>> visterm_idf(np.array([[2.0, 1.0], [0.0, 3.0]])).round(3)
    array([0.693, 0. ])
    """
    n_having = np.asarray((X != 0).sum(axis=0)).ravel()
    return idf(n_having, int(X.shape[0]))


def weighed(X: Matrix, weights: NDArray[Any]) -> Matrix:
    """Counts times the idf of each visterm, every picture scaled to length one (Grangier & Bengio 2008, IV-C).

    >>> weighed(np.array([[2.0, 1.0]]), np.array([2.0, 3.0])).round(1)
    array([[0.8, 0.6]])
    """
    if isinstance(X, np.ndarray):
        product = X * weights
        lengths = np.linalg.norm(product, axis=1, keepdims=True)
        return np.divide(product, lengths, out=np.zeros_like(product), where=lengths > 0)
    product = sparse.csr_array(X.multiply(weights))
    lengths = np.sqrt(np.asarray(product.multiply(product).sum(axis=1)).ravel())
    scale = np.divide(1.0, lengths, out=np.zeros(len(lengths)), where=lengths > 0)
    return sparse.csr_array(product.multiply(scale[:, None]))


class VistermExpansion(ExpansionEstimator):
    """An :class:`ExpansionEstimator` that also knows the kernel ``visterm``: weighed counts, compared linearly.

    Fitted for that kernel: ``visterm_idf_``.
    """

    _kernel_of_one_feature = "visterm"

    def _kernel_for(self, X: Features) -> str:
        kernel = super()._kernel_for(X)
        return "linear" if kernel == "visterm" else kernel

    def _check_fit_features(self, X: Features) -> Features:
        self._forget("visterm_idf_")
        checked = super()._check_fit_features(X)
        if super()._kernel_for(X) != "visterm":
            return checked
        counts = cast(Matrix, checked)
        if counts.min() < 0:
            raise InputError(
                f"Negative values in data passed to {type(self).__name__}: visterms are counted; choose kernel='linear'"
            )
        self.visterm_idf_ = visterm_idf(counts)
        return weighed(counts, self.visterm_idf_)

    def _weighed(self, X: Features) -> Features:
        """``X`` as the kernel compares it."""
        check_is_fitted(self, "kernel_")
        if not hasattr(self, "visterm_idf_"):
            return X
        return weighed(check_features(self, X, fitting=False), self.visterm_idf_)

    def _task_scores(self, X: Features) -> Scores:
        return super()._task_scores(self._weighed(X))
