"""Dirichlet distributions: fitting their parameters, and the bounds of pictures under them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import digamma, gammaln, polygamma

Array = NDArray[np.float64]

_MAX_STEPS, _TOLERANCE = 100, 1e-8
#: A step that would lower the objective is shortened to this share.
_SHORTER = 0.5
#: The bounds of this many pictures are computed at a time, so that memory stays bounded.
_BLOCK_ROWS = 1024


def fit_dirichlet(log_proportions: Array, n_pictures: int, start: Array, *, rate: float = 0.0) -> Array:
    """The most likely ``alpha`` for ``n_pictures`` topic proportions with these sums of E[log theta].

    Maximises ``n log Gamma(sum alpha) - n sum log Gamma(alpha) + alpha . log_proportions - rate * sum(alpha)`` by
    Newton's method (Minka 2000: linear in the number of topics). This objective is concave. ``rate`` is that of an
    exponential prior; without it, alpha would grow without bound for a single picture.

    >>> draws = np.random.default_rng(0).dirichlet([2.0, 0.5, 1.0], size=20_000)
    >>> fit_dirichlet(np.log(draws).sum(axis=0), len(draws), np.ones(3)).round(1)
    array([2. , 0.5, 1. ])
    """
    alpha = np.array(start, np.float64)
    if len(alpha) < 2:
        return alpha  # the proportion of a single topic is 1 for any alpha
    target = np.asarray(log_proportions) - rate
    value = _dirichlet_score(alpha, n_pictures, target)
    for _ in range(_MAX_STEPS):
        gradient = n_pictures * (digamma(alpha.sum()) - digamma(alpha)) + target
        diagonal = -n_pictures * polygamma(1, alpha)
        common = n_pictures * polygamma(1, alpha.sum())
        # The Hessian is diagonal + common * ones: inverted by the Sherman-Morrison formula.
        shift = (gradient / diagonal).sum() / (1 / common + (1 / diagonal).sum())
        step = (shift - gradient) / diagonal
        scale = 1.0
        while True:
            moved = alpha + scale * step
            if (moved > 0).all() and (risen := _dirichlet_score(moved, n_pictures, target)) >= value:
                break
            scale *= _SHORTER
            if scale < _TOLERANCE:
                return alpha
        alpha, value, rise = moved, risen, risen - value
        if rise <= _TOLERANCE * abs(value):
            break
    return alpha


def _dirichlet_score(alpha: Array, n_pictures: int, target: Array) -> float:
    return float(n_pictures * (gammaln(alpha.sum()) - gammaln(alpha).sum()) + alpha @ target)


def picture_bounds(bags: sparse.csr_array, topics: Array, alpha: Array, gamma: Array) -> Array:
    """The evidence bound of every picture at its posterior ``gamma`` and the best topics of its tokens."""
    bounds = np.empty(bags.shape[0])
    for start in range(0, len(bounds), _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        bounds[rows] = _bounds(bags[rows], topics, alpha, gamma[rows])
    return bounds


def _bounds(bags: sparse.csr_array, topics: Array, alpha: Array, gamma: Array) -> Any:
    log_theta = digamma(gamma) - digamma(gamma.sum(axis=1, keepdims=True))
    owners = np.repeat(np.arange(bags.shape[0]), np.diff(bags.indptr))
    # Only the products for codewords in the picture are needed, but one BLAS call is faster than selecting them first.
    likelihood = (np.exp(log_theta) @ topics)[owners, bags.indices]
    tokens = bags.data * np.log(np.maximum(likelihood, np.finfo(np.float64).tiny))
    prior = gammaln(alpha.sum()) - gammaln(alpha).sum() + ((alpha - gamma) * log_theta).sum(axis=1)
    posterior = gammaln(gamma).sum(axis=1) - gammaln(gamma.sum(axis=1))
    return np.bincount(owners, weights=tokens, minlength=bags.shape[0]) + prior + posterior
