"""Pairs of training pictures compared dimension by dimension, to learn what each dimension counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute.threads import in_threads
from visterm.distances import WEIGHABLE, BaseDistances
from visterm.errors import InputError

Floats = NDArray[np.float64]

#: One pass compares at most about this many pairs of numbers; with more, a sample of the pictures is asked.
MOST_COMPARED = 2**30
#: A thread takes this many pictures at a time.
_BLOCK = 32


class DimensionPairs:
    """Some training pictures ``asked`` and the other training pictures ``near`` each of them.

    ``distances`` are fitted base distances by l1 or chi2: sums over dimensions. ``rows`` (n_train, n_near) are the
    others near each training picture. All features stand side by side, divided by their scales.

    >>> base = BaseDistances("l1").fit(np.array([[0.0, 1.0], [2.0, 0.0]]))
    >>> pairs = DimensionPairs(base, np.array([[1], [0]]))
    >>> (pairs.distances(np.array([1.0, 5.0])) * base.scales_["x"]).round(3).tolist(), pairs.asked.tolist()
    ([[7.0], [7.0]], [0, 1])
    """

    def __init__(self, distances: BaseDistances, rows: NDArray[np.integer[Any]]) -> None:
        wrong = [name for name, metric in distances.metrics_.items() if metric not in WEIGHABLE]
        if wrong:
            raise InputError(
                f"the dimensions of {wrong[0]!r} cannot be weighed with the metric {distances.metrics_[wrong[0]]}: "
                f"choose one of {', '.join(WEIGHABLE)}"
            )
        parts = [
            (matrix if isinstance(matrix, np.ndarray) else matrix.toarray()) / distances.scales_[name]
            for name, matrix in distances.train_features_.items()
        ]
        self.X = np.hstack(parts).astype(np.float32, copy=False)
        widths = [part.shape[1] for part in parts]
        self.is_chi2 = np.repeat([distances.metrics_[name] == "chi2" for name in distances.train_features_], widths)
        n_asked = max(1, MOST_COMPARED // max(1, rows.shape[1] * self.X.shape[1]))
        self.asked = np.unique(np.linspace(0, len(rows) - 1, min(n_asked, len(rows))).astype(np.intp))
        self.near = rows[self.asked]

    def distances(self, weights: Floats) -> Floats:
        """(n_asked, n_near): ``sum_j weights_j d_j`` of every pair."""
        from visterm.neighbours import _kernels

        found = np.empty(self.near.shape)

        def of_block(some: slice) -> None:
            pairs = _kernels.Pairs(self.X, self.asked[some], self.near[some], self.is_chi2)
            _kernels.distances_of_pairs(pairs, weights, found[some])

        in_threads(of_block, self._blocks())
        return found

    def slopes(self, counts: Floats) -> Floats:
        """(n_dims,): ``d_j`` summed over all pairs, each times its entry of ``counts`` (n_asked, n_near)."""
        from visterm.neighbours import _kernels

        def of_block(some: slice) -> Floats:
            total = np.zeros(self.X.shape[1])
            pairs = _kernels.Pairs(self.X, self.asked[some], self.near[some], self.is_chi2)
            _kernels.slopes_of_pairs(pairs, counts[some], total)
            return total

        return np.sum(list(in_threads(of_block, self._blocks())), axis=0)

    def _blocks(self) -> list[slice]:
        return [slice(start, start + _BLOCK) for start in range(0, len(self.asked), _BLOCK)]
