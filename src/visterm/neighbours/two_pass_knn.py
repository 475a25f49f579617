"""Two-pass k nearest neighbours: each tag selects its nearest pictures, then these pictures vote."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from visterm.compute import progress
from visterm.contracts import Features, Matrix, Scores, check_feature_mapping
from visterm.distances import BaseDistances, weighted_sum
from visterm.errors import InputError
from visterm.neighbours._non_negative import minimise
from visterm.neighbours.calibrated import CalibratedVotes
from visterm.neighbours.dimension_pairs import DimensionPairs
from visterm.neighbours.votes import Floats, Votes, fading, maximise_likelihood

#: The distance in an unused place of a table of neighbours.
_NOBODY = 1e3
#: The votes of a training picture are learned from at most this many of its selected pictures.
_MOST_SENT = 2000

R = TypeVar("R")


class TwoPassKnn(CalibratedVotes):
    """2PKNN (Verma and Jawahar, ECCV 2012), with its large-margin metric learning.

    The first pass selects the ``n_neighbors`` pictures of each tag that are nearest the query, so that rare tags are
    represented as well as frequent ones. In the second pass, these pictures vote with weight ``exp(-d / bandwidth)``,
    where ``d`` is the weighted sum of the base distances. ``learning`` finds the weights from the training pictures;
    for each, the first pass selects among the others:

    - ``margin``, as in the paper: the weights minimise the distances to the nearest pictures of its own tags (targets)
      plus the hinge losses of the other selected pictures that are not farther by a unit (impostors). The loss of an
      impostor is multiplied by the share of the picture's tags that it lacks.
    - ``likelihood``: the weights maximise the likelihood of its tags under the votes (TagProp's objective on 2PKNN's
      neighbours). The bandwidth is learned, too.
    - ``none``: all features count the same.

    ``weights="dimensions"`` (with ``margin``), as in the paper, also weighs the dimensions ``j`` within each feature
    ``f``: ``d = sum_f w_f sum_j v_fj d_fj``, where the mean of ``v_f`` is one. The metrics must be sums over
    dimensions: l1 or chi2, which ``auto`` chooses between. Two things differ from the paper. It takes stochastic
    sub-gradient steps for ``w`` and ``v`` in turn; here, projected quasi-Newton steps find the products ``w_f v_fj``,
    in which the problem is convex. It keeps the sum of ``w`` fixed; here, the sum is free while the weights are
    learned, and then set to one.

    ``objective_`` is the loss, or the log-likelihood, after every step. ``tag_power``, ``sigmoids`` and ``shrinkage``
    turn votes into scores as in :class:`~visterm.neighbours.TagProp`. Without them, scores are shares of the
    votes, as in the paper. ``X`` and ``metric`` are also those of TagProp.

    >>> X, tags = np.array([[0.0], [0.2], [0.4], [5.0]]), [[1, 0], [1, 0], [1, 0], [0, 1]]
    >>> model = TwoPassKnn(1, metric="l1", bandwidth=1.0, learning="none", tag_power=0).fit(X, tags)
    >>> model.score_tags([[0.3]]).round(2)
    array([[0.86, 0.14]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "metric": [str, Mapping],
        "bandwidth": [Interval(Real, 0, None, closed="neither")],
        "learning": [StrOptions({"likelihood", "margin", "none"})],
        "weights": [StrOptions({"features", "dimensions"})],
        "sigmoids": ["boolean"],
        "shrinkage": [Interval(Real, 0, None, closed="left")],
        "tag_power": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_neighbors: int = 4,
        *,
        metric: Any = "auto",
        bandwidth: float = 0.02,
        learning: str = "likelihood",
        weights: str = "features",
        sigmoids: bool = False,
        shrinkage: float = 1.0,
        tag_power: float = 1.0,
        max_iter: int = 50,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.bandwidth = bandwidth
        self.learning = learning
        self.weights = weights
        self.sigmoids = sigmoids
        self.shrinkage = shrinkage
        self.tag_power = tag_power
        self.max_iter = max_iter

    def fit(self, X: Features, tags: Any) -> Self:
        """Keep the tagged pictures; learn the weight of each feature and the scores that votes give."""
        self._validate_params()
        if self.weights == "dimensions" and self.learning != "margin":
            raise InputError("weights='dimensions' are learned by the margin: choose learning='margin', too")
        features, _ = self._keep_tagged(X, tags)
        self.distances_ = BaseDistances(self._metric_for(features)).fit(features, rows=self.train_rows_)
        self.feature_weights_ = dict.fromkeys(self.distances_.metrics_, 1 / len(self.distances_.metrics_))
        self.bandwidth_ = float(self.bandwidth)
        self._no_calibration()
        self.objective_ = np.empty(0)
        if len(self.train_rows_) < 2:
            return self
        sent = None
        if self.learning == "likelihood":
            sent = self._learn_likelihood(features)
        elif self.weights == "dimensions":
            self._learn_dimensions(features)
        elif self.learning == "margin" and len(self.feature_weights_) > 1:
            self._learn_margin(features)
        if self.tag_power or self.sigmoids:
            if sent is None or len(self.feature_weights_) > 1:  # other weights select other pictures
                sent = self._sent(features)
            rows, base = sent
            shares = fading(base, self._weights() / self.bandwidth_, _used(base))
            self._calibrate(Votes(rows, self.train_tags_), shares)
        return self

    def score_tags(self, X: Features) -> Scores:
        """The score of each tag, from 0 to 1, not a probability; or its share of the votes."""
        parts = self._of_votes(X, lambda votes: votes @ self.train_tags_)
        if not parts:
            return np.empty((0, len(self.tag_counts_)))
        return self._scores(np.concatenate(parts))

    def neighbours_of(self, X: Features) -> tuple[NDArray[np.intp], Floats]:
        """The rows of the training pictures that vote, most votes first, and their votes."""

        def ordered(cast: Floats) -> tuple[NDArray[np.intp], Floats]:
            order = np.argsort(-cast, axis=1, kind="stable")
            return order, np.take_along_axis(cast, order, axis=1)

        parts = self._of_votes(X, ordered)
        if not parts:
            return np.empty((0, 0), np.intp), np.empty((0, 0))
        rows, votes = zip(*parts, strict=True)
        n_voting = int(max((part > 0).sum(axis=1).max() for part in votes))
        return self.train_rows_[np.concatenate(rows)[:, :n_voting]], np.concatenate(votes)[:, :n_voting]

    def _of_votes(self, X: Features, task: Callable[[Floats], R]) -> list[R]:
        """``task(votes)`` for blocks of pictures, after the second pass: all training pictures' votes sum to one."""
        features, weights = check_feature_mapping(self, X, fitting=False, halves=True), self._weights()

        def of_block(_: slice, block: NDArray[Any]) -> R:
            joint = weighted_sum(block, weights)
            chosen = self._chosen(joint)
            nearest = joint.min(axis=1, keepdims=True)
            votes = np.where(chosen, np.exp((nearest - joint) / self.bandwidth_, dtype=np.float64), 0.0)
            return task(votes / votes.sum(axis=1, keepdims=True))

        return list(self.distances_.map_blocks(features, of_block))

    def _metric_for(self, features: Mapping[str, Matrix]) -> Any:
        """The metrics; where dimensions are weighed, ``auto`` is chi2 if no value is negative, else l1."""
        if self.weights == "features":
            return self.metric
        given = self.metric if isinstance(self.metric, Mapping) else dict.fromkeys(features, self.metric)
        automatic = {name: "l1" if matrix.min() < 0 else "chi2" for name, matrix in features.items()}
        return {name: automatic[name] if given.get(name, "auto") == "auto" else given[name] for name in features}

    def _weights(self) -> Floats:
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

    def _learn_likelihood(self, features: Features) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """Learn the weights; returns the pictures that were selected to learn from."""
        rows, base = self._sent(features)
        votes = Votes(rows, self.train_tags_)
        with progress.task("Learning the metric", total=self.max_iter) as bar:
            weights, trace = maximise_likelihood(
                votes,
                base,
                self._weights() / self.bandwidth_,
                self.slope_,
                self.offset_,
                max_iter=self.max_iter,
                bar=bar,
                used=_used(base),
            )
        self.objective_ = np.array(trace)
        self._keep_weights(weights)
        if weights.sum() > 0:
            self.bandwidth_ = float(1 / weights.sum())
        return rows, base

    def _learn_margin(self, features: Features) -> None:
        from visterm.neighbours import _kernels

        rows, base = self._sent(features)
        targets, gains = self._roles(rows, base)
        n_targets = max(1, int(targets.sum()))  # losses are means over targets, so they do not grow with the collection
        slopes = np.empty(targets.shape)

        def cost(weights: Floats) -> tuple[float, Floats]:
            joint = base @ weights
            loss = _kernels.margin_loss(joint, targets, gains, slopes) + float(joint[targets].sum())
            gradient = np.tensordot(slopes + targets, base, axes=2)
            return loss / n_targets, gradient.astype(np.float64) / n_targets

        with progress.task("Learning the metric", total=self.max_iter) as bar:
            weights, trace = minimise(cost, np.ones(base.shape[2]), max_iter=self.max_iter, bar=bar)
        self.objective_ = np.array(trace)
        self._keep_weights(weights)

    def _learn_dimensions(self, features: Features) -> None:
        """Learn ``w_f v_fj`` of every dimension, from all training pictures or a sample of many."""
        from visterm.neighbours import _kernels

        rows, base = self._sent(features)
        pairs = DimensionPairs(self.distances_, rows)
        targets, gains = (roles[pairs.asked] for roles in self._roles(rows, base))
        n_targets = max(1, int(targets.sum()))
        slopes = np.empty(targets.shape)

        def cost(weights: Floats) -> tuple[float, Floats]:
            joint = pairs.distances(weights)
            loss = _kernels.margin_loss(joint, targets, gains, slopes) + float(joint[targets].sum())
            return loss / n_targets, pairs.slopes(slopes + targets) / n_targets

        with progress.task("Learning the metric", total=self.max_iter) as bar:
            weights, trace = minimise(cost, np.ones(pairs.X.shape[1]), max_iter=self.max_iter, bar=bar)
        self.objective_ = np.array(trace)
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
        targets, lacking, used = np.zeros(rows.shape, np.bool_), np.zeros(rows.shape), _used(base)
        for picture, near in enumerate(rows):
            own = self.train_tags_[[picture]].indices
            carried = self.train_tags_[near][:, own].toarray() > 0  # nearest first
            carried &= used[picture][:, None]
            targets[picture] = (carried & (np.cumsum(carried, axis=0) <= self.n_neighbors)).any(axis=1)
            lacking[picture] = 1 - carried.mean(axis=1)
        return targets, np.where(used & ~targets, lacking, 0.0)


def _used(base: NDArray[Any]) -> NDArray[np.bool_]:
    """The places of a table of neighbours in which somebody stands."""
    return np.asarray(base[..., 0] < _NOBODY, np.bool_)
