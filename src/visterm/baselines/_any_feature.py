"""Several features reduced to one, for methods that look at none."""

from __future__ import annotations

from visterm.contracts import Features, Matrix, is_several


def any_feature(X: Features) -> Matrix:
    """One matrix of ``X``: only its number of rows is looked at."""
    return next(iter(X.values())) if is_several(X) else X
