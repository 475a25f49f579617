"""Scores of tags become probabilities: a sigmoid for every tag, each on its own, drawn to a common one, or shared.

All are fitted by Newton steps on the likelihood of held-out pictures' tags, all tags at once.
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
    """``1 / (1 + exp(-(slope * scores + offset)))``, a slope and an offset for every column."""
    from scipy.special import expit

    return expit(scores * slope + offset)


def fit_platt(scores: NDArray[Any], present: NDArray[Any]) -> Floats:
    """(n_tags, 2) slopes and offsets of a sigmoid for every tag on its own (Platt 1999).

    Targets are Platt's smoothed ones, so that a tag seen once does not become certain.
    """
    scores, present = scores.astype(np.float64), present.astype(np.float64)
    n_present = present.sum(axis=0)
    n_absent = len(present) - n_present
    target = np.where(present > 0, (n_present + 1) / (n_present + 2), 1 / (n_absent + 2))
    own = np.stack([np.ones(scores.shape[1]), np.log((n_present + 1) / (n_absent + 1))])
    # The small prior keeps the step finite where the scores separate a tag.
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
    """Slope and offset of every tag, by weighted maximum likelihood drawn towards the sigmoid of all tags.

    Present tags weigh ``gain``, absent ones ``loss``. A tag of few pictures could be separated perfectly, and its slope
    would grow without bound: evidence worth ``shrinkage`` present tags holds it to what is common to all.
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
    """Slope and offset of every tag: votes by how far they stand out for the tag, then one sigmoid for all tags.

    Votes less their mean over pictures are divided by the ``power`` of the geometric mean of their deviation and of the
    tag's lead (:func:`~visterm.calibration.tag_leads`), so that frequent and rare tags are on one scale and the largest
    of a picture are those that stand out most; the sigmoid, of maximum likelihood, makes probabilities of them and
    keeps their order.
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
    """A Newton step of (slope, offset), damped where it would leap; Gaussian priors hold them to ``centre``."""
    from scipy.special import expit

    def total(part: Floats) -> Floats:
        return np.atleast_1d(part.sum(axis=None if together else 0))

    p = x * at[0] + at[1]
    expit(p, out=p)
    miss, curve = target - p, p * (1 - p)
    # In place: more arrays of this size would cost more time than the arithmetic.
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
    # No smaller but for rounding: the Hessian without the priors is not negative.
    determinant = np.maximum(h00 * h11 - h01 * h01, max(prior[0] * prior[1], 1e-300))
    step = np.stack([(h11 * g0 - h01 * g1) / determinant, (h00 * g1 - h01 * g0) / determinant])
    return step / np.maximum(1.0, np.abs(step).max(axis=0) / 2)
