"""Two-pass neighbours whose weights and bandwidth make the training tags most likely."""

from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np

from visterm.compute import progress
from visterm.contracts import Features, declared
from visterm.neighbours.two_pass_knn import TwoPassKnn, used_places
from visterm.neighbours.voting.calibrated import CalibratedVotes
from visterm.neighbours.voting.votes import Votes, fading, maximise_likelihood


@declared
class LikelihoodTwoPassKnn(CalibratedVotes, TwoPassKnn):
    """The neighbours of :class:`~visterm.neighbours.TwoPassKnn` with the objective of TagProp.

    The weights of the features and the bandwidth maximise the likelihood of the training tags under the votes of the
    other pictures that the first pass selects. Votes then become scores by ``tag_power``, ``sigmoids`` and
    ``shrinkage`` as in :class:`~visterm.neighbours.TagProp`; without them, scores are shares of the votes.
    ``bandwidth`` is where learning begins. ``objective_`` is the log-likelihood after every step.

    After Verma and Jawahar, ECCV 2012, and Guillaumin et al., ICCV 2009.

    >>> rng = np.random.default_rng(0)
    >>> tags = np.repeat([[1, 0], [0, 1]], 20, axis=0)
    >>> X = {"useful": tags[:, :1] + 1.5 * rng.random((40, 1)), "noise": rng.random((40, 1))}
    >>> weights = LikelihoodTwoPassKnn(metric="l1").fit(X, tags).feature_weights_
    >>> weights["useful"] > 3 * weights["noise"]
    True
    """

    _: KW_ONLY
    bandwidth: float = 0.02
    sigmoids: bool = False
    shrinkage: float = 1.0
    tag_power: float = 1.0

    weights: ClassVar[str] = "features"  # type: ignore[misc]  # not a parameter here
    _tally = TwoPassKnn._tally

    def fit(self, X: Features, tags: Any) -> Self:
        """Keep the tagged pictures; learn the weights, the bandwidth and the scores that votes give."""
        self._validate_params()
        features = self._start(X, tags)
        self._no_calibration()
        if len(self.train_rows_) < 2:
            return self
        rows, base = self._sent(features)
        votes = Votes(rows, self.train_tags_)
        with progress.task("Learning the metric", total=self.max_iter) as bar:
            start = self._weights() / self.bandwidth_
            weights, trace = maximise_likelihood(
                votes, base, start, (self.slope_, self.offset_), max_iter=self.max_iter, bar=bar, used=used_places(base)
            )
        self.objective_ = np.array(trace)
        self._keep_weights(weights)
        if weights.sum() > 0:
            self.bandwidth_ = float(1 / weights.sum())
        if self.tag_power or self.sigmoids:
            # mutants: > -> >=: with one feature the same pictures would be selected again
            if len(self.feature_weights_) > 1:  # other weights select other pictures
                rows, base = self._sent(features)
            shares = fading(base, self._weights() / self.bandwidth_, used_places(base))
            self._calibrate(Votes(rows, self.train_tags_), shares)
        return self
