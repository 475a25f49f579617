"""A head for a tag of which little is known: what its name says of pictures, corrected by a few answers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.floating[Any]]

#: The log-odds that an answer means at least, either way.
_SURE = 2.0
#: How much a picture like one that was asked about counts against its being another one.
_ANOTHER = 2.0
#: The slope and offset of the sigmoid before any answer, and how sure they are: of deviations 0.5 and 1.
_AS_IT_IS, _PRECISION = np.array([1.0, 0.0]), np.array([4.0, 1.0])
_STEPS = 25
#: More evidence never makes a picture less likely.
_LEAST_SLOPE = 0.05


class Corrected(NamedTuple):
    """(n_pictures,) log-odds, and (n_answers,) those of the pictures with an answer, each without its own answer."""

    log_odds: Floats
    left_out: Floats


def corrected(Z: Floats, prior: Floats, rows: NDArray[np.intp], yes: NDArray[np.bool_]) -> Corrected:
    """The ``prior``, and what the answers about ``rows`` say that it did not.

    Ridge regression of the residuals: 2 minus the prior for a yes, -2 minus the prior for a no; 0 where the prior was
    surer than that, so that a no never makes pictures likelier. It is the mean of a Gaussian process whose mean before
    any answer is the prior. ``Z`` are features of length one, whose last column is constant.
    """
    if not len(rows):
        return Corrected(prior, prior[rows])
    own = Z[rows, :-1].astype(np.float64)
    missing = np.where(yes, np.maximum(_SURE - prior[rows], 0.0), np.minimum(-_SURE - prior[rows], 0.0))
    inverse = np.linalg.inv(own @ own.T + np.eye(len(own)))
    dual = inverse @ missing
    left_out = prior[rows] + missing - dual / np.diag(inverse)
    return Corrected(np.asarray(prior + Z[:, :-1] @ (own.T @ dual)), left_out)


def probabilities(found: Corrected, yes: NDArray[np.bool_]) -> Floats:
    """(n_pictures,) how probably pictures show the word: a sigmoid, fitted to the answers that were left out.

    A Gaussian prior keeps it near the log-odds as they are, for twenty answers tell little of how sure to be.
    """
    terms = np.column_stack([found.left_out, np.ones(len(yes))])
    sigmoid = _AS_IT_IS.copy()
    for _ in range(_STEPS):
        p = expit(terms @ sigmoid)
        gradient = terms.T @ (yes - p) - _PRECISION * (sigmoid - _AS_IT_IS)
        curvature = (terms * (p * (1 - p))[:, None]).T @ terms + np.diag(_PRECISION)
        sigmoid = sigmoid + np.linalg.solve(curvature, gradient)
    return np.asarray(expit(max(sigmoid[0], _LEAST_SLOPE) * found.log_odds + sigmoid[1]))


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
