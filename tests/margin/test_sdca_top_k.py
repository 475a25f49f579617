"""The top-k machine: its projection by brute force, its gap, its relations to other machines."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from visterm.errors import InputError
from visterm.margin.sdca_top_k import TopKSDCA
from visterm.margin.solver import _kernels_top_k, ascent, top_k
from visterm.margin.solver._kernels_top_k import ascend_pictures, picture_values, project_top_k
from visterm.margin.solver.arrays import Block, PictureDuals
from visterm.margin.solver.ascent import REFINE_FALL, REFINE_SHARE, Solution, solve
from visterm.margin.solver.inner_products import FeatureInnerProducts, GramInnerProducts
from visterm.margin.solver.top_k import TopKProblem


def cost(p, b, rho):
    return np.square(p - b).sum() + rho * p.sum() ** 2


def loss_of(scores, y, k):
    rivals = np.delete(1 + scores - scores[y], y)
    return max(0.0, np.sort(rivals)[::-1][:k].mean())


@settings(max_examples=150, deadline=None)
@given(
    b=st.lists(st.floats(-2, 2).map(lambda x: round(x, 2)), min_size=1, max_size=6),
    k=st.integers(1, 6),
    rho=st.sampled_from([0.0, 1.0, 2.5]),
    seed=st.integers(0, 99),
)
def test_projection_is_feasible_and_best(b, k, rho, seed):
    b, k = np.array(b), min(k, len(b))
    p = np.empty_like(b)
    project_top_k(b, k, rho, p)
    assert p.min() >= 0
    assert p.sum() <= 1 + 1e-9
    assert p.max() <= p.sum() / k + 1e-9
    # No feasible point is better: random ones, and those a general solver finds.
    rng = np.random.default_rng(seed)
    others = rng.dirichlet(np.full(len(b), 0.5), 300) * rng.random((300, 1))
    others = others[others.max(axis=1) <= others.sum(axis=1) / k]
    best = min([cost(other, b, rho) for other in others], default=np.inf)
    assert cost(p, b, rho) <= best + 1e-9
    between = [p + step * (other - p) for other in others[:20] for step in (1e-3, 0.1)]
    assert cost(p, b, rho) <= min([cost(other, b, rho) for other in between], default=np.inf) + 1e-9


def test_thresholds_are_exact_once_the_free_entries_are_known(monkeypatch):
    monkeypatch.setattr(_kernels_top_k, "_HALVINGS", 14)  # which alone are good for four digits
    rng = np.random.default_rng(0)
    n_free = set()
    for k in (1, 2, 3):
        for _ in range(30):
            b = rng.normal(size=6)
            t = _kernels_top_k._on_the_edge.py_func(b, np.argsort(-b), k)
            p = np.clip(b - t, 0, 1 / k)
            assert p.sum() == pytest.approx(1, abs=1e-12)
            n_free.add(np.count_nonzero((p > 0) & (p < 1 / k)))
    assert n_free >= {1, 2, 3}


@pytest.mark.parametrize("seed", range(12))
def test_projection_is_that_of_a_general_solver(seed):
    rng = np.random.default_rng(seed)
    b, k = rng.normal(scale=0.6, size=5), 1 + seed % 4
    p = np.empty(5)
    project_top_k(b, k, 1.0, p)
    constraints = [
        {"type": "ineq", "fun": lambda x: 1 - x.sum()},
        {"type": "ineq", "fun": lambda x: x.sum() / k - x},
    ]
    found = minimize(
        cost,
        np.full(5, 0.05),
        (b, 1.0),
        method="SLSQP",
        bounds=[(0, 1)] * 5,
        constraints=constraints,
        options={"ftol": 1e-14, "maxiter": 500},
    )
    np.testing.assert_allclose(p, found.x, atol=1e-5)


def test_kernels_are_their_definition(blobs):
    rng = np.random.default_rng(0)
    n, m, k = 8, 4, 2
    X = rng.normal(size=(n, 3))
    G, y, C = X @ X.T, rng.integers(0, m, n), rng.random(n) + 0.5
    p = np.zeros((m, n))
    for i in range(n):
        p[np.arange(m) != y[i], i] = 0.2
    theta = -p * C
    theta[y, np.arange(n)] += C * p.sum(axis=0)
    f, delta, order = theta @ G, np.zeros((m, n)), rng.permutation(n)
    losses, gains = np.empty(n), np.empty(n)
    picture_values(f, p, y, k, losses, gains)
    np.testing.assert_allclose(losses, [loss_of(f[:, i], y[i], k) for i in range(n)])
    np.testing.assert_allclose(gains, p.sum(axis=0))
    expected = p.copy()
    for i in order:
        scores = (-expected * C) @ G[:, i]
        own_sum = C * expected.sum(axis=0)
        scores += np.array([own_sum[y == j] @ G[y == j, i] for j in range(m)])
        q = C[i] * G[i, i]
        rivals = np.arange(m) != y[i]
        b = (1 + scores[rivals] - scores[y[i]]) / q + expected[rivals, i] + expected[:, i].sum()
        best = np.empty(m - 1)
        project_top_k(b, k, 1.0, best)
        expected[rivals, i] = best
    ascend_pictures(Block(G, np.arange(n), f, delta), order, PictureDuals(p, y, C), k)
    np.testing.assert_allclose(p, expected, atol=1e-10)
    np.testing.assert_allclose(f, (theta + delta) @ G, atol=1e-10)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("form", [GramInnerProducts, FeatureInnerProducts])
def test_gap_bounds_the_distance_to_the_optimum(many_blobs, k, form):
    blobs = many_blobs(n_classes=5)
    pictures = form(blobs.X @ blobs.X.T if form is GramInnerProducts else blobs.X, 1.0)
    C = np.full(len(blobs.y), 0.7)
    problem = TopKProblem(pictures, blobs.y, C, 5, k)
    rough = solve(problem, tol=1e-2, rng=np.random.default_rng(0))
    fine = solve(problem, tol=1e-5, rng=np.random.default_rng(1))
    assert 0 <= fine.gap <= 1e-5
    assert rough.dual[0] <= fine.objective + 1e-9
    assert fine.dual[0] <= rough.objective + 1e-9
    duals = [dual for _, dual in fine.trace]
    assert (np.diff(duals) >= -1e-9 * abs(fine.dual[0])).all()
    losses = [loss_of(fine.scores[:, i], label, k) for i, label in enumerate(blobs.y)]
    G = blobs.X @ blobs.X.T + 1.0
    assert fine.objective == pytest.approx(0.5 * np.vdot(fine.theta @ G, fine.theta) + C @ losses)


def test_k_of_one_is_the_machine_of_crammer_and_singer(blobs):
    ours = TopKSDCA(1, C=0.5, tol=1e-5, intercept_scaling=0, calibration_folds=0, random_state=0).fit(blobs.X, blobs.y)
    theirs = LinearSVC(
        C=0.5, multi_class="crammer_singer", fit_intercept=False, tol=1e-8, max_iter=100_000, random_state=0
    ).fit(blobs.X, blobs.y)

    def objective(W):
        scores = blobs.X @ W.T
        return 0.5 * np.vdot(W, W) + 0.5 * sum(loss_of(s, label, 1) for s, label in zip(scores, blobs.y, strict=True))

    assert objective(ours.coef_) == pytest.approx(objective(theirs.coef_), rel=1e-3)


def test_weights_are_copies_and_zero_weights_are_absent(blobs):
    weight = np.arange(len(blobs.y)) // 3 % 3  # the class of every third picture is the same
    parameters = {"k": 2, "tol": 1e-5, "calibration_folds": 0, "random_state": 0}
    weighted = TopKSDCA(**parameters).fit(blobs.X, blobs.y, picture_weight=weight)
    copied = TopKSDCA(**parameters).fit(np.repeat(blobs.X, weight, axis=0), np.repeat(blobs.y, weight))
    np.testing.assert_allclose(weighted.coef_, copied.coef_, atol=5e-3)


def test_two_classes_have_one_function(blobs):
    few = blobs.y < 2
    model = TopKSDCA(1, C=10.0, random_state=0).fit(blobs.X[few], blobs.y[few])
    assert model.decision_function(blobs.X[few]).shape == (few.sum(),)
    assert model.score(blobs.X[few], blobs.y[few]) > 0.7
    np.testing.assert_allclose(model.predict_proba(blobs.X[few]).sum(axis=1), 1.0)


def test_k_must_be_below_the_number_of_classes(blobs):
    for k in (0, 3):
        with pytest.raises(InputError, match="between 1 and 2"):
            TopKSDCA(k).fit(blobs.X, blobs.y)


@pytest.fixture
def problem(many_blobs):
    """Inner products, classes, weights and dual variables of a few pictures."""
    blobs, rng = many_blobs(n_pictures=24, n_classes=4), np.random.default_rng(0)
    p = 0.5 * rng.dirichlet(np.ones(4), 24).T
    p[blobs.y, np.arange(24)] = 0
    return FeatureInnerProducts(blobs.X, 1.0), blobs.y, rng.uniform(0.5, 2.0, 24), p


def objectives(state):
    return float(state.primal[0]), float(state.dual[0])


def test_objectives_by_hand(problem):
    products, y, C, p = problem
    state = TopKProblem(products, y, C, 4, 1).evaluate(p)
    primal, dual = objectives(state)
    X = np.hstack([products.X, np.ones((24, 1))])
    W = np.zeros((4, X.shape[1]))  # (2) of the paper: every rival of a picture pushes, its own class pulls
    for i in range(24):
        W -= C[i] * np.outer(p[:, i], X[i])
        W[y[i]] += C[i] * p[:, i].sum() * X[i]
    np.testing.assert_allclose(state.scores, W @ X.T)
    losses = np.array([loss_of(scores, label, 1) for scores, label in zip(state.scores.T, y, strict=True)])
    assert primal == pytest.approx(0.5 * (W**2).sum() + C @ losses)
    assert dual == pytest.approx(C @ p.sum(axis=0) - 0.5 * (W**2).sum())
    assert state.gap == pytest.approx((primal - dual) / max(abs(primal), abs(dual)))
    slopes = (state.scores[y, np.arange(24)] - state.scores) * p  # how far each dual variable is used
    np.testing.assert_allclose(state.picture_gaps, C * (losses - p.sum(axis=0) + slopes.sum(axis=0)), atol=1e-9)
    assert state.picture_gaps.min() > -1e-9
    assert state.picture_gaps.sum() == pytest.approx(primal - dual)


def test_the_gap_of_nothing_is_zero():
    empty = np.zeros((2, 0))
    assert Solution(empty, empty, empty, np.array([0.0]), np.array([0.0])).gap == 0
    assert Solution(empty, empty, empty, np.array([2.0]), np.array([-4.0])).gap == 1.5


@pytest.mark.parametrize("weight", [0.01, 30.0])
@pytest.mark.parametrize(("tol", "aim"), [(1e-9, "fall"), (0.3, "tol")])
def test_refining_ends_when_the_gap_of_the_active_pictures_has_fallen(problem, weight, tol, aim, monkeypatch):
    monkeypatch.setattr(top_k, "ACTIVE_ROWS", 15)
    products, y, C, _ = problem
    C = weight * C
    joint = TopKProblem(products, y, C, 4, 2)
    state = joint.evaluate(np.zeros((4, 24)))
    primal, dual = objectives(state)
    target = {"fall": REFINE_FALL * (primal - dual), "tol": REFINE_SHARE * tol * primal}[aim]
    active = np.sort(np.argsort(-state.picture_gaps, kind="stable")[:15])
    expected, rng = np.zeros((4, 24)), np.random.default_rng(7)
    n_rounds = 0
    while True:
        n_rounds += 1
        now = joint.evaluate(expected)
        block = Block(products.block(active), active, np.ascontiguousarray(now.scores[:, active]), np.zeros((4, 15)))
        ascend_pictures(block, rng.permutation(15), PictureDuals(expected, y, C), 2)
        if joint.evaluate(expected).picture_gaps[active].sum() <= target:
            break
    assert not joint.refine(state, np.array([0]), tol, np.random.default_rng(7)).any()
    np.testing.assert_allclose(state.b, expected, atol=1e-9)
    np.testing.assert_allclose(objectives(state), objectives(joint.evaluate(expected)))
    assert (n_rounds > 1) == (weight > 1)


def test_pictures_that_are_nearly_right_are_not_refined(problem):
    products, y, C, _ = problem
    C = np.where(np.arange(24) < 20, C, 0.004 * C)
    joint = TopKProblem(products, y, C, 4, 1)
    state = joint.evaluate(np.zeros((4, 24)))
    primal, dual = objectives(state)
    left_out = state.picture_gaps <= top_k.ACTIVE_SHARE * REFINE_FALL * (primal - dual) / 24
    assert 0 < left_out.sum() <= 4
    joint.refine(state, np.array([0]), 1e-9, np.random.default_rng(0))
    assert not state.b[:, left_out].any()
    assert state.b.any(axis=0).sum() > 12


def test_a_small_gap_is_not_refined(problem):
    products, y, C, p = problem
    joint = TopKProblem(products, y, C, 4, 2)
    state = joint.evaluate(p)
    primal, dual = objectives(state)
    before = p.copy()
    joint.refine(state, np.array([0]), 1.001 * state.gap / REFINE_SHARE * max(1, -dual / primal), None)
    np.testing.assert_array_equal(state.b, before)
    joint.refine(state, np.array([0]), 0.1 * state.gap / REFINE_SHARE, np.random.default_rng(0))
    assert (state.b != before).any()


def test_each_pass_goes_over_all_pictures_and_then_over_the_worst(problem, monkeypatch):
    products, y, C, _ = problem

    joint = TopKProblem(products, y, C, 4, 2)
    monkeypatch.setattr(ascent, "MAX_SWEEPS", 1)

    def once():
        with pytest.warns(ConvergenceWarning, match="duality gap is still"):
            return solve(joint, tol=1e-12, rng=np.random.default_rng(0))

    both = once()
    monkeypatch.setattr(top_k, "REFINE_ROUNDS", 0)
    swept = once()
    assert [len(found.trace) for found in (both, swept)] == [2, 2]
    assert swept.trace[-1] == objectives(swept)
    assert both.dual[0] > swept.dual[0] > swept.trace[0][1]
    assert swept.b.any(axis=0).sum() > 12
