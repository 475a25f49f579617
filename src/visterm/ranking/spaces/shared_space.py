"""A space that pictures and texts share: canonical directions, and scores that no picture or text wins everywhere."""

from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from visterm.compute.eigenvectors import leading
from visterm.compute.rows import unit
from visterm.contracts import FROM_1, POSITIVE, Estimator, declared
from visterm.subspace import cholesky_whitening

Array = NDArray[Any]

#: Canonical correlations below this are rounding.
_NOISE = 1e-6


@declared
class SharedSpace(Estimator):
    """Canonical directions of pictures and texts from their covariances, each times a power of its correlation.

    ``C_xy (C_yy + g I)^{-1} C_yx U_x = (C_xx + f I) U_x Lambda^2``, as :class:`~visterm.subspace.CCA` has it, with a
    ridge for each view, in units of the view's mean variance. A picture's code is ``Lambda U_x^T (x - x_mean)``, that
    of a text ``Lambda U_y^T (y - y_mean)``, both scaled to length one: directions in which pictures and texts agree
    more count more.

    The eigenvectors are those of the smaller view, so no more than a Cholesky factor of the larger one is computed.
    """

    n_dims: Annotated[int, FROM_1] = 128
    _: KW_ONLY
    x_ridge: Annotated[float, POSITIVE] = 3.0
    y_ridge: Annotated[float, POSITIVE] = 1.0
    _fitted_constraints: ClassVar[dict[str, str]] = {
        "x_components_": "n_features n_code",
        "y_components_": "n_dims n_code",
        "correlations_": "n_code >=0",
    }

    def fit(self, C_xx: Array, C_xy: Array, C_yy: Array) -> Self:
        """Find the directions; the arrays are not changed."""
        self._validate_params()
        whiten_x, unwhiten_x = cholesky_whitening(C_xx.copy(), self.x_ridge * _mean_variance(C_xx))
        whiten_y, unwhiten_y = cholesky_whitening(C_yy.copy(), self.y_ridge * _mean_variance(C_yy))
        between = whiten_y(whiten_x(C_xy).T).T  # its singular vectors are the canonical directions
        squared, right = leading(between.T @ between, min(self.n_dims, *between.shape))
        self.correlations_ = np.minimum(np.sqrt(squared), 1.0)  # Lambda
        right = right * (self.correlations_ > _NOISE * max(1e-300, self.correlations_[0]))
        self.x_components_ = np.ascontiguousarray(unwhiten_x(between @ right))  # U_x Lambda
        self.y_components_ = np.ascontiguousarray(unwhiten_y(right * self.correlations_))  # U_y Lambda
        return self

    def pictures(self, centred: Array) -> Array:
        """The codes of pictures, (n_pictures, n_code)."""
        return unit(centred @ self.x_components_)

    def texts(self, centred: Array) -> Array:
        """The codes of texts, (n_texts, n_code)."""
        return unit(centred @ self.y_components_)


def crowding(codes: Array, others: Array, n_nearest: int) -> Array:
    """The mean cosine of each code with the ``n_nearest`` of ``others``: how much a code resembles everything.

    Such codes would be found for every query. With crowding r, the score ``2 cos(q, p) - r(q) - r(p)`` is the
    cross-domain similarity local scaling of Conneau et al. (ICLR 2018).
    """
    cosines = codes @ others.T
    n_nearest = min(n_nearest, len(others))
    if not n_nearest:
        return np.zeros(len(codes), codes.dtype)
    cosines.partition(len(others) - n_nearest, axis=1)
    return np.asarray(cosines[:, len(others) - n_nearest :].mean(axis=1))


def _mean_variance(covariance: Array) -> float:
    return float(np.trace(covariance)) / len(covariance) or 1.0
