"""What the margin methods share: training pictures as the solver wants them, and the functions learned from them.

A learned function is an expansion over training pictures, ``f_t(x) = sum_i theta_ti (k(x, x_i) + s^2)``, where ``s`` is
the constant feature that carries the intercept. Where the kernel has explicit features it is folded into weights, and
no training picture is kept; otherwise only the pictures with a coefficient are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.contracts import Features, Matrix, Scores, check_features
from visterm.contracts.estimator import Estimator
from visterm.errors import InputError
from visterm.margin import kernels
from visterm.margin.solver import FeaturePictures, GramPictures

Array = NDArray[Any]
TrainingPictures = GramPictures | FeaturePictures

#: Up to this many training pictures are computed with in double precision, more in single.
DOUBLE_PRECISION_ROWS = 2048
#: Coefficients below this share of their task's largest are rounding, not support.
_NO_SUPPORT = 1e-7


class ExpansionEstimator(Estimator):
    """An estimator with the parameters ``kernel`` and ``intercept_scaling`` that learns expansions over pictures.

    Fitted: ``coef_`` (n_tasks, n_dims) and ``intercept_`` where the kernel has explicit features; else ``dual_coef_``
    (n_tasks, n_support), ``intercept_``, ``support_`` (rows) and, unless it is precomputed, ``support_vectors_``.
    """

    kernel: str
    intercept_scaling: float

    def _check_fit_features(self, X: Features) -> Matrix:
        """``X`` checked for fitting, together with the parameters."""
        kernels.kernel_named(self.kernel)
        if not 0.0 <= self.intercept_scaling < np.inf:
            raise InputError(f"intercept_scaling must be 0 (no intercept) or positive, not {self.intercept_scaling}")
        checked = check_features(self, X, fitting=True)
        return kernels.check_square(checked) if self.kernel == "precomputed" else checked

    def _forget(self, *names: str) -> None:
        """Drop fitted attributes that the next fit may not set."""
        for name in names:
            if hasattr(self, name):
                delattr(self, name)

    def _training_pictures(self, X: Matrix, rows: Array) -> TrainingPictures:
        """The given rows of checked features, as the solver wants them."""
        shift = float(self.intercept_scaling) ** 2
        dtype = np.float64 if len(rows) <= DOUBLE_PRECISION_ROWS else np.float32
        if self.kernel == "precomputed":
            G = X if len(rows) == len(X) else np.ascontiguousarray(X[np.ix_(rows, rows)])
            return GramPictures(G.astype(dtype, copy=False), shift)
        X = X if len(rows) == X.shape[0] else X[rows]
        if self.kernel in kernels.EXPLICIT and X.shape[1] < X.shape[0]:
            mapped = kernels.feature_map(X, self.kernel, dtype)
            return FeaturePictures(
                np.ascontiguousarray(mapped if isinstance(mapped, np.ndarray) else mapped.toarray()), shift
            )
        return GramPictures(kernels.gram(X, kernel=self.kernel, dtype=dtype), shift)

    def _keep(self, X: Matrix, rows: Array, theta: Array) -> None:
        """Keep the functions with coefficients ``theta`` (n_tasks, len(rows)) over the given rows."""
        self._forget("coef_", "dual_coef_", "support_", "support_vectors_")
        self.intercept_ = float(self.intercept_scaling) ** 2 * theta.sum(axis=1, dtype=np.float64)
        if self.kernel in kernels.EXPLICIT:
            self.coef_ = _folded(X, rows, theta, self.kernel)
            return
        size = np.abs(theta)
        is_support = (size > _NO_SUPPORT * size.max(axis=1, keepdims=True, initial=0.0)).any(axis=0)
        self.support_ = rows[is_support]
        self.dual_coef_ = np.ascontiguousarray(theta[:, is_support])
        if self.kernel != "precomputed":
            self.support_vectors_ = X[self.support_]

    def _task_scores(self, X: Features) -> Scores:
        """(n_pictures, n_tasks): the learned functions at new pictures."""
        X = check_features(self, X, fitting=False)
        if self.kernel in kernels.EXPLICIT:
            scores = kernels.feature_map(X, self.kernel, self.coef_.dtype) @ self.coef_.T
        elif self.kernel == "precomputed":
            scores = X[:, self.support_] @ self.dual_coef_.T
        else:
            scores = (
                kernels.gram(X, self.support_vectors_, kernel=self.kernel, dtype=self.dual_coef_.dtype)
                @ self.dual_coef_.T
            )
        return np.asarray(scores) + self.intercept_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def subset(pictures: TrainingPictures, rows: Array) -> TrainingPictures:
    """Some of the training pictures, on their own."""
    if isinstance(pictures, GramPictures):
        return GramPictures(np.ascontiguousarray(pictures.G[np.ix_(rows, rows)]), pictures.shift)
    return FeaturePictures(pictures.X[rows], pictures.shift)


def held_out_scores(pictures: TrainingPictures, train: Array, theta: Array, held_out: Array) -> Array:
    """(n_tasks, len(held_out)): functions learned from the rows ``train``, at other rows of the same pictures."""
    shift = pictures.shift * theta.sum(axis=1, keepdims=True)
    if isinstance(pictures, GramPictures):
        return theta @ pictures.G[np.ix_(train, held_out)] + shift
    return (theta @ pictures.X[train]) @ pictures.X[held_out].T + shift


def folds(groups: Array, n_folds: int, rng: np.random.Generator) -> list[Array]:
    """The rows of each fold; pictures are dealt out group by group, so each fold has its share of every group.

    >>> [fold.tolist() for fold in folds(np.array([0, 0, 1, 1]), 2, np.random.default_rng(0))]
    [[0, 2], [1, 3]]
    """
    shuffled = rng.permutation(len(groups))
    dealt = shuffled[np.argsort(groups[shuffled], kind="stable")]
    return [np.sort(dealt[fold::n_folds]) for fold in range(min(n_folds, len(groups)))]


def _folded(X: Matrix, rows: Array, theta: Array, kernel: str) -> Array:
    """The weights (n_tasks, n_dims) of an expansion with explicit features, a block of pictures at a time."""
    weights = np.zeros((len(theta), X.shape[1]), theta.dtype)
    size = max(1, kernels.BLOCK_BYTES // (X.shape[1] * X.dtype.itemsize))
    for start in range(0, len(rows), size):
        part = slice(start, start + size)
        mapped = kernels.feature_map(X[rows[part]], kernel, theta.dtype)
        weights += (mapped.T @ theta[:, part].T).T if sparse.issparse(mapped) else theta[:, part] @ mapped
    return weights
