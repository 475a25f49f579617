"""The dual solver: objectives of scikit-learn, gaps that bound, kernels that equal their NumPy."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC

from visterm.compute import threads
from visterm.margin.solver import _kernels, ascent, inner_products, tasks
from visterm.margin.solver._kernels import best_dual
from visterm.margin.solver.arrays import Block, Coordinates
from visterm.margin.solver.ascent import Stall, relative_gap, solve
from visterm.margin.solver.inner_products import FeatureInnerProducts, GramInnerProducts
from visterm.margin.solver.losses import HINGE, LOGISTIC, SQUARED, SQUARED_HINGE, smooth_hinge
from visterm.margin.solver.tasks import Problem, unsettled

LOSSES = [HINGE, smooth_hinge(1.0), SQUARED_HINGE, SQUARED, LOGISTIC]
by_loss = pytest.mark.parametrize("loss", LOSSES, ids=str)


def primal(X, y, C, w, loss):
    return 0.5 * np.sum(w * w) + np.sum(C * loss.value(y * (X @ w)))


def run(X, labels, C, loss, *, tol=1e-3, shift=0.0, features=False, seed=0, **more):
    products = FeatureInnerProducts(X, shift) if features else GramInnerProducts(X @ X.T, shift)
    problem = Problem(products, labels, np.broadcast_to(C, labels.shape), loss)
    return solve(problem, tol=tol, rng=np.random.default_rng(seed), **more)


@by_loss
@pytest.mark.parametrize("features", [False, True], ids=["gram", "features"])
def test_reaches_the_optimum_within_its_gap(loss, features, blobs):
    solution = run(blobs.X, blobs.labels, 0.7, loss, tol=1e-6, features=features)
    assert (solution.gaps <= 1e-6).all()
    for t, y in enumerate(blobs.labels):
        w = solution.theta[t] @ blobs.X
        value = primal(blobs.X, y, 0.7, w, loss)
        assert value == pytest.approx(solution.primal[t], rel=1e-9)
        if loss != HINGE:  # smooth: an independent minimiser can confirm it
            best = minimize(lambda w, y=y: primal(blobs.X, y, 0.7, w, loss), w, method="BFGS").fun
            assert solution.dual[t] <= best + 1e-9 * abs(best)
            assert value <= best * (1 + 2e-6)


@pytest.mark.parametrize(("C", "intercept"), [(0.05, 0.0), (1.0, 0.0), (20.0, 0.0), (1.0, 1.0)])
def test_hinge_objective_is_that_of_linear_svc(C, intercept, blobs):
    ours = run(blobs.X, blobs.labels, C, HINGE, tol=1e-4, shift=intercept**2)
    for t, y in enumerate(blobs.labels):
        theirs = LinearSVC(C=C, loss="hinge", tol=1e-8, max_iter=200_000, fit_intercept=bool(intercept), random_state=0)
        theirs.fit(blobs.X, y)
        w, X = theirs.coef_[0], blobs.X
        if intercept:
            w, X = np.append(w, theirs.intercept_), np.hstack([X, np.ones((len(X), 1))])
        assert ours.primal[t] == pytest.approx(primal(X, y, C, w, HINGE), rel=2e-4)


def test_hinge_objective_approaches_that_of_svc_with_a_free_intercept(blobs):
    # SVC does not penalise its intercept; a constant feature s penalises it by b^2 / (2 s^2).
    G, s = blobs.X @ blobs.X.T, 5.0
    ours = run(blobs.X, blobs.labels, 1.0, HINGE, tol=1e-5, shift=s * s)
    for t, y in enumerate(blobs.labels):
        svc = SVC(kernel="precomputed", C=1.0, tol=1e-8).fit(G, y)
        theta = np.zeros(len(y))
        theta[svc.support_] = svc.dual_coef_[0]
        value = 0.5 * theta @ G @ theta + HINGE.value(y * (G @ theta + svc.intercept_)).sum()
        assert value <= ours.primal[t] * (1 + 1e-6)
        assert ours.primal[t] <= (value + svc.intercept_[0] ** 2 / (2 * s * s)) * (1 + 2e-5)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1000),
    n=st.integers(3, 40),
    d=st.integers(1, 6),
    log_C=st.floats(-3, 2),
    loss=st.sampled_from(LOSSES),
    shift=st.sampled_from([0.0, 1.0]),
)
def test_the_dual_never_falls_and_the_gap_bounds_the_suboptimality(seed, n, d, log_C, loss, shift):
    rng = np.random.default_rng(seed)
    X, labels = rng.normal(size=(n, d)), np.where(rng.random((2, n)) < 0.3, 1.0, -1.0)
    rough = run(X, labels, 10**log_C, loss, tol=0.3, shift=shift, seed=seed)
    fine = run(X, labels, 10**log_C, loss, tol=1e-5, shift=shift, seed=seed)
    for solution in (rough, fine):
        duals = np.array([dual for _, dual in solution.trace])
        assert (np.diff(duals) >= -1e-9 * (1 + np.abs(duals[:-1]))).all()
        assert (solution.primal - solution.dual >= -1e-9 * (1 + solution.primal)).all()
    best = fine.primal  # at least the optimum
    assert (rough.dual <= best + 1e-9 * (1 + best)).all()
    assert (rough.primal - best <= rough.primal - rough.dual + 1e-9 * (1 + best)).all()


@by_loss
def test_gram_and_features_agree(loss, blobs):
    gram = run(blobs.X, blobs.labels, 1.0, loss, tol=1e-7, shift=1.0)
    features = run(blobs.X, blobs.labels, 1.0, loss, tol=1e-7, shift=1.0, features=True)
    np.testing.assert_allclose(gram.scores, features.scores, atol=2e-3)


def test_single_precision_reaches_the_gap(many_blobs):
    data = many_blobs(n_pictures=400, n_dims=30)
    solution = run(data.X.astype(np.float32), data.labels, 1.0, HINGE, shift=1.0)
    assert solution.b.dtype == np.float32
    assert (solution.gaps <= 1e-3).all()


def test_more_unsettled_pictures_than_are_refined_at_once(many_blobs, monkeypatch):
    monkeypatch.setattr(tasks, "REFINE_ROWS", 20)
    data = many_blobs(n_pictures=300)
    assert (run(data.X, data.labels, 1.0, HINGE, shift=1.0).gaps <= 1e-3).all()


def test_weights_of_zero_leave_pictures_out(blobs):
    keep = np.arange(len(blobs.y)) % 3 != 0
    weights = np.where(keep, 1.5, 0.0)
    masked = run(blobs.X, blobs.labels, weights, smooth_hinge(), tol=1e-8)
    alone = run(blobs.X[keep], blobs.labels[:, keep], 1.5, smooth_hinge(), tol=1e-8)
    assert (masked.b[:, ~keep] == 0).all()
    np.testing.assert_allclose(masked.theta @ blobs.X, alone.theta @ blobs.X[keep], atol=1e-3)


def test_a_weight_of_two_is_a_picture_twice(blobs):
    weights = np.ones(len(blobs.y))
    weights[:10] = 2.0
    weighted = run(blobs.X, blobs.labels, weights, smooth_hinge(), tol=1e-8)
    twice = np.concatenate([np.arange(len(blobs.y)), np.arange(10)])
    repeated = run(blobs.X[twice], blobs.labels[:, twice], 1.0, smooth_hinge(), tol=1e-8)
    np.testing.assert_allclose(weighted.primal, repeated.primal, rtol=1e-7)
    np.testing.assert_allclose(weighted.theta @ blobs.X, repeated.theta @ blobs.X[twice], atol=1e-3)


def test_a_warm_start_costs_less(many_blobs):
    data = many_blobs(n_pictures=400)
    first = run(data.X, data.labels, 1.0, HINGE, shift=1.0)
    assert len(run(data.X, data.labels, 1.0, HINGE, shift=1.0, start=first.b).trace) == 1
    path = run(data.X, data.labels, 1.2, HINGE, shift=1.0, start=first.b)
    cold = run(data.X, data.labels, 1.2, HINGE, shift=1.0)
    assert path.trace[0][1] > cold.trace[0][1]
    assert len(path.trace) <= len(cold.trace)
    np.testing.assert_allclose(path.primal, cold.primal, rtol=2e-3)


def test_the_same_seed_gives_the_same_solution(blobs):
    first, second = (run(blobs.X, blobs.labels, 1.0, HINGE, seed=4) for _ in range(2))
    np.testing.assert_array_equal(first.b, second.b)


def test_duplicates_with_different_labels_cancel():
    X = np.array([[1.0, 0.0], [1.0, 0.0]])
    solution = run(X, np.array([[1.0, -1.0]]), 1.0, HINGE, tol=1e-6)
    np.testing.assert_allclose(solution.scores, 0.0, atol=1e-5)


def test_an_unreachable_gap_is_said(blobs, monkeypatch):
    monkeypatch.setattr(ascent, "MAX_SWEEPS", 1)
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        told = run(blobs.X, blobs.labels, 1e6, HINGE, tol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # who asks for few sweeps goes on
        np.testing.assert_array_equal(run(blobs.X, blobs.labels, 1e6, HINGE, tol=1e-12, max_sweeps=1).b, told.b)


def test_a_gap_equal_to_the_tolerance_is_enough():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 3)), np.where(rng.random((1, 150)) < 0.5, 1.0, -1.0)
    once = run(X, y, 1.0, LOGISTIC, tol=1e-12, max_sweeps=1)
    enough = run(X, y, 1.0, LOGISTIC, tol=float(once.gaps[0]))
    np.testing.assert_array_equal(enough.b, once.b)
    assert len(enough.trace) == len(once.trace)


def test_relative_gap_of_nothing_is_zero():
    np.testing.assert_array_equal(relative_gap(np.array([0.0, 2.0]), np.array([0.0, 1.0])), [0.0, 0.5])


@pytest.mark.parametrize("loss", [HINGE, smooth_hinge(0.5), LOGISTIC], ids=str)
def test_a_sweep_takes_every_coordinate_one_by_one(loss, blobs, monkeypatch):
    monkeypatch.setattr(ascent, "BLOCK_ROWS", 7)
    monkeypatch.setattr(tasks, "PIECE_TASKS", 2)
    X, y, some = blobs.X[:20], np.vstack([blobs.labels, -blobs.labels])[:, :20], np.array([0, 2, 3])
    problem = Problem(GramInnerProducts(X @ X.T, 1.0), y, np.random.default_rng(1).uniform(0.05, 1.0, y.shape), loss)
    state = problem.evaluate(np.full(y.shape, 0.3))
    b, G = state.b.copy(), X @ X.T + 1.0
    order = np.random.default_rng(0).permutation(20)
    for t in some:
        for start in range(0, 20, 7):
            for _ in range(1 if loss == LOGISTIC else tasks.BLOCK_PASSES):
                for i in order[start : start + 7]:
                    margin = y[t, i] * ((problem.C[t] * b[t] * y[t]) @ G[i])
                    b[t, i] = best_dual(b[t, i], margin, problem.C[t, i] * G[i, i], loss.code)
    problem.sweep(state, some, np.random.default_rng(0))
    np.testing.assert_allclose(state.b, b, atol=1e-9)
    expected = problem.evaluate(b)
    np.testing.assert_allclose(state.dual, expected.dual)
    np.testing.assert_allclose(state.scores, expected.scores, atol=1e-9)


def test_random_blocks_have_all_pictures():
    for n in (1, ascent.BLOCK_ROWS, ascent.BLOCK_ROWS + 1, 300):
        blocks = ascent.random_blocks(n, np.random.default_rng(0))
        assert sorted(np.concatenate(blocks)) == list(range(n))
        assert {len(block) for block in blocks[:-1]} <= {ascent.BLOCK_ROWS}
    assert np.concatenate(blocks).tolist() != list(range(300))


@pytest.mark.parametrize("loss", [HINGE, LOGISTIC], ids=str)
@pytest.mark.parametrize("n", [100, 150])
def test_a_round_is_a_sweep_and_then_refines_what_is_not_settled(loss, n, many_blobs):
    data = many_blobs(n_pictures=n)
    products, C = GramInnerProducts(data.X @ data.X.T, 1.0), np.full(data.labels.shape, 2.0)
    problem, every, rng = Problem(products, data.labels, C, loss), np.arange(3), np.random.default_rng(0)
    state = problem.evaluate(np.zeros_like(data.labels))
    problem.sweep(state, every, rng)
    swept = state.b.copy()
    if loss == HINGE or n <= tasks.LOGISTIC_REFINE_ROWS:
        assert problem.refine(state, every, 1e-9, rng).all()
        assert (state.b != swept).any()
    once = solve(problem, tol=1e-9, rng=np.random.default_rng(0), max_sweeps=1)
    np.testing.assert_array_equal(once.b, state.b)
    np.testing.assert_allclose(once.dual, problem.evaluate(state.b).dual)
    assert len(once.trace) == 2
    assert once.trace[-1] == (once.primal.sum(), once.dual.sum())


@pytest.mark.parametrize("weight", [1e-3, 1.0])
def test_refining_aims_at_a_share_of_the_gap_or_of_what_is_allowed(weight, blobs, monkeypatch):
    problem = Problem(GramInnerProducts(blobs.X @ blobs.X.T), blobs.labels, np.full(blobs.labels.shape, weight), HINGE)
    targets, refine = [], _kernels.refine

    def keep(G, f, at, code, target, seed):
        targets.append(target)
        refine(G, f, at, code, target, seed)

    monkeypatch.setattr(_kernels, "refine", keep)
    for tol in (1e-6, 0.5):
        state = problem.evaluate(np.full(blobs.labels.shape, 0.1))
        gaps, allowed = state.primal - state.dual, tol * np.maximum(state.primal, np.abs(state.dual))
        problem.refine(state, np.arange(3), tol, np.random.default_rng(0))
        expected = ascent.REFINE_FALL * gaps if tol < 0.1 else ascent.REFINE_SHARE * allowed
        np.testing.assert_allclose(targets[-3:], expected)


def test_one_block_is_coordinate_ascent_one_by_one(blobs):
    """The NumPy reference of ``ascend_block``."""
    G, y, C = blobs.X @ blobs.X.T, blobs.labels, np.full(blobs.labels.shape, 0.3)
    rows = np.random.default_rng(0).permutation(len(blobs.y))[:40]
    b = np.random.default_rng(1).uniform(size=y.shape)
    scores = (C * b * y) @ G
    expected_b, expected_f = b.copy(), scores.copy()
    for t in range(len(y)):
        for i in rows:
            step = (
                np.clip(expected_b[t, i] + (1 - y[t, i] * expected_f[t, i]) / (0.3 * G[i, i]), 0, 1) - expected_b[t, i]
            )
            expected_b[t, i] += step
            expected_f[t] += 0.3 * y[t, i] * step * G[i]
    f, delta = np.ascontiguousarray(scores[:, rows]), np.zeros((len(y), len(rows)))
    block = Block(np.ascontiguousarray(G[np.ix_(rows, rows)]), rows, f, delta)
    _kernels.ascend_block(block, Coordinates(b, y, C), HINGE.code)
    np.testing.assert_allclose(b, expected_b, atol=1e-10)
    np.testing.assert_allclose(f, expected_f[:, rows], atol=1e-9)
    np.testing.assert_allclose(scores + delta @ G[rows], expected_f, atol=1e-9)


@by_loss
def test_task_values_are_the_objectives(loss, blobs):
    G, y = blobs.X @ blobs.X.T, blobs.labels
    C, b = np.full(y.shape, 0.4), np.random.default_rng(0).uniform(0.1, 0.9, size=y.shape)
    state = Problem(GramInnerProducts(G), y, C, loss).evaluate(b)
    theta = C * b * y
    norms = np.einsum("ti,ij,tj->t", theta, G, theta)
    np.testing.assert_allclose(state.primal, 0.5 * norms + (C * loss.value(y * (theta @ G))).sum(axis=1))
    np.testing.assert_allclose(state.dual, -(C * loss.conjugate(b)).sum(axis=1) - 0.5 * norms)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), loss=st.sampled_from(LOSSES[:4]))
def test_the_long_step_raises_the_dual_and_keeps_the_scores(seed, loss):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(25, 5)), np.where(rng.random(25) < 0.5, 1.0, -1.0)
    G, C, b = X @ X.T + 1.0, rng.uniform(0.1, 3.0, 25), rng.choice([0.0, 0.2, 0.7, 1.0], 25)
    f = (C * b * y) @ G

    def dual(b):
        theta = C * b * y
        return -(C * loss.conjugate(b)).sum() - 0.5 * theta @ G @ theta

    before = dual(b)
    _kernels.solve_inside(G, f, Coordinates(b, y, C), loss.code)
    assert dual(b) >= before - 1e-9 * (1 + abs(before))
    np.testing.assert_allclose(f, (C * b * y) @ G, atol=1e-8)


@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_the_long_step_solves_the_linear_system_of_what_is_inside(scale):
    rng, loss = np.random.default_rng(0), SQUARED  # without bounds, everything is inside
    X, y = rng.normal(size=(12, 12)) * np.geomspace(0.01, 3, 12), np.where(rng.random(12) < 0.5, 1.0, -1.0)
    G, C, b = X @ X.T, scale * rng.uniform(1.0, 3.0, 12), rng.uniform(0.3, 0.6, 12)
    f = (C * b * y) @ G

    def slope():
        return np.linalg.norm(y * (1 - loss.code.gamma * b) - f)

    before = slope()
    _kernels.solve_inside(G, f, Coordinates(b, y, C), loss.code)
    assert slope() <= 0.1 * before  # as far as conjugate gradients go


def test_the_long_step_solves_a_system_of_three_very_different_eigenvalues():
    rng, loss = np.random.default_rng(0), SQUARED
    Q = np.linalg.qr(rng.normal(size=(9, 9)))[0]
    G = (Q * np.repeat([1.0, 100.0, 1000.0], 3)) @ Q.T  # conjugate gradients need only three steps
    y, C = np.where(rng.random(9) < 0.5, 1.0, -1.0), np.full(9, 1e3)
    b, f = np.zeros(9), np.zeros(9)
    _kernels.solve_inside(G, f, Coordinates(b, y, C), loss.code)
    assert np.linalg.norm(y * (1 - loss.code.gamma * b) - f) <= 0.1 * np.linalg.norm(y)


def test_shuffles_are_permutations_and_all_alike_likely():
    state, order = np.uint64(7), np.arange(5)
    places = np.zeros((5, 5))
    for _ in range(2000):
        state = np.uint64(_kernels.shuffle(order, state))
        assert sorted(order) == [0, 1, 2, 3, 4]
        places[np.arange(5), order] += 1
    np.testing.assert_allclose(places / 2000, 0.2, atol=0.04)


def test_one_shuffle_of_a_sorted_order_takes_every_number_to_every_place():
    state, places = np.uint64(7), np.zeros((5, 5))
    for _ in range(2000):
        order = np.arange(5)
        state = np.uint64(_kernels.shuffle(order, state))
        places[np.arange(5), order] += 1
    np.testing.assert_allclose(places / 2000, 0.2, atol=0.04)


@pytest.mark.parametrize("share", [0.05, 0.9])
@pytest.mark.parametrize("n_tasks", [3, 70])
def test_scores_of_few_and_many_coefficients_in_several_pieces(share, n_tasks, monkeypatch):
    monkeypatch.setattr(inner_products, "PIECE_PICTURES", 16)
    rng = np.random.default_rng(0)
    G = rng.normal(size=(50, 50))
    theta = rng.normal(size=(n_tasks, 50)) * (rng.random((n_tasks, 50)) < share)
    np.testing.assert_allclose(GramInnerProducts(G, 0.5).scores(theta), theta @ (G + 0.5), atol=1e-12)


def test_what_single_precision_cannot_settle_is_done_in_double(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 20))
    distances = ((X[:, None] - X) ** 2).sum(axis=2)
    K = np.exp(-0.02 * distances)
    y = np.where(rng.random((3, 300)) < 0.5, 1.0, -1.0)
    C = np.full_like(y, 1e4)
    doubled = []
    astype = GramInnerProducts.astype
    monkeypatch.setattr(GramInnerProducts, "astype", lambda self, dtype: doubled.append(dtype) or astype(self, dtype))
    single = solve(Problem(GramInnerProducts(K.astype(np.float32), 1.0), y, C, HINGE), rng=np.random.default_rng(0))
    assert np.float64 in doubled
    assert single.gaps.max() <= 1e-3
    assert {array.dtype for array in (single.b, single.theta, single.scores)} == {np.dtype(np.float64)}
    assert single.trace[-1] == (single.primal.sum(), single.dual.sum())
    double = Problem(GramInnerProducts(K.astype(np.float32).astype(float), 1.0), y, C, HINGE)
    assert double.evaluate(single.b).gaps.max() <= 1e-3
    exact = solve(double, rng=np.random.default_rng(0))
    np.testing.assert_allclose(single.dual, exact.dual, rtol=2e-3)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_tasks_have_stalled_when_the_dual_rises_by_a_small_share_of_the_gap(scale):
    single = GramInnerProducts(np.eye(2, dtype=np.float32))
    problem = Problem(single, np.ones((1, 2)), np.full((1, 2), scale), LOGISTIC)
    for share, stalled in ((0.5 * ascent.STALLED_RISE, [0]), (2 * ascent.STALLED_RISE, [])):
        state, stall = problem.evaluate(np.full((1, 2), 0.3)), Stall(problem)
        stops = []
        for sweep in range(ascent.STALLED_SWEEPS + 1):
            if sweep == ascent.STALLED_SWEEPS:
                state.dual = state.dual + share * (state.primal - state.dual)
            stops.append(stall(state, np.array([0])))
        assert stops == [False] * ascent.STALLED_SWEEPS + [bool(stalled)]
        assert stall.parts.tolist() == stalled
        assert (stall.rest is not None) == bool(stalled)


def test_the_solution_does_not_depend_on_the_number_of_cores(blobs, monkeypatch):
    monkeypatch.setattr(tasks, "THREADED_PICTURES", 1)
    monkeypatch.setattr(tasks, "PIECE_TASKS", 2)
    monkeypatch.setattr(inner_products, "PIECE_TASKS", 2)
    monkeypatch.setattr(inner_products, "PIECE_PICTURES", 20)
    G = blobs.X @ blobs.X.T
    y = np.where(np.random.default_rng(0).random((5, len(G))) < 0.5, 1.0, -1.0)
    found = []
    for n_cores in (1, 3):
        monkeypatch.setattr(threads, "n_cores", lambda n_cores=n_cores: n_cores)
        problem = Problem(GramInnerProducts(G, 1.0), y, np.ones_like(y), HINGE)
        found.append(solve(problem, rng=np.random.default_rng(0)))
    np.testing.assert_array_equal(found[0].b, found[1].b)
    assert max(found[0].gaps.max(), found[1].gaps.max()) <= 1e-3


def test_gather_and_unsettled(blobs):
    G = blobs.X @ blobs.X.T
    for rows in (np.array([], np.int64), np.array([5, 2, 9]), np.arange(8), np.array([1, 3, 4, 6, 7, 0])):
        np.testing.assert_allclose(_kernels.gather(G, rows, 0.5), G[np.ix_(rows, rows)] + 0.5)
    f, y, C = np.array([2.0, 0.0, -3.0, 0.0, 2.0]), np.ones(5), np.array([1.0, 1, 1, 0, 1])
    b = np.array([0.0, 0.0, 1.0, 0.5, 0.5])  # settled, violating, settled, absent, inside
    np.testing.assert_array_equal(unsettled(f, Coordinates(b, y, C), HINGE.code, 9), [1, 4])
    np.testing.assert_array_equal(unsettled(f, Coordinates(b, y, C), HINGE.code, 1), [1])
    # The smooth hinge holds a variable at 1 only below the parabola.
    at_one = np.ones(2)
    np.testing.assert_array_equal(
        unsettled(np.array([0.5, -0.5]), Coordinates(at_one, at_one, at_one), smooth_hinge(1.0).code, 9), [0]
    )
