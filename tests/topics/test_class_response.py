"""The class of a picture from its topics: the scale of the roots, and the regression."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import logsumexp

from visterm.topics.inference.joint_model import softmax_regression
from visterm.topics.inference.refine import RootScale, roots


def test_scaled_coefficients_come_back_from_unscaled_ones():
    rng = np.random.default_rng(0)
    scale, coefficients = RootScale.of(rng.dirichlet(np.ones(4), 20)), rng.normal(size=(3, 5))
    np.testing.assert_allclose(scale.scaled(*scale.unscaled(coefficients)), coefficients)


def test_the_scale_is_the_mean_and_the_deviation_of_roots():
    proportions = np.random.default_rng(0).dirichlet(np.ones(3), 50)
    scale = RootScale.of(proportions)
    np.testing.assert_allclose(scale.mean, np.sqrt(proportions).mean(axis=0), atol=1e-3)
    np.testing.assert_allclose(scale.deviation, np.sqrt(proportions).std(axis=0) + 1e-3, rtol=1e-3)


def test_roots_that_do_not_vary_are_not_scaled_up():
    scale = RootScale.of(np.full((5, 2), 0.5))
    np.testing.assert_allclose(scale.deviation, 1e-3)
    np.testing.assert_allclose(scale.features(np.full((1, 2), 0.5)), [[0, 0, 2.5]], atol=1e-9)
    none = RootScale.of(np.empty((0, 2)))
    proportions = np.array([[0.3, 0.7]])
    np.testing.assert_array_equal(none.features(proportions)[:, :2], roots(proportions))


@pytest.mark.parametrize("with_slope", [False, True])
def test_the_regression_maximises_its_objective(with_slope):
    rng = np.random.default_rng(1)
    features, classes, weights = rng.normal(size=(30, 2)), rng.integers(-1, 3, 30), rng.uniform(0.2, 3, 30)
    slope = rng.normal(size=(3, 2)) * with_slope

    def objective(flat):
        coefficients = flat.reshape(3, 2)
        scores = features @ coefficients.T
        likelihood = sum(
            w * (row[c] - logsumexp(row)) for row, c, w in zip(scores, classes, weights, strict=True) if c >= 0
        )
        return likelihood - 0.3 / 2 * (flat**2).sum() + (slope * coefficients).sum()

    start = rng.normal(size=(3, 2))
    found = softmax_regression(features, classes, weights, 0.3, start, slope=slope if with_slope else None)
    np.testing.assert_allclose(approx_fprime(found.ravel(), objective), 0, atol=1e-3)
    few = softmax_regression(features, classes, weights, 0.3, start, slope=slope, max_iter=1)
    assert objective(start.ravel()) < objective(few.ravel()) < objective(found.ravel()) - 1e-3
