"""Turning votes into scores from 0 to 1, learned from the votes of the other pictures for each training picture."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from visterm.calibration import fit_deviations, fit_sigmoids, sigmoid
from visterm.contracts import FROM_1, NOT_NEGATIVE, Features, Scores
from visterm.neighbours.voting.tagged_pictures import TaggedPictures
from visterm.neighbours.voting.votes import Floats, Votes, tally


class CalibratedVotes(TaggedPictures):
    """The base of methods whose neighbours vote: the parameters ``tag_power``, ``sigmoids`` and ``shrinkage``.

    :class:`~visterm.neighbours.tagprop.TagProp` explains them. Scores lie between 0 and 1 but are not probabilities.
    With ``tag_power`` one sigmoid serves all tags, which favours rare ones. The sigmoids of ``sigmoids`` are fitted
    with weights that make present tags count as much as absent ones.
    """

    scores_are_chances = True

    n_neighbors: Annotated[int, FROM_1]
    metric: Annotated[Any, str, Mapping]
    sigmoids: bool
    shrinkage: Annotated[float, NOT_NEGATIVE]
    tag_power: Annotated[float, NOT_NEGATIVE]
    tag_counts_: NDArray[Any]
    slope_: Floats
    offset_: Floats
    _fitted_constraints: ClassVar[dict[str, str]] = {"slope_": "float | n_tags inf", "offset_": "float | n_tags"}

    def _calibrate(self, votes: Votes, shares: Floats) -> None:
        """Learn how votes become scores, from the votes of the other pictures for each training picture."""
        if not (self.tag_power or self.sigmoids):
            return
        given, present = votes.tally(shares), votes.present
        if self.tag_power:
            self.slope_, self.offset_ = fit_deviations(given, present, power=self.tag_power)
        else:
            self.slope_, self.offset_ = fit_sigmoids(given, present, votes.gain, votes.loss, shrinkage=self.shrinkage)

    def _no_calibration(self) -> None:
        n_tags = len(self.tag_counts_)
        self.slope_, self.offset_ = np.full(n_tags, np.inf), np.zeros(n_tags)

    def score_tags(self, X: Features) -> Scores:
        """The score of every tag, from 0 to 1; not a probability. Without calibration, it is the share of the votes."""
        votes = self._tally(X)
        calibrated = np.isfinite(self.slope_).all()
        return sigmoid(votes, self.slope_, self.offset_) if calibrated else np.clip(votes, 0, 1)

    def _tally(self, X: Features) -> Floats:
        """The share of the votes of each tag, (n_pictures, n_tags)."""
        rows, shares = self._neighbours(X)
        return tally(shares, rows, self.train_tags_)

    def _neighbours(self, X: Features) -> tuple[NDArray[np.intp], Floats]:
        """The training pictures that vote, nearest first, and the share of each."""
        raise NotImplementedError
