"""The E step of topic models with a class and tags: pictures take part with the labels they have."""

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
from visterm.topics.inference import over_shards, rows_of
from visterm.topics.statistics import Array, TopicStatistics


@dataclass(frozen=True, slots=True, eq=False)
class JointTopics:
    """The parameters of the joint model; n_tags or n_classes may be 0."""

    codewords: Array  # pi, (n_topics, n_codewords)
    tags: Array  # beta, (n_topics, n_tags)
    coefficients: Array  # eta, (n_classes, n_topics)
    alpha: Array  # (n_topics,)
    intercepts: Array  # (n_classes,), of the refined model; zero in the paper's


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """Bags with what is known of them: a class number or -1, how much that counts, tags or an empty row."""

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
        """The phi that fits ``gamma`` best when nothing but the codewords is known."""
        gamma = np.array(gamma, np.float64, order="C")
        return cls(gamma, responsibilities(gamma, bags, codewords))


def responsibilities(gamma: Array, bags: sparse.csr_array, codewords: Array) -> Array:
    """phi (n_counts, n_topics): the share of each topic in each count of the bags, rows summing to one."""
    weights = digamma(gamma)
    weights = np.exp(weights - weights.max(axis=1, keepdims=True, initial=-np.inf))
    phi = np.repeat(weights, np.diff(bags.indptr), axis=0)
    phi *= codewords.T[bags.indices]
    phi /= phi.sum(axis=1, keepdims=True) + np.finfo(np.float64).tiny
    return phi


def mean_assignments(gamma: Array, bags: sparse.csr_array, alpha: Array) -> Array:
    """phibar (n_pictures, n_topics): the share of each topic in a picture; the prior's for an empty picture."""
    sizes = np.asarray(bags.sum(axis=1)).reshape(-1, 1)
    prior = np.broadcast_to(alpha / alpha.sum(), gamma.shape)
    return np.divide(gamma - alpha, sizes, out=prior.copy(), where=sizes > 0)


def infer_labelled(
    data: Labelled, model: JointTopics, posterior: Posterior, *, max_sweeps: int, tolerance: float = 1e-3
) -> TopicStatistics:
    """Improve ``posterior`` by coordinate ascent with each picture's class and tags; statistics and bound.

    The bound includes the class term with its Jensen bound, ``eta_c . phibar - log sum_l exp(S_l)``, and the tags.
    """
    from visterm.topics._kernels_slda import infer_joint

    likelihood = np.ascontiguousarray(model.codewords.T)
    log_tags = np.ascontiguousarray(np.log(model.tags).T)
    coefficients = np.ascontiguousarray(model.coefficients)

    def of_shard(shard: Shard) -> TopicStatistics:
        indptr, indices, counts = rows_of(data.bags, shard)
        tag_indptr, tag_indices, _ = rows_of(data.tags, shard)
        first, last = data.bags.indptr[shard.start], data.bags.indptr[shard.stop]
        codewords, tags = np.zeros(likelihood.shape), np.zeros(log_tags.shape)
        log_proportions = np.zeros(len(model.alpha))
        bound = infer_joint(
            indptr,
            indices,
            counts,
            data.classes[shard.rows],
            data.class_weights[shard.rows],
            tag_indptr,
            tag_indices,
            likelihood,
            log_tags,
            coefficients,
            model.alpha,
            max_sweeps,
            tolerance,
            posterior.gamma[shard.rows],
            posterior.phi[first:last],
            codewords,
            tags,
            log_proportions,
        )
        return TopicStatistics(len(shard), bound, codewords.T, log_proportions, tags.T)

    return reduce(add, over_shards(of_shard, len(data)))


def class_value(data: Labelled, phi: Array, coefficients: Array) -> tuple[float, Array]:
    """The class part of the bound and its gradient with respect to ``coefficients``, the paper's equation (12)."""
    from visterm.topics._kernels_slda import class_term

    def of_shard(shard: Shard) -> tuple[float, Array]:
        indptr, _, counts = rows_of(data.bags, shard)
        first, last = data.bags.indptr[shard.start], data.bags.indptr[shard.stop]
        gradient = np.zeros(coefficients.shape)
        classes, weights = data.classes[shard.rows], data.class_weights[shard.rows]
        value = class_term(indptr, counts, phi[first:last], classes, weights, coefficients, gradient)
        return value, gradient

    parts = over_shards(of_shard, len(data))
    return sum(value for value, _ in parts), reduce(add, (gradient for _, gradient in parts))
