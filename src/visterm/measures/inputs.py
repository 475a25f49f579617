"""Truth and predictions, checked once: wrong shapes, NaN and odd labels raise an error that says why."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse, sparray, spmatrix

from visterm.errors import InputError

Floats: TypeAlias = NDArray[np.floating[Any]]
Integers: TypeAlias = NDArray[np.int64]
#: A dense array (or nested lists), or any SciPy sparse matrix.
Matrix: TypeAlias = ArrayLike | sparray | spmatrix


def check_depth(n: int, measure: str) -> None:
    """Raise an error for a cut-off rank below 1."""
    if n < 1:
        raise InputError(f"{measure} needs a depth of at least 1, not {n}")


def check_same_shape(truth: tuple[int, ...], prediction: tuple[int, ...], axes: str) -> None:
    """Raise an error if truth and prediction differ in shape; ``axes`` names their dimensions."""
    if truth != prediction:
        raise InputError(f"the truth has shape {truth} and the prediction {prediction}: both must be {axes}")


def check_labels(y: ArrayLike, what: str) -> NDArray[Any]:
    """``y`` as a one-dimensional array of all numbers or all text."""
    try:
        labels = np.asarray(y)
        if labels.dtype == object:
            labels = np.array(labels.tolist())
    except ValueError as error:
        raise InputError(f"{what} cannot be read as a list of classes: {error}") from error
    if labels.ndim != 1:
        raise InputError(f"{what} must be one class per picture, not an array of shape {labels.shape}")
    if labels.size and labels.dtype.kind not in "biufU":
        raise InputError(f"{what} must be all numbers or all text: leave out the pictures that have no class")
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise InputError(f"{what} has a NaN at row {int(np.flatnonzero(np.isnan(labels))[0])}")
    return labels


def check_scores(scores: ArrayLike, axes: str) -> Floats:
    """``scores`` as a dense floating matrix without NaN (infinite scores are allowed)."""
    try:
        array = np.asarray(scores)
    except ValueError as error:
        raise InputError(f"the scores cannot be read as {axes}: {error}") from error
    if array.dtype.kind not in "biuf":
        raise InputError(f"the scores must be a dense array of numbers {axes}, not {type(scores).__name__}")
    if array.ndim != 2:
        raise InputError(f"the scores must be {axes}, not an array of shape {array.shape}")
    if array.dtype.kind != "f":
        array = array.astype(np.float64)
    if array.size and np.isnan(array.max()):  # the maximum propagates NaN and needs no second matrix
        row, column = np.argwhere(np.isnan(array))[0]
        raise InputError(f"the scores have a NaN at row {row}, column {column}: give every pair a number")
    return array


def gains(truth: Matrix, axes: str) -> csr_array:
    """``truth`` as a canonical CSR copy of finite, non-negative gains, without stored zeros."""
    try:
        matrix: Any = truth if issparse(truth) else np.asarray(truth)
    except ValueError as error:
        raise InputError(f"the truth cannot be read as {axes}: {error}") from error
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise InputError(f"the truth must be numbers {axes}, not {matrix.dtype} of shape {matrix.shape}")
    result = csr_array(matrix, dtype=np.float64, copy=True)
    result.sum_duplicates()
    result.eliminate_zeros()
    if np.signbit(result.data).any() or not np.isfinite(result.data).all():
        raise InputError(f"the truth {axes} must be finite and not negative")
    return result


def zeros_and_ones(truth: Matrix, axes: str) -> csr_array:
    """``truth`` as a canonical CSR copy of zeros and ones."""
    result = gains(truth, axes)
    if not np.all(result.data == 1.0):
        odd = result.data[result.data != 1.0][0]
        raise InputError(f"the truth {axes} must be 0 or 1, but holds {odd:g}")
    return result


def rows_of(matrix: csr_array) -> Integers:
    """The row of every stored element.

    >>> from scipy.sparse import csr_array
    >>> rows_of(csr_array([[1, 1], [0, 0], [0, 1]]))
    array([0, 0, 2])
    """
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
