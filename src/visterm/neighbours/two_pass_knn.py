"""Two-pass k nearest neighbours: each tag selects its nearest pictures, then these pictures vote."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from visterm.compute import in_threads, progress
from visterm.compute.rows import evenly, slices
from visterm.contracts import Features, Matrix, Scores, check_feature_mapping
from visterm.contracts.estimator import FROM_0, FROM_1, POSITIVE, StrOptions, declared
from visterm.distances import WEIGHABLE, BaseDistances, weighted_sum
from visterm.errors import InputError
from visterm.neighbours.voting.tagged_pictures import TaggedPictures
from visterm.neighbours.voting.votes import Floats, minimise

#: The distance in an unused place of a table of neighbours.
_NOBODY = 1e3
#: The weights are learned from at most this many of the pictures that are selected for a training picture.
_MOST_SENT = 2000
#: A step over dimensions compares at most about this many pairs of numbers; with more, it asks a sample of pictures.
MOST_COMPARED = 2**30
#: A thread compares the dimensions of this many pictures at a time.
_BLOCK = 32


@declared
class TwoPassKnn(TaggedPictures):
    """2PKNN (Verma and Jawahar, ECCV 2012), with its large-margin metric learning.

    The first pass selects the ``n_neighbors`` pictures of each tag that are nearest the query, so that rare tags are
    represented as well as frequent ones. In the second pass, these pictures vote with weight ``exp(-d / bandwidth)``,
    where ``d = sum_f w_f sum_j v_fj d_fj`` over the features ``f`` and their dimensions ``j``. A score is a tag's share
    of the votes.

    ``weights`` says what is learned: ``dimensions``, ``w`` and ``v`` as in the paper; ``features``, only ``w``; or
    ``equal``, nothing (the paper's 2PKNN without metric learning). For each training picture, the first pass selects
    among the others. The nearest ``n_neighbors`` of each of its tags are targets, the rest are impostors. The weights
    minimise the distances to targets plus the hinge losses of impostors that are not farther by a unit. The loss of an
    impostor is multiplied by the share of the picture's tags that it lacks. ``objective_`` is the mean over targets
    after every step.

    Two things differ from the paper. It takes stochastic sub-gradient steps for ``w`` and ``v`` in turn; here,
    projected quasi-Newton steps find the products ``w_f v_fj``, in which the problem is convex. It keeps the sum of
    ``w`` fixed; here, the sum is free while the weights are learned, and then set to one. The mean of ``v_f`` is one.

    ``X`` and ``metric`` are those of :class:`~visterm.neighbours.TagProp`. To weigh dimensions, the metrics must be
    sums over dimensions: l1 or chi2, which ``auto`` chooses between.

    >>> X, tags = np.array([[0.0], [0.2], [0.4], [5.0]]), [[1, 0], [1, 0], [1, 0], [0, 1]]
    >>> TwoPassKnn(1, metric="l1", bandwidth=1.0, weights="equal").fit(X, tags).score_tags([[0.3]]).round(2)
    array([[0.86, 0.14]])
    """

    scores_are_chances = True
    n_neighbors: Annotated[int, FROM_1] = 4
    _: KW_ONLY
    metric: Annotated[Any, str, Mapping] = "auto"
    bandwidth: Annotated[float, POSITIVE] = 0.03
    weights: Annotated[str, StrOptions({"dimensions", "features", "equal"})] = "dimensions"
    max_iter: Annotated[int, FROM_0] = 50
    _fitted_constraints: ClassVar[dict[str, str]] = {"feature_weights_": "mapping", "bandwidth_": "float >0 inf"}

    def fit(self, X: Features, tags: Any) -> Self:
        """Keep the tagged pictures; learn the weights of features and dimensions."""
        self._validate_params()
        by_dimension = self.weights == "dimensions"
        features = self._start(X, tags, _sums_over_dimensions if by_dimension else None)
        several = len(self.feature_weights_) > 1
        if len(self.train_rows_) > 1 and (by_dimension or (several and self.weights == "features")):
            self._learn_margin(features)
        return self

    def score_tags(self, X: Features) -> Scores:
        """The share of the votes of each tag."""
        return np.minimum(self._tally(X), 1.0)

    def _start(
        self, X: Features, tags: Any, metrics: Callable[[Any, Mapping[str, Matrix]], Any] | None = None
    ) -> dict[str, Matrix]:
        """Keep the tagged pictures, all features weighed the same; returns the features. None: metrics as given."""
        features, _ = self._keep_tagged(X, tags)
        metric = self.metric if metrics is None else metrics(self.metric, features)
        self.distances_ = BaseDistances(metric).fit(features, rows=self.train_rows_)
        self.feature_weights_ = dict.fromkeys(self.distances_.metrics_, 1 / len(self.distances_.metrics_))
        self.bandwidth_ = float(self.bandwidth)
        self.objective_ = np.empty(0)
        return features

    def _tally(self, X: Features) -> Floats:
        """The share of the votes of each tag, (n_pictures, n_tags)."""
        features, weights = check_feature_mapping(self, X, fitting=False), self._weights()

        def of_block(_: slice, block: NDArray[Any]) -> Floats:
            return self._votes(weighted_sum(block, weights)) @ self.train_tags_

        parts = list(self.distances_.map_blocks(features, of_block))
        return np.concatenate(parts) if parts else np.empty((0, len(self.tag_counts_)))

    def _votes(self, joint: NDArray[Any]) -> Floats:
        """The second pass: the votes of all training pictures at the distances ``joint``, which sum to one."""
        nearest = joint.min(axis=1, keepdims=True)
        votes = np.exp((nearest - joint) / self.bandwidth_, dtype=np.float64)
        votes[~self._chosen(joint)] = 0.0
        return votes / votes.sum(axis=1, keepdims=True)

    def _weights(self) -> Floats:
        """``w``, in the order of the features."""
        return np.array(list(self.feature_weights_.values()))

    def _chosen(self, joint: NDArray[Any]) -> NDArray[np.bool_]:
        """The first pass: which training pictures are among the nearest of one of their tags."""
        from visterm.neighbours import _kernels

        by_tag = self.train_tags_.tocsc()
        chosen = np.empty(joint.shape, np.bool_)
        _kernels.nearest_of_each_tag(joint, by_tag.indptr, by_tag.indices, self.n_neighbors, chosen)
        return chosen

    def _sent(self, features: Features) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """The other pictures that the first pass selects for each training picture, nearest first, and base distances.

        Rows (n_train, n_sent) and distances (n_train, n_sent, n_features); unused places are far from everything. With
        many tags almost all pictures are selected; then only the nearest are kept, since the others hardly vote.
        """
        weights = self._weights()

        def of_block(rows: slice, block: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[Any], NDArray[np.intp]]:
            joint = weighted_sum(block, weights)
            joint[np.arange(len(joint)), np.arange(rows.start, rows.stop)] = np.inf
            joint[~self._chosen(joint)] = np.inf
            n_sent = np.isfinite(joint).sum(axis=1)
            most = min(_MOST_SENT, int(n_sent.max()))
            order = np.argsort(joint, axis=1, kind="stable")[:, :most].astype(np.int32)
            return order, np.take_along_axis(block, order[None], axis=2).transpose(1, 2, 0), n_sent

        found = list(self.distances_.map_blocks(features, of_block, rows=self.train_rows_))
        n_most = max(part.shape[1] for part, _, _ in found)
        rows = np.zeros((len(self.train_rows_), n_most), np.int32)
        base = np.full((*rows.shape, len(weights)), _NOBODY, found[0][1].dtype)
        start = 0
        for order, near, n_sent in found:
            taken = np.arange(order.shape[1]) < n_sent[:, None]
            block = slice(start, start + len(order))
            rows[block, : order.shape[1]] = np.where(taken, order, 0)
            base[block, : order.shape[1]] = np.where(taken[..., None], near, _NOBODY)
            start += len(order)
        return rows, base

    def _learn_margin(self, features: Features) -> None:
        """Minimise the paper's loss: the pull of targets, and the push of impostors within a unit of them."""
        from visterm.neighbours import _kernels

        rows, base = self._sent(features)
        pairs = DimensionPairs(self.distances_, rows) if self.weights == "dimensions" else FeaturePairs(base)
        targets, gains = (roles[pairs.asked] for roles in self._roles(rows, base))
        # mutants: 1 -> 2: without a target the loss is 0, whatever divides it
        n_targets = max(1, int(targets.sum()))  # losses are means over targets, so they do not grow with the collection
        slopes = np.empty(targets.shape)

        def cost(weights: Floats) -> tuple[float, Floats]:
            joint = pairs.distances(weights)
            loss = _kernels.margin_loss(joint, targets, gains, slopes) + float(joint[targets].sum())
            return loss / n_targets, pairs.slopes(slopes + targets) / n_targets

        with progress.task("Learning the metric", total=self.max_iter) as bar:
            weights, trace = minimise(cost, np.ones(pairs.n_weights), max_iter=self.max_iter, bar=bar)
        self.objective_ = np.array(trace)
        if self.weights == "features":
            self._keep_weights(weights)
            return
        parts = np.split(weights, np.cumsum(list(self.feature_widths_.values()))[:-1])
        means = np.array([part.mean() for part in parts])
        self._keep_weights(means)
        self.distances_ = self.distances_.with_dimension_weights(
            {
                name: part / mean if mean > 0 else np.ones_like(part)
                for name, part, mean in zip(self.feature_widths_, parts, means, strict=True)
            }
        )

    def _keep_weights(self, weights: Floats) -> None:
        if weights.sum() > 0:
            self.feature_weights_ = dict(zip(self.feature_weights_, (weights / weights.sum()).tolist(), strict=True))

    def _roles(self, rows: NDArray[np.int32], base: NDArray[Any]) -> tuple[NDArray[np.bool_], Floats]:
        """Of the pictures selected for every training picture: which are targets, and the weights of impostors.

        The nearest ``n_neighbors`` for each of its tags are targets. The loss of an impostor is weighed by the share of
        the picture's tags that it lacks, the paper's ``1 - lambda``.
        """
        targets, lacking, used = np.zeros(rows.shape, np.bool_), np.zeros(rows.shape), used_places(base)
        for picture, near in enumerate(rows):
            own = self.train_tags_[[picture]].indices
            carried = self.train_tags_[near][:, own].toarray() > 0  # nearest first
            carried &= used[picture][:, None]
            targets[picture] = (carried & (np.cumsum(carried, axis=0) <= self.n_neighbors)).any(axis=1)
            lacking[picture] = 1 - carried.mean(axis=1)
        return targets, np.where(used & ~targets, lacking, 0.0)


class FeaturePairs:
    """All training pictures and those selected for each: ``base`` (n_train, n_near, n_features) are their distances."""

    asked = slice(None)

    def __init__(self, base: NDArray[Any]) -> None:
        self.base, self.n_weights = base, base.shape[2]

    def distances(self, weights: Floats) -> Floats:
        """(n_train, n_near): ``sum_f weights_f d_f`` of every pair."""
        return self.base @ weights

    def slopes(self, counts: Floats) -> Floats:
        """(n_features,): ``d_f`` summed over all pairs, each times its entry of ``counts``."""
        return np.tensordot(counts, self.base, axes=2).astype(np.float64)


class DimensionPairs:
    """Some training pictures ``asked`` and those selected for each, compared dimension by dimension.

    ``distances`` are fitted base distances by l1 or chi2. ``rows`` (n_train, n_near) are the pictures selected for each
    training picture. All features stand side by side, divided by their scales.

    >>> base = BaseDistances("l1").fit(np.array([[0.0, 1.0], [2.0, 0.0]]))
    >>> pairs = DimensionPairs(base, np.array([[1], [0]]))
    >>> (pairs.distances(np.array([1.0, 5.0])) * base.scales_["x"]).round(3).tolist(), pairs.asked.tolist()
    ([[7.0], [7.0]], [0, 1])
    """

    def __init__(self, distances: BaseDistances, rows: NDArray[np.integer[Any]]) -> None:
        parts = [
            (matrix if isinstance(matrix, np.ndarray) else matrix.toarray()) / distances.scales_[name]
            for name, matrix in distances.train_features_.items()
        ]
        self.X = np.hstack(parts).astype(np.float32, copy=False)
        self.n_weights = self.X.shape[1]
        widths = [part.shape[1] for part in parts]
        self.is_chi2 = np.repeat([distances.metrics_[name] == "chi2" for name in distances.train_features_], widths)
        n_asked = max(1, MOST_COMPARED // max(1, rows.shape[1] * self.n_weights))
        self.asked = np.unique(evenly(len(rows), n_asked))
        self.near = rows[self.asked]

    def distances(self, weights: Floats) -> Floats:
        """(n_asked, n_near): ``sum_j weights_j d_j`` of every pair."""
        from visterm.neighbours import _kernels

        found = np.empty(self.near.shape)

        def of_block(some: slice) -> None:
            pairs = _kernels.Pairs(self.X, self.asked[some], self.near[some], self.is_chi2)
            _kernels.distances_of_pairs(pairs, weights, found[some])

        in_threads(of_block, slices(len(self.asked), _BLOCK))
        return found

    def slopes(self, counts: Floats) -> Floats:
        """(n_dims,): ``d_j`` summed over all pairs, each times its entry of ``counts`` (n_asked, n_near)."""
        from visterm.neighbours import _kernels

        def of_block(some: slice) -> Floats:
            total = np.zeros(self.n_weights)
            pairs = _kernels.Pairs(self.X, self.asked[some], self.near[some], self.is_chi2)
            _kernels.slopes_of_pairs(pairs, counts[some], total)
            return total

        return np.sum(list(in_threads(of_block, slices(len(self.asked), _BLOCK))), axis=0)


def _sums_over_dimensions(metric: Any, features: Mapping[str, Matrix]) -> dict[str, str]:
    """The metric of each feature; ``auto`` is chi2 if no value is negative, else l1."""
    given = metric if isinstance(metric, Mapping) else dict.fromkeys(features, metric)
    automatic = {name: "l1" if matrix.min() < 0 else "chi2" for name, matrix in features.items()}
    chosen = {name: automatic[name] if given.get(name, "auto") == "auto" else given[name] for name in features}
    for name, of_feature in chosen.items():
        if of_feature not in WEIGHABLE:
            raise InputError(
                f"the dimensions of {name!r} cannot be weighed with the metric {of_feature}: choose one of "
                f"{', '.join(WEIGHABLE)}, or weights='features'"
            )
    return chosen


def used_places(base: NDArray[Any]) -> NDArray[np.bool_]:
    """The places of a table of neighbours in which somebody stands."""
    return np.asarray(base[..., 0] < _NOBODY, np.bool_)
