"""Turns scores of tags into probabilities: a sigmoid per tag, fitted alone, shrunk to a common one, or shared.

All are fitted by Newton steps on the likelihood of the tags of held-out pictures, all tags at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.calibration.scales import deviations, tag_leads

Floats = NDArray[np.float64]

_STEPS = 30
_PLATT_STEPS = 50


def sigmoid(scores: NDArray[Any], slope: Any, offset: Any) -> NDArray[Any]:
    """``1 / (1 + exp(-(slope * scores + offset)))``, with a slope and an offset for every column."""
    from scipy.special import expit

    return expit(scores * slope + offset)


def fit_platt(scores: NDArray[Any], present: NDArray[Any]) -> Floats:
    """(n_tags, 2) slopes and offsets: a separate sigmoid for every tag (Platt 1999).

    The targets are smoothed as in Platt's paper, so that a tag seen once does not become certain.
    """
    scores, present = scores.astype(np.float64), present.astype(np.float64)
    n_present = present.sum(axis=0)
    n_absent = len(present) - n_present
    target = np.where(present > 0, (n_present + 1) / (n_present + 2), 1 / (n_absent + 2))
    own = np.stack([np.ones(scores.shape[1]), np.log((n_present + 1) / (n_absent + 1))])
    # The small prior keeps the step finite if the scores separate a tag perfectly.
    centre, prior = np.zeros((2, 1)), (1e-3, 1e-9)
    for _ in range(_PLATT_STEPS):
        step = _newton(scores, target, None, own, centre, prior)
        own = own + step
        if np.abs(step).max(initial=0.0) < 1e-8:
            break
    return own.T


def fit_sigmoids(
    votes: Floats, present: NDArray[np.bool_], gain: float, loss: float, *, shrinkage: float
) -> tuple[Floats, Floats]:
    """Slope and offset of every tag, by weighted maximum likelihood, shrunk towards the sigmoid of all tags.

    Present tags have the weight ``gain``, absent ones ``loss``. The scores could separate a tag of few pictures
    perfectly, and its slope would grow without bound: a prior worth ``shrinkage`` present tags keeps it near the common
    sigmoid.
    """
    weights = np.where(present, gain, loss)
    scale = np.sqrt(np.mean(votes**2)) or 1.0  # both unknowns of about the same size
    scaled = votes / scale
    shared = _fit_shared(scaled, present, weights, 1e-9 * gain)
    own, prior = np.repeat(shared, votes.shape[1], axis=1), shrinkage * gain
    for _ in range(_STEPS):
        own = own + _newton(scaled, present, weights, own, shared, (prior, prior))
    return own[0] / scale, own[1]


def fit_deviations(votes: Floats, present: NDArray[np.bool_], *, power: float) -> tuple[Floats, Floats]:
    """Slope and offset of every tag: votes are standardised per tag, then one sigmoid serves all tags.

    Votes minus their mean over pictures are divided by the ``power`` of the geometric mean of their deviation and of
    the tag's lead (:func:`~visterm.calibration.tag_leads`). This puts frequent and rare tags on one scale: the largest
    values of a picture are the tags that stand out most. The sigmoid, fitted by maximum likelihood, turns them into
    probabilities and keeps their order.
    """
    mean, deviation = deviations(votes)
    spread = np.sqrt(deviation * tag_leads(votes, present, deviation)) ** power
    outstanding = (votes - mean) / spread
    scale = np.sqrt(np.mean(outstanding**2)) or 1.0
    shared = _fit_shared(outstanding / scale, present, None, 1e-6)
    slope = max(shared[0, 0], 1e-9) / (scale * spread)  # more votes never make a tag less likely
    return slope, shared[1, 0] - slope * mean


def _fit_shared(x: Floats, present: NDArray[np.bool_], weights: Floats | None, prior: float) -> Floats:
    """(2, 1) slope and offset of one sigmoid for all tags."""
    shared, centre = np.zeros((2, 1)), np.zeros((2, 1))
    for _ in range(_STEPS):
        shared = shared + _newton(x, present, weights, shared, centre, (prior, prior), together=True)
    return shared


def _newton(
    x: Floats,
    target: NDArray[Any],
    weights: Floats | None,
    at: Floats,
    centre: Floats,
    prior: tuple[float, float],
    *,
    together: bool = False,
) -> Floats:
    """A Newton step of (slope, offset), damped if it is large; Gaussian priors pull them towards ``centre``."""
    from scipy.special import expit

    def total(part: Floats) -> Floats:
        return np.atleast_1d(part.sum(axis=None if together else 0))

    p = x * at[0] + at[1]
    expit(p, out=p)
    miss, curve = target - p, p * (1 - p)
    # In place: allocating more arrays of this size would take longer than the arithmetic.
    if weights is not None:
        miss *= weights
        curve *= weights
    g1, h11 = total(miss), total(curve)
    miss *= x
    curve *= x
    g0, h01 = total(miss), total(curve)
    curve *= x
    h00 = total(curve)
    g0, g1 = g0 - prior[0] * (at[0] - centre[0]), g1 - prior[1] * (at[1] - centre[1])
    h00, h11 = h00 + prior[0], h11 + prior[1]
    # Only rounding can make it smaller: the Hessian without the priors is positive semidefinite.
    determinant = np.maximum(h00 * h11 - h01 * h01, max(prior[0] * prior[1], 1e-300))
    step = np.stack([(h11 * g0 - h01 * g1) / determinant, (h00 * g1 - h01 * g0) / determinant])
    return step / np.maximum(1.0, np.abs(step).max(axis=0) / 2)
