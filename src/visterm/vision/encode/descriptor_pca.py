"""Sets of local descriptors: checks, samples and principal components.

A descriptor set is an (n_descriptors, n_dims) array, one row per patch. Everything that learns from descriptors or
encodes them (codebooks, mixtures, Fisher vectors) takes such arrays through :func:`as_descriptors`.
"""

from collections.abc import Callable
from functools import reduce
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from visterm.compute import Engine, map_shards, split
from visterm.compute.eigenvectors import leading
from visterm.errors import InputError

T = TypeVar("T")
_Moments = tuple[int, NDArray[np.float64], NDArray[np.float64]]

#: Larger entries are an error: no descriptor has them, and their squares would overflow in float32.
LARGEST_ENTRY = 1e9
#: Learning is distributed over the cores in shards of this many rows.
SHARD_ROWS = 16_384


def as_descriptors(
    descriptors: Any, n_dims: int | None = None, *, dtype: type[np.floating[Any]] = np.float32
) -> NDArray[Any]:
    """The descriptors as a C-contiguous (n_descriptors, n_dims) array of ``dtype``; an error unless they are finite.

    >>> as_descriptors([[1, 2], [3, 4]]).dtype
    dtype('float32')
    """
    return np.ascontiguousarray(_checked(descriptors, n_dims), dtype=dtype)


def sample_descriptors(descriptors: Any, max_rows: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """At most ``max_rows`` of the descriptors to learn from, as float32; all of them are checked."""
    return np.ascontiguousarray(sample_rows(_checked(descriptors, None), max_rows, rng), dtype=np.float32)


def _checked(descriptors: Any, n_dims: int | None) -> NDArray[Any]:
    try:
        rows = np.asarray(descriptors)
    except ValueError as error:
        raise InputError("descriptors must be an (n_descriptors, n_dims) array, not rows of unequal length") from error
    if rows.ndim != 2:
        raise InputError(f"descriptors must be an (n_descriptors, n_dims) array, not one of shape {rows.shape}")
    if rows.dtype.kind not in "fiub":
        raise InputError(f"descriptors must be real numbers, not {rows.dtype}")
    if rows.shape[1] == 0:
        raise InputError("descriptors need at least one dimension")
    if n_dims is not None and rows.shape[1] != n_dims:
        raise InputError(f"descriptors must have {n_dims} dimensions, as in fit, not {rows.shape[1]}")
    # Comparisons with NaN are false, so two passes detect NaN, infinities and absurd sizes.
    if len(rows) and not (float(rows.min()) >= -LARGEST_ENTRY and float(rows.max()) <= LARGEST_ENTRY):
        raise InputError(
            f"descriptors contain NaN, infinite or absurd values (beyond {LARGEST_ENTRY:g}): check the source"
        )
    return rows


def sample_rows(rows: NDArray[Any], max_rows: int, rng: np.random.Generator) -> NDArray[Any]:
    """At most ``max_rows`` of the rows, drawn without replacement, in their original order.

    >>> sample_rows(np.arange(10).reshape(5, 2), 9, np.random.default_rng(0)).shape
    (5, 2)
    """
    if len(rows) <= max_rows:
        return rows
    return rows[np.sort(rng.choice(len(rows), size=max_rows, replace=False, shuffle=False))]


def map_rows(task: Callable[[NDArray[Any]], T], rows: NDArray[Any], description: str) -> list[T]:
    """``task`` applied to consecutive shards of the rows, in order, on all cores.

    BLAS is limited to the calling core meanwhile: its own threads wait for each other at every product, which is slow
    for small products and even slower on busy cores. The shards do not depend on the number of cores, so sums over them
    are the same everywhere.
    """
    if len(rows) <= SHARD_ROWS:
        return [task(rows)]
    shards = split(len(rows), size=SHARD_ROWS)
    results = map_shards(
        lambda shard: task(rows[shard.rows]), shards, engine=Engine.reaching(rows), description=description
    )
    return list(results)


def require_fitted(estimator: object, name: str) -> None:
    """Raise an error if ``estimator`` has not learned ``name`` yet."""
    if not hasattr(estimator, name):
        raise InputError(f"this {type(estimator).__name__} has learned nothing yet: call fit first")


class DescriptorPCA:
    """Projects descriptors on their ``n_dims`` principal axes.

    After ``fit``: ``mean_`` (n_columns,), ``components_`` (n_dims, n_columns), each with its largest entry positive,
    and ``variances_`` (n_dims,), the variances of the training descriptors along the components.

    >>> pca = DescriptorPCA(1).fit([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> pca.transform([[6.0, 8.0]])
    array([[5.]], dtype=float32)
    """

    mean_: NDArray[np.float64]
    components_: NDArray[np.float64]
    variances_: NDArray[np.float64]

    def __init__(self, n_dims: int) -> None:
        self.n_dims = n_dims

    def fit(self, descriptors: Any) -> "DescriptorPCA":
        """Learn the axes of ``descriptors``."""
        rows = _checked(descriptors, None)
        if not 1 <= self.n_dims <= rows.shape[1]:
            raise InputError(
                f"descriptors of {rows.shape[1]} columns have 1 to {rows.shape[1]} axes, not {self.n_dims}"
            )
        if len(rows) < max(2, self.n_dims):
            raise InputError(f"{self.n_dims} principal axes need {max(2, self.n_dims)} descriptors, got {len(rows)}")
        _, self.mean_, scatter = reduce(_merged, map_rows(_moments, rows, "Summing moments"))
        self.variances_, axes = leading(scatter / (len(rows) - 1), self.n_dims)
        self.components_ = np.ascontiguousarray(axes.T)
        return self

    def transform(self, descriptors: Any) -> NDArray[np.float32]:
        """Descriptors in the coordinates of the principal axes, (n_descriptors, n_dims)."""
        require_fitted(self, "components_")
        rows = as_descriptors(descriptors, len(self.mean_))
        return (rows - self.mean_.astype(np.float32)) @ self.components_.T.astype(np.float32)


def _moments(rows: NDArray[Any]) -> _Moments:
    """Number, mean and scatter (sum of outer products about the mean) of rows, in float64."""
    block = rows.astype(np.float64)
    mean = block.mean(axis=0)
    block -= mean
    return len(rows), mean, block.T @ block


def _merged(a: _Moments, b: _Moments) -> _Moments:
    """The moments of the rows of both: about the common mean, without cancellation (Chan, Golub and LeVeque)."""
    n, step = a[0] + b[0], b[1] - a[1]
    share = b[0] / n
    return n, a[1] + share * step, a[2] + b[2] + (a[0] * share) * np.outer(step, step)
