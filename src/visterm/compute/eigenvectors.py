"""Principal components: leading eigenvectors of symmetric matrices, with signs that do not depend on the solver."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute.threads import blas_threads_for

#: Of smaller matrices, all eigenvectors are found, however few are wanted: it takes no longer.
_SMALL = 512
#: Of larger matrices, Lanczos' method finds few eigenvectors faster: at most one in this many.
_LARGE, _FEW = 1500, 16
#: If more than one eigenvector in this many is wanted, it is fastest to find all.
_MANY = 4
#: The seed of the vector with which Lanczos' method starts.
_SEED = 0
#: Entries of at least this share of the largest are as large.
_AS_LARGE = 1 - 1e-6


def leading(matrix: NDArray[Any], n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The ``n`` largest eigenvalues of a symmetric matrix, largest first, and their eigenvectors with fixed signs.

    >>> leading(np.diag([1.0, 3.0, 2.0]), 2)[0]
    array([3., 2.])
    """
    values, vectors = largest(matrix, n)
    return values, with_fixed_signs(vectors)


def largest(matrix: NDArray[Any], n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """As :func:`leading`, with the signs that the solver happens to give."""
    from scipy.linalg import eigh
    from scipy.sparse.linalg import eigsh

    size = len(matrix)
    with blas_threads_for(size):
        if size <= _SMALL:
            values, vectors = np.linalg.eigh(matrix)
        # mutants: // -> /: n is a whole number
        elif size > _LARGE and n <= size // _FEW:
            start = np.random.default_rng(_SEED).standard_normal(size)
            values, vectors = eigsh(matrix, k=n, v0=start)
        # mutants: not, // -> /: both ways find the same eigenvectors
        elif n > size // _MANY:
            values, vectors = eigh(matrix, driver="evd")  # the fastest driver
        else:
            values, vectors = eigh(matrix, subset_by_index=[size - n, size - 1])
    order = np.argsort(values, kind="stable")[::-1][:n]
    return np.maximum(values[order], 0), vectors[:, order]


def principal_axes(rows: NDArray[Any], n: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """The mean of ``rows``, and (n_dims, n) the directions in which they vary most; zero where they do not vary.

    >>> mean, axes = principal_axes(np.array([[0.0, 1.0], [6.0, 9.0]]), 1)
    >>> mean, axes.ravel()
    (array([3., 5.]), array([0.6, 0.8]))
    """
    mean = rows.mean(axis=0)
    centred = rows - mean
    if len(rows) > rows.shape[1]:
        return mean, leading((centred.T @ centred).astype(np.float64), n)[1]
    _, axes = axes_between((centred @ centred.T).astype(np.float64), n, lambda weights: centred.T @ weights)
    return mean, with_fixed_signs(axes)


def axes_between(
    products: NDArray[np.float64], n: int, summed: Callable[[NDArray[Any]], NDArray[Any]], noise: float = 1e-12
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """The ``n`` largest eigenvalues and eigenvectors of ``rows^T rows`` from ``products``, the smaller ``rows rows^T``.

    Both have the same eigenvalues, and an eigenvector ``v`` of the second gives ``rows^T v / sqrt(value)``.
    ``summed(weights)`` is ``rows^T weights``. Signs are those of the solver; what lies below the share ``noise`` of the
    first eigenvalue is zero.
    """
    values, vectors = largest(products, n)
    return values, summed(vectors / vector_lengths(values, noise))


def vector_lengths(values: NDArray[np.float64], noise: float = 1e-12) -> NDArray[np.float64]:
    """The square roots of eigenvalues, largest first; infinite for those below the share ``noise`` of the first."""
    return np.sqrt(np.where(values > values[0] * noise, values, np.inf))


def with_fixed_signs(vectors: NDArray[Any]) -> NDArray[Any]:
    """The columns, each with the sign that makes its largest entry (the first of equals) positive."""
    # mutants: * -> /: signs are 1 or -1
    return vectors * signs(vectors)


def signs(vectors: NDArray[Any]) -> NDArray[Any]:
    """The sign of the largest entry of every column; the first one, if entries differ only by rounding."""
    sizes = np.abs(vectors)
    first = np.argmax(sizes >= sizes.max(axis=0) * _AS_LARGE, axis=0)
    return np.copysign(1.0, vectors[first, np.arange(vectors.shape[1])])


def inverse_roots(variances: NDArray[np.float64]) -> NDArray[np.float64]:
    """One divided by each deviation; 0 for what does not vary."""
    return np.divide(1, np.sqrt(variances), out=np.zeros(len(variances)), where=variances > 0)
