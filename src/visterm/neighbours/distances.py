"""Base distances between pictures, blockwise, so that memory stays bounded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.contracts import Matrix
from visterm.errors import InputError

#: Distances are computed for this many bytes of the (block, n_train) matrix at a time.
BLOCK_BYTES = 64 * 2**20


def nearest(
    queries: Matrix, train: Matrix, n_neighbors: int, *, metric: str = "euclidean"
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """The ``n_neighbors`` training rows nearest each query, nearest first, and their distances.

    Exact; equal distances are ordered by row, so that the answer does not depend on the block size.

    >>> nearest(np.array([[0.1]]), np.array([[1.0], [0.0], [5.0]]), 2)[0]
    array([[1, 0]])
    """
    distance = metric_named(metric)
    n_train = int(train.shape[0])
    n_neighbors = min(n_neighbors, n_train)
    rows = max(1, BLOCK_BYTES // (8 * n_train))
    neighbours, distances = [], []
    for start in range(0, int(queries.shape[0]), rows):
        block = distance(queries[start : start + rows], train)
        chosen = _smallest(block, n_neighbors)
        neighbours.append(chosen)
        distances.append(np.take_along_axis(block, chosen, axis=1))
    if not neighbours:
        return np.empty((0, n_neighbors), np.intp), np.empty((0, n_neighbors))
    return np.concatenate(neighbours), np.concatenate(distances)


def metric_named(metric: str) -> Callable[[Matrix, Matrix], NDArray[Any]]:
    """The distance called ``metric``."""
    if metric not in _METRICS:
        raise InputError(f"unknown metric {metric!r}: choose one of {', '.join(sorted(_METRICS))}")
    return _METRICS[metric]


def _smallest(block: NDArray[Any], k: int) -> NDArray[np.intp]:
    """The columns of the ``k`` smallest values of each row, in order, ties by column."""
    if k == block.shape[1]:
        return np.argsort(block, axis=1, kind="stable")
    # Everything up to the k-th value, ties included, is a candidate; only candidates are sorted.
    kth = np.partition(block, k - 1, axis=1)[:, k - 1 : k]
    chosen = np.empty((len(block), k), np.intp)
    for row, candidates in enumerate(block <= kth):
        columns = np.flatnonzero(candidates)
        chosen[row] = columns[np.argsort(block[row, columns], kind="stable")[:k]]
    return chosen


def _squared_norms(X: Matrix) -> NDArray[Any]:
    if isinstance(X, np.ndarray):
        return np.einsum("ij,ij->i", X, X)
    return np.asarray(X.multiply(X).sum(axis=1)).ravel()


def _product(A: Matrix, B: Matrix) -> NDArray[Any]:
    product = A @ B.T
    return product if isinstance(product, np.ndarray) else product.toarray()


def _euclidean(A: Matrix, B: Matrix) -> NDArray[Any]:
    # ||a - b||^2 = ||a||^2 + ||b||^2 - 2 a.b: one BLAS product; float64, since the terms nearly cancel for look-alikes.
    A, B = A.astype(np.float64, copy=False), B.astype(np.float64, copy=False)
    squared = _product(A, B)
    squared *= -2
    squared += _squared_norms(A)[:, None]
    squared += _squared_norms(B)[None, :]
    np.maximum(squared, 0, out=squared)
    return np.sqrt(squared, out=squared)


def _cosine(A: Matrix, B: Matrix) -> NDArray[Any]:
    A, B = A.astype(np.float64, copy=False), B.astype(np.float64, copy=False)
    norms = np.sqrt(_squared_norms(A))[:, None] * np.sqrt(_squared_norms(B))[None, :]
    # A row of zeros has no direction: it is as far from everything as unrelated rows are.
    return 1 - np.divide(_product(A, B), norms, out=np.zeros(norms.shape), where=norms > 0)


def _hellinger(A: Matrix, B: Matrix) -> NDArray[Any]:
    return _euclidean(_root_of_shares(A), _root_of_shares(B))


def _root_of_shares(X: Matrix) -> Matrix:
    """The square roots of each row's shares: rows of unit length."""
    if X.min() < 0:
        raise InputError("the Hellinger distance needs histograms or counts, but X has negative values")
    totals = np.asarray(X.sum(axis=1), dtype=np.float64).reshape(-1, 1)
    scale = 1 / np.maximum(totals, np.finfo(np.float64).tiny)
    if isinstance(X, np.ndarray):
        return np.sqrt(X * scale)
    return X.multiply(scale).sqrt().tocsr()


_METRICS: dict[str, Callable[[Matrix, Matrix], NDArray[Any]]] = {
    "euclidean": _euclidean,
    "cosine": _cosine,
    "hellinger": _hellinger,
}
