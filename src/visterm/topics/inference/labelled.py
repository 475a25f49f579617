"""The joint model of codewords, class and tags: its parameters, the E step with labels, the M step of eta.

The equations are those of Wang, Blei and Fei-Fei (CVPR 2009). The E step without labels, for a new picture, is
:func:`visterm.topics.inference.em.infer_topics`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import digamma, log_softmax

from visterm.compute.parallel import Shard
from visterm.contracts import UNKNOWN_CLASS
from visterm.topics.inference.em import Array, TopicStatistics, over_shards, rows_of

_MAX_HALVINGS = 30


@dataclass(frozen=True, slots=True, eq=False)
class JointTopics:
    """The parameters of the joint model; n_tags or n_classes may be 0."""

    codewords: Array  # pi, (n_topics, n_codewords)
    tags: Array  # beta, (n_topics, n_tags)
    coefficients: Array  # eta, (n_classes, n_topics)
    alpha: Array  # (n_topics,)


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """Bags with their labels: a class number or -1, the weight of the class, and tags or an empty row."""

    bags: sparse.csr_array
    classes: NDArray[np.int64]
    class_weights: Array
    tags: sparse.csr_array

    @classmethod
    def without_classes(cls, bags: sparse.csr_array, tags: sparse.csr_array) -> Labelled:
        """Pictures with tags alone."""
        return cls(bags, np.full(bags.shape[0], UNKNOWN_CLASS), np.ones(bags.shape[0]), tags)

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
        from visterm.topics.inference._kernels_slda import class_value_of

        if coefficients is self.model.coefficients:
            return self.class_part, self.class_gradient
        data, tables = self.data, _tables(self.model)

        def of_shard(shard: Shard) -> tuple[float, Array]:
            bags, labels, gradient = rows_of(data.bags, shard), _labels(data, shard), np.zeros(coefficients.shape)
            start, sweeps = self.start[shard.rows], self.max_sweeps
            value = class_value_of(
                bags=bags,
                labels=labels,
                tables=tables,
                gammas=start,
                max_sweeps=sweeps,
                tolerance=self.tolerance,
                coefficients=coefficients,
                gradient=gradient,
            )
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
    from visterm.topics.inference._kernels_slda import ExpectedCounts, infer_joint

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
    phibar, value = mean_assignments(gamma, data.bags, model.alpha), float(sum(class_parts))
    found = reduce(add, statistics), value, reduce(add, gradients), phibar
    return LabelledInference(*found, data, model, start, max_sweeps, tolerance)


def _tables(model: JointTopics) -> Any:
    from visterm.topics.inference._kernels_slda import TopicTables

    return TopicTables(
        np.ascontiguousarray(model.codewords.T),
        np.ascontiguousarray(np.log(model.tags).T),
        np.ascontiguousarray(model.coefficients),
        model.alpha,
    )


def _labels(data: Labelled, shard: Shard) -> Any:
    from visterm.topics.inference._kernels_slda import Labels

    tags = rows_of(data.tags, shard)
    return Labels(data.classes[shard.rows], data.class_weights[shard.rows], tags.indptr, tags.indices)


def softmax_regression(
    features: Array,
    classes: NDArray[np.int64],
    weights: Array,
    ridge: float,
    start: Array,
    *,
    slope: Array | None = None,
    max_iter: int = 200,
) -> Array:
    """Coefficients (n_classes, n_topics) that maximise the weighted log-likelihood of the classes given ``features``.

    ``sum_d weight_d log softmax(coefficients @ feature_d)[class_d] - ridge / 2 |coefficients|^2 + slope .
    coefficients``, which is concave, from ``start``; pictures of class -1 are left out.
    """
    known = np.flatnonzero(classes >= 0)
    features, classes, weights = features[known], classes[known], weights[known, None]
    target = np.eye(len(start))[classes]
    slope = np.zeros(start.shape) if slope is None else slope

    def loss(flat: Array) -> tuple[float, Array]:
        coefficients = flat.reshape(start.shape)
        log_odds = log_softmax(features @ coefficients.T, axis=1)
        value = (weights * target * log_odds).sum() - ridge / 2 * (flat @ flat) + (slope * coefficients).sum()
        gradient = (weights * (target - np.exp(log_odds))).T @ features - ridge * coefficients + slope
        return -value, -gradient.ravel()

    found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": max_iter})
    return found.x.reshape(start.shape)


def improve_coefficients(
    inferred: LabelledInference, coefficients: Array, ridge: float, *, max_iter: int = 20
) -> Array:
    """The M step of eta: coefficients at which the bound, minus ``ridge`` / 2 |eta|^2, is not lower.

    The exact class term needs every phi. Softmax regression on phibar is its limit for large pictures and costs very
    little. Corrected to have the exact gradient at the old coefficients, it gives a direction uphill; the exact value
    decides how far to go. If this changes nothing, the exact term is stationary.
    """
    data, phibar = inferred.data, inferred.phibar
    value, gradient = inferred.class_value(coefficients)
    value -= ridge / 2 * float((coefficients**2).sum())
    known = np.flatnonzero((data.classes >= 0) & (np.diff(data.bags.indptr) > 0))
    odds = np.exp(log_softmax(phibar[known] @ coefficients.T, axis=1))
    residual = data.class_weights[known, None] * (np.eye(len(coefficients))[data.classes[known]] - odds)
    slope = gradient - residual.T @ phibar[known]
    classes = np.full(len(data), UNKNOWN_CLASS)
    classes[known] = data.classes[known]
    step = -coefficients + softmax_regression(
        phibar, classes, data.class_weights, ridge, coefficients, slope=slope, max_iter=max_iter
    )
    for _ in range(_MAX_HALVINGS):
        moved = coefficients + step
        if inferred.class_value(moved)[0] - ridge / 2 * float((moved**2).sum()) >= value:
            return moved
        step *= 0.5
    return coefficients
