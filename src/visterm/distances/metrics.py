"""Base distances between rows, by name.

``euclidean`` and ``l1`` compare rows as they are, ``cosine`` compares their directions. ``hellinger``, ``chi2`` and
``intersection`` compare histograms and counts: they divide each row by its sum, so that large and small pictures are
comparable.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.compute.rows import slices
from visterm.contracts import Compressed, Matrix
from visterm.errors import InputError

#: Relative to the squared length: far above the rounding of a product of any width, far below any real difference.
_GRAIN = 2.0**-40
#: This many float32 values are converted to float64 at a time. Similar rows need float64, since their terms nearly
#: cancel; a float64 copy of the whole collection would take too much memory.
_WIDENED = 2**20
#: Squared lengths count as at least this, so that rows of zeros have a grain, too.
_LEAST_SQUARE = 2.0**-900
#: This many last bits of a sum depend on the order of additions: in float32, and in float64.
_NOISY_BITS_OF_SINGLES, _NOISY_BITS_OF_DOUBLES = 5, 15


@dataclass(frozen=True, slots=True)
class Metric:
    """A distance: rows are prepared once, then compared. ``needs_counts``: values must not be negative."""

    prepare: Callable[[Matrix], Matrix]
    between: Callable[[Matrix, Matrix], NDArray[Any]]
    needs_counts: bool = False

    def __call__(self, A: Matrix, B: Matrix) -> NDArray[Any]:
        """The distances from every row of ``A`` to every row of ``B``."""
        return self.between(self.prepare(A), self.prepare(B))


def metric_named(name: str) -> Metric:
    """The distance called ``name``.

    >>> metric_named("chi2")(np.array([[1.0, 1.0]]), np.array([[2.0, 2.0], [5.0, 0.0]])).round(3)
    array([[0.   , 0.333]])
    """
    if name not in METRICS:
        raise InputError(f"unknown metric {name!r}: choose one of {', '.join(sorted(METRICS))}")
    return METRICS[name]


def automatic_metric(matrix: Matrix) -> str:
    """The metric that ``auto`` stands for: chi2 if no value is negative (histograms, bags), else Euclidean.

    >>> automatic_metric(np.array([[0.5, 2.0]])), automatic_metric(np.array([[0.5, -2.0]]))
    ('chi2', 'euclidean')
    """
    return "chi2" if matrix.min() >= 0 else "euclidean"


def _squared_norms(X: Matrix) -> NDArray[Any]:
    if isinstance(X, np.ndarray):
        squares = np.empty(len(X))
        for rows in _few(X):
            squares[rows] = np.einsum("ij,ij->i", X[rows], X[rows], dtype=np.float64)
        return squares
    return np.asarray(X.multiply(X).sum(axis=1)).ravel()


def _product(A: Matrix, B: Matrix) -> NDArray[Any]:
    """The products of all pairs of rows, in float64."""
    A = A.astype(np.float64, copy=False)
    if not isinstance(B, np.ndarray) or B.dtype == np.float64:
        product = A @ B.T
        return product if isinstance(product, np.ndarray) else product.toarray()
    products = np.empty((A.shape[0], B.shape[0]))
    for rows in _few(B):
        products[:, rows] = A @ B[rows].astype(np.float64).T
    return products


def _few(X: NDArray[Any]) -> list[slice]:
    """Slices of the rows of ``X``, each small enough to convert to float64."""
    return slices(len(X), max(1, _WIDENED // max(1, X.shape[1])))


def _apart(A: Matrix, B: Matrix) -> NDArray[Any]:
    """Euclidean distances, rounded to the precision of the arithmetic, so that copies of a row are equally far."""
    # ||a - b||^2 = ||a||^2 + ||b||^2 - 2 a.b: one BLAS product.
    squared = _product(A, B)
    squared *= -2
    squares_of_A, squares_of_B = _squared_norms(A), _squared_norms(B)
    squared += squares_of_A[:, None]
    squared += squares_of_B[None, :]
    # The order of BLAS's additions depends on the position of a row, so the last bits of the terms are noise.
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
    """The largest power of two that is at most ``_GRAIN`` times each squared length."""
    return np.exp2(np.floor(np.log2(np.maximum(squares, _LEAST_SQUARE)))) * _GRAIN


def _by_kernel(name: str, A: Matrix, B: Matrix) -> NDArray[Any]:
    """Sums over pairs of rows, in the rows' precision; the sum of a pair does not depend on where its rows are."""
    from visterm.distances import _kernels

    out = np.empty((A.shape[0], B.shape[0]), A.dtype)
    if isinstance(A, np.ndarray) and isinstance(B, np.ndarray):
        getattr(_kernels, f"{name}_dense")(np.ascontiguousarray(A), np.ascontiguousarray(B), out)
        return _rounded(out)
    A, B = sparse.csr_array(A), sparse.csr_array(B)
    sums = np.asarray(abs(B).sum(axis=1, dtype=np.float64)).ravel().astype(A.dtype)
    rows_of_A, rows_of_B = (Compressed(X.indptr, X.indices, X.data) for X in (A, B))
    getattr(_kernels, f"{name}_sparse")(rows_of_A, rows_of_B, sums, A.shape[1], out)
    return _rounded(out)


def _rounded(distances: NDArray[Any]) -> NDArray[Any]:
    """Rounded to the nearest number without the last bits, which depend on the order of additions."""
    single = distances.dtype == np.float32
    bits: NDArray[Any] = distances.view(np.uint32 if single else np.uint64)
    dropped = _NOISY_BITS_OF_SINGLES if single else _NOISY_BITS_OF_DOUBLES
    bits += 1 << (dropped - 1)
    bits >>= dropped
    bits <<= dropped
    return distances


def _exact(X: Matrix) -> Matrix:
    """Rows whose products are computed in float64; dense rows are converted when they are multiplied."""
    return X if isinstance(X, np.ndarray) else X.astype(np.float64, copy=False)


def _unit(X: Matrix) -> Matrix:
    """Rows of length one. A row of zeros has no direction and stays zero: as far from every row as unrelated rows."""
    X = _exact(X)
    lengths = np.sqrt(_squared_norms(X))
    return _scaled(X, _inverse(lengths))


def _shares(X: Matrix) -> Matrix:
    """Every row divided by its sum, in the precision of ``X``; a row of zeros stays."""
    if X.shape[0] and X.min() < 0:
        raise InputError("this distance needs histograms or counts, but X has negative values")
    totals = np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()
    return _scaled(X, _inverse(totals))


def _root_of_shares(X: Matrix) -> Matrix:
    """The square roots of each row's shares: rows of unit length."""
    if X.shape[0] and X.min() < 0:
        raise InputError("the Hellinger distance needs histograms or counts, but X has negative values")
    shares = _shares(_exact(X))
    return np.sqrt(shares, out=shares) if isinstance(shares, np.ndarray) else shares.sqrt()


def _inverse(lengths: NDArray[Any]) -> NDArray[Any]:
    """One divided by each length; 0 for a length of 0."""
    return np.divide(1, lengths, out=np.zeros(lengths.shape), where=lengths > 0)


def _scaled(X: Matrix, factors: NDArray[Any]) -> Matrix:
    """Every row times its factor, in the precision of ``X``."""
    if isinstance(X, np.ndarray):
        return np.multiply(X, factors[:, None], out=np.empty(X.shape, X.dtype), casting="same_kind")
    return X.multiply(factors[:, None]).tocsr().astype(X.dtype, copy=False)


METRICS = {
    "euclidean": Metric(_exact, _apart),
    "cosine": Metric(_unit, _apart_in_direction),
    "hellinger": Metric(_root_of_shares, _apart, needs_counts=True),
    "l1": Metric(lambda X: X, partial(_by_kernel, "l1")),
    "chi2": Metric(_shares, partial(_by_kernel, "chi2"), needs_counts=True),
    "intersection": Metric(_shares, partial(_by_kernel, "intersection"), needs_counts=True),
}
