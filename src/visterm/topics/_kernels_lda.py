"""Numba kernels of latent Dirichlet allocation: inference of topic proportions, picture by picture."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

# Values are finite and only the order of additions is left to the compiler: that lets it use vector registers.
FAST = {"reassoc", "contract", "nnan", "nsz", "arcp"}
#: Added to the probability of a codeword under all topics, so that its logarithm and reciprocal exist.
TINY = 1e-290


@njit(nogil=True, cache=True, error_model="numpy")
def digamma(x: float) -> float:
    """The derivative of log gamma at ``x`` > 0, as ``scipy.special.digamma``."""
    value = 0.0
    while x < 10.0:
        value -= 1.0 / x
        x += 1.0
    inverse = 1.0 / (x * x)
    series = inverse * (
        1 / 12
        - inverse * (1 / 120 - inverse * (1 / 252 - inverse * (1 / 240 - inverse * (1 / 132 - inverse * 691 / 32760))))
    )
    return value + math.log(x) - 0.5 / x - series


@njit(nogil=True, cache=True, error_model="numpy")
def trigamma(x: float) -> float:
    """The second derivative of log gamma at ``x`` > 0, as ``scipy.special.polygamma(1, x)``."""
    value = 0.0
    while x < 10.0:
        value += 1.0 / (x * x)
        x += 1.0
    inverse = 1.0 / (x * x)
    series = 1 / 6 - inverse * (
        1 / 30 - inverse * (1 / 42 - inverse * (1 / 30 - inverse * (5 / 66 - inverse * 691 / 2730)))
    )
    return value + 1.0 / x + 0.5 * inverse + inverse / x * series


@njit(nogil=True, cache=True, error_model="numpy")
def topic_weights(gamma: Any, weights: Any, log_theta: Any) -> float:
    """Set E[log theta] under Dirichlet(gamma) and ``weights``, exp(E[log theta] - largest); returns the largest."""
    total = 0.0
    for k in range(len(gamma)):
        log_theta[k] = digamma(gamma[k])
        total += gamma[k]
    normaliser = digamma(total)
    largest = -np.inf
    for k in range(len(gamma)):
        log_theta[k] -= normaliser
        largest = max(largest, log_theta[k])
    for k in range(len(gamma)):
        weights[k] = math.exp(log_theta[k] - largest)
    return largest


@njit(nogil=True, cache=True, error_model="numpy")
def dirichlet_bound(gamma: Any, alpha: Any, log_theta: Any) -> float:
    """E_q[log p(theta | alpha)] - E_q[log q(theta)] for q = Dirichlet(gamma), given E_q[log theta]."""
    bound, sum_alpha, sum_gamma = 0.0, 0.0, 0.0
    for k in range(len(gamma)):
        sum_alpha += alpha[k]
        sum_gamma += gamma[k]
        bound += math.lgamma(gamma[k]) - math.lgamma(alpha[k]) + (alpha[k] - gamma[k]) * log_theta[k]
    return bound + math.lgamma(sum_alpha) - math.lgamma(sum_gamma)


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def infer_proportions(
    indptr: Any,
    indices: Any,
    counts: Any,
    likelihood: Any,
    alpha: Any,
    max_sweeps: int,
    tolerance: float,
    gamma: Any,
    codewords: Any,
    log_proportions: Any,
) -> float:
    """Coordinate ascent on the bound of each picture, from ``gamma``, which is overwritten.

    ``likelihood`` (n_codewords, n_topics) holds p(codeword | topic). A picture stops when the mean change of gamma is
    below ``tolerance``. Added to: ``codewords`` (n_codewords, n_topics) the expected counts, ``log_proportions`` the
    sum of E[log theta]. Returns the sum of the bounds. One sweep is the same as::

        weights = np.exp(digamma(gamma))
        phi = weights * likelihood[words]
        phi /= phi.sum(axis=1, keepdims=True)
        gamma = alpha + counts @ phi
    """
    n_topics = len(alpha)
    weights, shares, log_theta = np.empty(n_topics), np.empty(n_topics), np.empty(n_topics)
    bound = 0.0
    for d in range(len(indptr) - 1):
        start, stop = indptr[d], indptr[d + 1]
        for _ in range(max_sweeps):
            topic_weights(gamma[d], weights, log_theta)
            shares[:] = 0.0
            for j in range(start, stop):
                word = indices[j]
                total = TINY
                for k in range(n_topics):
                    total += weights[k] * likelihood[word, k]
                share = counts[j] / total
                for k in range(n_topics):
                    shares[k] += share * likelihood[word, k]
            change = 0.0
            for k in range(n_topics):
                updated = alpha[k] + weights[k] * shares[k]
                change += abs(updated - gamma[d, k])
                gamma[d, k] = updated
            if change < tolerance * n_topics:
                break
        log_scale = topic_weights(gamma[d], weights, log_theta)
        for j in range(start, stop):
            word = indices[j]
            total = TINY
            for k in range(n_topics):
                total += weights[k] * likelihood[word, k]
            share = counts[j] / total
            for k in range(n_topics):
                codewords[word, k] += share * weights[k] * likelihood[word, k]
            bound += counts[j] * (math.log(total) + log_scale)
        for k in range(n_topics):
            log_proportions[k] += log_theta[k]
        bound += dirichlet_bound(gamma[d], alpha, log_theta)
    return bound
