"""Partial least squares, plain and normalised."""

from dataclasses import KW_ONLY
from typing import Annotated, ClassVar

import numpy as np

from visterm.compute.eigenvectors import inverse_roots, leading, vector_lengths, with_fixed_signs
from visterm.contracts import FROM_1, declared
from visterm.subspace.linear.linear_embedding import LinearEmbedding
from visterm.subspace.linear.moments import Moments

#: Squared covariances below this share of the largest are rounding.
_NOISE = 1e-14


@declared
class PLS(LinearEmbedding):
    """The subspace of features with the largest covariance to tags.

    ``C_xy C_yx V = V Theta`` with ``V^T V = I``; the code is ``V^T (x - x_mean)``. ``normalize=True`` (nPLS) first
    scales every feature and every tag to unit variance. Only ``C_xy`` and variances are needed, and the smaller of the
    two eigenproblems is solved, so features may have any width.

    >>> X, tags = np.array([[0.0, 9.0], [1.0, 9.0], [0.0, 8.0], [1.0, 8.0]]), [[1, 0], [0, 1], [1, 0], [0, 1]]
    >>> PLS(1).fit(X, tags).components_.ravel().round(6)
    array([1., 0.])
    """

    needs_covariance: ClassVar[bool] = False
    n_dims: Annotated[int, FROM_1] = 20
    _: KW_ONLY
    normalize: bool = False
    _fitted_constraints: ClassVar[dict[str, str]] = {"covariances_": "n_code"}

    def _solve(self, moments: Moments) -> None:
        cross = moments.C_xy
        scale = np.ones(len(cross))
        if self.normalize:
            scale, y_scale = inverse_roots(moments.x_variance), inverse_roots(moments.y_variance)
            cross = scale[:, None] * cross * y_scale
        n_dims = min(self.n_dims, *cross.shape)
        if cross.shape[0] <= cross.shape[1]:
            values, vectors = leading(cross @ cross.T, n_dims)
        else:
            values, right = leading(cross.T @ cross, n_dims)
            vectors = with_fixed_signs(cross @ (right / vector_lengths(values, _NOISE)))
        self.covariances_ = np.sqrt(values)  # the square root of Theta
        self.components_ = scale[:, None] * vectors
