"""How probable it is that a picture belongs to no labelled class: by how easily walks reach labelled pictures."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from visterm.calibration import fit_platt
from visterm.contracts.estimator import Estimator
from visterm.graph.label_propagation import spread
from visterm.graph.neighbourhood import Neighbourhood

Floats = NDArray[np.floating[Any]]
Integers = NDArray[np.integer[Any]]

#: Walks go on with this probability. Of .9, .95 and .98, on classes of Corel5K training pictures, this one estimated
#: best how many pictures belong to no labelled class.
REACH = 0.9
#: Without two pictures of any class, nothing can be held out: the slope and the offset of then.
_GUESS = (-1.2, -0.8)
#: Learned from at most this many labelled pictures.
_MOST_ASKED = 500
#: The share of strangers is estimated as if by five more pictures, half of one a stranger.
_PRIOR = (0.5, 5.0)
_ROUNDS = 200
_HALF = 0.5
#: A reach of 1 is usual; less than this is as good as nothing.
_LEAST = 0.01


class Strangers(Estimator):
    """Tells pictures of unlabelled classes ("none of these") from those of labelled classes.

    The reach of picture i is ``r_i = (n / K) sum_k mean_{j of class k} A_ij`` with the walks
    ``A = inv(I - alpha N)``, each row as a share: how often walks from i pass a labelled picture, whatever the number
    of labels of a class. Each labelled picture shows two reaches: without itself, as a picture of a known class; and
    without its whole class, as a stranger. The odds are ``exp(offset + slope log r)``, fitted to these; the share of
    strangers among the pictures without a class is the most likely one (Saerens et al., Neural Computation 2002).
    ``left_out_`` counts the labelled pictures that would be called strangers without their class, and all.
    """

    _fitted_constraints: ClassVar[dict[str, str]] = {
        "reach_": "n_pictures >=0",
        "slope_": "float",
        "offset_": "float",
        "share_": "float >=0",
    }

    def fit(self, near: Neighbourhood, rows: Integers, codes: Integers) -> Self:
        """Learn from the pictures ``rows`` of the graph, whose classes are ``codes``."""
        n, counts = near.graph_.links_.shape[0], np.bincount(codes)
        each = np.zeros((n, 1))
        each[rows, 0] = n / len(counts) / counts[codes]
        self.reach_ = near.spread(each, REACH)[:, 0]
        self.slope_, self.offset_ = _GUESS
        known, strange = self._left_out(near, rows, codes, counts)
        if len(known) and len(counts) > 1:
            x = _logs(np.concatenate([known, strange]))
            is_strange = np.arange(len(x)) >= len(known)
            ((slope, offset),) = fit_platt(-x.reshape(-1, 1), is_strange.reshape(-1, 1))
            self.slope_, self.offset_ = -float(slope), float(offset) - float(logit(len(strange) / len(x)))
        self.share_ = self._share(np.delete(self.reach_, rows))
        self.left_out_ = [int((self.probabilities(strange) > _HALF).sum()), len(strange)] if len(counts) > 1 else [0, 0]
        return self

    def probabilities(self, reach: Floats) -> Floats:
        """The probability that pictures with this reach belong to no labelled class."""
        return np.asarray(expit(self._log_ratio(reach) + logit(self.share_)))

    def _left_out(
        self, near: Neighbourhood, rows: Integers, codes: Integers, counts: Integers
    ) -> tuple[Floats, Floats]:
        """The reaches of labelled pictures without themselves, and without their class."""
        n = near.graph_.links_.shape[0]
        some = np.arange(len(rows))
        if len(rows) > _MOST_ASKED:
            some = np.sort(np.random.default_rng(0).choice(len(rows), _MOST_ASKED, replace=False))
        starts = np.zeros((n, len(some)))
        starts[rows[some], np.arange(len(some))] = 1
        total = spread(near.graph_.links_, np.ones((n, 1)), REACH)[rows[some]]
        walks = np.maximum(spread(near.graph_.links_, starts, REACH)[rows].T, 0) / total * (n / len(counts))
        same = codes[some][:, np.newaxis] == codes
        strange = (walks / counts[codes] * ~same).sum(axis=1)
        walks[np.arange(len(some)), some] = 0
        own = (walks * same).sum(axis=1) / np.maximum(counts[codes[some]] - 1, 1)
        return (strange + own)[counts[codes[some]] > 1], strange

    def _log_ratio(self, reach: Floats) -> Floats:
        return np.asarray(np.clip(self.offset_ + self.slope_ * _logs(reach), -20, 20))

    def _share(self, reach: Floats) -> float:
        """The most likely share of strangers, by expectation and maximisation."""
        ratio, (strange, more) = np.exp(self._log_ratio(reach)), _PRIOR
        share = strange / more
        for _ in range(_ROUNDS):
            p = share * ratio / (share * ratio + 1 - share)
            share = (float(p.sum()) + strange) / (len(p) + more)
        return share


def _logs(reach: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(reach, _LEAST)))
