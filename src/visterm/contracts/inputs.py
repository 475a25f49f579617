"""Checks of the input of methods; every message says what is wrong, where, and what to do."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from visterm.compute.addressed import AddressedRows
from visterm.compute.halves import singles
from visterm.compute.rows import slices
from visterm.contracts.tasks import UNKNOWN_CLASS
from visterm.contracts.types import Features, Matrix
from visterm.errors import InputError

#: Halves are checked this many numbers at a time.
_BLOCK = 2**22


def is_several(X: Any) -> TypeGuard[Mapping[str, Matrix]]:
    """Whether ``X`` is a mapping of features, not one matrix (some sparse matrices of SciPy are mappings, too)."""
    return isinstance(X, Mapping) and not sparse.issparse(X)


def n_pictures(X: Features) -> int:
    """The number of rows of a feature matrix, or of every matrix of a mapping."""
    if is_several(X):
        sizes = {name: int(matrix.shape[0]) for name, matrix in X.items()}
        if len(set(sizes.values())) != 1:
            raise InputError(f"every feature must have a row for each picture, but the numbers of rows differ: {sizes}")
        return next(iter(sizes.values()))
    return int(np.shape(cast(Any, X))[0])


def take(X: Features, rows: NDArray[np.integer[Any]] | slice) -> Features:
    """The given rows of a feature matrix or of every matrix of a mapping; rows in one run are not copied.

    >>> X = np.zeros((4, 2))
    >>> np.shares_memory(take(X, np.array([1, 2, 3])), X), np.shares_memory(take(X, np.array([0, 2])), X)
    (True, False)
    """
    rows = _run(rows)
    if is_several(X):
        return {name: matrix[rows] for name, matrix in X.items()}
    return cast(Matrix, X)[rows]


def _run(rows: NDArray[np.integer[Any]] | slice) -> NDArray[np.integer[Any]] | slice:
    """A slice if the rows follow each other, else the rows."""
    if isinstance(rows, slice) or not len(rows) or np.asarray(rows).dtype.kind not in "iu" or rows[0] < 0:
        return rows
    follow = rows[-1] - rows[0] == len(rows) - 1 and bool((np.diff(rows) == 1).all())
    return slice(int(rows[0]), int(rows[-1]) + 1) if follow else rows


def in_single(X: Matrix) -> Matrix:
    """Finite halves, in which nothing is computed, as float32; anything else as it is.

    >>> in_single(np.ones((1, 1), np.float16)).dtype, in_single(np.ones((1, 1))).dtype
    (dtype('float32'), dtype('float64'))
    """
    return singles(X) if X.dtype == np.float16 else X


def check_features(
    estimator: Any,
    X: Any,
    *,
    fitting: bool,
    non_negative: bool = False,
    halves: bool = False,
    addresses: bool = False,
) -> Matrix:
    """``X`` as a finite float array or CSR matrix of the width the estimator was fitted with.

    float32 and float64 are kept, anything else becomes float32. Fitting sets ``n_features_in_``. Methods that work on
    counts and histograms require ``non_negative`` values. Methods that widen a block at a time take ``halves`` as they
    are: a copy of a wide feature would need twice its memory. Those that only take rows of them keep ``addresses``; for
    others, features at an address are read whole.
    """
    if isinstance(X, AddressedRows):
        if addresses:  # whoever reads rows checks that they are finite
            check_features(estimator, np.zeros((int(fitting), X.shape[1]), np.float32), fitting=fitting)
            return X
        X = X[:]
    if halves and _is_half(X):
        for number, block in enumerate(_row_blocks(X)):
            check_features(estimator, block, fitting=fitting and number == 0, non_negative=non_negative)
        return X
    if is_several(X):
        raise InputError(
            f"{type(estimator).__name__} takes one feature matrix, not several: choose one of {', '.join(map(str, X))}"
        )
    from sklearn.utils.validation import check_is_fitted, validate_data

    if not fitting:
        check_is_fitted(estimator)
    try:
        checked = validate_data(
            estimator,
            X,
            reset=fitting,
            accept_sparse="csr",
            dtype=[np.float32, np.float64],
            ensure_min_samples=int(fitting),
            ensure_non_negative=non_negative and np.shape(X)[0] > 0,  # an empty array has no minimum
        )
    except ValueError as error:
        raise InputError(str(error)) from error
    return sparse.csr_array(checked) if sparse.issparse(checked) else checked


def _is_half(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.dtype == np.float16 and X.ndim == 2 and X.size > 0


def _row_blocks(X: NDArray[Any]) -> Iterator[NDArray[Any]]:
    return (X[rows] for rows in slices(len(X), max(1, _BLOCK // X.shape[1])))


def check_feature_mapping(estimator: Any, X: Any, *, fitting: bool, addresses: bool = False) -> dict[str, Matrix]:
    """``X`` as several named features of the same pictures; a plain matrix is one feature, called ``x``.

    Each feature is checked as in :func:`check_features`. Fitting sets ``n_features_in_`` (the total width) and
    ``feature_widths_`` (the width of each feature).
    """
    if not is_several(X):
        if not fitting and set(getattr(estimator, "feature_widths_", {"x": 0})) != {"x"}:
            raise InputError(f"X must map names to features: {', '.join(estimator.feature_widths_)}")
        checked = check_features(estimator, X, fitting=fitting, halves=True, addresses=addresses)
        if fitting:
            estimator.feature_widths_ = {"x": int(checked.shape[1])}
        return {"x": checked}
    from sklearn.utils.validation import check_array, check_is_fitted

    if not fitting:
        check_is_fitted(estimator)
    if not X:
        raise InputError("X contains no feature: map at least one name to a matrix")
    features = {}
    for name, matrix in X.items():
        try:
            kinds = [np.float32, np.float64]
            if _is_half(matrix):
                checked = matrix
                for block in _row_blocks(matrix):
                    check_array(block, dtype=kinds)
            else:
                checked = check_array(matrix, accept_sparse="csr", dtype=kinds, ensure_min_samples=int(fitting))
        except ValueError as error:
            raise InputError(f"feature {name!r}: {error}") from error
        features[str(name)] = sparse.csr_array(checked) if sparse.issparse(checked) else checked
    n_pictures(features)
    widths = {name: int(matrix.shape[1]) for name, matrix in features.items()}
    if fitting:
        estimator.feature_widths_, estimator.n_features_in_ = widths, sum(widths.values())
    elif widths != estimator.feature_widths_:
        raise InputError(
            f"X has features of widths {widths}, but the method was fitted with {estimator.feature_widths_}"
        )
    return {name: features[name] for name in estimator.feature_widths_}


def check_classes(y: ArrayLike | None, n_rows: int) -> NDArray[Any]:
    """``y`` as one class per row; -1 (among names None or "-1" too) means unknown, see :func:`has_class`."""
    from sklearn.utils import column_or_1d

    if y is None:
        raise InputError("a classifier requires y to be passed, but the target y is None")
    try:
        classes = np.asarray(y)
    except ValueError as error:
        raise InputError(f"y must hold one class for each of the {n_rows} pictures: {error}") from error
    if classes.ndim == 2 and classes.shape[1] == 1:
        classes = column_or_1d(classes, warn=True)
    if classes.shape != (n_rows,):
        raise InputError(f"y must hold one class for each of the {n_rows} pictures, but has shape {classes.shape}")
    if classes.dtype.kind == "O":
        classes = _marked(classes)
    if classes.dtype.kind == "f":
        if not np.isfinite(classes).all():
            raise InputError("y contains NaN or infinity; mark unknown classes with -1")
        if not np.equal(np.mod(classes, 1), 0).all():
            raise InputError(f"Unknown label type: continuous values such as {classes[0]} are not classes")
    return classes


def _marked(classes: NDArray[Any]) -> NDArray[Any]:
    """Objects, some of them unknown (None or -1): these become -1, or "-1" among names."""
    is_unknown = np.array([one is None or one in (UNKNOWN_CLASS, str(UNKNOWN_CLASS)) for one in classes], np.bool_)
    if not is_unknown.any():
        return classes
    named = any(isinstance(one, str) for one in classes[~is_unknown])
    marked = np.where(is_unknown, str(UNKNOWN_CLASS) if named else UNKNOWN_CLASS, classes)
    return marked.astype(str) if named else np.array(marked.tolist())


def has_class(y: NDArray[Any]) -> NDArray[np.bool_]:
    """Which classes are known: not -1, and not "-1" among names.

    >>> has_class(check_classes(["sea", None, "wood"], 3))
    array([ True, False,  True])
    """
    if y.dtype.kind in "iuf":
        return np.asarray(y != UNKNOWN_CLASS, np.bool_)
    if y.dtype.kind == "U":
        return np.asarray(y != str(UNKNOWN_CLASS), np.bool_)
    return np.ones(len(y), np.bool_)


def check_tags(tags: Any, n_rows: int, *, n_tags: int | None = None) -> sparse.csr_array:
    """``tags`` as a CSR 0/1 matrix (n_pictures, n_tags) without explicit zeros; an all-zero row means "not tagged".

    >>> check_tags([[1, 0], [0, 1]], 2).shape
    (2, 2)
    >>> check_tags([[1, 0]], 2)
    Traceback (most recent call last):
      ...
    visterm.errors.InputError: tags must be (n_pictures, n_tags) for the 2 pictures of X, but have shape (1, 2)
    """
    shape = _shape(tags)
    if len(shape) != 2 or shape[0] != n_rows:
        raise InputError(
            f"tags must be (n_pictures, n_tags) for the {n_rows} pictures of X, but have shape {tuple(shape)}"
        )
    matrix = _as_csr(tags, "tags")
    if sparse.issparse(tags):
        matrix = matrix.copy()  # the next steps work in place, and the arrays may belong to the caller
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if not (matrix.data == 1).all():
        found = matrix.data[matrix.data != 1][0]
        raise InputError(f"tags must be 0 or 1, but {found:g} was found; pass (n_pictures, n_tags) indicators")
    if n_tags is not None and matrix.shape[1] != n_tags:
        raise InputError(f"tags have {matrix.shape[1]} columns, but the method was fitted with {n_tags} tags")
    return matrix


def check_denied(denied: Any, tags: sparse.csr_array) -> sparse.csr_array:
    """``denied`` as a CSR 0/1 matrix: the tags that a person said each picture does not have; of the shape of ``tags``.

    >>> check_denied([[1, 0]], check_tags([[1, 0]], 1))
    Traceback (most recent call last):
      ...
    visterm.errors.InputError: picture 0 both has and is denied tag 0: say one of the two
    """
    checked = check_tags(denied, tags.shape[0], n_tags=tags.shape[1])
    both = checked.multiply(tags)
    if both.nnz:
        row, column = (int(places[0]) for places in both.nonzero())
        raise InputError(f"picture {row} both has and is denied tag {column}: say one of the two")
    return checked


def rows_with_class(y: NDArray[Any]) -> NDArray[np.intp]:
    """The rows whose class is known; an error if there are none.

    >>> rows_with_class(np.array([4, -1, 7]))
    array([0, 2])
    """
    rows = np.flatnonzero(has_class(y))
    if not len(rows):
        raise InputError("no picture has a class: at least one is needed to learn from")
    return rows


def rows_with_tags(tags: sparse.csr_array) -> NDArray[np.intp]:
    """The rows that carry a tag; an error if there are none.

    >>> rows_with_tags(check_tags([[0, 1], [0, 0], [1, 1]], 3))
    array([0, 2])
    """
    rows = np.flatnonzero(np.diff(tags.indptr))
    if not len(rows):
        raise InputError("no picture has a tag: at least one is needed to learn from")
    return rows


def check_queries(Q: Any, n_tags: int) -> sparse.csr_array:
    """``Q`` as finite CSR weights (n_queries, n_tags)."""
    shape = _shape(Q)
    if len(shape) != 2 or shape[1] != n_tags:
        raise InputError(f"queries must be (n_queries, {n_tags}), one column per tag, but have shape {tuple(shape)}")
    matrix = _as_csr(Q, "queries")
    if not np.isfinite(matrix.data).all():
        raise InputError("queries contain NaN or infinity")
    return matrix


def _shape(table: Any) -> tuple[int, ...]:
    """The shape of an array, a sparse matrix or nested lists; () for rows of different lengths."""
    try:
        return tuple(np.shape(table))
    except ValueError:
        return ()


def _as_csr(table: Any, name: str) -> sparse.csr_array:
    try:
        return sparse.csr_array(table, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be numbers: {error}") from error
