"""Means and covariances of features and of vectors that say the same in another way, such as those of texts."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.errors import InputError
from visterm.subspace.linear.moments import Moments


class ViewMoments(Moments):
    """:class:`Moments` whose second view ``y`` is a dense vector for each picture, not tags.

    >>> X, Y = np.array([[0.0], [2.0], [4.0]]), np.array([[1.0, 0.5], [2.0, 0.5], [3.0, 0.5]])
    >>> ViewMoments().fit(X, Y).C_xy.round(2)
    array([[1.33, 0.  ]])
    """

    def _second_view(self, tags: Any, n_rows: int) -> NDArray[Any]:
        view = np.asarray(tags)
        if view.ndim != 2 or len(view) != n_rows or view.dtype.kind != "f" or not np.isfinite(view).all():
            raise InputError(f"the second view must be finite numbers, a row for each of the {n_rows} pictures")
        return view

    def _scatter(self, tags: Any) -> NDArray[np.float64]:
        centred = tags - tags.mean(axis=0, dtype=np.float64).astype(tags.dtype)
        rest = centred.mean(axis=0, dtype=np.float64)  # what remains of the mean because of rounding
        return np.asarray((centred.T @ centred).astype(np.float64) - len(tags) * np.outer(rest, rest))
