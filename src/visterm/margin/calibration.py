"""From margins to confidence: temperature for classes, Platt's sigmoid for tags, deviations for comparing tags.

All are estimated from scores of pictures that the scoring function had not seen, never from its own training scores.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_softmax, softmax

from visterm.neighbours.leads import tag_leads

Array = NDArray[Any]

_SMALLEST_DEVIATION = 1e-3


def fit_temperature(scores: Array, classes: Array) -> float:
    """The factor that makes ``softmax(factor * scores)`` most likely: one number, so the best class stays the best.

    >>> scores = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> round(float(softmax(fit_temperature(scores, np.array([0, 0, 1, 1])) * scores[0])[0]), 2)
    0.75
    """
    from scipy.optimize import minimize_scalar

    rows = np.arange(len(classes))
    scores = scores.astype(np.float64)

    def surprise(log_factor: float) -> float:
        return -float(log_softmax(np.exp(log_factor) * scores, axis=1)[rows, classes].mean())

    return float(np.exp(minimize_scalar(surprise, bounds=(-7.0, 7.0), method="bounded").x))


def class_probabilities(scores: Array, factor: float) -> Array:
    """(n_pictures, n_classes) probabilities; a single column of scores is that of the second of two classes."""
    if scores.shape[1] == 1:
        scores = np.hstack([np.zeros_like(scores), scores])
    return softmax(factor * scores, axis=1)


def fit_platt(scores: Array, present: Array, n_steps: int = 50) -> Array:
    """(n_tags, 2) slopes and offsets of ``sigmoid(slope * score + offset)`` by Newton steps, all tags at once.

    Targets are Platt's smoothed ones, so a tag seen once does not become certain.
    """
    scores, present = scores.astype(np.float64), present.astype(np.float64)
    n_present = present.sum(axis=0)
    n_absent = len(present) - n_present
    target = np.where(present > 0, (n_present + 1) / (n_present + 2), 1 / (n_absent + 2))
    slope, offset = np.ones(scores.shape[1]), np.log((n_present + 1) / (n_absent + 1))
    for _ in range(n_steps):
        p = expit(slope * scores + offset)
        # Levenberg's small multiple of the identity keeps the step finite where the scores separate a tag.
        weight = p * (1 - p)
        g_slope, g_offset = ((target - p) * scores).sum(axis=0) - 1e-3 * slope, (target - p).sum(axis=0)
        ss = (weight * scores**2).sum(axis=0) + 1e-3
        so, oo = (weight * scores).sum(axis=0), weight.sum(axis=0) + 1e-9
        determinant = np.maximum(ss * oo - so**2, 1e-12)
        d_slope = (oo * g_slope - so * g_offset) / determinant
        d_offset = (ss * g_offset - so * g_slope) / determinant
        limit = np.maximum(1.0, np.maximum(np.abs(d_slope), np.abs(d_offset)) / 2.0)
        slope, offset = slope + d_slope / limit, offset + d_offset / limit
        if max(np.abs(d_slope).max(initial=0.0), np.abs(d_offset).max(initial=0.0)) < 1e-8:
            break
    return np.stack([slope, offset], axis=1)


def tag_probabilities(scores: Array, platt: Array) -> Array:
    """(n_pictures, n_tags) probabilities under :func:`fit_platt`."""
    return expit(scores * platt[:, 0] + platt[:, 1])


def deviations(scores: Array, power: float) -> tuple[Array, Array]:
    """The mean of each tag's held-out scores and its deviation to the given power: what makes tags comparable.

    Scores of a frequent tag spread wider than those of a rare one; in a list of the best tags the rare one would never
    appear. Power 1 gives every tag unit deviation, 0 leaves the spread as it is.
    """
    return scores.mean(axis=0), (scores.std(axis=0) + _SMALLEST_DEVIATION) ** power


def tag_scales(scores: Array, present: Array, power: float) -> tuple[Array, Array]:
    """What to subtract from each tag's scores and divide them by, from held-out scores, to make tags comparable.

    The divisor, to the given power, is the tag's lead: how far the pictures that carry the tag stand out from all. In
    units of it, pictures score the same at the tags they carry, however frequent and however well told these are. With
    few pictures of a tag, its lead is drawn towards what is typical (:func:`~visterm.neighbours.leads.tag_leads`).
    """
    means, deviations_of_tags = deviations(scores, 1.0)
    return means, tag_leads(scores, present, deviations_of_tags) ** power
