"""Numba kernels for discriminative refinement: the gradient of topic proportions with respect to the topics."""

from typing import Any

import numpy as np

from visterm.compute.compiled import compiled
from visterm.topics.inference._kernels_lda import FAST, TINY, topic_shares, topic_weights, trigamma
from visterm.topics.inference.em import Bags


@compiled(fastmath=FAST)
def sweep_forward(bags: Bags, likelihood: Any, alpha: Any, gammas: Any) -> None:
    """Sweeps of ``infer_proportions``: sets ``gammas[:, s + 1]`` (n_pictures, n_topics) from ``gammas[:, s]``."""
    n_topics = len(alpha)
    weights, shares, log_theta = np.empty(n_topics), np.empty(n_topics), np.empty(n_topics)
    for d in range(len(bags.indptr) - 1):
        start, stop = bags.indptr[d], bags.indptr[d + 1]
        for sweep in range(gammas.shape[1] - 1):
            topic_weights(gammas[d, sweep], weights, log_theta)
            topic_shares(bags.indices[start:stop], bags.counts[start:stop], likelihood, weights, shares)
            for k in range(n_topics):
                gammas[d, sweep + 1, k] = alpha[k] + weights[k] * shares[k]


@compiled(fastmath=FAST)
def propagate_back(bags: Bags, likelihood: Any, alpha: Any, gammas: Any, upstream: Any, gradient: Any) -> None:
    """Add the gradient of sum(upstream * gammas[:, -1]) by ``likelihood`` to ``gradient`` (n_codewords, n_topics).

    ``gammas`` (n_pictures, n_sweeps + 1, n_topics) is the result of ``sweep_forward`` for ``gammas[:, 0]``, which stays
    fixed. One sweep backwards is the same as::

        weights = np.exp(digamma(gamma))                       # gamma is that before the sweep
        total = likelihood[words] @ weights
        shares = (counts / total) @ likelihood[words]          # after the sweep, gamma = alpha + weights * shares
        inner = upstream * weights
        pull = -(likelihood[words] @ inner) * counts / total**2
        gradient[words] += np.outer(counts / total, inner) + np.outer(pull, weights)
        upstream = (upstream * shares + pull @ likelihood[words]) * weights * polygamma(1, gamma)
    """
    n_topics, n_sweeps = len(alpha), gammas.shape[1] - 1
    weights, log_theta = np.empty(n_topics), np.empty(n_topics)
    above, inner, below = np.empty(n_topics), np.empty(n_topics), np.empty(n_topics)
    for d in range(len(bags.indptr) - 1):
        above[:] = upstream[d]
        for sweep in range(n_sweeps - 1, -1, -1):
            topic_weights(gammas[d, sweep], weights, log_theta)
            for k in range(n_topics):
                inner[k] = above[k] * weights[k]
                below[k] = above[k] * ((gammas[d, sweep + 1, k] - alpha[k]) / (weights[k] + TINY))
            for j in range(bags.indptr[d], bags.indptr[d + 1]):
                word = bags.indices[j]
                total, reach = TINY, 0.0
                for k in range(n_topics):
                    total += weights[k] * likelihood[word, k]
                    reach += inner[k] * likelihood[word, k]
                share = bags.counts[j] / total
                pull = -reach * share / total
                for k in range(n_topics):
                    gradient[word, k] += share * inner[k] + pull * weights[k]
                    below[k] += pull * likelihood[word, k]
            for k in range(n_topics):
                above[k] = below[k] * weights[k] * trigamma(gammas[d, sweep, k])
