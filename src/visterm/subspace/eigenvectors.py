"""Leading eigenvectors of symmetric matrices, with signs that do not depend on the solver."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute.threads import blas_threads_for

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
    from scipy.linalg import eigh
    from scipy.sparse.linalg import eigsh

    size = len(matrix)
    with blas_threads_for(size):
        if size > _LARGE and n <= size // _FEW:
            start = np.random.default_rng(_SEED).standard_normal(size)
            values, vectors = eigsh(matrix, k=n, v0=start)
        elif n > size // _MANY:
            values, vectors = eigh(matrix, driver="evd")  # the fastest driver
        else:
            values, vectors = eigh(matrix, subset_by_index=[size - n, size - 1])
    order = np.argsort(-values, kind="stable")[:n]
    return np.maximum(values[order], 0), with_fixed_signs(vectors[:, order])


def with_fixed_signs(vectors: NDArray[Any]) -> NDArray[Any]:
    """The columns, each with the sign that makes its largest entry (the first of equals) positive."""
    return vectors * signs(vectors)


def signs(vectors: NDArray[Any]) -> NDArray[Any]:
    """The sign of the largest entry of every column; the first one, if entries differ only by rounding."""
    sizes = np.abs(vectors)
    first = np.argmax(sizes >= sizes.max(axis=0) * _AS_LARGE, axis=0)
    return np.copysign(1.0, vectors[first, np.arange(vectors.shape[1])])


def inverse_roots(variances: NDArray[np.float64]) -> NDArray[np.float64]:
    """One divided by each deviation; 0 for what does not vary."""
    return np.divide(1, np.sqrt(variances), out=np.zeros(len(variances)), where=variances > 0)
