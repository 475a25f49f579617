"""Sets of local descriptors: checks, samples and principal components.

A descriptor set is an (n_descriptors, n_dims) array, one row per patch. Everything that learns from descriptors or
encodes them (codebooks, mixtures, Fisher vectors) takes such arrays through :func:`as_descriptors`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from visterm.compute import Engine, map_shards, split
from visterm.errors import InputError

T = TypeVar("T")

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
        lambda shard: task(rows[shard.rows]), shards, engine=Engine("threads"), description=description
    )
    return list(results)


def require_fitted(estimator: object, name: str) -> None:
    """Raise an error if ``estimator`` has not learned ``name`` yet."""
    if not hasattr(estimator, name):
        raise InputError(f"this {type(estimator).__name__} has learned nothing yet: call fit first")


@dataclass(frozen=True, slots=True, eq=False)
class DescriptorMoments:
    """Number, mean and scatter (sum of outer products about the mean) of descriptors; ``+`` merges them.

    >>> halves = DescriptorMoments.of([[1.0], [3.0]]) + DescriptorMoments.of([[5.0]])
    >>> halves.n_descriptors, halves.mean, halves.scatter
    (3, array([3.]), array([[8.]]))
    """

    n_descriptors: int
    mean: NDArray[np.float64]
    scatter: NDArray[np.float64]

    @classmethod
    def of(cls, descriptors: Any) -> DescriptorMoments:
        """The moments of ``descriptors``, summed in float64 about each block's own mean."""
        rows = _checked(descriptors, None)
        return reduce(add, map_rows(cls._of_shard, rows, "Summing moments"))

    @classmethod
    def _of_shard(cls, rows: NDArray[Any]) -> DescriptorMoments:
        if not len(rows):
            return cls(0, np.zeros(rows.shape[1]), np.zeros((rows.shape[1], rows.shape[1])))
        block = rows.astype(np.float64)
        mean = block.mean(axis=0)
        block -= mean
        return cls(len(rows), mean, block.T @ block)

    def __add__(self, other: DescriptorMoments) -> DescriptorMoments:
        if self.mean.shape != other.mean.shape:
            raise InputError(f"moments of {len(self.mean)} and {len(other.mean)} dimensions cannot be merged")
        n = self.n_descriptors + other.n_descriptors
        if n == 0:
            return self
        step = other.mean - self.mean
        share = other.n_descriptors / n
        # Chan, Golub and LeVeque: the scatter about the common mean, without cancellation.
        scatter = self.scatter + other.scatter + (self.n_descriptors * share) * np.outer(step, step)
        return DescriptorMoments(n, self.mean + share * step, scatter)


class DescriptorPCA:
    """Projects descriptors on their principal axes, jointly or each kind separately.

    Parameters
    ----------
    n_dims
        How many dimensions to keep; with ``kinds``, how many of each kind.
    whiten
        Scale the kept dimensions to unit variance; a dimension without variance becomes zero.
    kinds
        Numbers of columns of the kinds in a descriptor, such as ``(128, 96)`` for SIFT followed by colour statistics;
        each kind gets its own axes. None: one set of axes for the whole descriptor.

    After ``fit``: ``mean_`` (n_columns,), ``components_`` (n_dims, n_columns), each with its largest entry positive,
    and ``variances_`` (n_dims,), the variances of the training descriptors along the components.

    >>> pca = DescriptorPCA(1).fit([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> pca.transform([[6.0, 8.0]])
    array([[5.]], dtype=float32)
    """

    mean_: NDArray[np.float64]
    components_: NDArray[np.float64]
    variances_: NDArray[np.float64]

    def __init__(
        self, n_dims: int | Sequence[int], whiten: bool = False, *, kinds: Sequence[int] | None = None
    ) -> None:
        self.n_dims = n_dims
        self.whiten = whiten
        self.kinds = kinds

    def fit(self, descriptors: Any) -> DescriptorPCA:
        """Learn the axes of ``descriptors``."""
        return self.fit_moments(DescriptorMoments.of(descriptors))

    def fit_moments(self, moments: DescriptorMoments) -> DescriptorPCA:
        """Learn the axes from moments that were computed elsewhere, for example shard by shard."""
        n_columns = len(moments.mean)
        kinds, kept = self._layout(n_columns)
        if moments.n_descriptors < max(2, *kept):
            raise InputError(
                f"{max(kept)} principal axes need at least {max(2, *kept)} descriptors, got {moments.n_descriptors}"
            )
        covariance = moments.scatter / (moments.n_descriptors - 1)
        components = np.zeros((sum(kept), n_columns))
        variances = np.zeros(sum(kept))
        column = row = 0
        for width, n_kept in zip(kinds, kept, strict=True):
            block = slice(column, column + width)
            axes, spread = _principal_axes(covariance[block, block], n_kept)
            components[row : row + n_kept, block] = axes
            variances[row : row + n_kept] = spread
            column, row = column + width, row + n_kept
        self.mean_, self.components_, self.variances_ = moments.mean, components, variances
        return self

    def transform(self, descriptors: Any) -> NDArray[np.float32]:
        """Descriptors in the coordinates of the principal axes, (n_descriptors, n_dims)."""
        require_fitted(self, "components_")
        rows = as_descriptors(descriptors, len(self.mean_))
        axes = self.components_
        if self.whiten:
            # A smaller variance is only rounding and must not be scaled up to one.
            real = self.variances_ > 1e-10 * self.variances_.max(initial=0.0)
            axes = axes * np.where(real, 1.0 / np.sqrt(np.where(real, self.variances_, 1.0)), 0.0)[:, None]
        return (rows - self.mean_.astype(np.float32)) @ axes.T.astype(np.float32)

    def _layout(self, n_columns: int) -> tuple[list[int], list[int]]:
        kinds = [n_columns] if self.kinds is None else [int(width) for width in self.kinds]
        kept = [self.n_dims] if isinstance(self.n_dims, int) else [int(n) for n in self.n_dims]
        if len(kinds) != len(kept):
            raise InputError(f"{len(kinds)} kinds of descriptors need as many numbers of axes, not {len(kept)}")
        if sum(kinds) != n_columns:
            raise InputError(f"the kinds have {sum(kinds)} columns together, the descriptors {n_columns}")
        for width, n_kept in zip(kinds, kept, strict=True):
            if not 1 <= n_kept <= width:
                raise InputError(f"descriptors of {width} columns have 1 to {width} principal axes, not {n_kept}")
        return kinds, kept


def _principal_axes(covariance: NDArray[np.float64], n_axes: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The ``n_axes`` axes of largest variance as rows, and their variances."""
    values, vectors = np.linalg.eigh(covariance)
    axes = vectors[:, ::-1][:, :n_axes].T
    largest = np.abs(axes).argmax(axis=1)
    # The sign of an axis is arbitrary: fixing it makes the result the same on every machine.
    signs = np.where(axes[np.arange(n_axes), largest] < 0, -1.0, 1.0)
    return axes * signs[:, None], np.maximum(values[::-1][:n_axes], 0.0)
