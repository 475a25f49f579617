"""A kernel over several features: pictures are alike when they are alike by all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.compute.parallel import map_shards, split
from visterm.contracts import Features, Matrix, check_feature_mapping, n_pictures, take
from visterm.contracts.estimator import Estimator
from visterm.distances.named import metric_named
from visterm.errors import InputError

Array = NDArray[Any]

#: How the weights of the features are found.
WEIGHTS = ("equal", "likelihood")
#: Bytes of the (block, n_train) distances that are computed at a time.
BLOCK_BYTES = 32 * 2**20
#: Pairs of this many training pictures bring a base distance to scale.
_SCALE_SAMPLE = 500
#: A matrix with a smaller share of non-zero entries is compared as a sparse one.
_SPARSE_BELOW = 0.2
_METRICS_OF_HISTOGRAMS = {"chi2", "l1", "intersection"}


class ProductKernel(Estimator):
    """The product of one exponential kernel a feature, their distances brought to one scale and weighed.

        K(a, b) = exp(-scale * sum_f w_f D_f(a, b) / mean D_f),     sum_f w_f = 1

    with the base distance D_f of each feature. Two pictures at the mean distance have the kernel ``exp(-scale)``,
    every picture has 1 with itself. The matrices are float32, computed a block of pictures at a time.

    - ``metric``: the base distance of all features, or a mapping of feature to base distance; ``auto`` is chi2 where
      no value is negative (histograms, bags), else cosine (Fisher vectors, network features).
    - ``weights``: ``equal``; ``likelihood`` for those that explain each training picture's tags best by its
      neighbours' (TagProp, Guillaumin et al. 2009), which needs tags or classes; or a mapping of feature to weight.

    Fitted: ``feature_weights_`` (of sum 1), ``metrics_``, ``mean_distances_``, ``train_features_``.

    >>> rng = np.random.default_rng(0)
    >>> X = {"colours": rng.random((6, 3)), "edges": rng.normal(size=(6, 4))}
    >>> kernel = ProductKernel().fit(X)
    >>> kernel.metrics_
    {'colours': 'chi2', 'edges': 'cosine'}
    >>> bool(np.allclose(kernel.gram(), kernel.transform(X)))
    True
    """

    def __init__(
        self,
        scale: float = 2.0,
        *,
        metric: str | Mapping[str, str] = "auto",
        weights: str | Mapping[str, float] = "equal",
    ) -> None:
        self.scale = scale
        self.metric = metric
        self.weights = weights

    def fit(self, X: Features, tags: Any = None) -> Self:
        """Keep the training pictures, measure each feature's mean distance, and weigh the features."""
        if not 0.0 < self.scale < np.inf:
            raise InputError(f"scale must be positive and finite, not {self.scale}")
        features = check_feature_mapping(self, X, fitting=True)
        self.metrics_ = {name: self._metric_of(name, matrix) for name, matrix in features.items()}
        self.train_features_ = {name: _compact(matrix, self.metrics_[name]) for name, matrix in features.items()}
        self.mean_distances_ = {
            name: _mean_distance(matrix, self.metrics_[name]) for name, matrix in self.train_features_.items()
        }
        self.feature_weights_ = self._weigh(tags)
        return self

    def fit_transform(self, X: Features, tags: Any = None) -> Array:
        """Fit, and the kernel between all training pictures."""
        return self.fit(X, tags).gram()

    def gram(self) -> Array:
        """(n_train, n_train) float32: the kernel between the training pictures, symmetric with a diagonal of 1."""
        K = self._against_training(self.train_features_)
        K += K.T.copy()
        K *= np.float32(0.5)
        np.fill_diagonal(K, 1.0)
        return K

    def transform(self, X: Features) -> Array:
        """(n_pictures, n_train) float32: the kernel between pictures and the training pictures."""
        return self._against_training(check_feature_mapping(self, X, fitting=False))

    def select(self, rows: Array) -> ProductKernel:
        """The same kernel against some of the training pictures only."""
        part = ProductKernel(self.scale, metric=self.metric, weights=self.weights)
        for name, value in vars(self).items():
            if name.endswith("_"):
                setattr(part, name, value)
        part.train_features_ = {name: matrix[rows] for name, matrix in self.train_features_.items()}
        return part

    def _metric_of(self, name: str, matrix: Matrix) -> str:
        chosen = self.metric.get(name, "auto") if isinstance(self.metric, Mapping) else self.metric
        if chosen == "auto":
            return "chi2" if matrix.min() >= 0 else "cosine"
        if metric_named(chosen).needs_counts and matrix.min() < 0:
            raise InputError(f"feature {name!r} has negative values, which {chosen} cannot compare: choose l1, say")
        return str(chosen)

    def _weigh(self, tags: Any) -> dict[str, float]:
        names = list(self.train_features_)
        if isinstance(self.weights, Mapping):
            unknown = [name for name in self.weights if name not in names]
            if unknown:
                raise InputError(f"weights name {unknown[0]!r}, which X does not have: its features are {names}")
            weights = {name: float(self.weights.get(name, 0.0)) for name in names}
        elif self.weights == "equal" or len(names) == 1:
            weights = dict.fromkeys(names, 1.0)
        elif self.weights == "likelihood":
            if tags is None:
                raise InputError("weights='likelihood' needs tags: pass fit(X, tags), or choose weights='equal'")
            from visterm.neighbours.tagprop import TagProp

            learned = TagProp(metric=self.metrics_, sigmoids=False).fit(self.train_features_, tags)
            weights = dict(learned.feature_weights_)
            if not sum(weights.values()) > 0:  # no feature tells tags: none is better than another
                weights = dict.fromkeys(names, 1.0)
        else:
            raise InputError(f"unknown weights {self.weights!r}: choose one of {', '.join(WEIGHTS)}, or give a mapping")
        total = sum(weights.values())
        if not 0.0 < total < np.inf or min(weights.values()) < 0:
            raise InputError(f"weights must be finite, none negative and one positive, not {weights}")
        return {name: weight / total for name, weight in weights.items()}

    def _against_training(self, X: Mapping[str, Matrix]) -> Array:
        n_train = n_pictures(self.train_features_)
        rates = {
            name: np.float32(self.scale * weight / self.mean_distances_[name])
            for name, weight in self.feature_weights_.items()
            if weight > 0
        }
        prepared = {name: metric_named(self.metrics_[name]).prepare(self.train_features_[name]) for name in rates}
        K = np.zeros((n_pictures(X), n_train), np.float32)

        def of_rows(rows: slice) -> None:
            for name, rate in rates.items():
                metric, train = metric_named(self.metrics_[name]), prepared[name]
                queries = X[name][rows].astype(self.train_features_[name].dtype, copy=False)
                if sparse.issparse(train) and not sparse.issparse(queries):
                    queries = sparse.csr_array(queries)
                distances = metric.between(metric.prepare(queries), train)
                K[rows] -= rate * distances.astype(np.float32, copy=False)
            np.exp(K[rows], out=K[rows])

        shards = split(len(K), size=max(1, BLOCK_BYTES // (8 * n_train)))
        for _ in map_shards(lambda shard: of_rows(shard.rows), shards, description="Comparing pictures"):
            pass
        return K


def _compact(matrix: Matrix, metric: str) -> Matrix:
    """Mostly empty histograms as CSR: only what two pictures share is then looked at."""
    if not isinstance(matrix, np.ndarray) or metric not in _METRICS_OF_HISTOGRAMS:
        return matrix
    return sparse.csr_array(matrix) if np.count_nonzero(matrix) < _SPARSE_BELOW * matrix.size else matrix


def _mean_distance(matrix: Matrix, metric: str) -> float:
    """Over all pairs of some training pictures, evenly spaced; 1 where all are equal."""
    rows = np.linspace(0, matrix.shape[0] - 1, min(_SCALE_SAMPLE, matrix.shape[0])).astype(np.intp)
    sample = take(matrix, rows)
    distances = metric_named(metric)(sample, sample)
    return float(distances.sum(dtype=np.float64) / max(1, len(rows) * (len(rows) - 1))) or 1.0
