"""A head for a tag of which little is known: what its name says of pictures, corrected by a few answers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]

#: The log-odds that an answer means at least, either way.
_SURE = 2.0
#: How much a picture like one that was asked about counts against its being another one.
_ANOTHER = 2.0


def corrected(Z: Floats, prior: Floats, rows: NDArray[np.intp], yes: NDArray[np.bool_]) -> Floats:
    """(n_pictures,) log-odds: the ``prior``, and what the answers about ``rows`` say that it did not.

    Ridge regression of the residuals: 2 minus the prior for a yes, -2 minus the prior for a no; 0 where the prior was
    surer than that, so that a no never makes pictures likelier. It is the mean of a Gaussian process whose mean before
    any answer is the prior. ``Z`` are features of length one, whose last column is constant.
    """
    if not len(rows):
        return prior
    own = Z[rows, :-1].astype(np.float64)
    missing = np.where(yes, np.maximum(_SURE - prior[rows], 0.0), np.minimum(-_SURE - prior[rows], 0.0))
    weights = own.T @ np.linalg.solve(own @ own.T + np.eye(len(own)), missing)
    return np.asarray(prior + Z[:, :-1] @ weights)


def next_questions(
    Z: Floats, log_odds: Floats, open_: NDArray[np.bool_], asked: NDArray[np.intp], limit: int
) -> list[int]:
    """The open pictures to ask about: likely ones, unlike those that were ``asked`` about before."""
    own = Z[:, :-1]
    alike = (own @ own[asked].T).max(axis=1, initial=0.0) if len(asked) else np.zeros(len(own))
    chosen: list[int] = []
    left = open_.copy()
    while len(chosen) < limit and left.any():
        best = int(np.where(left, log_odds - _ANOTHER * alike, -np.inf).argmax())
        chosen.append(best)
        left[best] = False
        alike = np.maximum(alike, own @ own[best])
    return chosen
