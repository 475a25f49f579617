"""Numba kernels for latent Dirichlet allocation: inference of topic proportions, picture by picture."""

import math
from typing import Any

import numpy as np

from visterm.compute.compiled import compiled
from visterm.topics.inference.em import Bags

# Values are finite. The compiler may change only the order of additions, so that it can use vector registers.
FAST = {"reassoc", "contract", "nnan", "nsz", "arcp"}
#: Added to the probability of a codeword under all topics, so that its logarithm and reciprocal exist.
TINY = 1e-290
#: The Bernoulli numbers B_2, B_4 to B_12.
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730)
#: From here on, the asymptotic series with these numbers is exact to the last few bits.
_LARGE = 10.0


@compiled
def digamma(x: float) -> float:
    """The derivative of log gamma at ``x`` > 0, as ``scipy.special.digamma``."""
    value = 0.0
    while x < _LARGE:
        value -= 1.0 / x
        x += 1.0
    inverse, series = 1.0 / (x * x), 0.0
    for n in range(len(BERNOULLI), 0, -1):
        series = inverse * (BERNOULLI[n - 1] / (2 * n) + series)
    return value + math.log(x) - 0.5 / x - series


@compiled
def trigamma(x: float) -> float:
    """The second derivative of log gamma at ``x`` > 0, as ``scipy.special.polygamma(1, x)``."""
    value = 0.0
    while x < _LARGE:
        value += 1.0 / (x * x)
        x += 1.0
    inverse, series = 1.0 / (x * x), 0.0
    for n in range(len(BERNOULLI), 0, -1):
        series = inverse * (BERNOULLI[n - 1] + series)
    return value + 1.0 / x + 0.5 * inverse + series / x


@compiled
def topic_weights(gamma: Any, weights: Any, log_theta: Any) -> float:
    """Set E[log theta] under Dirichlet(gamma) and its exponential over the largest; returns the log of the largest.

    The same as::

        log_theta = digamma(gamma) - digamma(gamma.sum())
        weights = np.exp(log_theta - log_theta.max())
    """
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


@compiled
def dirichlet_bound(gamma: Any, alpha: Any, log_theta: Any) -> float:
    """E_q[log p(theta | alpha)] - E_q[log q(theta)] for q = Dirichlet(gamma), given E_q[log theta]."""
    bound, sum_alpha, sum_gamma = 0.0, 0.0, 0.0
    for k in range(len(gamma)):
        sum_alpha += alpha[k]
        sum_gamma += gamma[k]
        bound += math.lgamma(gamma[k]) - math.lgamma(alpha[k]) + (alpha[k] - gamma[k]) * log_theta[k]
    return bound + math.lgamma(sum_alpha) - math.lgamma(sum_gamma)


@compiled(fastmath=FAST)
def topic_shares(words: Any, counts: Any, likelihood: Any, weights: Any, shares: Any) -> None:
    """How much of one picture each topic explains, without the factor ``weights``, which is common to all codewords.

    The same as::

        total = likelihood[words] @ weights
        shares = (counts / total) @ likelihood[words]      # gamma = alpha + weights * shares
    """
    n_topics = len(weights)
    shares[:] = 0.0
    for j in range(len(words)):
        word = words[j]
        total = TINY
        for k in range(n_topics):
            total += weights[k] * likelihood[word, k]
        share = counts[j] / total
        for k in range(n_topics):
            shares[k] += share * likelihood[word, k]


@compiled(fastmath=FAST)
def add_expected_counts(
    words: Any, counts: Any, likelihood: Any, weights: Any, log_scale: float, codewords: Any
) -> float:
    """Add the expected counts of one picture to ``codewords``; returns the codewords' part of the bound.

    The same as::

        joint = weights * likelihood[words]
        codewords[words] += counts[:, None] * joint / joint.sum(axis=1, keepdims=True)
        return counts @ (np.log(joint.sum(axis=1)) + log_scale)
    """
    n_topics = len(weights)
    bound = 0.0
    for j in range(len(words)):
        word = words[j]
        total = TINY
        for k in range(n_topics):
            total += weights[k] * likelihood[word, k]
        share = counts[j] / total
        for k in range(n_topics):
            codewords[word, k] += share * weights[k] * likelihood[word, k]
        bound += counts[j] * (math.log(total) + log_scale)
    return bound


@compiled(fastmath=FAST)
def infer_proportions(
    bags: Bags,
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
    below ``tolerance``. The kernel adds the expected counts to ``codewords`` (n_codewords, n_topics) and the sum of
    E[log theta] to ``log_proportions``. It returns the sum of the bounds. One sweep is the same as::

        weights = np.exp(digamma(gamma))
        phi = weights * likelihood[words]
        phi /= phi.sum(axis=1, keepdims=True)
        gamma = alpha + counts @ phi
    """
    n_topics = len(alpha)
    weights, shares, log_theta = np.empty(n_topics), np.empty(n_topics), np.empty(n_topics)
    bound = 0.0
    for d in range(len(bags.indptr) - 1):
        start, stop = bags.indptr[d], bags.indptr[d + 1]
        words, counts = bags.indices[start:stop], bags.counts[start:stop]
        for _ in range(max_sweeps):
            topic_weights(gamma[d], weights, log_theta)
            topic_shares(words, counts, likelihood, weights, shares)
            change = 0.0
            for k in range(n_topics):
                updated = alpha[k] + weights[k] * shares[k]
                change += abs(updated - gamma[d, k])
                gamma[d, k] = updated
            if change < tolerance * n_topics:
                break
        log_scale = topic_weights(gamma[d], weights, log_theta)
        bound += add_expected_counts(words, counts, likelihood, weights, log_scale, codewords)
        bound += dirichlet_bound(gamma[d], alpha, log_theta)
        for k in range(n_topics):
            log_proportions[k] += log_theta[k]
    return bound
