"""TagProp: tags as a weighted vote of neighbours whose weights maximise the likelihood of the training tags."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from visterm.compute import progress
from visterm.contracts import Features, Scores
from visterm.errors import InputError
from visterm.neighbours.several import Lookalikes
from visterm.neighbours.sigmoids import fit_sigmoids, sigmoid

Floats = NDArray[np.float64]


class TagProp(Lookalikes):
    """Tag propagation in nearest neighbour models (Guillaumin, Mensink, Verbeek and Schmid, ICCV 2009).

    ``p(tag w of picture i) = sum_j pi_ij [w on j]`` over the ``n_neighbors`` nearest training pictures, with

    - ``weighting="distance"``: ``pi_ij ~ exp(-v . d_ij)``, ``d_ij`` the base distances of all features and ``v >= 0``
      their learned weights (metric learning; with one feature, how fast votes fade), or
    - ``weighting="rank"``: ``pi_ij`` the weight of being the k-th nearest, found by EM.

    Weights maximise the likelihood of every training picture's tags given its neighbours', present tags as a whole
    counting as much as absent ones. ``sigmoids=True`` adds ``sigmoid(a_w p + b_w)``, one of every word, which raises
    words that are too rare to win votes; ``shrinkage`` is how many pictures' worth of evidence draw a word towards the
    sigmoid of all. ``objective_`` is the log-likelihood after every step.

    >>> rng = np.random.default_rng(0)
    >>> tags = np.repeat([[1, 0], [0, 1]], 20, axis=0)
    >>> X = {"useful": tags[:, :1] + 1.5 * rng.random((40, 1)), "noise": rng.random((40, 1))}
    >>> model = TagProp(metric="l1", sigmoids=False).fit(X, tags)
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
        max_iter: int = 50,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weighting = weighting
        self.metric = metric
        self.sigmoids = sigmoids
        self.shrinkage = shrinkage
        self.max_iter = max_iter

    def fit(self, X: Features, tags: Any) -> Self:
        """Learn from every training picture's neighbours among the others."""
        if self.n_neighbors < 1 or self.weighting not in {"distance", "rank"}:
            raise InputError("TagProp needs at least one neighbour and a weighting of 'distance' or 'rank'")
        pictures, n_tags = self._keep(X, tags), len(self.tag_counts_)
        self.feature_weights_ = dict.fromkeys(self.distances_.metrics_, 1 / self._n_features)
        self.rank_weights_ = np.ones(1)
        self.slope_, self.offset_ = np.full(n_tags, np.inf), np.zeros(n_tags)
        self.objective_ = np.empty(0)
        if self._n_train < 2:
            return self
        rows, base = self._nearest(pictures, self.n_neighbors, self._weights(), leave_out=True)
        votes = Votes(rows, self.train_tags_)
        with progress.task("Weighing neighbours", total=self.max_iter) as bar:
            if self.weighting == "rank":
                self._learn_ranks(votes, bar)
            else:
                self._learn_distances(votes, base, bar)
        if self.sigmoids:
            self.slope_, self.offset_ = fit_sigmoids(
                votes.tally(self._shares(base)), votes.present, votes.gain, votes.loss, shrinkage=self.shrinkage
            )
        return self

    def score_tags(self, X: Features) -> Scores:
        """The probability of every tag."""
        rows, base = self._neighbours(X)
        votes = Votes(rows, self.train_tags_, of_training=False).tally(self._shares(base))
        return sigmoid(votes, self.slope_, self.offset_) if np.isfinite(self.slope_).all() else np.clip(votes, 0, 1)

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

    def _learn_ranks(self, votes: Votes, bar: progress.Task) -> None:
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

    def _learn_distances(self, votes: Votes, base: NDArray[Any], bar: progress.Task) -> None:
        """The exact gradient by projected quasi-Newton steps: no weight becomes negative."""
        from scipy.optimize import minimize

        trace: list[float] = []

        def cost(weights: Floats) -> tuple[float, Floats]:
            shares = fading(base, weights)
            value, slopes = votes.likelihood(shares, self.slope_, self.offset_)
            pull = shares * (slopes - (shares * slopes).sum(axis=1, keepdims=True))
            return -value, np.einsum("ik,ikf->f", pull, base, optimize=True)

        def note(intermediate_result: Any) -> None:
            trace.append(-float(intermediate_result.fun))
            bar.report(objective=trace[-1])
            bar.advance()

        # Votes fade by a factor of e over a few hundredths of the mean distance.
        start = np.full(base.shape[2], 20.0 / base.shape[2])
        found = minimize(
            cost,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=[(0, None)] * len(start),
            callback=note,
            options={"maxiter": self.max_iter},
        )
        self.feature_weights_ = dict(zip(self.feature_weights_, found.x.tolist(), strict=True))
        self.objective_ = np.array(trace)


def fading(base: NDArray[Any], weights: Floats) -> Floats:
    """``exp(-weights . base)``, normalised over each picture's neighbours."""
    fall = base @ weights.astype(base.dtype)
    shares = np.exp(fall.min(axis=1, initial=np.inf, keepdims=True) - fall, dtype=np.float64)
    return shares / shares.sum(axis=1, keepdims=True)


class Votes:
    """Neighbours and their tags, ready for many evaluations of the likelihood."""

    def __init__(self, neighbours: NDArray[np.intp], tags: Any, *, of_training: bool = True) -> None:
        self.neighbours = neighbours
        self.ends, self.tags, self.n_tags = tags.indptr, tags.indices, tags.shape[1]
        if of_training:
            self.present = tags.toarray() > 0
            n_present = max(1, tags.nnz)
            self.gain, self.loss = 1 / n_present, 1 / max(1, self.present.size - n_present)

    def tally(self, shares: Floats) -> Floats:
        """The weight of the neighbours that carry each tag, (n_pictures, n_tags)."""
        from visterm.neighbours import _kernels

        votes = np.empty((len(shares), self.n_tags))
        _kernels.propagate(shares, self.neighbours, self.ends, self.tags, votes)
        return votes

    def likelihood(
        self, shares: Floats, slope: Floats, offset: Floats, *, expected: bool = False
    ) -> tuple[float, Floats]:
        """The weighted log-likelihood and its slope in every neighbour's share.

        ``expected``: for shares that sum to one, the slope that makes ``shares * slope`` the E step of EM, in which a
        neighbour without a tag explains its absence.
        """
        from visterm.neighbours import _kernels

        votes = self.tally(shares)
        slopes_of_votes = np.empty_like(votes)
        value = _kernels.log_likelihood(votes, self.present, self.gain, self.loss, slope, offset, slopes_of_votes)
        slopes = np.empty_like(shares)
        _kernels.gather(slopes_of_votes, self.neighbours, self.ends, self.tags, slopes)
        if expected:
            slopes -= np.where(self.present, 0, slopes_of_votes).sum(axis=1, keepdims=True)
        return float(value), slopes
