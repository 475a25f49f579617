"""The E step of latent Dirichlet allocation over bags of codewords, with threads over shards of pictures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from visterm.compute.parallel import Shard, split
from visterm.compute.threads import in_threads
from visterm.errors import InputError
from visterm.topics.bags import rows_of
from visterm.topics.statistics import Array, TopicStatistics

T = TypeVar("T")

#: Pictures of a shard: enough to be worth a thread.
_SHARD_PICTURES = 1024


@dataclass(frozen=True, slots=True, eq=False)
class Inferred:
    """Posterior Dirichlet parameters ``gamma`` (n_pictures, n_topics) and the statistics of the pictures."""

    gamma: Array
    statistics: TopicStatistics

    @property
    def proportions(self) -> Array:
        """The mean topic proportions, rows summing to one."""
        return self.gamma / self.gamma.sum(axis=1, keepdims=True)


def infer_topics(
    bags: sparse.csr_array,
    topics: ArrayLike,
    alpha: ArrayLike,
    *,
    start: Array | None = None,
    max_sweeps: int = 100,
    tolerance: float = 1e-3,
    n_jobs: int = -1,
) -> Inferred:
    """q(theta) of each picture of ``bags`` under fixed ``topics`` (n_topics, n_codewords), and the expected counts.

    Maximises, picture by picture, E_q[log p(bag, z, theta | topics, alpha)] + H(q) by coordinate ascent, from ``start``
    (a former gamma) or from equal topics. A picture stops after ``max_sweeps`` sweeps or when gamma changes by less
    than ``tolerance`` per topic. ``alpha`` is one number, or one per topic. Counts may be fractions. The bound is exact
    for the gamma returned and never lower than at ``start``.

    >>> bags = sparse.csr_array([[8.0, 0.0, 1.0], [0.0, 5.0, 0.0]])
    >>> infer_topics(bags, [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]], 0.1).proportions.round(1)
    array([[1., 0.],
           [0., 1.]])
    """
    from visterm.topics._kernels_lda import infer_proportions

    likelihood = np.ascontiguousarray(np.asarray(topics, np.float64).T)
    n_codewords, n_topics = likelihood.shape
    if bags.shape[1] != n_codewords:
        raise InputError(f"the bags have {bags.shape[1]} codewords, but the topics have {n_codewords}")
    prior = np.array(np.broadcast_to(np.asarray(alpha, np.float64), (n_topics,)))
    gamma = starting_gamma(bags, prior) if start is None else np.array(start, np.float64, order="C")

    def of_shard(shard: Shard) -> TopicStatistics:
        codewords, log_proportions = np.zeros((n_codewords, n_topics)), np.zeros(n_topics)
        pictures, start = rows_of(bags, shard), gamma[shard.rows]
        # A whole number or a read-only array would be other types: the loop would be compiled once more.
        least = float(tolerance)
        bound = infer_proportions(pictures, likelihood, prior, max_sweeps, least, start, codewords, log_proportions)
        return TopicStatistics(len(shard), bound, codewords.T, log_proportions, np.zeros((n_topics, 0)))

    return Inferred(gamma, reduce(add, over_shards(of_shard, bags.shape[0], n_jobs)))


def starting_gamma(bags: sparse.csr_array, alpha: Array) -> Array:
    """The posterior in which every topic has the same share of each picture."""
    return alpha + bags.sum(axis=1, dtype=np.float64)[:, None] / len(alpha)


def over_shards(task: Callable[[Shard], T], n_pictures: int, n_jobs: int = -1) -> list[T]:
    """The results of ``task`` for every shard of pictures, in order; shards do not depend on the number of threads."""
    shards = split(n_pictures, size=_SHARD_PICTURES) or [Shard(0, 0)]
    return in_threads(task, shards, n_jobs)
