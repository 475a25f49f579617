"""Turns scores of tags into probabilities: a sigmoid per tag, fitted alone, shrunk to a common one, or shared.

All are fitted by Newton steps on the likelihood of the tags of held-out pictures, some tags at a time.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from visterm.calibration.scales import deviations, tag_leads
from visterm.compute.threads import in_threads

Floats = NDArray[np.float64]

_STEPS = 30
_PLATT_STEPS = 50
#: A prior worth this many present tags decides only what the scores leave open: the slope, where all are equal.
_LEAST_PRIOR = 1e-9
#: A smaller step changes nothing.
_SETTLED = 1e-10
#: This many scores are treated at a time, so that they stay in the cache and memory stays bounded.
_BLOCK = 2**16
#: The exponential of a larger number overflows.
_LARGEST = 700.0


def sigmoid(scores: NDArray[Any], slope: Any, offset: Any) -> NDArray[Any]:
    """``1 / (1 + exp(-(slope * scores + offset)))``, with a slope and an offset for every column."""
    from scipy.special import expit

    return expit(scores * slope + offset)


def fit_platt(scores: NDArray[Any], present: NDArray[Any], weights: NDArray[Any] | None = None) -> Floats:
    """(n_tags, 2) slopes and offsets: a separate sigmoid for every tag (Platt 1999).

    The targets are smoothed as in Platt's paper, so that a tag seen once does not become certain. ``weights`` say for
    how many pictures each score stands (None: for one).
    """

    def of_tags(tags: slice) -> Floats:
        x, has = _rows(scores, tags), _rows(present, tags) > 0
        stands = None if weights is None else _rows(weights, tags)
        n_present = has.sum(axis=1).astype(np.float64) if stands is None else (has * stands).sum(axis=1)
        n_absent = (has.shape[1] if stands is None else stands.sum(axis=1)) - n_present
        target = np.where(has, ((n_present + 1) / (n_present + 2))[:, None], (1 / (n_absent + 2))[:, None])
        own = np.stack([np.ones(len(x)), np.log((n_present + 1) / (n_absent + 1))])
        # The small prior keeps the step finite if the scores separate a tag perfectly.
        centre, prior, room = np.zeros((2, 1)), (1e-3, 1e-9), np.empty((3, *x.shape))
        for _ in range(_PLATT_STEPS):
            step = _step(_sums(x, target, stands, own, room), own, centre, prior)
            own = own + step
            if np.abs(step).max(initial=0.0) < 1e-8:
                break
        return own

    return np.concatenate([np.empty((2, 0)), *in_threads(of_tags, _blocks(scores))], axis=1).T


def fit_sigmoids(
    votes: Floats, present: NDArray[np.bool_], gain: float, loss: float, *, shrinkage: float
) -> tuple[Floats, Floats]:
    """Slope and offset of every tag, by weighted maximum likelihood, shrunk towards the sigmoid of all tags.

    Present tags have the weight ``gain``, absent ones ``loss``. A prior worth ``shrinkage`` present tags keeps the
    sigmoid of a tag of few pictures near the common one. Without it, scores that separate a tag perfectly give a slope
    that grows with every Newton step.
    """
    scale = _root_mean_square(votes, lambda tags: _rows(votes, tags))  # both unknowns of about the same size

    def of_tags(tags: slice) -> tuple[Floats, NDArray[Any], Floats]:
        has = _rows(present, tags)
        return _rows(votes, tags) / scale, has, np.where(has, gain, loss)

    shared, prior = _fit_shared(votes, of_tags, _LEAST_PRIOR * gain), max(shrinkage, _LEAST_PRIOR) * gain

    def own_of(tags: slice) -> Floats:
        x, has, weights = of_tags(tags)
        own, room = np.repeat(shared, len(x), axis=1), np.empty((3, *x.shape))
        for _ in range(_STEPS):
            step = _step(_sums(x, has, weights, own, room), own, shared, (prior, prior))
            own = own + step
            if np.abs(step).max(initial=0.0) < _SETTLED:
                break
        return own

    own = np.concatenate(in_threads(own_of, _blocks(votes)), axis=1)
    return own[0] / scale, own[1]


def fit_deviations(votes: Floats, present: NDArray[np.bool_], *, power: float) -> tuple[Floats, Floats]:
    """Slope and offset of every tag: votes are standardised per tag, then one sigmoid serves all tags.

    Votes minus their mean over pictures are divided by the ``power`` of the geometric mean of their deviation and of
    the tag's lead (:func:`~visterm.calibration.tag_leads`). This puts frequent and rare tags on one scale: the largest
    values of a picture are the tags that stand out most. The sigmoid, fitted by maximum likelihood, turns them into
    numbers between 0 and 1 and keeps their order. They are no probabilities: a rare tag that stands out gets as high a
    number as a frequent one.
    """
    mean, deviation = deviations(votes)
    spread = np.sqrt(deviation * tag_leads(votes, present, deviation)) ** power

    def outstanding(tags: slice) -> Floats:
        return (_rows(votes, tags) - mean[tags, None]) / spread[tags, None]

    scale = _root_mean_square(votes, outstanding)

    def of_tags(tags: slice) -> tuple[Floats, NDArray[Any], None]:
        return outstanding(tags) / scale, _rows(present, tags), None

    shared = _fit_shared(votes, of_tags, 1e-6)
    slope = max(shared[0, 0], 1e-9) / (scale * spread)  # more votes never make a tag less likely
    return slope, shared[1, 0] - slope * mean


def _blocks(scores: NDArray[Any]) -> list[slice]:
    """Some tags after the other."""
    size = max(1, _BLOCK // max(1, len(scores)))
    return [slice(start, start + size) for start in range(0, scores.shape[1], size)]


def _rows(table: NDArray[Any], tags: slice) -> Floats:
    """Some columns of (n_pictures, n_tags) as float64 rows, which are fast to go through."""
    return np.ascontiguousarray(table[:, tags].T, dtype=np.float64)


def _root_mean_square(votes: Floats, of_tags: Callable[[slice], Floats]) -> float:
    """The root mean square of all values, 1 if all are zero; ``of_tags`` gives those of some tags."""

    def total(tags: slice) -> float:
        return float(np.square(of_tags(tags), dtype=np.float64).sum())

    return float(np.sqrt(sum(in_threads(total, _blocks(votes))) / max(1, votes.size))) or 1.0


def _fit_shared(
    votes: Floats, of_tags: Callable[[slice], tuple[Floats, NDArray[Any], Floats | None]], prior: float
) -> Floats:
    """(2, 1) slope and offset of one sigmoid for all tags; ``of_tags`` gives scores, truth and weights of some."""
    shared, centre = np.zeros((2, 1)), np.zeros((2, 1))

    def sums_at(tags: slice) -> _Sums:
        x, has, weights = of_tags(tags)
        sums = _sums(x, has, weights, shared, np.empty((3, *x.shape)))
        return _Sums(*(np.atleast_1d(part.sum()) for part in sums))

    for _ in range(_STEPS):
        parts = in_threads(sums_at, _blocks(votes))
        step = _step(_Sums(*(np.sum(part, axis=0) for part in zip(*parts, strict=True))), shared, centre, (prior,) * 2)
        shared = shared + step
        if np.abs(step).max() < _SETTLED:
            break
    return shared


class _Sums(NamedTuple):
    """The derivatives of the log-likelihood by (slope, offset) and its curvature, per tag or for all tags."""

    g0: Floats
    g1: Floats
    h00: Floats
    h01: Floats
    h11: Floats


def _sums(x: Floats, target: NDArray[Any], weights: Floats | None, at: Floats, room: Floats) -> _Sums:
    """The sums over pictures at the slopes and offsets ``at``, for every tag; arrays are (n_tags, n_pictures).

    ``room`` is overwritten: allocating arrays of this size would take longer than the arithmetic. The exponential of
    NumPy is several times as fast as the sigmoid of SciPy.
    """
    (slope, offset), (p, miss, curve) = at[:, :, None], room
    np.multiply(x, -slope, out=p)
    p -= offset
    np.minimum(p, _LARGEST, out=p)
    np.exp(p, out=p)
    p += 1
    np.reciprocal(p, out=p)
    np.subtract(target, p, out=miss)
    np.subtract(1, p, out=curve)
    curve *= p
    if weights is not None:
        miss *= weights
        curve *= weights
    g1, h11 = miss.sum(axis=1), curve.sum(axis=1)
    miss *= x
    curve *= x
    g0, h01 = miss.sum(axis=1), curve.sum(axis=1)
    curve *= x
    return _Sums(g0, g1, curve.sum(axis=1), h01, h11)


def _step(sums: _Sums, at: Floats, centre: Floats, prior: tuple[float, float]) -> Floats:
    """A Newton step of (slope, offset), damped if it is large; Gaussian priors pull them towards ``centre``."""
    g0, g1 = sums.g0 - prior[0] * (at[0] - centre[0]), sums.g1 - prior[1] * (at[1] - centre[1])
    h00, h01, h11 = sums.h00 + prior[0], sums.h01, sums.h11 + prior[1]
    # Only rounding can make it smaller: the Hessian without the priors is positive semidefinite.
    determinant = np.maximum(h00 * h11 - h01 * h01, max(prior[0] * prior[1], 1e-300))
    step = np.stack([(h11 * g0 - h01 * g1) / determinant, (h00 * g1 - h01 * g0) / determinant])
    return step / np.maximum(1.0, np.abs(step).max(axis=0) / 2)
