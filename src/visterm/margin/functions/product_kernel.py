"""A kernel over several features: pictures are similar if all features are similar."""

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.contracts import POSITIVE, Features, Matrix, check_feature_mapping, declared, is_several, n_pictures
from visterm.contracts.estimator import Estimator, StrOptions
from visterm.distances import PRECOMPUTED, BaseDistances, Tables
from visterm.errors import InputError

Array = NDArray[Any]

#: Up to this size, fitting keeps the distances between the training pictures; larger ones are computed in blocks.
TABLE_BYTES = 2**31


@declared
class ProductKernel(Estimator):
    """The product of one exponential kernel per feature, with scaled and weighed distances.

        K(a, b) = exp(-scale * sum_f w_f D_f(a, b) / mean D_f),     sum_f w_f = 1

    with the base distance D_f of each feature. Two pictures at the mean distance have the kernel ``exp(-scale)``,
    every picture has 1 with itself. The matrices are float32, computed a block of pictures at a time.

    - ``metric``: the base distance of all features, or a mapping of feature to base distance; ``auto`` is chi2 if no
      value is negative (histograms, bags), else cosine (Fisher vectors). For a ``precomputed`` feature, ``X`` holds
      distances to the training pictures, see :class:`~visterm.distances.BaseDistances`.
    - ``weights``: ``equal``; ``likelihood`` for the weights that best explain each training picture's tags by those of
      its neighbours (TagProp, Guillaumin et al. 2009), which needs tags or classes; or a mapping of feature to weight.

    Fitted: ``feature_weights_`` (with sum 1) and ``distances_``, the base distances of features with positive weight.

    >>> rng = np.random.default_rng(0)
    >>> X = {"colours": rng.random((6, 3)), "edges": rng.normal(size=(6, 4))}
    >>> kernel = ProductKernel().fit(X)
    >>> kernel.distances_.metrics_
    {'colours': 'chi2', 'edges': 'cosine'}
    >>> bool(np.allclose(kernel.gram(), kernel.transform(X)))
    True
    """

    scale: Annotated[float, POSITIVE] = 1.0
    _: KW_ONLY
    metric: Annotated[str | Mapping[str, str], str, Mapping] = "auto"
    weights: Annotated[str | Mapping[str, float], StrOptions({"equal", "likelihood"}), Mapping] = "equal"
    _fitted_constraints: ClassVar[dict[str, str]] = {"feature_weights_": "mapping"}

    def fit(self, X: Features, tags: Any = None) -> Self:
        """Prepare the training pictures for comparison and weigh the features."""
        metrics, _ = self._weigh(X, tags, None)
        self._make_ready(X, metrics, None)
        return self

    def fit_transform(self, X: Features, tags: Any = None, *, rows: Array | None = None) -> Array:
        """Fit, then return the kernel between all training pictures. Distances are computed once if memory allows.

        With ``rows``, only these rows of ``X`` are training pictures, and ``tags`` are theirs. ``X`` is not copied
        then.
        """
        metrics, tables = self._weigh(X, tags, rows)
        n_train = n_pictures(X) if rows is None else len(rows)
        K = None if tables is None else self._kernel_of(tables.__getitem__, n_train)
        del tables  # tables and training pictures are large: keep only one of them at a time
        self._make_ready(X, metrics, rows)
        return self.gram() if K is None else K

    def gram(self) -> Array:
        """(n_train, n_train) float32: the kernel between the training pictures, symmetric with a diagonal of 1."""
        if PRECOMPUTED in self.distances_.metrics_.values():
            raise InputError("precomputed distances between the training pictures are not kept: use fit_transform")
        n_train = self.distances_.n_train_
        return self._kernel_of(lambda name: self.distances_.of_feature(name).transform_training()[name], n_train)

    def transform(self, X: Features) -> Array:
        """(n_pictures, n_train) float32: the kernel between pictures and the training pictures."""
        return self._against_training(check_feature_mapping(self, X, fitting=False))

    def select(self, rows: Array) -> "ProductKernel":
        """The same kernel against some of the training pictures only."""
        if np.array_equal(rows, np.arange(self.distances_.n_train_)):
            return self
        part = copy(self)
        part.distances_ = self.distances_.to_some(rows)
        return part

    def to_means(self, groups: Array, n_groups: int) -> "ProductKernel":
        """The same kernel against the means of groups of training pictures; ``groups`` has the group of each."""
        part = copy(self)
        part.distances_ = self.distances_.to_means(groups, n_groups)
        return part

    def _weigh(self, X: Features, tags: Any, rows: Array | None) -> tuple[dict[str, str], Tables | None]:
        """Weigh the features; returns their metrics, and the training distances if they are given or not too large.

        Distances are computed one feature after the other, since converted copies of wide features are large.
        """
        self._validate_params()
        features = check_feature_mapping(self, X, fitting=True)
        metrics = {name: self._metric_of(name, matrix) for name, matrix in features.items()}
        given = all(metric == PRECOMPUTED for metric in metrics.values())
        n_train = n_pictures(X) if rows is None else len(rows)
        fits = PRECOMPUTED not in metrics.values() and 4 * len(metrics) * n_train**2 <= TABLE_BYTES
        if not (given or fits):
            self.feature_weights_ = self._weights_of(X, _of_all(tags, rows, n_pictures(X)), metrics, metrics)
            return metrics, None
        tables: Tables = {}
        for name, metric in metrics.items():
            feature = _some(X, [name])
            distances = BaseDistances({name: metric}).fit(feature, rows=rows)
            tables |= distances.transform(feature) if given else distances.transform_training()
        self.feature_weights_ = self._weights_of(tables, tags, metrics, PRECOMPUTED)
        return metrics, tables

    def _make_ready(self, X: Features, metrics: Mapping[str, str], rows: Array | None) -> None:
        """Keep the training pictures' features with positive weight."""
        names = list(self.rates())
        self.distances_ = BaseDistances({name: metrics[name] for name in names}).fit(_some(X, names), rows=rows)

    def _metric_of(self, name: str, matrix: Any) -> str:
        chosen = self.metric.get(name, "auto") if isinstance(self.metric, Mapping) else self.metric
        return ("chi2" if matrix.min() >= 0 else "cosine") if chosen == "auto" else str(chosen)

    def _weights_of(self, X: Features, tags: Any, names: Iterable[str], metric: Any) -> dict[str, float]:
        names = list(names)
        if isinstance(self.weights, Mapping):
            unknown = [name for name in self.weights if name not in names]
            if unknown:
                raise InputError(f"weights contain {unknown[0]!r}, which X does not have: its features are {names}")
            weights = {name: float(self.weights.get(name, 0.0)) for name in names}
        elif self.weights == "equal" or len(names) == 1:
            # mutants: 1.0 -> 2.0: weights are divided by their sum
            weights = dict.fromkeys(names, 1.0)
        else:  # likelihood
            if tags is None:
                raise InputError("weights='likelihood' needs tags: pass fit(X, tags), or choose weights='equal'")
            from visterm.neighbours import TagProp

            # mutants: False -> True: sigmoids are fitted after the weights of the features, which alone are used
            weights = dict(TagProp(metric=metric, sigmoids=False).fit(X, tags).feature_weights_)
            if not sum(weights.values()) > 0:  # no feature predicts tags: none is better than another
                # mutants: 1.0 -> 2.0: weights are divided by their sum
                weights = dict.fromkeys(names, 1.0)
        total = sum(weights.values())
        if not 0.0 < total < np.inf or min(weights.values()) < 0:
            raise InputError(
                f"weights must be finite and not negative, and at least one must be positive, not {weights}"
            )
        return {name: weight / total for name, weight in weights.items()}

    def rates(self) -> dict[str, float]:
        """How fast the kernel falls with the distance of each feature with positive weight."""
        return {name: self.scale * weight for name, weight in self.feature_weights_.items() if weight > 0}

    def _kernel_of(self, table: Callable[[str], Array], n_train: int) -> Array:
        """The kernel between the training pictures, from their distances by each feature, one feature at a time."""
        K = np.zeros((n_train, n_train), np.float32)
        for name, rate in self.rates().items():
            K -= np.float32(rate) * table(name)
        return np.exp(K, out=K)

    def _against_training(self, X: Mapping[str, Matrix]) -> Array:
        K = np.empty((n_pictures(X), self.distances_.n_train_), np.float32)
        rates = np.array(list(self.rates().values()))

        def keep(rows: slice, block: Array) -> None:
            np.exp(-np.tensordot(rates.astype(block.dtype), block, axes=1), out=K[rows], casting="same_kind")

        for _ in self.distances_.map_blocks({name: X[name] for name in self.rates()}, keep):
            pass
        return K


def _of_all(tags: Any, rows: Array | None, n_rows: int) -> Any:
    """The tags of some rows as tags of all, of which the others have none: these are left out without a copy."""
    if tags is None or rows is None:
        return tags
    given = sparse.csr_array(tags)
    ends = np.zeros(n_rows + 1, given.indptr.dtype)
    ends[rows + 1] = np.diff(given.indptr)
    return sparse.csr_array((given.data, given.indices, np.cumsum(ends)), shape=(n_rows, given.shape[1]))


def _some(X: Features, names: Iterable[str]) -> dict[str, Matrix]:
    """Some of the features as given; a plain matrix is one feature, called ``x``."""
    of_all = {str(name): matrix for name, matrix in X.items()} if is_several(X) else {"x": cast(Matrix, X)}
    return {name: of_all[name] for name in names}
