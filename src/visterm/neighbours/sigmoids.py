"""Votes become probabilities that rare words can win: by a sigmoid for every word, or by each word's deviation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.neighbours.leads import tag_leads

Floats = NDArray[np.float64]
_STEPS = 30
#: Added to every deviation: votes for a word that hardly any picture got say little of how far they vary.
_LEAST_DEVIATION = 1e-3


def sigmoid(votes: Floats, slope: Floats, offset: Floats) -> Floats:
    """``1 / (1 + exp(-(slope * votes + offset)))``."""
    from scipy.special import expit

    return expit(votes * slope + offset)


def fit_sigmoids(
    votes: Floats, present: NDArray[np.bool_], gain: float, loss: float, *, shrinkage: float
) -> tuple[Floats, Floats]:
    """Slope and offset of every word, by weighted maximum likelihood drawn towards the sigmoid of all words.

    Present tags weigh ``gain``, absent ones ``loss``. A word of few pictures could be separated perfectly, and its
    slope would grow without bound: ``shrinkage`` present tags' worth of evidence hold it to what is common to all.
    """
    weights = np.where(present, gain, loss)
    scale = np.sqrt(np.mean(votes**2)) or 1.0  # both unknowns of about the same size
    scaled = votes / scale
    shared = np.zeros((2, 1))
    for _ in range(_STEPS):
        shared = shared + _newton(scaled, present, weights, shared, np.zeros((2, 1)), 1e-9 * gain, together=True)
    own = np.repeat(shared, votes.shape[1], axis=1)
    for _ in range(_STEPS):
        own = own + _newton(scaled, present, weights, own, shared, shrinkage * gain, together=False)
    return own[0] / scale, own[1]


def fit_deviations(votes: Floats, present: NDArray[np.bool_], *, power: float) -> tuple[Floats, Floats]:
    """Slope and offset of every word: votes by how far they stand out for the word, then one sigmoid for all words.

    Votes less their mean over pictures are divided by the ``power`` of the geometric mean of their deviation and of the
    word's lead (:func:`~visterm.neighbours.leads.tag_leads`), so that frequent and rare words are on one scale and the
    largest of a picture are those that stand out most; the sigmoid, of maximum likelihood, makes probabilities of them
    and keeps their order.
    """
    mean, deviation = votes.mean(axis=0), votes.std(axis=0) + _LEAST_DEVIATION
    spread = np.sqrt(deviation * tag_leads(votes, present, deviation)) ** power
    outstanding = (votes - mean) / spread
    scale = np.sqrt(np.mean(outstanding**2)) or 1.0
    scaled, shared = outstanding / scale, np.zeros((2, 1))
    weights = np.ones(votes.shape)
    for _ in range(_STEPS):
        shared = shared + _newton(scaled, present, weights, shared, np.zeros((2, 1)), 1e-6, together=True)
    slope = max(shared[0, 0], 1e-9) / (scale * spread)  # more votes never make a word less likely
    return slope, shared[1, 0] - slope * mean


def _newton(x: Any, present: Any, weights: Any, at: Floats, centre: Floats, prior: float, *, together: bool) -> Floats:
    """A Newton step of (slope, offset), damped where it would leap."""
    from scipy.special import expit

    p = expit(x * at[0] + at[1])
    miss, curve = weights * (present - p), weights * p * (1 - p)
    axes = None if together else 0
    g0, g1 = (np.atleast_1d(part.sum(axis=axes)) for part in (miss * x, miss))
    h00, h01, h11 = (np.atleast_1d(part.sum(axis=axes)) for part in (curve * x * x, curve * x, curve))
    g0, g1 = g0 - prior * (at[0] - centre[0]), g1 - prior * (at[1] - centre[1])
    h00, h11 = h00 + prior, h11 + prior
    determinant = np.maximum(h00 * h11 - h01 * h01, 1e-300)
    step = np.stack([(h11 * g0 - h01 * g1) / determinant, (h00 * g1 - h01 * g0) / determinant])
    return step / np.maximum(1.0, np.abs(step).max(axis=0) / 2)
