"""The squared loss in closed form: its equation, its spectrum from either side, when it applies."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.margin.solver.coupled import CoupledProblem, Spectrum, is_closed
from visterm.margin.solver.inner_products import FeatureInnerProducts, GramInnerProducts
from visterm.margin.solver.losses import HINGE, SQUARED, SQUARED_HINGE
from visterm.margin.solver.tasks import Problem

C = 0.3


@pytest.fixture
def tasks():
    rng = np.random.default_rng(0)
    return rng.normal(size=(9, 4)), np.where(rng.random((3, 9)) < 0.5, 1.0, -1.0), rng.normal(size=(3, 2))


def test_it_applies_to_the_squared_loss_of_all_pictures_with_the_weight_one():
    weights = np.ones((2, 3))
    assert is_closed(SQUARED, weights)
    assert not is_closed(SQUARED_HINGE, weights)
    assert not is_closed(HINGE, weights)
    for other in (0.0, 2.0):
        weights[1, 1] = other
        assert not is_closed(SQUARED, weights)


@pytest.mark.parametrize("form", ["features", "few pictures", "gram"])
def test_the_coefficients_solve_their_equation(tasks, form):
    X, y, W = tasks
    X, y = (X[:3], y[:, :3]) if form == "few pictures" else (X, y)
    G, M = X @ X.T + 0.5, W @ W.T
    products = GramInnerProducts(X @ X.T, 0.5) if form == "gram" else FeatureInnerProducts(X, 0.5)
    spectrum = Spectrum.of(products)
    np.testing.assert_allclose((spectrum.vectors * spectrum.values) @ spectrum.vectors.T, G, atol=1e-12)
    n_tasks, n = y.shape
    system = np.eye(n_tasks * n) + 2 * C * np.kron(M, G)
    coupled = np.linalg.solve(system, 2 * C * y.ravel()).reshape(y.shape)
    alone = np.linalg.solve(np.eye(n) + 2 * C * G, 2 * C * y.T).T
    np.testing.assert_allclose(spectrum.theta(y, C), alone, atol=1e-12)
    np.testing.assert_allclose(spectrum.theta(y, C, M), coupled, atol=1e-12)
    weights = np.full_like(y, C)
    found = Problem(products, y, weights, SQUARED).evaluate(spectrum.solve(y, C))
    np.testing.assert_allclose(found.theta, alone, atol=1e-12)
    np.testing.assert_allclose(found.gaps, 0, atol=1e-12)
    found = CoupledProblem(products, y, weights, SQUARED, M).evaluate(spectrum.solve(y, C, M))
    np.testing.assert_allclose(found.theta, coupled, atol=1e-12)
    np.testing.assert_allclose(found.scores, M @ coupled @ G, atol=1e-12)
    assert found.gap == pytest.approx(0, abs=1e-12)
