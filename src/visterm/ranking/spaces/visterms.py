"""Bags of visterms, weighed like words in text retrieval, and estimators that compare them."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.contracts import Features, Matrix, Scores, check_features, in_single
from visterm.errors import InputError
from visterm.margin.functions.expansion import ExpansionEstimator
from visterm.ranking.queries import idf


def visterm_idf(X: Matrix) -> NDArray[np.float64]:
    """``-log(share of pictures that have the visterm)`` of every visterm.

    >>> visterm_idf(np.array([[2.0, 1.0], [0.0, 3.0]])).round(3)
    array([0.693, 0. ])
    """
    n_having = np.asarray((X != 0).sum(axis=0)).ravel()
    return idf(n_having, int(X.shape[0]))


def damped(X: Matrix) -> Matrix:
    """``1 + log`` of counts of one and more: a visterm that occurs ten times does not mean ten times as much.

    >>> damped(np.array([[0.0, 0.5, 1.0, 10.0]])).round(2)
    array([[0. , 0.5, 1. , 3.3]])
    """

    def of(counts: NDArray[Any]) -> NDArray[Any]:
        return (np.minimum(counts, 1) + np.log(np.maximum(counts, 1))).astype(counts.dtype)

    if isinstance(X, np.ndarray):
        return of(X)
    return sparse.csr_array((of(X.data), X.indices, X.indptr), shape=X.shape)


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


def positive_candidates(name: str, given: Any) -> list[float]:
    """The candidates of a parameter, given as one positive number or several, as a list.

    >>> positive_candidates("C", 1.0)
    [1.0]
    """
    candidates = [float(value) for value in np.atleast_1d(np.asarray(given, np.float64))]
    if not candidates or not all(0.0 < value < np.inf for value in candidates):
        raise InputError(f"{name} must be one positive number or a list of them, not {given}")
    return candidates


#: Kernels of weighed counts, and the function that is applied to the counts before.
VISTERM_KERNELS: dict[str, Callable[[Matrix], Matrix]] = {"visterm": lambda X: X, "log-visterm": damped}


class VistermExpansion(ExpansionEstimator):
    """An :class:`ExpansionEstimator` that also has the kernels ``visterm`` and ``log-visterm``.

    Both are linear kernels of counts weighed by the idf of each visterm; the second one damps the counts first. Fitted
    attributes for these kernels: ``visterm_kernel_`` and ``visterm_idf_``.
    """

    _kernel_of_one_feature = "exp-chi2"

    def _kernel_for(self, X: Features) -> str:
        kernel = super()._kernel_for(X)
        return "linear" if kernel in VISTERM_KERNELS else kernel

    def _check_fit_features(self, X: Features) -> Features:
        self._forget("visterm_idf_", "visterm_kernel_")
        checked = super()._check_fit_features(X)
        kernel = super()._kernel_for(X)
        if kernel not in VISTERM_KERNELS:
            return checked
        counts = in_single(cast(Matrix, checked))
        if counts.min() < 0:
            raise InputError(
                f"Negative values in data passed to {type(self).__name__}: visterms are counts; choose kernel='linear'"
            )
        self.visterm_kernel_, self.visterm_idf_ = kernel, visterm_idf(counts)
        if counts.shape[0] > 1 and not self.visterm_idf_.any():
            raise InputError(
                f"every picture has the same visterms, so the kernel {kernel} cannot tell pictures apart: give"
                " it bags of visterms, or choose kernel='auto' for other features"
            )
        return weighed(VISTERM_KERNELS[kernel](counts), self.visterm_idf_)

    def _weighed(self, X: Features) -> Features:
        """``X`` in the form that the kernel compares."""
        if not hasattr(self, "visterm_idf_"):
            return X
        counts = check_features(self, X, fitting=False)
        return weighed(VISTERM_KERNELS[self.visterm_kernel_](counts), self.visterm_idf_)

    def _task_scores(self, X: Features, tasks: slice = slice(None)) -> Scores:
        return super()._task_scores(self._weighed(X), tasks)
