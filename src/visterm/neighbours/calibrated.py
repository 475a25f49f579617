"""Turning votes into scores from 0 to 1, learned from the votes of the other pictures for each training picture."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.calibration import fit_deviations, fit_sigmoids, sigmoid
from visterm.neighbours.tagged_pictures import TaggedPictures
from visterm.neighbours.votes import Floats, Votes


class CalibratedVotes(TaggedPictures):
    """The base of methods whose neighbours vote: the parameters ``tag_power``, ``sigmoids`` and ``shrinkage``.

    :class:`~visterm.neighbours.tagprop.TagProp` explains them. Scores lie between 0 and 1 but are not probabilities.
    With ``tag_power`` one sigmoid serves all tags, which favours rare ones. The sigmoids of ``sigmoids`` are fitted
    with weights that make present tags count as much as absent ones.
    """

    scores_are_chances = True

    sigmoids: bool
    shrinkage: float
    tag_power: float
    tag_counts_: NDArray[Any]
    slope_: Floats
    offset_: Floats

    def _calibrate(self, votes: Votes, shares: Floats) -> None:
        """Learn how votes become scores, from the votes of the other pictures for each training picture."""
        if not (self.tag_power or self.sigmoids):
            return
        tally, present = votes.tally(shares), votes.present
        if self.tag_power:
            self.slope_, self.offset_ = fit_deviations(tally, present, power=self.tag_power)
        else:
            self.slope_, self.offset_ = fit_sigmoids(tally, present, votes.gain, votes.loss, shrinkage=self.shrinkage)

    def _no_calibration(self) -> None:
        n_tags = len(self.tag_counts_)
        self.slope_, self.offset_ = np.full(n_tags, np.inf), np.zeros(n_tags)

    def _scores(self, tally: Floats) -> Floats:
        """The scores that the votes stand for. Without calibration, they are the votes themselves."""
        calibrated = np.isfinite(self.slope_).all()
        return sigmoid(tally, self.slope_, self.offset_) if calibrated else np.clip(tally, 0, 1)
