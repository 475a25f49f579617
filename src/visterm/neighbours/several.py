"""Look-alikes by several features: base distances of equal weight, or of weights that a method learns."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from visterm.contracts import Features, check_feature_mapping, check_tags, n_pictures, take
from visterm.contracts.estimator import Estimator
from visterm.distances.base import BaseDistances
from visterm.errors import InputError
from visterm.neighbours.distances import smallest
from visterm.neighbours.sigmoids import fit_deviations, fit_sigmoids, sigmoid
from visterm.neighbours.votes import Floats, Votes


class Lookalikes(Estimator):
    """What the neighbour methods of several features share: their training pictures and the distances to them.

    ``X`` is a mapping of name to matrix, or one matrix. ``metric`` is that of
    :class:`~visterm.distances.base.BaseDistances`: ``auto``, a name, or a name for each feature. Of a feature with the
    metric ``precomputed``, ``X`` holds the distances to all training pictures in place of values: (n_train, n_train)
    in fit, (n_pictures, n_train) later.
    """

    scores_are_probabilities: ClassVar[bool] = True
    metric: Any
    sigmoids: bool
    shrinkage: float
    tag_power: float
    slope_: Floats
    offset_: Floats

    def _keep(self, X: Features, tags: Any) -> Features:
        """Keep the tagged pictures ready for comparison; their features are returned."""
        features = check_feature_mapping(self, X, fitting=True)
        tags = check_tags(tags, n_pictures(features))
        self.train_rows_ = np.flatnonzero(np.diff(tags.indptr))
        if not len(self.train_rows_):
            raise InputError("no picture has a tag: at least one is needed to learn from")
        self.train_tags_ = tags[self.train_rows_]
        self.tag_counts_ = np.bincount(tags.indices, minlength=tags.shape[1])
        self.distances_ = BaseDistances(self.metric).fit(features, rows=self.train_rows_)
        return features if self._n_train == tags.shape[0] else take(features, self.train_rows_)

    @property
    def _n_train(self) -> int:
        return len(self.train_rows_)

    @property
    def _n_features(self) -> int:
        return len(self.distances_.metrics_)

    def _nearest(
        self, X: Features, k: int, weights: NDArray[Any], *, leave_out: bool = False
    ) -> tuple[NDArray[np.intp], NDArray[Any]]:
        """The ``k`` nearest training pictures by the weighted sum, and the base distances (n_rows, k, n_features).

        ``leave_out``: the pictures are the training pictures themselves, and none is its own neighbour.
        """
        k = min(k, self._n_train - int(leave_out))

        def of_block(rows: slice, block: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[Any]]:
            joint = np.tensordot(weights.astype(block.dtype), block, axes=1)
            if leave_out:
                joint[np.arange(len(joint)), np.arange(rows.start, rows.stop)] = np.inf
            chosen = smallest(joint, k)
            return chosen, np.take_along_axis(block, chosen[None], axis=2).transpose(1, 2, 0)

        found = list(self.distances_.map_blocks(X, of_block))
        if not found:
            return np.empty((0, k), np.intp), np.empty((0, k, self._n_features))
        return np.concatenate([rows for rows, _ in found]), np.concatenate([base for _, base in found])

    def _calibrate(self, votes: Votes, tally: Floats) -> None:
        """What votes for every tag are worth, by those of the training pictures, each without its own."""
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
        """What the votes for every tag are worth; themselves where nothing was learned of that."""
        calibrated = np.isfinite(self.slope_).all()
        return sigmoid(tally, self.slope_, self.offset_) if calibrated else np.clip(tally, 0, 1)

    def _check(self, X: Features) -> Features:
        return check_feature_mapping(self, X, fitting=False)
