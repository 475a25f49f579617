"""TagProp: tags as a weighted vote of neighbours whose weights maximise the likelihood of the training tags."""

from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from visterm.compute import progress
from visterm.contracts import FROM_0, FROM_1, Features, StrOptions, check_feature_mapping, declared
from visterm.distances import BaseDistances
from visterm.neighbours.voting.calibrated import CalibratedVotes
from visterm.neighbours.voting.votes import Floats, Votes, fading, maximise_likelihood

#: The start of learning: votes fade by a factor of e over a twentieth of the mean distance.
_FALL = 20.0
#: EM ends when a step raises the likelihood by a smaller share.
_LEAST_RISE = 1e-7


@declared
class TagProp(CalibratedVotes):
    """Tag propagation in nearest neighbour models (Guillaumin, Mensink, Verbeek and Schmid, ICCV 2009).

    ``p(tag w of picture i) = sum_j pi_ij [w on j]`` over the ``n_neighbors`` nearest training pictures, with

    - ``weighting="distance"``: ``pi_ij ~ exp(-v . d_ij)``, ``d_ij`` are the base distances of all features and
      ``v >= 0`` their learned weights (metric learning; with one feature, how fast votes fade), or
    - ``weighting="rank"``: ``pi_ij`` is the weight of the k-th nearest picture, found by EM.

    The weights maximise ``L = sum_iw c_iw log p_iw``, the log-likelihood of every training picture's tags given the
    tags of its neighbours. ``c_iw`` makes all present tags together count as much as all absent ones. Each of
    ``n_rounds`` rounds finds neighbours by the current weights, then learns weights under the current sigmoids, then
    the sigmoids. ``objective_`` is the log-likelihood after every step of the last round.

    Votes become scores by what the other pictures voted for each training picture. ``sigmoids=True`` fits
    ``sigmoid(a_w p + b_w)``, one for every tag as in the paper. The paper has no ``shrinkage`` (``tagprop-shrunk``): it
    draws a tag's sigmoid towards the common one, as if by this many pictures, so that a tag of few pictures does not
    become certain. A positive ``tag_power`` (``tagprop-rare``) does something else: it subtracts the mean from each
    tag's votes and divides by their deviation to that power. So votes that stand out win, even for a rare tag; one
    sigmoid then serves all tags.

    ``X`` is a mapping of name to matrix, or one matrix. ``metric`` is that of
    :class:`~visterm.distances.BaseDistances`: ``auto``, a name, or a name for each feature. For a feature with the
    metric ``precomputed``, ``X`` holds the distances to all training pictures instead of values: (n_train, n_train) in
    fit, (n_pictures, n_train) later.

    >>> rng = np.random.default_rng(0)
    >>> tags = np.repeat([[1, 0], [0, 1]], 20, axis=0)
    >>> X = {"useful": tags[:, :1] + 1.5 * rng.random((40, 1)), "noise": rng.random((40, 1))}
    >>> model = TagProp(metric="l1").fit(X, tags)
    >>> model.feature_weights_["useful"] > 5 * model.feature_weights_["noise"]
    True
    """

    n_neighbors: int = 200
    _: KW_ONLY
    weighting: Annotated[str, StrOptions({"distance", "rank"})] = "distance"
    metric: Any = "auto"
    sigmoids: bool = True
    shrinkage: float = 0.0
    tag_power: float = 0.0
    n_rounds: Annotated[int, FROM_1] = 1
    max_iter: Annotated[int, FROM_0] = 50
    _fitted_constraints: ClassVar[dict[str, str]] = {"feature_weights_": "mapping", "rank_weights_": "n_ranks"}

    def fit(self, X: Features, tags: Any) -> Self:
        """Learn from every training picture's neighbours among the others."""
        self._validate_params()
        features, _ = self._keep_tagged(X, tags)
        self.distances_ = BaseDistances(self.metric).fit(features, rows=self.train_rows_)
        self.feature_weights_ = dict.fromkeys(self.distances_.metrics_, 1 / len(self.distances_.metrics_))
        self.rank_weights_, self.objective_ = np.ones(1), np.empty(0)
        self._no_calibration()  # until sigmoids are known, scores are the votes themselves
        if len(self.train_rows_) < 2:
            return self
        learn = self._learn_ranks if self.weighting == "rank" else self._learn_metric
        n_rounds = self.n_rounds if self.weighting == "distance" else 1  # ranks use equal weights
        with progress.task("Weighing neighbours", total=n_rounds * self.max_iter) as bar:
            for _ in range(n_rounds):
                rows, base = self.distances_.nearest(features, self.n_neighbors, self._weights(), leave_out_self=True)
                votes = Votes(rows, self.train_tags_)
                learn(votes, base, bar)
                self._calibrate(votes, self._shares(base))
        return self

    def _neighbours(self, X: Features) -> tuple[NDArray[np.intp], Floats]:
        features = check_feature_mapping(self, X, fitting=False)
        rows, base = self.distances_.nearest(features, self.n_neighbors, self._weights())
        return rows, self._shares(base)

    def _weights(self) -> Floats:
        """``v``, in the order of the features."""
        return np.array(list(self.feature_weights_.values()))

    def _shares(self, base: NDArray[Any]) -> Floats:
        """``pi``: the weight of every neighbour, from its base distances or its rank."""
        if self.weighting == "distance":
            return fading(base, self._weights())
        ranks = np.zeros(base.shape[1])
        ranks[: len(self.rank_weights_)] = self.rank_weights_  # a training picture had one neighbour less, or as many
        return np.tile(ranks, (len(base), 1))

    def _learn_metric(self, votes: Votes, base: NDArray[Any], bar: progress.Bar) -> None:
        """``v = argmax L`` with ``pi_ij ~ exp(-v . d_ij)``, by projected quasi-Newton steps."""
        n_features = base.shape[2]
        start = self._weights() if len(self.objective_) else np.full(n_features, _FALL / n_features)
        weights, trace = maximise_likelihood(
            votes, base, start, (self.slope_, self.offset_), max_iter=self.max_iter, bar=bar
        )
        self.feature_weights_ = dict(zip(self.feature_weights_, weights.tolist(), strict=True))
        self.objective_ = np.array(trace or self.objective_)

    def _learn_ranks(self, votes: Votes, base: NDArray[Any], bar: progress.Bar) -> None:
        """EM: the weight of a rank becomes its share in explaining the tags; the likelihood never falls.

        ``gamma_k <- gamma_k sum_i dL/dpi_ik``, then divided by the sum over all ranks.
        """
        votes, k = votes.of_pictures(votes.sample()), base.shape[1]
        ranks, trace = np.full(k, 1 / k), [-np.inf]
        for _ in range(self.max_iter):
            shares = np.tile(ranks, (len(votes.neighbours), 1))
            value, slopes = votes.likelihood(shares, self.slope_, self.offset_, expected=True)
            bar.report(objective=value)
            bar.advance()
            if value - trace[-1] <= _LEAST_RISE * abs(value):
                break
            trace.append(value)
            ranks = ranks * slopes.sum(axis=0)
            ranks /= ranks.sum()
        self.rank_weights_, self.objective_ = ranks, np.array(trace[1:])
