"""Kernel ridge regression in closed form: many targets from one factorisation, with exact leave-one-out scores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from visterm.errors import InputError
from visterm.margin.inner_products import GramInnerProducts, InnerProducts

Array = NDArray[Any]

#: Coefficients of this many bytes are computed at a time.
_BLOCK_BYTES = 16 * 2**20
#: This many columns of an inverse are mirrored at a time.
_MIRRORED_COLUMNS = 256


def ridge(products: InnerProducts, targets: Array, alpha: float) -> tuple[Array, Array]:
    """Coefficients (n_pictures, n_targets) over the pictures, and the exact leave-one-out scores of the pictures.

    >>> theta, left_out = ridge(GramInnerProducts(np.eye(2)), np.array([[1.0], [0.0]]), alpha=1.0)
    >>> theta.ravel(), left_out.ravel()
    (array([0.5, 0. ]), array([0., 0.]))
    """
    return Ridge(alpha).fit(products).solve(np.asarray(targets))


class Ridge:
    """The factorisation of a ridge regression; it solves any number of targets, some at a time.

    With the inverse ``Q = (G + alpha I)^-1`` the coefficients of a target t are ``Q t`` and the score of picture i
    without itself is ``t_i - (Q t)_i / Q_ii``. ``diagonal`` has the ``Q_ii``.
    """

    def __init__(self, alpha: float) -> None:
        self._alpha = alpha

    def fit(self, products: InnerProducts) -> Self:
        """Factorise. A Gram matrix that only the argument refers to is freed before the inverse is computed."""
        if isinstance(products, GramInnerProducts):
            system, shift = products.G.astype(np.float64), products.shift
            del products
            system += shift
            system[np.diag_indices_from(system)] += self._alpha
            self._inverse = _inverse(system).T  # the same matrix, stored by rows, as sparse products need it
            self.diagonal = np.diag(self._inverse).copy()
        else:
            # Q = (I - X (X^T X + alpha I)^-1 X^T) / alpha
            self._features = products.with_constant()
            system = self._features.T @ self._features
            system[np.diag_indices_from(system)] += self._alpha
            self._smoother = self._features @ _inverse(system)
            self.diagonal = (1.0 - np.einsum("ij,ij->i", self._smoother, self._features)) / self._alpha
        return self

    def solve(self, targets: Array | sparse.csr_array) -> tuple[Array, Array]:
        """Coefficients (n_pictures, n_targets) over the pictures, and the exact leave-one-out scores of the pictures.

        Sparse targets cost as much as their entries; the results are dense.
        """
        targets = targets.astype(np.float64)
        if hasattr(self, "_inverse"):
            theta = np.asarray((targets.T @ self._inverse).T)
        else:
            theta = -self._smoother @ np.asarray((targets.T @ self._features).T)
            theta += targets
            theta /= self._alpha
        left_out = theta / -self.diagonal[:, None]
        left_out += targets
        return theta, left_out

    def blocks(self, targets: sparse.csr_array) -> Iterator[tuple[slice, Array, Array]]:
        """:meth:`solve` for some targets after the other, with their columns; memory stays bounded."""
        by_target, (n_pictures, n_targets) = sparse.csc_array(targets), targets.shape
        size = max(1, _BLOCK_BYTES // (8 * max(1, n_pictures)))
        for start in range(0, n_targets, size):
            columns = slice(start, min(start + size, n_targets))
            yield columns, *self.solve(sparse.csr_array(by_target[:, columns]))


def least_squares_machines(ridge: Ridge, tags: sparse.csr_array) -> Iterator[tuple[slice, Array, Array]]:
    """Machines that minimise ``||w||^2 / 2 + C / 2 sum_i (y_i - <w, x_i>)^2`` for labels ``y`` of -1 and 1, per tag.

    ``ridge`` is fitted with ``alpha = 1 / C``. Gives the columns of some tags after the other, their coefficients
    (n_pictures, n_columns) and the scores of each picture by machines that have not seen it (Suykens and Vandewalle,
    Neural Processing Letters 1999).
    """
    # y is 2 t - 1 for the 0/1 indicator t, and everything is linear in the labels.
    of_ones, ones_left_out = ridge.solve(np.ones((tags.shape[0], 1)))
    for columns, theta, left_out in ridge.blocks(tags):
        yield columns, 2 * theta - of_ones, 2 * left_out - ones_left_out


def frequent_and_rare(counts: Array, n_frequent: int) -> tuple[Array, Array]:
    """The columns of the ``n_frequent`` most frequent tags, and those of the others; each in ascending order.

    >>> [columns.tolist() for columns in frequent_and_rare(np.array([1, 3, 2]), 1)]
    [[1], [0, 2]]
    """
    frequent_first = np.argsort(-counts, kind="stable")
    return np.sort(frequent_first[:n_frequent]), np.sort(frequent_first[n_frequent:])


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
    n = len(matrix)
    for start in range(0, n, _MIRRORED_COLUMNS):
        stop = min(start + _MIRRORED_COLUMNS, n)
        own = matrix[start:stop, start:stop]
        own[:] = np.tril(own) + np.tril(own, -1).T
        matrix[start:stop, stop:] = matrix[stop:, start:stop].T
