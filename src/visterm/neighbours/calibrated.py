"""Turning votes into probabilities, learned from the votes of the other pictures for each training picture."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from visterm.calibration import fit_deviations, fit_sigmoids, sigmoid
from visterm.contracts.estimator import Estimator
from visterm.neighbours.votes import Floats, Votes


class CalibratedVotes(Estimator):
    """The base of methods whose neighbours vote: the parameters ``tag_power``, ``sigmoids`` and ``shrinkage``.

    :class:`~visterm.neighbours.tagprop.TagProp` explains them.
    """

    scores_are_probabilities: ClassVar[bool] = True

    sigmoids: bool
    shrinkage: float
    tag_power: float
    tag_counts_: NDArray[Any]
    slope_: Floats
    offset_: Floats

    def _calibrate(self, votes: Votes, tally: Floats) -> None:
        """Learn how votes become probabilities, from the votes of the other pictures for each training picture."""
        if self.tag_power:
            self.slope_, self.offset_ = fit_deviations(tally, votes.present, power=self.tag_power)
        elif self.sigmoids:
            self.slope_, self.offset_ = fit_sigmoids(
                tally, votes.present, votes.gain, votes.loss, shrinkage=self.shrinkage
            )

    def _no_calibration(self) -> None:
        n_tags = len(self.tag_counts_)
        self.slope_, self.offset_ = np.full(n_tags, np.inf), np.zeros(n_tags)

    def _probabilities(self, tally: Floats) -> Floats:
        """The probabilities that the votes stand for. Without calibration, they are the votes themselves."""
        calibrated = np.isfinite(self.slope_).all()
        return sigmoid(tally, self.slope_, self.offset_) if calibrated else np.clip(tally, 0, 1)
