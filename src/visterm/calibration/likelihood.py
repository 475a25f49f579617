"""The likelihood of written tags, and its maximum: by coefficients that all tags share, and by a tag's own sigmoid."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from visterm.compute.threads import in_threads, one_blas_thread

Floats = NDArray[np.floating[Any]]

#: A tag's own slope and offset stay near 1 and 0 as if by Gaussian priors of these precisions. Of six pairs between 1
#: and 50, tried on Corel5K training pictures with three methods, this one had the least log loss.
_PRIOR = (5.0, 1.0)
_STEPS = 30
#: What all tags share is settled when a step gains less than this share of the loss.
_SETTLED = 1e-9
#: This many pairs are treated at a time while the coefficients are fitted, so that they stay in the cache.
_CACHED = 2**14
#: The exponential of a larger number overflows.
_LARGEST = 700.0


def fit_logistic(
    terms: Sequence[Floats],
    present: NDArray[np.bool_],
    n_free: int,
    shares: Floats | None = None,
    settled: float = _SETTLED,
) -> NDArray[np.float64]:
    """Maximum-likelihood coefficients; all but the first ``n_free`` are >= 0, so a higher score is never worse.

    Newton steps: each goes to the best allowed point of the quadratic model, or half as far until it is better. The
    last one gains less than ``settled``, as a share of the loss.
    """
    from scipy.optimize import lsq_linear

    A, y = np.empty((present.size, len(terms))), present.ravel()
    for place in range(len(terms)):
        A[:, place] = terms[place].ravel()
    c = None if shares is None else np.broadcast_to(shares, present.shape).ravel()
    w, lowest = np.zeros(A.shape[1]), np.full(A.shape[1], 0.0)
    lowest[:n_free] = -np.inf
    value, slope, curve = surprise(A, y, w, c)
    for _ in range(_STEPS):
        root = np.linalg.cholesky(curve).T
        # The quadratic model is ||root (to - w) + root^-T slope||^2 / 2 and a constant.
        model = root @ w - np.linalg.solve(root.T, slope)
        step = lsq_linear(root, model, (lowest, np.inf), method="bvls").x - w
        for _ in range(_STEPS):
            tried = surprise(A, y, w + step, c)
            if tried[0] <= value:
                break
            step /= 2
        else:
            break
        gain, w = value - tried[0], w + step
        value, slope, curve = tried
        if gain <= settled * value:
            break
    return w


def surprise(
    A: Floats, present: NDArray[np.bool_], w: Floats, shares: Floats | None = None
) -> tuple[float, Floats, Floats]:
    """The mean of -log of the probability of what is written, with a little ridge; its gradient and its Hessian."""
    ridge = 1.0 / len(A)

    def of_pairs(start: int) -> tuple[float, Floats, Floats]:
        part = slice(start, start + _CACHED)
        a, y = A[part], present[part]
        odds = np.clip(a @ w, -_LARGEST, _LARGEST)
        p, q = 1 / (1 + np.exp(-odds)), 1 / (1 + np.exp(odds))
        likely, miss, curve = written(p, q, y, None if shares is None else shares[part])
        return -float(np.log(likely).sum()), -miss @ a, (a * curve[:, np.newaxis]).T @ a

    with one_blas_thread():
        parts = in_threads(of_pairs, range(0, len(A), _CACHED))
    value, slope, curve = (sum(part) / len(A) for part in zip(*parts, strict=True))
    return value + ridge * float(w @ w), slope + 2 * ridge * w, curve + 2 * ridge * np.eye(len(w))


def written(p: Floats, q: Floats, present: NDArray[np.bool_], shares: Floats | None) -> tuple[Floats, Floats, Floats]:
    """The probability of what is written, its slope by the log-odds of what is true, and the expected curvature.

    A tag is true with probability ``p = 1 - q``; a true tag is written with probability ``shares`` (None: 1).
    """
    if shares is None:
        return np.where(present, p, q), present - p, p * (1 - p)
    silent = q + (1 - shares) * p
    odds_of_absence = q / silent  # that the tag is absent if it is not written
    return (
        np.where(present, shares * p, silent),
        (present - shares * p) * odds_of_absence,
        shares * p * q * odds_of_absence,
    )


def where_known(known: NDArray[np.bool_] | None, values: Floats) -> Floats:
    """``values`` where it is known whether the tag is present, 0 elsewhere; None: it is known everywhere."""
    return values if known is None else known * values


def fit_own(
    x: Floats, present: NDArray[np.bool_], known: NDArray[np.bool_] | None = None, shares: Floats | None = None
) -> Floats:
    """(2, n_tags) slopes and offsets of the most likely sigmoids of ``x``, shrunk to 1 and 0 by ``_PRIOR``.

    A pair of picture and tag counts only if it is ``known`` whether the tag is ``present`` (None: all pairs count). All
    tags take Newton steps at once; a tag whose step would make things worse takes half of it.
    """
    centre, prior = np.array([[1.0], [0.0]]), np.array(_PRIOR)[:, np.newaxis]
    own = np.repeat(centre, x.shape[1], axis=1)

    def surprise(at: Floats) -> Floats:
        odds = at[0] * x + at[1]
        if shares is None:
            unlikely = np.logaddexp(0, odds) - present * odds
        else:
            unlikely = -np.log(written(expit(odds), expit(-odds), present, shares)[0])
        return where_known(known, unlikely).sum(axis=0) + (prior * (at - centre) ** 2).sum(axis=0) / 2

    best = surprise(own)
    for _ in range(_STEPS):
        odds = own[0] * x + own[1]
        _, miss, curve = written(expit(odds), expit(-odds), present, shares)
        miss, curve = where_known(known, miss), where_known(known, curve)
        g0, g1 = np.stack([(miss * x).sum(axis=0), miss.sum(axis=0)]) - prior * (own - centre)
        h00, h01, h11 = (curve * x * x).sum(axis=0) + prior[0], (curve * x).sum(axis=0), curve.sum(axis=0) + prior[1]
        step = np.stack([h11 * g0 - h01 * g1, h00 * g1 - h01 * g0]) / (h00 * h11 - h01 * h01)
        for _ in range(_STEPS):
            # The slope stays positive: a higher score is never worse.
            tried = own + step
            tried[0] = np.maximum(tried[0], 0.01)
            value = surprise(tried)
            worse = value > best + 1e-9
            if not worse.any():
                break
            step[:, worse] /= 2
        moved = np.where(worse, 0.0, np.abs(tried - own).max(axis=0)).max(initial=0.0)
        own, best = np.where(worse, own, tried), np.where(worse, best, value)
        if moved < 1e-6:
            break
    return own
