"""Bags of visual terms weighed as text retrieval weighs words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.contracts import Matrix
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
    of_visterms = weights.astype(X.dtype)
    if isinstance(X, np.ndarray):
        product = X * of_visterms
        lengths = np.linalg.norm(product, axis=1, keepdims=True)
        return np.divide(product, lengths, out=np.zeros_like(product), where=lengths > 0)
    product = sparse.csr_array(X.multiply(of_visterms))
    lengths = np.sqrt(np.asarray(product.multiply(product).sum(axis=1)).ravel())
    scale = np.divide(1.0, lengths, out=np.zeros(len(lengths)), where=lengths > 0)
    return sparse.csr_array(product.multiply(scale[:, None]), dtype=X.dtype)
