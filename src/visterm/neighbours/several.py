"""Look-alikes by several features: base distances of equal weight, or of weights that a method learns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.contracts import Features, check_feature_mapping, check_tags, n_pictures, take
from visterm.distances.base import BaseDistances
from visterm.errors import InputError
from visterm.neighbours.calibrated import CalibratedVotes
from visterm.neighbours.distances import smallest


class Lookalikes(CalibratedVotes):
    """What the neighbour methods of several features share: their training pictures and the distances to them.

    ``X`` is a mapping of name to matrix, or one matrix. ``metric`` is that of
    :class:`~visterm.distances.base.BaseDistances`: ``auto``, a name, or a name for each feature. Of a feature with the
    metric ``precomputed``, ``X`` holds the distances to all training pictures in place of values: (n_train, n_train)
    in fit, (n_pictures, n_train) later.
    """

    metric: Any

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

    def _check(self, X: Features) -> Features:
        return check_feature_mapping(self, X, fitting=False)
