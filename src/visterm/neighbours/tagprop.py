"""TagProp: tags as a weighted vote of neighbours whose weights maximise the likelihood of the training tags."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from visterm.compute import progress
from visterm.contracts import Features, Scores
from visterm.errors import InputError
from visterm.neighbours.several import Lookalikes
from visterm.neighbours.votes import Floats, Votes, fading, likeliest_weights

#: Where learning starts: votes fade by a factor of e over a twentieth of the mean distance.
_FALL = 20.0


class TagProp(Lookalikes):
    """Tag propagation in nearest neighbour models (Guillaumin, Mensink, Verbeek and Schmid, ICCV 2009).

    ``p(tag w of picture i) = sum_j pi_ij [w on j]`` over the ``n_neighbors`` nearest training pictures, with

    - ``weighting="distance"``: ``pi_ij ~ exp(-v . d_ij)``, ``d_ij`` the base distances of all features and ``v >= 0``
      their learned weights (metric learning; with one feature, how fast votes fade), or
    - ``weighting="rank"``: ``pi_ij`` the weight of being the k-th nearest, found by EM.

    Weights maximise the likelihood of every training picture's tags given its neighbours', present tags as a whole
    counting as much as absent ones. In each of ``n_rounds`` rounds neighbours are sought by the weights known so far,
    then weights are learned under the sigmoids known so far, then sigmoids. ``objective_`` is the log-likelihood after
    every step of the last round.

    Votes become probabilities by those that training pictures got without themselves: ``tag_power`` measures each tag's
    less their mean in units of that power of their deviation, so that what stands out wins, however rare the tag; one
    sigmoid then serves all tags. With a ``tag_power`` of 0, ``sigmoids=True`` fits ``sigmoid(a_w p + b_w)``, one
    of every word as in the paper; ``shrinkage`` is how many pictures' worth of evidence draw a word towards the
    sigmoid of all.

    >>> rng = np.random.default_rng(0)
    >>> tags = np.repeat([[1, 0], [0, 1]], 20, axis=0)
    >>> X = {"useful": tags[:, :1] + 1.5 * rng.random((40, 1)), "noise": rng.random((40, 1))}
    >>> model = TagProp(metric="l1").fit(X, tags)
    >>> model.feature_weights_["useful"] > 5 * model.feature_weights_["noise"]
    True
    """

    def __init__(
        self,
        n_neighbors: int = 200,
        *,
        weighting: str = "distance",
        metric: Any = "auto",
        sigmoids: bool = True,
        shrinkage: float = 1.0,
        tag_power: float = 1.0,
        n_rounds: int = 1,
        max_iter: int = 50,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weighting = weighting
        self.metric = metric
        self.sigmoids = sigmoids
        self.shrinkage = shrinkage
        self.tag_power = tag_power
        self.n_rounds = n_rounds
        self.max_iter = max_iter

    def fit(self, X: Features, tags: Any) -> Self:
        """Learn from every training picture's neighbours among the others."""
        if min(self.n_neighbors, self.n_rounds) < 1 or self.weighting not in {"distance", "rank"}:
            raise InputError("TagProp needs at least one neighbour, one round, a weighting of 'distance' or 'rank'")
        pictures = self._keep(X, tags)
        self.feature_weights_ = dict.fromkeys(self.distances_.metrics_, 1 / self._n_features)
        self.rank_weights_ = np.ones(1)
        self._no_calibration()
        self.objective_ = np.empty(0)
        if self._n_train < 2:
            return self
        n_rounds = self.n_rounds if self.weighting == "distance" else 1  # ranks are those of equal weights
        with progress.task("Weighing neighbours", total=n_rounds * self.max_iter) as bar:
            for _ in range(n_rounds):
                self._learn(pictures, bar)
        return self

    def score_tags(self, X: Features) -> Scores:
        """The probability of every tag."""
        rows, base = self._neighbours(X)
        return self._probabilities(Votes(rows, self.train_tags_, of_training=False).tally(self._shares(base)))

    def neighbours_of(self, X: Features) -> tuple[NDArray[np.intp], Floats]:
        """The rows of the training pictures that vote, nearest first, and the weight of each."""
        rows, base = self._neighbours(X)
        return self.train_rows_[rows], self._shares(base)

    def _neighbours(self, X: Features) -> tuple[NDArray[np.intp], NDArray[Any]]:
        return self._nearest(self._check(X), self.n_neighbors, self._weights())

    def _weights(self) -> Floats:
        return np.array(list(self.feature_weights_.values()))

    def _shares(self, base: NDArray[Any]) -> Floats:
        """``pi``: the weight of every neighbour, from its base distances or its rank."""
        if self.weighting == "rank":
            ranks = np.zeros(base.shape[1])
            ranks[: len(self.rank_weights_)] = self.rank_weights_[: base.shape[1]]
            return np.tile(ranks / max(ranks.sum(), 1e-300), (len(base), 1))
        return fading(base, self._weights())

    def _learn(self, pictures: Features, bar: progress.Bar) -> None:
        """One round: neighbours, then their weights, then the sigmoids."""
        rows, base = self._nearest(pictures, self.n_neighbors, self._weights(), leave_out=True)
        votes = Votes(rows, self.train_tags_)
        if self.weighting == "rank":
            self._learn_ranks(votes, bar)
        else:
            start = self._weights() if len(self.objective_) else np.full(self._n_features, _FALL / self._n_features)
            weights, trace = likeliest_weights(
                votes, base, start, self.slope_, self.offset_, max_iter=self.max_iter, bar=bar
            )
            self.feature_weights_ = dict(zip(self.feature_weights_, weights.tolist(), strict=True))
            self.objective_ = np.array(trace or self.objective_)
        self._calibrate(votes, votes.tally(self._shares(base)))

    def _learn_ranks(self, votes: Votes, bar: progress.Bar) -> None:
        """EM: a rank's weight becomes its share in explaining the tags; the likelihood never falls."""
        n, k = votes.neighbours.shape
        ranks, trace = np.full(k, 1 / k), [-np.inf]
        for _ in range(self.max_iter):
            value, slopes = votes.likelihood(np.tile(ranks, (n, 1)), self.slope_, self.offset_, expected=True)
            bar.report(objective=value)
            bar.advance()
            if value - trace[-1] <= 1e-7 * abs(value):
                break
            trace.append(value)
            ranks = ranks * slopes.sum(axis=0)
            ranks /= ranks.sum()
        self.rank_weights_, self.objective_ = ranks, np.array(trace[1:])
