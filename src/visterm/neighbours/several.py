"""Look-alikes by several features: base distances of equal weight, or of weights that a method learns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.compute.parallel import map_shards, split
from visterm.contracts import Features, Matrix, check_feature_mapping, check_tags, n_pictures, take
from visterm.contracts.estimator import Estimator
from visterm.distances.named import metric_named
from visterm.errors import InputError
from visterm.neighbours.distances import smallest

#: Bytes of the (n_features, block, n_train) distances that are computed at a time.
BLOCK_BYTES = 64 * 2**20
#: Pairs of training pictures between which a base distance is measured to bring it to scale.
_SCALE_SAMPLE = 400
#: A matrix with a smaller share of non-zero entries is compared as a sparse one.
_SPARSE_BELOW = 0.2
#: Training features of at most this many numbers are compared in float64, larger ones in float32.
_DOUBLE_UP_TO = 2**21

R = TypeVar("R")


class Lookalikes(Estimator):
    """What the neighbour methods of several features share: their training pictures and the distances to them.

    ``X`` is a mapping of name to matrix, or one matrix. ``metric`` names the base distance of all features, or of each
    by a mapping; ``auto`` takes chi2 where no value is negative (histograms, bags), else the Euclidean distance.
    Each base distance is divided by its mean over pairs of training pictures, so that all count the same.
    """

    scores_are_probabilities: ClassVar[bool] = True
    metric: Any

    def _keep(self, X: Features, tags: Any) -> None:
        """Keep the tagged pictures, their features ready for comparison."""
        features = check_feature_mapping(self, X, fitting=True)
        tags = check_tags(tags, n_pictures(features))
        self.train_rows_ = np.flatnonzero(np.diff(tags.indptr))
        if not len(self.train_rows_):
            raise InputError("no picture has a tag: at least one is needed to learn from")
        self.train_tags_ = tags[self.train_rows_]
        self.tag_counts_ = np.bincount(tags.indices, minlength=tags.shape[1])
        self.metrics_ = {name: self._metric_of(name, matrix) for name, matrix in features.items()}
        kind = np.float64 if len(self.train_rows_) * self.n_features_in_ <= _DOUBLE_UP_TO else np.float32
        self.train_features_ = {
            name: _compact(matrix[self.train_rows_].astype(kind, copy=False), self.metrics_[name])
            for name, matrix in features.items()
        }
        self.scales_ = {
            name: _mean_distance(matrix, self.metrics_[name]) for name, matrix in self.train_features_.items()
        }

    def _metric_of(self, name: str, matrix: Matrix) -> str:
        chosen = self.metric.get(name, "auto") if isinstance(self.metric, Mapping) else self.metric
        if chosen == "auto":
            chosen = "chi2" if matrix.min() >= 0 else "euclidean"
        if metric_named(chosen).needs_counts and matrix.min() < 0:
            raise InputError(f"feature {name!r} has negative values, which {chosen} cannot compare: choose l1, say")
        return str(chosen)

    @property
    def _n_train(self) -> int:
        return len(self.train_rows_)

    def _map_distances(self, X: Mapping[str, Matrix], task: Callable[[slice, NDArray[Any]], R]) -> Iterator[R]:
        """``task(rows, distances)`` for blocks of pictures, ``distances`` being (n_features, n_rows, n_train)."""
        prepared = {
            name: metric_named(self.metrics_[name]).prepare(matrix) for name, matrix in self.train_features_.items()
        }

        def of_rows(rows: slice) -> R:
            kind = next(iter(self.train_features_.values())).dtype
            block = np.empty((len(prepared), rows.stop - rows.start, self._n_train), kind)
            for place, (name, train) in enumerate(prepared.items()):
                metric = metric_named(self.metrics_[name])
                queries = X[name][rows].astype(kind, copy=False)
                if sparse.issparse(train) and not sparse.issparse(queries):
                    queries = sparse.csr_array(queries)
                block[place] = metric.between(metric.prepare(queries), train) / self.scales_[name]
            return task(rows, block)

        size = max(1, BLOCK_BYTES // (8 * len(prepared) * self._n_train))
        shards = split(n_pictures(X), size=size)
        if len(shards) == 1:
            yield of_rows(shards[0].rows)
        else:
            yield from map_shards(lambda shard: of_rows(shard.rows), shards, description="Comparing pictures")

    def _nearest(
        self, X: Mapping[str, Matrix], k: int, weights: NDArray[Any], *, leave_out: bool = False
    ) -> tuple[NDArray[np.intp], NDArray[Any]]:
        """The ``k`` nearest training pictures by the weighted sum, and the base distances (n_rows, k, n_features).

        ``leave_out``: the pictures are the training pictures themselves, and none is its own neighbour.
        """
        k = min(k, self._n_train - int(leave_out))

        def of_block(rows: slice, block: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[Any]]:
            joint = np.tensordot(weights.astype(block.dtype), block, axes=1)
            if leave_out:
                joint[np.arange(len(joint)), np.arange(rows.start, rows.stop)] = np.inf
            chosen = smallest(joint, k)
            return chosen, np.take_along_axis(block, chosen[None], axis=2).transpose(1, 2, 0)

        found = list(self._map_distances(X, of_block))
        if not found:
            return np.empty((0, k), np.intp), np.empty((0, k, len(self.metrics_)))
        return np.concatenate([rows for rows, _ in found]), np.concatenate([base for _, base in found])

    def _check(self, X: Features) -> dict[str, Matrix]:
        return check_feature_mapping(self, X, fitting=False)


def _compact(matrix: Matrix, metric: str) -> Matrix:
    """Mostly empty histograms as CSR: only what two pictures share is then looked at."""
    if not isinstance(matrix, np.ndarray) or metric not in {"chi2", "l1", "intersection"}:
        return matrix
    return sparse.csr_array(matrix) if np.count_nonzero(matrix) < _SPARSE_BELOW * matrix.size else matrix


def _mean_distance(matrix: Matrix, metric: str) -> float:
    rows = np.linspace(0, matrix.shape[0] - 1, min(_SCALE_SAMPLE, matrix.shape[0])).astype(np.intp)
    sample = take(matrix, rows)
    distances = metric_named(metric)(sample, sample)
    return float(distances.sum(dtype=np.float64) / max(1, len(rows) * (len(rows) - 1))) or 1.0
