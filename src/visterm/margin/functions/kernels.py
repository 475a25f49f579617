"""Kernels between pictures: linear, cosine, Hellinger, chi2, products over several features, or a given matrix.

Kernels of one feature are sums over its dimensions, computed a block of columns at a time, so features too wide for
memory may stay in a memory map. Hellinger and chi2 compare shares (rows divided by the sum of their absolute values,
signs kept), so that every picture has the kernel 1 with itself:

    linear      sum_d a_d b_d
    cosine      linear, of rows divided by their length
    hellinger   sum_d sign(a_d b_d) sqrt(|a_d b_d|)
    chi2        sum_d sign(a_d b_d) 2 |a_d b_d| / (|a_d| + |b_d|)
    exp-chi2    exp(-gamma (1 - chi2)), written exp-chi2:GAMMA; gamma is 2 by default

Several features (a mapping of name to matrix) are compared by ``product[:SCALE]``, with equal weights, or
``weighted-product[:SCALE]``, with weights by how well each feature predicts the labels: see
:mod:`visterm.margin.functions.product_kernel`.
"""

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.contracts import Compressed, Matrix, in_single
from visterm.distances import means_of_rows
from visterm.errors import InputError
from visterm.margin.functions import on_device

NAMES = ("linear", "cosine", "hellinger", "chi2", "exp-chi2", "product", "weighted-product", "precomputed")
#: Kernels that are inner products of explicit features.
EXPLICIT = ("linear", "cosine", "hellinger")
#: Kernels over any number of features, and how each weighs them.
PRODUCTS = {"product": "equal", "weighted-product": "likelihood"}
#: Columns are read this many bytes at a time.
BLOCK_BYTES = 32 * 2**20
#: Below this share of non-zero entries, sparse features are compared as sparse.
SPARSE_SHARE = 0.5
#: The exponential kernels and their default numbers.
_DEFAULT_NUMBER = {"exp-chi2": 2.0, "product": 1.0, "weighted-product": 1.0}


def kernel_named(kernel: str) -> tuple[str, float]:
    """The kernel's name and its number (which only exponential kernels have).

    >>> kernel_named("exp-chi2:1.5")
    ('exp-chi2', 1.5)
    """
    name, _, gamma = str(kernel).partition(":")
    if name not in NAMES or (gamma and name not in _DEFAULT_NUMBER):
        raise InputError(f"unknown kernel {kernel!r}: choose one of auto, {', '.join(NAMES)}, or exp-chi2:GAMMA")
    try:
        value = float(gamma) if gamma else _DEFAULT_NUMBER.get(name, 1.0)
    except ValueError:
        value = np.nan
    if not 0.0 < value < np.inf:
        raise InputError(f"cannot read the kernel {kernel!r}: write {name}:NUMBER with a positive number")
    return name, value


def gram(
    A: Matrix,
    B: Matrix | None = None,
    *,
    kernel: str = "linear",
    dtype: Any = np.float64,
    rows: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """The kernel between the rows of ``A`` and of ``B`` (None: of ``A``), computed in the precision ``dtype``.

    ``rows`` are those of ``A`` to compare (None: all); only blocks of their columns are copied.

    >>> gram(np.array([[1.0, 3.0], [4.0, 0.0]]), kernel="hellinger").round(3)
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    name, gamma = kernel_named(kernel)
    if name == "precomputed":
        raise InputError("a precomputed kernel is not computed here: pass the matrix itself as X")
    if name in PRODUCTS:
        raise InputError(f"{name} is a kernel of several features: use visterm.margin.ProductKernel")
    if B is None and (device := on_device.device_for_gram(A, A.shape[0] if rows is None else len(rows), name, dtype)):
        return on_device.training_gram(cast("NDArray[Any]", A), rows, name, device)
    # mutants: 0 -> 1: only whether rows are copied at once or by blocks of columns; the kernel is the same
    if rows is not None and (sparse.issparse(A) or len(rows) == A.shape[0]):
        A, rows = (A if len(rows) == A.shape[0] else A[rows]), None
    if name in EXPLICIT and sparse.issparse(A):
        A, B = feature_map(A, name, dtype), None if B is None else feature_map(B, name, dtype)
        return _dense(A @ (A if B is None else B).T)
    others = A if B is None else B
    n_rows = A.shape[0] if rows is None else len(rows)
    total = np.zeros((n_rows, n_rows if B is None else B.shape[0]), dtype)
    scale = _shares(A, name).astype(dtype)
    scale = scale if rows is None else scale[rows]
    scale_of_others = scale if B is None else _shares(others, name).astype(dtype)
    if _is_sparse(A) and _is_sparse(others):
        _add_sparse_chi2(A, scale, others, scale_of_others, total)
        return _finished(total, name, gamma)
    for columns in _column_blocks(others, dtype):
        a = _prepared(A, columns, scale, name, rows)
        b = a if B is None else _prepared(others, columns, scale_of_others, name)
        if name in EXPLICIT:
            total += a @ b.T
        else:
            from visterm.margin.functions._kernels_chi2 import add_chi2

            add_chi2(a, b, B is None, total)
    return _finished(total, name, gamma)


def _finished(total: NDArray[Any], name: str, gamma: float) -> NDArray[Any]:
    """The kernel from the sums over dimensions, in place: Gram matrices are large."""
    if name == "exp-chi2":
        total -= 1.0
        total *= gamma
        np.exp(total, out=total)
    return total


def _is_sparse(X: Matrix) -> bool:
    """Whether a loop over non-zero entries is faster than a loop over all."""
    # mutants: * -> /, * -> / (2), 0 -> 1: a choice of the faster of two loops with the same result
    return not isinstance(X, np.ndarray) and bool(X.nnz < SPARSE_SHARE * X.shape[0] * X.shape[1])


def _add_sparse_chi2(
    A: Matrix, scale_of_a: NDArray[Any], B: Matrix, scale_of_b: NDArray[Any], total: NDArray[Any]
) -> None:
    """Add the chi2 kernel of the rows' shares to ``total``."""
    from visterm.margin.functions._kernels_chi2 import add_chi2_sparse

    a = sparse.csr_array(sparse.csr_array(A, dtype=total.dtype).multiply(scale_of_a))
    b = sparse.csc_array(sparse.csr_array(B, dtype=total.dtype).multiply(scale_of_b))
    add_chi2_sparse(Compressed(a.indptr, a.indices, a.data), Compressed(b.indptr, b.indices, b.data), total)


def feature_map(X: Matrix, kernel: str, dtype: Any = np.float64) -> Matrix:
    """The features whose inner products are the kernel: ``X``, rows of unit length, or signed roots of shares."""
    X = in_single(X).astype(dtype, copy=False)
    if kernel == "linear":
        return X
    if kernel == "cosine":
        scale = _shares(X, kernel).astype(dtype)
        return X * scale if isinstance(X, np.ndarray) else sparse.csr_array(X.multiply(scale), dtype=dtype)
    scale = np.sqrt(_shares(X, kernel)).astype(dtype)
    if isinstance(X, np.ndarray):
        return _signed_roots(X, scale)
    roots = X.copy()
    roots.data = np.sign(roots.data) * np.sqrt(np.abs(roots.data))
    return sparse.csr_array(roots.multiply(scale), dtype=dtype)


def _signed_roots(X: NDArray[Any], scale: NDArray[Any]) -> NDArray[Any]:
    """``sign(x) sqrt(|x|) scale``, with one array besides ``X``."""
    roots = np.abs(X)
    np.sqrt(roots, out=roots)
    roots *= scale
    return np.copysign(roots, X, out=roots)


def means(X: Matrix, kernel: str, groups: NDArray[Any], n_groups: int) -> Matrix:
    """The means of groups of rows, each as the kernel compares it: of shares, of rows of unit length, or as they are.

    >>> means(np.array([[1.0, 3.0], [6.0, 2.0]]), "chi2", np.array([0, 0]), 1)
    array([[0.5, 0.5]])
    """
    scale = _shares(X, kernel)
    X = in_single(X)
    scaled = (
        X * scale.astype(X.dtype) if isinstance(X, np.ndarray) else sparse.csr_array(X.multiply(scale), dtype=X.dtype)
    )
    return means_of_rows(scaled, groups, n_groups)


def check_square(G: Matrix) -> NDArray[Any]:
    """A precomputed training kernel as a dense square array."""
    dense = _dense(G)
    if dense.shape[0] != dense.shape[1]:
        raise InputError(f"a precomputed kernel must be square to train on, but has shape {dense.shape}")
    return dense


def _dense(X: Any) -> NDArray[Any]:
    return np.ascontiguousarray(X.toarray() if sparse.issparse(X) else X)


def _shares(X: Matrix, kernel: str) -> NDArray[Any]:
    """The factor that turns each row into shares, as a column; into unit length for the cosine, 1 for linear."""
    if kernel == "linear":
        return np.ones((X.shape[0], 1))
    sums = np.zeros(X.shape[0])
    for columns in _column_blocks(X, np.float64):
        some = in_single(X[:, columns])
        part = some.astype(np.float64) ** 2 if kernel == "cosine" else abs(some)
        sums += np.asarray(part.sum(axis=1, dtype=np.float64)).ravel()
    if kernel == "cosine":
        sums = np.sqrt(sums)
    return np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0)[:, None]


def _column_blocks(X: Matrix, dtype: Any) -> Iterator[slice]:
    """Blocks of columns that take ``BLOCK_BYTES`` in the precision ``dtype``."""
    width = max(1, BLOCK_BYTES // (max(1, X.shape[0]) * np.dtype(dtype).itemsize))
    for start in range(0, X.shape[1], width):
        yield slice(start, start + width)


def _prepared(
    X: Matrix, columns: slice, scale: NDArray[Any], kernel: str, rows: NDArray[Any] | None = None
) -> NDArray[Any]:
    """Some columns of the shares (hellinger: of their signed roots) of some rows, dense."""
    part = in_single(X[:, columns] if rows is None else X[rows, columns])
    dense: NDArray[Any] = (part if isinstance(part, np.ndarray) else _dense(part)).astype(scale.dtype, copy=False)
    if kernel == "linear":
        return dense
    if kernel == "hellinger":
        return _signed_roots(dense, np.sqrt(scale))
    return np.ascontiguousarray(dense * scale)


def mapped_blocks(
    X: Matrix, kernel: str, dtype: Any, rows: NDArray[Any] | None = None
) -> Iterator[tuple[slice, Matrix]]:
    """The features of :func:`feature_map` of some rows (None: all), a block of them at a time."""
    n_rows = X.shape[0] if rows is None else len(rows)
    size = max(1, BLOCK_BYTES // (max(1, X.shape[1]) * np.dtype(dtype).itemsize))
    for start in range(0, n_rows, size):
        part = slice(start, min(start + size, n_rows))
        yield part, feature_map(X[part] if rows is None else X[rows[part]], kernel, dtype)
