"""Canonical correlations between features and tags."""

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from visterm.compute.eigenvectors import leading, signs
from visterm.contracts import FROM_1, NOT_NEGATIVE, declared
from visterm.subspace.linear.linear_embedding import LinearEmbedding
from visterm.subspace.linear.moments import Moments

#: With fewer pictures than this for every dimension, covariances are too uncertain to be inverted.
PICTURES_PER_DIM = 20
#: Directions with less than this share of the largest variance, ridge included, are left out.
_NOISE = 1e-10

Whitening = Callable[[NDArray[Any]], NDArray[Any]]


@declared
class CCA(LinearEmbedding):
    """The subspace of features most correlated with tags.

    ``C_xy C_yy^{-1} C_yx U_x = C_xx U_x Lambda^2`` with ``U_x^T C_xx U_x = I``; the code is ``U_x^T (x - x_mean)``.
    ``C + ridge * mean(diag C) * I`` replaces ``C``, so that rare tags, constant features and duplicated tags do no
    harm. With fewer than 20 pictures for each dimension of the features, CCA uses only the leading principal
    components: ``reduce_to`` times the number of features (Nakayama et al. 2010 use 200). None always uses all.

    >>> rng = np.random.default_rng(0)
    >>> tags = rng.integers(0, 2, (200, 2))
    >>> X = np.column_stack([tags[:, 0] + 0.1 * rng.standard_normal(200), 100 * rng.standard_normal(200)])
    >>> CCA(1, ridge=1e-6).fit(X, tags).correlations_.round(2)
    array([0.96])
    """

    n_dims: Annotated[int, FROM_1] = 20
    _: KW_ONLY
    ridge: Annotated[float, NOT_NEGATIVE] = 0.1
    reduce_to: Annotated[int | None, FROM_1] = 200
    _fitted_constraints: ClassVar[dict[str, str]] = {
        "correlations_": "n_code",
        "x_components_": "n_features n_code",
        "tag_components_": "n_tags n_code",
        "y_mean_": "n_tags",
    }

    def _solve(self, moments: Moments) -> None:
        x_whitening = self._whitening(moments.C_xx, self._n_kept(moments))
        whiten_tags, unwhiten_tags = self._tag_whitening(moments.C_yy)
        # The singular vectors of the whitened cross-covariance are the canonical directions.
        # mutants: False -> True: only as many singular vectors as there are correlations are used
        left, correlations, right = np.linalg.svd(whiten_tags(moments.C_xy.T @ x_whitening).T, full_matrices=False)
        n_dims = min(self.n_dims, len(correlations))
        x_components, y_components = x_whitening @ left[:, :n_dims], unwhiten_tags(right[:n_dims].T)
        turn = signs(x_components)
        self.correlations_ = np.minimum(correlations[:n_dims], 1.0)  # Lambda
        # mutants: * -> /, * -> / (2): turn is 1 or -1
        self.x_components_, self.tag_components_ = x_components * turn, y_components * turn  # U_x, U_y
        self.y_mean_ = moments.y_mean_
        self.components_ = self.x_components_

    def _undo(self, scales: NDArray[np.float64]) -> None:
        super()._undo(scales)
        self.x_components_ = self.x_components_ * scales[:, None]

    def _n_kept(self, moments: Moments) -> int:
        width = len(moments.x_mean_)
        if self.reduce_to is None or moments.n_pictures_ >= PICTURES_PER_DIM * width:
            return width
        return min(width, self.reduce_to * len(moments.feature_widths_))

    def _tag_whitening(self, covariance: NDArray[Any]) -> tuple[Whitening, Whitening]:
        """``A -> P^T A`` and ``A -> P A`` for some ``P`` with ``P^T (C + ridge) P = I``.

        With a ridge that leaves out no direction, ``P`` comes from a Cholesky factor: with thousands of tags,
        eigenvectors would cost about fifty times as much.
        """
        ridge = self.ridge * np.trace(covariance) / len(covariance)
        # mutants: 0 -> 1: with any ridge, Cholesky factors and eigenvectors whiten the same
        if not (ridge > 0 and self.ridge > _NOISE * len(covariance)):
            P = self._whitening(covariance, len(covariance))
            return lambda A: P.T @ A, lambda A: P @ A
        return cholesky_whitening(covariance, ridge)

    def _whitening(self, covariance: NDArray[Any], n_kept: int) -> NDArray[Any]:
        """``P`` with ``P^T (C + ridge) P = I`` on the leading directions of ``C`` that vary."""
        values, vectors = leading(covariance, n_kept)
        values = values + self.ridge * np.trace(covariance) / len(covariance)
        known = values > max(values.max() * _NOISE, np.finfo(float).tiny)
        if not known.any():
            return np.zeros((len(covariance), 1))  # nothing varies: every picture has the same code
        return vectors[:, known] / np.sqrt(values[known])


def cholesky_whitening(covariance: NDArray[Any], ridge: float) -> tuple[Whitening, Whitening]:
    """``A -> P^T A`` and ``A -> P A`` for some ``P`` with ``P^T (C + ridge I) P = I``; uses the memory of ``C``."""
    covariance[np.diag_indices_from(covariance)] += ridge
    # The transpose is the same matrix, stored by columns, as LAPACK needs it to work in place.
    factor = cholesky(covariance.T, lower=True, overwrite_a=True, check_finite=False)
    return (
        lambda A: solve_triangular(factor, A, lower=True, check_finite=False),
        lambda A: solve_triangular(factor, A, lower=True, trans="T", check_finite=False),
    )
