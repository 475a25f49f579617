"""Base distances of several features on one scale: computed once, shared by every method that needs them."""

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import KW_ONLY
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.compute.parallel import map_shards, split
from visterm.compute.rows import evenly, slices
from visterm.contracts import Features, Matrix, check_feature_mapping, is_several, n_pictures, take
from visterm.contracts.estimator import Estimator, StrOptions, declared
from visterm.distances.metrics import METRICS, automatic_metric, metric_named
from visterm.distances.nearest_rows import BLOCK_BYTES, smallest
from visterm.errors import InputError

Tables = dict[str, NDArray[Any]]
R = TypeVar("R")

#: The metric of a feature whose distances to the training pictures are given instead of its values.
PRECOMPUTED = "precomputed"
#: Training pictures are compared with each other in blocks of this size: within a block every pair is compared twice.
_TRAINING_BLOCK = 256
#: Of many training pictures, a block holds one part in this many.
_TRAINING_PARTS = 16
#: The scale of a base distance is its mean over pairs of this many training pictures.
_SCALE_SAMPLE = 400
#: A matrix with a smaller share of non-zero entries is compared as a sparse matrix, which is faster.
_SPARSE_BELOW = 0.5
#: The metrics for which that is faster.
_COMPACTED = ("chi2", "l1", "intersection")
#: The metrics whose dimensions can be weighed.
WEIGHABLE = ("chi2", "l1")
#: Training features of at most this many numbers are compared in float64, larger ones in float32.
_DOUBLE_UP_TO = 2**21


@declared
class BaseDistances(Estimator):
    """The distances from pictures to the training pictures by each of several features.

    ``X`` is a mapping of name to matrix, or one matrix (a feature called ``x``). ``metric`` names the distance of all
    features, or a mapping names one for each: one of :mod:`visterm.distances.metrics`, or ``auto``, which takes chi2 if
    no value is negative (histograms, bags), else the Euclidean distance. Every distance is divided by its mean over
    pairs of up to 400 training pictures, or with ``scale="largest"`` by the largest of them, so that features can be
    added up.

    :meth:`transform` and :meth:`transform_training` give tables, name to float32 (n_pictures, n_train). Methods for
    several features accept these tables as features with ``metric="precomputed"``. Then many methods, settings and
    splits share one computation: :func:`select` takes the rows and columns of some pictures from a larger table.
    :meth:`map_blocks` goes through pictures in blocks if tables would not fit into memory.

    >>> X = {"colour": np.array([[0.0], [1.0], [3.0]]), "texture": np.array([[0.0, 2.0], [2.0, 0.0], [2.0, 0.0]])}
    >>> base = BaseDistances(metric={"colour": "l1"}).fit(X)
    >>> base.metrics_
    {'colour': 'l1', 'texture': 'chi2'}
    >>> base.transform_training()["colour"]
    array([[0. , 0.5, 1.5],
           [0.5, 0. , 1. ],
           [1.5, 1. , 0. ]], dtype=float32)
    """

    #: By feature, what each dimension is multiplied by (:meth:`with_dimension_weights`); earlier models have none.
    dimension_weights_ = cast("Mapping[str, NDArray[Any]]", MappingProxyType({}))

    metric: Annotated[Any, str, Mapping] = "auto"
    _: KW_ONLY
    scale: Annotated[str, StrOptions({"mean", "largest"})] = "mean"
    _fitted_constraints: ClassVar[dict[str, str]] = {
        "metrics_": "mapping",
        "scales_": "mapping",
        "train_features_": "mapping",
        "dimension_weights_": "mapping",
        "n_train_": "n_train=int >0",
        "rows_": "nothing | n_train int >=0",
    }

    def fit(self, X: Features, tags: Any = None, *, rows: NDArray[np.intp] | None = None) -> Self:  # noqa: ARG002
        """Prepare the training pictures for comparison, and measure their mean distance by each feature.

        ``rows`` are the rows of ``X`` to compare with, in ascending order; None takes all. Tags are not used.
        """
        self._validate_params()
        self.dimension_weights_ = {}
        features = as_given(X, check_feature_mapping(self, X, fitting=True))
        self.metrics_ = {name: self._metric_of(name, matrix) for name, matrix in features.items()}
        # Precomputed distances to pictures outside ``rows`` are ignored, now and later.
        self.rows_ = None if rows is None or len(rows) == n_pictures(features) else np.asarray(rows)
        self.n_train_ = n_pictures(features) if self.rows_ is None else len(self.rows_)
        kind = np.float64 if self.n_train_ * self.n_features_in_ <= _DOUBLE_UP_TO else np.float32
        self.train_features_: dict[str, Matrix] = {}
        self.scales_: dict[str, float] = {}
        sampled, scale_of = (
            evenly(self.n_train_, _SCALE_SAMPLE),
            _mean_of_pairs if self.scale == "mean" else _largest_of_pairs,
        )
        for name in self.metrics_:
            if self.metrics_[name] == PRECOMPUTED:
                own = sampled if self.rows_ is None else self.rows_[sampled]
                self.scales_[name] = scale_of(self._columns(features[name][own])[:, sampled])
                continue
            metric = metric_named(self.metrics_[name])
            ready = _ready(features[name], self.rows_, self.metrics_[name], kind)
            sample = take(ready, sampled)
            self.train_features_[name] = ready
            self.scales_[name] = scale_of(metric.between(sample, sample))
        return self

    def transform(self, X: Features) -> Tables:
        """The distances to the training pictures, name to float32 (n_pictures, n_train)."""
        features = check_feature_mapping(self, X, fitting=False)
        tables = self._empty(n_pictures(features))

        def keep(rows: slice, block: NDArray[Any]) -> None:
            for table, distances in zip(tables.values(), block, strict=True):
                table[rows] = distances

        for _ in self._map(features, keep):
            pass
        return tables

    def transform_training(self) -> Tables:
        """The distances between the training pictures; every pair is compared once."""
        if PRECOMPUTED in self.metrics_.values():
            raise InputError("precomputed distances between the training pictures are not kept: use those given to fit")
        tables = self._empty(self.n_train_)

        def of_rows(rows: slice) -> None:
            for name, train in self.train_features_.items():
                metric, table = metric_named(self.metrics_[name]), tables[name]
                # Only the rows before: the other half of the table mirrors this one.
                earlier = metric.between(train[rows], train[: rows.stop]) / self.scales_[name]
                table[rows, : rows.stop] = earlier
                table[: rows.start, rows] = earlier[:, : rows.start].T
                own = table[rows, rows]
                own[:] = np.tril(own, -1) + np.tril(own, -1).T

        for _ in self._over(self.n_train_, of_rows, at_most=max(_TRAINING_BLOCK, self.n_train_ // _TRAINING_PARTS)):
            pass
        return tables

    def map_blocks(
        self, X: Features, task: Callable[[slice, NDArray[Any]], R], *, rows: NDArray[np.intp] | None = None
    ) -> Iterator[R]:
        """``task(block, distances)`` for blocks of pictures in order; ``distances`` is (n_features, n_rows, n_train).

        ``rows`` are the rows of ``X`` to go through (None: all), and ``block`` is a slice of them. Several threads work
        on the blocks. Memory stays bounded for any number of pictures.
        """
        return self._map(check_feature_mapping(self, X, fitting=False), task, rows)

    def nearest(
        self, X: Features, n_neighbors: int, weights: NDArray[np.float64], *, leave_out_self: bool = False
    ) -> tuple[NDArray[np.intp], NDArray[Any]]:
        """The training pictures with the smallest weighted sums of distances, nearest first, and their base distances.

        Training rows are (n_pictures, n_neighbors), distances (n_pictures, n_neighbors, n_features).
        ``leave_out_self``: ``X`` holds the pictures given to fit. The training pictures among them are asked, and none
        is its own neighbour.
        """
        n_neighbors = min(n_neighbors, self.n_train_ - int(leave_out_self))

        def of_block(rows: slice, block: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[Any]]:
            joint = weighted_sum(block, weights)
            if leave_out_self:
                joint[np.arange(len(joint)), np.arange(rows.start, rows.stop)] = np.inf
            near = smallest(joint, n_neighbors)
            return near, np.take_along_axis(block, near[None], axis=2).transpose(1, 2, 0)

        found = list(self.map_blocks(X, of_block, rows=self.rows_ if leave_out_self else None))
        if not found:
            return np.empty((0, n_neighbors), np.intp), np.empty((0, n_neighbors, len(self.metrics_)))
        return np.concatenate([near for near, _ in found]), np.concatenate([base for _, base in found])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the distances of :meth:`map_blocks`."""
        return next((train.dtype for train in self.train_features_.values()), np.dtype(np.float32))

    def with_dimension_weights(self, weights: Mapping[str, NDArray[Any]]) -> "BaseDistances":
        """The same distances with every dimension ``j`` of a feature counted ``weights[feature][j]`` times.

        The metrics of these features must be in :data:`WEIGHABLE`: their sums over dimensions grow in proportion when a
        dimension of both pictures is multiplied by a number. The scales stay as they are.
        """
        weighed = copy(self)
        weighed.dimension_weights_ = {name: np.asarray(given, np.float64) for name, given in weights.items()}
        weighed.train_features_ = {
            name: _times(matrix, weighed.dimension_weights_.get(name)) for name, matrix in self.train_features_.items()
        }
        return weighed

    def of_feature(self, name: str) -> "BaseDistances":
        """The same distances by one of the features only."""
        part = copy(self)
        part.metrics_, part.scales_ = {name: self.metrics_[name]}, {name: self.scales_[name]}
        part.train_features_ = {name: self.train_features_[name]}
        part.feature_widths_ = {name: self.feature_widths_[name]}
        part.n_features_in_ = self.feature_widths_[name]
        return part

    def to_some(self, rows: NDArray[np.intp]) -> "BaseDistances":
        """The same distances to some of the training pictures only."""
        part = copy(self)
        part.rows_ = rows if self.rows_ is None else self.rows_[rows]
        part.n_train_ = len(rows)
        part.train_features_ = {name: matrix[rows] for name, matrix in self.train_features_.items()}
        return part

    def to_means(self, groups: NDArray[np.intp], n_groups: int) -> "BaseDistances":
        """The same distances to the means of groups of training pictures; ``groups`` has the group of each."""
        if PRECOMPUTED in self.metrics_.values():
            raise InputError("pictures whose distances are given have no mean")
        part = copy(self)
        part.rows_, part.n_train_ = None, n_groups
        part.train_features_ = {
            name: metric_named(self.metrics_[name]).prepare(means_of_rows(matrix, groups, n_groups))
            for name, matrix in self.train_features_.items()
        }
        return part

    def _map(
        self, X: Mapping[str, Matrix], task: Callable[[slice, NDArray[Any]], R], rows: NDArray[np.intp] | None = None
    ) -> Iterator[R]:
        def of_block(block: slice) -> R:
            return task(block, self._block(X, np.arange(block.start, block.stop) if rows is None else rows[block]))

        return self._over(n_pictures(X) if rows is None else len(rows), of_block)

    def _block(self, X: Mapping[str, Matrix], rows: NDArray[np.intp]) -> NDArray[Any]:
        kind = self.dtype
        block = np.empty((len(self.metrics_), len(rows), self.n_train_), kind)
        for place, name in enumerate(self.metrics_):
            queries = cast(Matrix, take(X[name], rows))
            if self.metrics_[name] == PRECOMPUTED:
                np.divide(self._columns(queries), self.scales_[name], out=block[place], casting="same_kind")
                continue
            metric, train = metric_named(self.metrics_[name]), self.train_features_[name]
            queries = queries.astype(kind, copy=False)
            if sparse.issparse(train) and not sparse.issparse(queries):
                queries = sparse.csr_array(queries)
            ready = _times(metric.prepare(queries), self.dimension_weights_.get(name))
            np.divide(metric.between(ready, train), self.scales_[name], out=block[place])
        return block

    def _columns(self, table: Any) -> NDArray[Any]:
        return table if self.rows_ is None else table[:, self.rows_]

    def _over(self, n_rows: int, task: Callable[[slice], R], at_most: int | None = None) -> Iterator[R]:
        widest = max(self.feature_widths_.values())  # rows are converted to float64 when they are compared
        size = max(1, BLOCK_BYTES // (8 * max(len(self.metrics_) * self.n_train_, widest)))
        shards = split(n_rows, size=min(size, at_most or size))
        if len(shards) == 1:
            yield task(shards[0].rows)
        else:
            yield from map_shards(lambda shard: task(shard.rows), shards, description="Comparing pictures")

    def _empty(self, n_rows: int) -> Tables:
        return {name: np.empty((n_rows, self.n_train_), np.float32) for name in self.metrics_}

    def _metric_of(self, name: str, matrix: Matrix) -> str:
        chosen = self.metric.get(name, "auto") if isinstance(self.metric, Mapping) else self.metric
        if chosen == "auto":
            chosen = automatic_metric(matrix)
        if chosen == PRECOMPUTED:
            _check_table(name, matrix)
            return PRECOMPUTED
        if chosen not in METRICS:
            choice = ", ".join(sorted([*METRICS, "auto", PRECOMPUTED]))
            raise InputError(f"unknown metric {chosen!r} of feature {name!r}: choose one of {choice}")
        if metric_named(chosen).needs_counts and matrix.min() < 0:
            raise InputError(f"feature {name!r} has negative values, which {chosen} cannot compare: choose l1 instead")
        return str(chosen)


def as_given(X: Features, checked: Mapping[str, Matrix]) -> dict[str, Matrix]:
    """The features of ``checked``, with arrays unconverted as in ``X``: converted copies of wide arrays are large.

    >>> halves = np.ones((2, 3), np.float16)
    >>> as_given({"wide": halves}, {"wide": halves.astype(np.float32)})["wide"].dtype
    dtype('float16')
    """
    given = {str(name): matrix for name, matrix in X.items()} if is_several(X) else {}
    return {
        name: given[name] if isinstance(given.get(name), np.ndarray) else matrix for name, matrix in checked.items()
    }


def means_of_rows(matrix: Matrix, groups: NDArray[np.intp], n_groups: int) -> Matrix:
    """(n_groups, n_dims): the mean of the rows of every group; ``groups`` has the group of each row.

    >>> means_of_rows(np.array([[1.0], [3.0], [5.0]]), np.array([0, 0, 1]), 2)
    array([[2.],
           [5.]])
    """
    shares = (1 / np.bincount(groups, minlength=n_groups)[groups]).astype(matrix.dtype)
    by_group = sparse.csr_array((shares, (groups, np.arange(len(groups)))), shape=(n_groups, len(groups)))
    return by_group @ matrix


def weighted_sum(block: NDArray[Any], weights: NDArray[np.float64]) -> NDArray[Any]:
    """``sum_f weights[f] * block[f]``, (n_rows, n_train), of a block from :meth:`BaseDistances.map_blocks`."""
    return np.tensordot(weights.astype(block.dtype), block, axes=1)


def select(tables: Mapping[str, NDArray[Any]], rows: Any, columns: Any) -> Tables:
    """The distances from some pictures to others, taken from the tables of all, so that a split computes nothing anew.

    >>> select({"colour": np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]])}, [2], [0, 1])
    {'colour': array([[3., 2.]])}
    """
    return {name: table[np.ix_(rows, columns)] for name, table in tables.items()}


def _check_table(name: str, table: Matrix) -> None:
    if not isinstance(table, np.ndarray) or table.shape[0] != table.shape[1]:
        raise InputError(
            f"precomputed distances of feature {name!r} must be a dense square (n_train, n_train) to learn from, but "
            f"have the shape {tuple(table.shape)}"
        )
    if table.min() < 0:
        raise InputError(f"the distances of feature {name!r} contain negative values: a distance is never negative")


def _ready(matrix: Matrix, rows: NDArray[np.intp] | None, name: str, kind: Any) -> Matrix:
    """Rows (None: all) ready for comparison in the precision ``kind``; dense rows are taken and converted in blocks.

    Mostly empty histograms become CSR: then only the entries that two pictures share are compared.
    """
    metric = metric_named(name)
    if not isinstance(matrix, np.ndarray):
        return metric.prepare((matrix if rows is None else matrix[rows]).astype(kind, copy=False))
    n_rows, n_dims = len(matrix) if rows is None else len(rows), matrix.shape[1]
    blocks = _row_blocks(np.arange(n_rows) if rows is None else rows, n_dims)
    if name in _COMPACTED:
        n_used = sum(int(np.count_nonzero(cast(Any, take(matrix, block)))) for block in blocks)
        if n_used < _SPARSE_BELOW * n_rows * n_dims:
            parts = [sparse.csr_array(cast(Any, take(matrix, block)).astype(kind, copy=False)) for block in blocks]
            return metric.prepare(sparse.vstack(parts, format="csr"))
    if rows is None and matrix.dtype == kind:
        return metric.prepare(matrix)
    ready, start = np.empty((n_rows, n_dims), kind), 0
    for block in blocks:
        ready[start : start + len(block)] = metric.prepare(cast(Any, take(matrix, block)).astype(kind, copy=False))
        start += len(block)
    return ready


def _times(matrix: Matrix, weights: NDArray[Any] | None) -> Matrix:
    """Every dimension times its weight (None: 1), in the precision of ``matrix``."""
    if weights is None:
        return matrix
    if isinstance(matrix, np.ndarray):
        return matrix * weights.astype(matrix.dtype)
    return sparse.csr_array(matrix.multiply(weights.astype(matrix.dtype)[None, :]))


def _row_blocks(rows: NDArray[np.intp], n_dims: int) -> list[NDArray[np.intp]]:
    """Rows in blocks that take at most ``BLOCK_BYTES`` in double precision."""
    return [rows[part] for part in slices(len(rows), max(1, BLOCK_BYTES // (8 * max(1, n_dims))))]


def _mean_of_pairs(between: NDArray[Any]) -> float:
    """The mean distance of two different pictures; 1 if all are the same."""
    n = len(between)
    apart = between.sum(dtype=np.float64) - np.trace(between, dtype=np.float64)
    return float(apart / (n * (n - 1))) if apart else 1.0


def _largest_of_pairs(between: NDArray[Any]) -> float:
    """The largest distance of two pictures; 1 if all are the same."""
    return float(between.max(initial=0.0)) or 1.0
