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

    Every pair is compared; distances are told apart to a millionth of the rows' length, and equal ones are ordered by
    row, so that the answer does not depend on the block size.

    >>> nearest(np.array([[0.1]]), np.array([[1.0], [0.0], [5.0]]), 2)[0]
    array([[1, 0]])
    """
    prepare, distance = _metric(metric)
    n_train = int(train.shape[0])
    n_neighbors = min(n_neighbors, n_train)
    rows = max(1, BLOCK_BYTES // (8 * n_train))
    prepared = prepare(train)
    neighbours, distances = [], []
    for start in range(0, int(queries.shape[0]), rows):
        block = distance(prepare(queries[start : start + rows]), prepared)
        chosen = _smallest(block, n_neighbors)
        neighbours.append(chosen)
        distances.append(np.take_along_axis(block, chosen, axis=1))
    if not neighbours:
        return np.empty((0, n_neighbors), np.intp), np.empty((0, n_neighbors))
    return np.concatenate(neighbours), np.concatenate(distances)


def metric_named(metric: str) -> Callable[[Matrix, Matrix], NDArray[Any]]:
    """The distance called ``metric``."""
    prepare, distance = _metric(metric)
    return lambda A, B: distance(prepare(A), prepare(B))


def _metric(metric: str) -> tuple[Callable[[Matrix], Matrix], Callable[[Matrix, Matrix], NDArray[Any]]]:
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


def _between(A: Matrix, B: Matrix) -> NDArray[Any]:
    """Euclidean distances, rounded to what the arithmetic can tell apart, so that copies of a row are equally far."""
    # ||a - b||^2 = ||a||^2 + ||b||^2 - 2 a.b: one BLAS product; float64, since the terms nearly cancel for look-alikes.
    squared = _product(A, B)
    squared *= -2
    squares_of_A, squares_of_B = _squared_norms(A), _squared_norms(B)
    squared += squares_of_A[:, None]
    squared += squares_of_B[None, :]
    # BLAS adds up in an order that depends on where a row stands: the last bits of the terms are not the data's.
    grain = _grain(squares_of_A + squares_of_B.mean())[:, None]
    squared /= grain
    np.rint(squared, out=squared)
    squared *= grain
    np.maximum(squared, 0, out=squared)
    return np.sqrt(squared, out=squared)


def _apart_in_direction(A: Matrix, B: Matrix) -> NDArray[Any]:
    """One minus the cosine of unit rows, rounded as above."""
    cosine = _product(A, B)
    cosine /= _GRAIN
    np.rint(cosine, out=cosine)
    cosine *= -_GRAIN
    cosine += 1
    return cosine


def _grain(squares: NDArray[Any]) -> NDArray[Any]:
    """The power of two that is ``_GRAIN`` of each squared length, as nearly as powers of two are."""
    return np.exp2(np.floor(np.log2(np.maximum(squares, 2.0**-900)))) * _GRAIN


def _double(X: Matrix) -> Matrix:
    return X.astype(np.float64, copy=False)


def _unit(X: Matrix) -> Matrix:
    """Rows of length one; a row of zeros has no direction: it stays, as far from everything as unrelated rows are."""
    X = _double(X)
    lengths = np.sqrt(_squared_norms(X))
    return _scaled(X, 1 / np.where(lengths > 0, lengths, 1.0))


def _root_of_shares(X: Matrix) -> Matrix:
    """The square roots of each row's shares: rows of unit length."""
    if X.shape[0] and X.min() < 0:
        raise InputError("the Hellinger distance needs histograms or counts, but X has negative values")
    X = _double(X)
    totals = np.asarray(X.sum(axis=1)).ravel()
    shares = _scaled(X, 1 / np.where(totals > 0, totals, 1.0))
    return np.sqrt(shares) if isinstance(shares, np.ndarray) else shares.sqrt()


def _scaled(X: Matrix, factors: NDArray[Any]) -> Matrix:
    return X * factors[:, None] if isinstance(X, np.ndarray) else X.multiply(factors[:, None]).tocsr()


#: Relative to the squared length: far above the rounding of a product of any width, far below any real difference.
_GRAIN = 2.0**-40
_METRICS: dict[str, tuple[Callable[[Matrix], Matrix], Callable[[Matrix, Matrix], NDArray[Any]]]] = {
    "euclidean": (_double, _between),
    "cosine": (_unit, _apart_in_direction),
    "hellinger": (_root_of_shares, _between),
}
