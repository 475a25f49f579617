"""One feature out of several, for methods that do not look at features."""

from __future__ import annotations

from visterm.contracts import Features, Matrix, is_several


def any_feature(X: Features) -> Matrix:
    """One matrix of ``X``. Only its number of rows is used."""
    return next(iter(X.values())) if is_several(X) else X
