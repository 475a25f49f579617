"""The common ancestor of all methods."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator


class Estimator(BaseEstimator):
    """A scikit-learn estimator whose pictures may be dense rows or sparse bags."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
