"""The joint model of codewords, class and tags: its parameters, its labelled pictures, and the E step with labels.

The E step without labels, for a new picture, is :func:`visterm.topics.inference.infer_topics`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import digamma

from visterm.compute.parallel import Shard
from visterm.topics.bags import counts_of, rows_of
from visterm.topics.inference import over_shards
from visterm.topics.statistics import Array, TopicStatistics


@dataclass(frozen=True, slots=True, eq=False)
class JointTopics:
    """The parameters of the joint model; n_tags or n_classes may be 0."""

    codewords: Array  # pi, (n_topics, n_codewords)
    tags: Array  # beta, (n_topics, n_tags)
    coefficients: Array  # eta, (n_classes, n_topics)
    alpha: Array  # (n_topics,)
    intercepts: Array  # (n_classes,), of the refined model; zero in the paper's model


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """Bags with their labels: a class number or -1, the weight of the class, and tags or an empty row."""

    bags: sparse.csr_array
    classes: NDArray[np.int64]
    class_weights: Array
    tags: sparse.csr_array

    def __getitem__(self, rows: Any) -> Labelled:
        return Labelled(self.bags[rows], self.classes[rows], self.class_weights[rows], self.tags[rows])

    def __len__(self) -> int:
        return int(self.bags.shape[0])


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """Variational parameters, updated in place: ``gamma`` (n_pictures, n_topics), ``phi`` (n_counts, n_topics)."""

    gamma: Array
    phi: Array

    @classmethod
    def given(cls, gamma: Array, bags: sparse.csr_array, codewords: Array) -> Posterior:
        """The best phi for ``gamma`` if only the codewords are known."""
        gamma = np.array(gamma, np.float64, order="C")
        return cls(gamma, responsibilities(gamma, bags, codewords))


def responsibilities(gamma: Array, bags: sparse.csr_array, codewords: Array) -> Array:
    """phi (n_counts, n_topics): the share of each topic in each count of the bags. Rows sum to one."""
    weights = digamma(gamma)
    weights = np.exp(weights - weights.max(axis=1, keepdims=True, initial=-np.inf))
    phi = np.repeat(weights, np.diff(bags.indptr), axis=0)
    phi *= codewords.T[bags.indices]
    phi /= phi.sum(axis=1, keepdims=True) + np.finfo(np.float64).tiny
    return phi


def mean_assignments(gamma: Array, bags: sparse.csr_array, alpha: Array) -> Array:
    """phibar (n_pictures, n_topics): the share of each topic in a picture; for an empty picture, that of the prior."""
    sizes = np.asarray(bags.sum(axis=1)).reshape(-1, 1)
    prior = np.broadcast_to(alpha / alpha.sum(), gamma.shape)
    return np.divide(gamma - alpha, sizes, out=prior.copy(), where=sizes > 0)


def infer_labelled(
    data: Labelled, model: JointTopics, posterior: Posterior, *, max_sweeps: int, tolerance: float = 1e-3
) -> TopicStatistics:
    """Improve ``posterior`` by coordinate ascent with each picture's class and tags; returns statistics with the bound.

    The bound includes the class term with its Jensen bound, ``eta_c . phibar - log sum_l exp(S_l)``, and the tags.
    """
    from visterm.topics._kernels_slda import ExpectedCounts, Labels, TopicTables, infer_joint

    tables = TopicTables(
        np.ascontiguousarray(model.codewords.T),
        np.ascontiguousarray(np.log(model.tags).T),
        np.ascontiguousarray(model.coefficients),
        model.alpha,
    )

    def of_shard(shard: Shard) -> TopicStatistics:
        tags = rows_of(data.tags, shard)
        labels = Labels(data.classes[shard.rows], data.class_weights[shard.rows], tags.indptr, tags.indices)
        expected = ExpectedCounts(
            np.zeros(tables.likelihood.shape), np.zeros(tables.log_tags.shape), np.zeros(len(tables.alpha))
        )
        gamma, phi = posterior.gamma[shard.rows], posterior.phi[counts_of(data.bags, shard)]
        bound = infer_joint(rows_of(data.bags, shard), labels, tables, gamma, phi, max_sweeps, tolerance, expected)
        return TopicStatistics(len(shard), bound, expected.codewords.T, expected.log_proportions, expected.tags.T)

    return reduce(add, over_shards(of_shard, len(data)))
