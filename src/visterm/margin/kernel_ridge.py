"""Kernel ridge regression in closed form: many targets from one factorisation, with exact leave-one-out scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from visterm.errors import InputError
from visterm.margin.inner_products import FeatureInnerProducts, GramInnerProducts, InnerProducts

Array = NDArray[Any]


def ridge(products: InnerProducts, targets: Array, alpha: float) -> tuple[Array, Array]:
    """Coefficients (n_pictures, n_targets) over the pictures, and the exact leave-one-out scores of the pictures.

    With the inverse ``Q = (G + alpha I)^-1`` the coefficients are ``Q t`` and the score of picture i without itself is
    ``t_i - (Q t)_i / Q_ii``.

    >>> theta, left_out = ridge(GramInnerProducts(np.eye(2)), np.array([[1.0], [0.0]]), alpha=1.0)
    >>> theta.ravel(), left_out.ravel()
    (array([0.5, 0. ]), array([0., 0.]))
    """
    targets = np.asarray(targets, dtype=np.float64)
    if isinstance(products, GramInnerProducts):
        system = products.G.astype(np.float64)
        system += products.shift
        system[np.diag_indices_from(system)] += alpha
        inverse = _inverse(system)
        theta, diagonal = inverse @ targets, np.diag(inverse)
    else:
        theta, diagonal = _ridge_of_features(products, targets, alpha)
    return theta, targets - theta / diagonal[:, None]


def _ridge_of_features(products: FeatureInnerProducts, targets: Array, alpha: float) -> tuple[Array, Array]:
    """``Q targets`` and the diagonal of ``Q``, by ``Q = (I - X (X^T X + alpha I)^-1 X^T) / alpha``."""
    X = products.with_constant()
    system = X.T @ X
    system[np.diag_indices_from(system)] += alpha
    smoother = X @ _inverse(system)
    theta = (targets - smoother @ (X.T @ targets)) / alpha
    return theta, (1.0 - np.einsum("ij,ij->i", smoother, X)) / alpha


def _inverse(system: Array) -> Array:
    """The inverse of a symmetric positive definite matrix, computed in place."""
    try:
        # LAPACK stores matrices by columns. The transpose, which is the same matrix, is stored like that.
        factor, _ = linalg.cho_factor(system.T, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError as error:
        raise InputError("the kernel is not positive definite: raise alpha, or check the precomputed kernel") from error
    inverse, failed = linalg.lapack.dpotri(factor, lower=True, overwrite_c=True)
    if failed:
        raise InputError("the kernel is too close to singular: raise alpha")
    _mirror(inverse)
    return inverse


def _mirror(matrix: Array) -> None:
    """Copy the lower triangle to the upper one, a block of columns at a time."""
    n, size = len(matrix), 256
    for start in range(0, n, size):
        stop = min(start + size, n)
        own = matrix[start:stop, start:stop]
        own[:] = np.tril(own) + np.tril(own, -1).T
        matrix[start:stop, stop:] = matrix[stop:, start:stop].T
