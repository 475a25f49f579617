"""Two-pass k nearest neighbours: every tag sends its nearest pictures, then these vote."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from visterm.compute import progress
from visterm.contracts import Features, Scores
from visterm.errors import InputError
from visterm.neighbours.several import Lookalikes

Floats = NDArray[np.float64]


class TwoPassKnn(Lookalikes):
    """2PKNN (Verma and Jawahar, ECCV 2012), with its large-margin metric learning.

    First pass: of every tag, the ``n_neighbors`` pictures nearest the query, so that rare tags are as well represented
    as frequent ones. Second pass: those pictures vote with weight ``exp(-d / bandwidth)``. Scores are shares of votes.

    ``learn_metric``: the weight of every base distance minimises, over training pictures and their own nearest
    pictures of each tag, the distances to those that share tags (targets) plus the hinge losses of nearer pictures
    that share fewer (impostors), each by how much it misses; a convex problem, solved by projected subgradients.
    ``objective_`` is the loss after every step that lowered it.

    >>> X, tags = np.array([[0.0], [0.2], [0.4], [5.0]]), [[1, 0], [1, 0], [1, 0], [0, 1]]
    >>> TwoPassKnn(1, metric="l1", bandwidth=1.0).fit(X, tags).score_tags([[0.3]]).round(2)
    array([[0.86, 0.14]])
    """

    def __init__(
        self,
        n_neighbors: int = 4,
        *,
        metric: Any = "auto",
        bandwidth: float = 0.02,
        learn_metric: bool = True,
        max_iter: int = 50,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.bandwidth = bandwidth
        self.learn_metric = learn_metric
        self.max_iter = max_iter

    def fit(self, X: Features, tags: Any) -> Self:
        """Keep the tagged pictures; with several features, learn how much each counts."""
        if self.n_neighbors < 1 or not self.bandwidth > 0:
            raise InputError("TwoPassKnn needs at least one neighbour of each tag and a positive bandwidth")
        pictures = self._keep(X, tags)
        self.feature_weights_ = dict.fromkeys(self.distances_.metrics_, 1 / self._n_features)
        self.objective_ = np.empty(0)
        if self.learn_metric and self._n_features > 1 and self._n_train > 1:
            self._learn_metric(pictures)
        return self

    def score_tags(self, X: Features) -> Scores:
        """The share of the votes for each tag."""
        scores = [votes @ self.train_tags_ for votes in self._votes(X)]
        return np.minimum(np.concatenate(scores), 1) if scores else np.empty((0, len(self.tag_counts_)))

    def neighbours_of(self, X: Features) -> tuple[NDArray[np.intp], Floats]:
        """The rows of the training pictures with most votes, as many as vote for any picture, and their votes."""
        rows, votes = [], []
        for cast in self._votes(X):
            order = np.argsort(-cast, axis=1, kind="stable")
            rows.append(order)
            votes.append(np.take_along_axis(cast, order, axis=1))
        if not rows:
            return np.empty((0, 0), np.intp), np.empty((0, 0))
        n_voting = int(max((part > 0).sum(axis=1).max() for part in votes))
        return self.train_rows_[np.concatenate(rows)[:, :n_voting]], np.concatenate(votes)[:, :n_voting]

    def _votes(self, X: Features) -> list[Floats]:
        """The second pass, for blocks of pictures: the weight of every training picture, summing to one."""
        features, weights = self._check(X), self._weights()

        def of_block(_: slice, block: NDArray[Any]) -> Floats:
            joint = np.tensordot(weights.astype(block.dtype), block, axes=1)
            chosen = self._chosen(joint)
            nearest = joint.min(axis=1, keepdims=True)
            votes = np.where(chosen, np.exp((nearest - joint) / self.bandwidth, dtype=np.float64), 0.0)
            return votes / votes.sum(axis=1, keepdims=True)

        return list(self.distances_.map_blocks(features, of_block))

    def _weights(self) -> Floats:
        return np.array(list(self.feature_weights_.values()))

    def _chosen(self, joint: NDArray[Any]) -> NDArray[np.bool_]:
        """The first pass: which training pictures are among the nearest of one of their tags."""
        from visterm.neighbours import _kernels

        by_tag = self.train_tags_.tocsc()
        chosen = np.empty(joint.shape, np.bool_)
        _kernels.nearest_of_each_tag(joint, by_tag.indptr, by_tag.indices, self.n_neighbors, chosen)
        return chosen

    def _learn_metric(self, pictures: Features) -> None:
        from visterm.neighbours import _kernels

        base, targets, gains = self._candidates(pictures)
        pull = np.where(targets[..., None], base, 0).sum(axis=(0, 1), dtype=np.float64)
        n_targets = max(1, int(targets.sum()))  # losses are means over targets, whatever the collection's size
        weights = best = np.full(base.shape[2], 1.0)
        least, trace, rate = np.inf, [], 0.3
        with progress.task("Learning the metric", total=self.max_iter) as bar:
            for _ in range(self.max_iter):
                gradient = np.zeros(base.shape[2])
                loss = _kernels.margin_terms(base, targets, gains, weights, gradient) / n_targets
                loss += weights @ pull / n_targets
                gradient = (gradient + pull) / n_targets
                if loss < least:
                    least, best = loss, weights
                    trace.append(loss)
                else:
                    weights, rate = best, rate / 2  # too far: back, and on in smaller steps
                    if rate < 1e-4:
                        break
                    continue
                bar.report(objective=loss)
                bar.advance()
                weights = np.maximum(weights - rate * len(weights) * gradient / max(np.abs(gradient).sum(), 1e-12), 0)
        self.objective_ = np.array(trace)
        if best.sum() > 0:
            self.feature_weights_ = dict(zip(self.feature_weights_, (best / best.sum()).tolist(), strict=True))

    def _candidates(self, pictures: Features) -> tuple[NDArray[Any], NDArray[np.bool_], Floats]:
        """Of every training picture: nearby pictures by base distances, which are targets, how far others miss."""
        rows, base = self._nearest(pictures, 50, self._weights(), leave_out=True)
        common = np.zeros(rows.shape)
        for picture, near in enumerate(rows):
            common[picture] = (self.train_tags_[near] @ self.train_tags_[[picture]].T).toarray().ravel()
        own = np.diff(self.train_tags_.indptr)[:, None]
        overlap = common / own
        # Targets: the nearest that share most; impostors count by what they do not share.
        order = np.argsort(-overlap, axis=1, kind="stable")[:, : self.n_neighbors]
        targets = np.zeros(rows.shape, np.bool_)
        np.put_along_axis(targets, order, True, axis=1)
        targets &= overlap > 0
        return np.ascontiguousarray(base), targets, 1 - overlap
