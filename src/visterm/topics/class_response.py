"""The class of a picture from its topics: L-BFGS finds the coefficients with exact gradients and a ridge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

from visterm.contracts import UNKNOWN_CLASS
from visterm.topics.joint_inference import LabelledInference
from visterm.topics.statistics import Array

_MAX_HALVINGS = 30
#: Proportions well below this count as zero, so that the slope of the square root stays finite.
_LEAST = 1e-6
#: The least deviation by which roots are divided, so that roots that hardly vary are not scaled up.
_LEAST_DEVIATION = 1e-3
#: The constant feature of all pictures. It is large, so that the ridge hardly affects the frequencies of classes.
_CONSTANT = 2.5


def roots(proportions: Array) -> Array:
    """Square roots, linear near 0.

    >>> roots(np.array([0.0, 0.25, 1.0])).round(4)
    array([0. , 0.5, 1. ])
    """
    return proportions / np.sqrt(proportions + _LEAST)


def root_ratios(proportions: Array) -> Array:
    """:func:`roots` over the proportions themselves, finite at 0."""
    return 1 / np.sqrt(proportions + _LEAST)


def slopes_of_roots(proportions: Array) -> Array:
    """The derivative of :func:`roots`."""
    return (proportions / 2 + _LEAST) / (proportions + _LEAST) ** 1.5


@dataclass(frozen=True, slots=True, eq=False)
class RootScale:
    """Brings the roots of proportions to mean 0 and deviation 1, so that one ridge suits frequent and rare topics.

    >>> scale = RootScale.of(np.array([[0.0, 1.0], [0.25, 0.75], [1.0, 0.0]]))
    >>> scale.features(np.array([[1.0, 0.0]])).round(1)
    array([[ 1.2, -1.4,  2.5]])
    """

    mean: Array
    deviation: Array

    @classmethod
    def of(cls, proportions: Array) -> RootScale:
        """The scale of these pictures' proportions (n_pictures, n_topics)."""
        if not len(proportions):
            return cls(np.zeros(proportions.shape[1]), np.ones(proportions.shape[1]))
        rooted = roots(proportions)
        return cls(rooted.mean(axis=0), rooted.std(axis=0) + _LEAST_DEVIATION)

    def features(self, proportions: Array) -> Array:
        """Standardised roots and a constant, (n_pictures, n_topics + 1)."""
        scaled = (roots(proportions) - self.mean) / self.deviation
        return np.column_stack([scaled, np.full(len(scaled), _CONSTANT)])

    def unscaled(self, coefficients: Array) -> tuple[Array, Array]:
        """Coefficients of the roots themselves and intercepts, given those of :meth:`features`."""
        by_root = coefficients[:, :-1] / self.deviation
        return by_root, _CONSTANT * coefficients[:, -1] - by_root @ self.mean

    def scaled(self, by_root: Array, intercepts: Array) -> Array:
        """The inverse of :meth:`unscaled`."""
        return np.column_stack([by_root * self.deviation, (intercepts + by_root @ self.mean) / _CONSTANT])


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
