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
from visterm.topics.bags import rows_of
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
    sizes = bags.sum(axis=1)[:, None]
    prior = np.broadcast_to(alpha / alpha.sum(), gamma.shape)
    return np.divide(gamma - alpha, sizes, out=prior.copy(), where=sizes > 0)


@dataclass(frozen=True, slots=True, eq=False)
class LabelledInference:
    """The result of an E step with labels.

    ``statistics`` include the bound; ``class_part`` is the class part of the bound, ``class_gradient`` (n_classes,
    n_topics) its gradient by eta. ``phibar`` (n_pictures, n_topics) are the means of the phi. The phi themselves are
    not kept: :meth:`class_value` finds them again from ``start``, the gamma before the step.
    """

    statistics: TopicStatistics
    class_part: float
    class_gradient: Array
    phibar: Array
    data: Labelled
    model: JointTopics
    start: Array
    max_sweeps: int
    tolerance: float

    def class_value(self, coefficients: Array) -> tuple[float, Array]:
        """The class part of the bound at other coefficients with the same phi, and its gradient, equation (12)."""
        from visterm.topics._kernels_slda import class_value_of

        if coefficients is self.model.coefficients:
            return self.class_part, self.class_gradient
        data, tables = self.data, _tables(self.model)

        def of_shard(shard: Shard) -> tuple[float, Array]:
            bags, labels, gradient = rows_of(data.bags, shard), _labels(data, shard), np.zeros(coefficients.shape)
            start, sweeps = self.start[shard.rows], self.max_sweeps
            value = class_value_of(bags, labels, tables, start, sweeps, self.tolerance, coefficients, gradient)
            return value, gradient

        parts = over_shards(of_shard, len(data))
        return sum(value for value, _ in parts), reduce(add, (gradient for _, gradient in parts))


def infer_labelled(
    data: Labelled, model: JointTopics, gamma: Array, *, max_sweeps: int, tolerance: float = 1e-3
) -> LabelledInference:
    """Improve ``gamma`` in place by coordinate ascent with each picture's class and tags.

    The phi start as the best for ``gamma``, the class and the tags. ``max_sweeps`` sweeps over the codewords follow,
    each with a new gamma. The bound includes the class term with its Jensen bound, ``eta_c . phibar - log sum_l
    exp(S_l)``, and the tags.
    """
    from visterm.topics._kernels_slda import ExpectedCounts, infer_joint

    tables, start = _tables(model), gamma.copy()

    def of_shard(shard: Shard) -> tuple[TopicStatistics, float, Array]:
        expected = ExpectedCounts(
            np.zeros(tables.likelihood.shape),
            np.zeros(tables.log_tags.shape),
            np.zeros(len(tables.alpha)),
            np.zeros(tables.coefficients.shape),
        )
        bags, labels = rows_of(data.bags, shard), _labels(data, shard)
        bound, class_part = infer_joint(bags, labels, tables, gamma[shard.rows], max_sweeps, float(tolerance), expected)
        statistics = TopicStatistics(len(shard), bound, expected.codewords.T, expected.log_proportions, expected.tags.T)
        return statistics, class_part, expected.by_coefficients

    statistics, class_parts, gradients = zip(*over_shards(of_shard, len(data)), strict=True)
    phibar = mean_assignments(gamma, data.bags, model.alpha)
    return LabelledInference(
        reduce(add, statistics),
        float(sum(class_parts)),
        reduce(add, gradients),
        phibar,
        data,
        model,
        start,
        max_sweeps,
        tolerance,
    )


def _tables(model: JointTopics) -> Any:
    from visterm.topics._kernels_slda import TopicTables

    return TopicTables(
        np.ascontiguousarray(model.codewords.T),
        np.ascontiguousarray(np.log(model.tags).T),
        np.ascontiguousarray(model.coefficients),
        model.alpha,
    )


def _labels(data: Labelled, shard: Shard) -> Any:
    from visterm.topics._kernels_slda import Labels

    tags = rows_of(data.tags, shard)
    return Labels(data.classes[shard.rows], data.class_weights[shard.rows], tags.indptr, tags.indices)
