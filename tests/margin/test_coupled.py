"""The U step in its parts: all tasks at once, task by task, few coordinates together."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from visterm.margin.solver import ascent, coupled
from visterm.margin.solver.ascent import solve
from visterm.margin.solver.coupled import CoupledProblem
from visterm.margin.solver.inner_products import FeatureInnerProducts, GramInnerProducts
from visterm.margin.solver.losses import HINGE, smooth_hinge
from visterm.margin.solver.tasks import Problem


def problem(n=30, n_tasks=3, C=0.8, scale=1.0, seed=0, loss=None):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 4)) * scale, np.where(rng.random((n_tasks, n)) < 0.4, 1.0, -1.0)
    C = np.full(y.shape, C / scale**2) * rng.choice([0.5, 1.0], y.shape)
    return Problem(GramInnerProducts(X @ X.T, 0.5 * scale**2), y, C, loss or HINGE)


def coupled_by(p, M, *primal_below):
    return CoupledProblem(p.products, p.y, p.C, p.loss, M, *primal_below)


def inner_products(n_tasks=3, spread=1.0, seed=1):
    """M of predictors that differ by this much."""
    rng = np.random.default_rng(seed)
    W = rng.normal(size=2) + spread * rng.normal(size=(n_tasks, 2))
    return W @ W.T


def solved(p, M, tol=1e-3, start=None):
    return solve(coupled_by(p, M), tol=tol, rng=np.random.default_rng(0), start=start)


def test_nothing_to_learn_has_no_gap():
    nothing = problem(C=0.0)
    assert coupled_by(nothing, np.eye(3)).evaluate(np.zeros(nothing.y.shape)).gap == 0


def test_tasks_without_coupling_are_solved_one_by_one_in_few_rounds(monkeypatch):
    monkeypatch.setattr(coupled, "TOGETHER_ROWS", 1)
    monkeypatch.setattr(ascent, "MAX_SWEEPS", 5)
    p, lengths = problem(n=60, n_tasks=10, loss=smooth_hinge()), np.linspace(0.5, 3, 10)
    found = solved(p, np.diag(lengths), tol=1e-4)  # a gap that is not reached would be a warning
    for t, length in enumerate(lengths):
        products = GramInnerProducts(length * p.products.G, length * p.products.shift)
        task = Problem(products, p.y[t : t + 1], p.C[t : t + 1], p.loss)
        alone = solve(task, tol=1e-6, rng=np.random.default_rng(0))
        np.testing.assert_allclose(found.scores[t], alone.scores[0], atol=0.05)


def test_a_round_visits_every_coordinate(monkeypatch):
    for name in ("TOGETHER_ROWS", "REFINE_ROWS"):
        monkeypatch.setattr(coupled, name, 2)
    monkeypatch.setattr(ascent, "MAX_SWEEPS", 1)
    p = problem(loss=smooth_hinge())
    with pytest.warns(ConvergenceWarning, match="the relative duality gap is still .*, not 1e-09"):
        found = solved(p, inner_products(), tol=1e-9, start=np.full(p.y.shape, 0.01))
    assert (found.b != 0.01).all()


@pytest.mark.parametrize("products", [GramInnerProducts, FeatureInnerProducts])
def test_all_tasks_one_by_one_keep_their_scores(products):
    p, M = problem(), inner_products()
    X = np.random.default_rng(2).normal(size=(30, 4))
    p = Problem(products(X if products is FeatureInnerProducts else X @ X.T, 0.5), p.y, p.C, p.loss)
    together = coupled_by(p, M)
    state = together.evaluate(np.random.default_rng(0).uniform(0, 1, p.y.shape))
    assert together.refine_each(state, 1e-9, np.random.default_rng(0))
    after = together.evaluate(state.b)
    np.testing.assert_allclose(state.scores, after.scores, atol=1e-10)
    np.testing.assert_allclose(state.base, (p.C * state.b * p.y) @ (X @ X.T + 0.5), atol=1e-10)
    np.testing.assert_allclose(state.base, after.base, atol=1e-10)
    assert after.dual > state.dual


def test_more_unsettled_coordinates_than_are_refined_at_once_are_told(monkeypatch):
    together = coupled_by(problem(), inner_products())
    monkeypatch.setattr(coupled, "REFINE_ROWS", 3)
    state = together.evaluate(np.full(together.y.shape, 0.5))
    before = state.b.copy()
    assert not together.refine_each(state, 1e-9, np.random.default_rng(0))
    assert ((state.b != before).sum(axis=1) <= 3).all()


@pytest.mark.parametrize("limit", [5, 1024])
@pytest.mark.parametrize("scale", [2.0**-9, 2.0**9])
def test_features_and_weights_of_another_scale_give_the_same_dual_variables(scale, limit, monkeypatch):
    monkeypatch.setattr(coupled, "TOGETHER_ROWS", limit)
    M = inner_products()
    one, other = (solved(problem(scale=s), M) for s in (1.0, scale))
    np.testing.assert_array_equal(one.b, other.b)


@pytest.mark.parametrize("limit", [20, 1024])
def test_few_and_many_coordinates_of_strongly_coupled_tasks_are_solved_in_few_rounds(limit, monkeypatch):
    p, M = problem(C=2.0), inner_products(spread=0.1)  # the tasks nearly share their predictor
    best = solved(p, M, tol=1e-7)
    monkeypatch.setattr(coupled, "TOGETHER_ROWS", limit)
    monkeypatch.setattr(ascent, "MAX_SWEEPS", 12)
    found = solved(p, M, tol=1e-4)
    assert best.dual <= found.primal <= best.primal * (1 + 1e-4)
