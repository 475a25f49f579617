"""Compiled loops of the dual solvers beside their definitions: absent coordinates, bounds, known answers."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.margin.solver import _kernels
from visterm.margin.solver.arrays import Block, Coordinates
from visterm.margin.solver.losses import HINGE, LOGISTIC, SQUARED, SQUARED_HINGE, smooth_hinge

LOSSES = [HINGE, smooth_hinge(0.5), SQUARED_HINGE, SQUARED, LOGISTIC]
by_loss = pytest.mark.parametrize("loss", LOSSES, ids=str)


def interpreted(function):
    """The function as it was before it was compiled, so that its limits can be changed."""
    return getattr(function, "py_func", function)


@pytest.mark.parametrize("b", [0.0, 1e-6, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("q", [1e-3, 1.0, 40.0, 1e4])
def test_newton_finds_the_step_of_the_logistic_loss_in_few_steps(b, q, monkeypatch):
    monkeypatch.setattr(_kernels, "_NEWTON_STEPS", 20)
    for m in (-6.0, -3.0, -0.4, 0.0, 0.7, 2.0, 6.0):
        after = interpreted(_kernels.best_dual)(b, m, q, LOGISTIC.code)
        slope = -np.log(after / (1 - after)) - m - q * (after - b)
        assert slope == pytest.approx(0, abs=1e-7 * (1 + q))
        assert after == pytest.approx(_kernels.best_dual(b, m, q, LOGISTIC.code), rel=1e-9)


@pytest.mark.parametrize(
    ("b", "m", "q"), [(0.0, -2.97, 28.4), (0.0, -2.7, 674.0), (1.0, 2.75, 48.8), (1e-6, -2.73, 945)]
)
def test_newton_does_not_go_to_and_fro(b, m, q):
    after = _kernels.best_dual(b, m, q, LOGISTIC.code)
    assert np.log(after / (1 - after)) + m + q * (after - b) == pytest.approx(0, abs=1e-6)


def test_newton_starts_near_the_solution(monkeypatch):
    monkeypatch.setattr(_kernels, "_NEWTON_STEPS", 1)
    step = interpreted(_kernels.best_dual)
    for b in (0.1, 0.3, 0.9):  # where the variable is
        for q in (0.5, 30.0):
            assert step(b, -np.log(b / (1 - b)), q, LOGISTIC.code) == pytest.approx(b, rel=1e-12)
    for b in (0.0, 1.0):  # in the middle of where the solution can be
        for m in (-2.0, 0.5):
            after = step(b, m, 1e-3, LOGISTIC.code)
            assert np.log(after / (1 - after)) + m + 1e-3 * (after - b) == pytest.approx(0, abs=1e-6)


def test_the_logistic_loss_of_very_large_margins():
    code = LOGISTIC.code
    assert _kernels.best_dual(0.0, 800.0, 1.0, code) == 0
    assert _kernels.best_dual(1.0, -800.0, 1.0, code) == 1
    assert _kernels.loss_value(800.0, code) == 0
    assert _kernels.loss_value(-800.0, code) == 800
    assert _kernels.loss_value(0.0, code) == pytest.approx(np.log(2))


@by_loss
def test_the_gap_of_a_coordinate_is_loss_and_conjugate_and_their_product(loss):
    for b in (0.0, 0.25, 1.0):
        assert _kernels.conjugate(b, loss.code) == pytest.approx(float(loss.conjugate(b)), abs=1e-12)
        for m in (-1.5, 0.0, 0.6, 1.0, 2.0):
            expected = float(loss.value(m) + loss.conjugate(b) + b * m)
            assert _kernels.coordinate_gap(b, m, loss.code) == pytest.approx(expected, abs=1e-12)


def test_without_curvature_the_step_goes_to_the_bound_that_gains():
    code = HINGE.code
    assert _kernels.best_dual(0.3, 0.5, 0.0, code) == 1
    assert _kernels.best_dual(0.3, 1.5, 0.0, code) == 0.3  # a margin that no step changes
    assert _kernels.best_dual(0.3, 0.5, 0.5, code) == 1
    assert _kernels.best_dual(0.3, 0.9, 0.5, code) == pytest.approx(0.5)


@pytest.fixture
def tasks():
    """Pictures, and coordinates of two tasks, some of them absent."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(7, 3))
    y, C = np.where(rng.random((2, 7)) < 0.5, 1.0, -1.0), rng.uniform(0.2, 1.5, (2, 7))
    C[0, 2] = C[1, 5] = 0
    return X @ X.T, Coordinates(rng.uniform(0.1, 0.9, (2, 7)), y, C)


def copy(at):
    return Coordinates(*(array.copy() for array in at))


@by_loss
def test_the_values_of_tasks_are_sums_over_the_coordinates_that_take_part(loss, tasks):
    G, at = tasks
    b, y, C = at
    f, out = (C * b * y) @ G, np.full((2, 3), np.nan)
    _kernels.task_values(f, at, loss.code, out)
    expected = [(C * b * y * f).sum(axis=1), (C * loss.value(y * f)).sum(axis=1), (C * loss.conjugate(b)).sum(axis=1)]
    np.testing.assert_allclose(out.T, expected)


@by_loss
def test_a_block_steps_one_coordinate_after_the_other(loss, tasks):
    G, start = tasks
    rows = np.array([4, 2, 0, 5])
    b, y, C = copy(start)
    for t in range(2):
        for i in rows:
            if C[t, i] > 0:
                b[t, i] = _kernels.best_dual(b[t, i], y[t, i] * (C * b * y)[t] @ G[:, i], C[t, i] * G[i, i], loss.code)
    at = copy(start)
    f = np.ascontiguousarray(((at.C * at.b * at.y) @ G)[:, rows])
    block = Block(np.ascontiguousarray(G[np.ix_(rows, rows)]), rows, f, np.ones((2, 4)))
    _kernels.ascend_block(block, at, loss.code)
    np.testing.assert_allclose(at.b, b, atol=1e-10)
    np.testing.assert_allclose(block.f, ((C * b * y) @ G)[:, rows], atol=1e-9)
    np.testing.assert_allclose(block.delta, 1 + (C * (b - start.b) * y)[:, rows], atol=1e-9)


@by_loss
def test_a_coupled_block_steps_all_tasks_of_a_picture(loss, tasks):
    G, start = tasks
    M, rows = np.array([[1.5, 0.7], [0.7, 0.9]]), np.array([4, 2, 0, 5])
    b, y, C = copy(start)
    for i in rows:
        for t in range(2):
            if C[t, i] > 0:
                score = M[t] @ (C * b * y) @ G[:, i]
                b[t, i] = _kernels.best_dual(b[t, i], y[t, i] * score, C[t, i] * M[t, t] * G[i, i], loss.code)
    at = copy(start)
    f = np.ascontiguousarray((M @ (at.C * at.b * at.y) @ G)[:, rows])
    block = Block(np.ascontiguousarray(G[np.ix_(rows, rows)]), rows, f, np.ones((2, 4)))
    _kernels.ascend_coupled(block, M, at, loss.code)
    np.testing.assert_allclose(at.b, b, atol=1e-10)
    np.testing.assert_allclose(block.f, (M @ (C * b * y) @ G)[:, rows], atol=1e-9)
    np.testing.assert_allclose(block.delta, 1 + (C * (b - start.b) * y)[:, rows], atol=1e-9)


@pytest.mark.parametrize("size", [0, 1, 3, 4, 6, 9])
def test_gathering_is_indexing(size):
    rng = np.random.default_rng(0)
    G, rows = rng.normal(size=(12, 12)), rng.permutation(12)[:size]
    np.testing.assert_array_equal(_kernels.gather(G, rows, 0.5), G[np.ix_(rows, rows)] + 0.5)


def test_rows_are_added_to_some_columns():
    rng = np.random.default_rng(0)
    theta, G, out = rng.normal(size=(2, 5)), rng.normal(size=(5, 6)), rng.normal(size=(2, 6))
    theta[0, 1], theta[1, 3], theta[1, 0] = 0, 0, 1
    expected = out.copy()
    expected[:, 1:4] += (theta @ G)[:, 1:4]
    _kernels.add_rows(theta, G, 1, 4, out)
    np.testing.assert_allclose(out, expected)


@by_loss
def test_coordinates_are_settled_where_the_dual_falls_inwards(loss):
    low, high = max(loss.code.low, -2.0), min(loss.code.high, 2.0)
    b, m, C, y = (
        array.ravel() for array in np.meshgrid([low, 0.5, high], [0.25, 1.0, 2.0], [0.0, 0.5, 3.0], [-1.0, 1.0])
    )
    rows, gaps = _kernels.unsettled(y * m, Coordinates(b, y, C), loss.code)
    gradient = 1 - m - loss.code.gamma * b
    settled = (b <= loss.code.low) & (gradient < 0) | (b >= loss.code.high) & (gradient > 0)
    expected = np.flatnonzero((C > 0) & (~settled | loss.code.is_logistic))
    assert rows.tolist() == expected.tolist()
    distance = C * (loss.value(m) + loss.conjugate(b) + b * m)
    np.testing.assert_allclose(gaps, distance[expected], atol=1e-12)


def small_task(n=6, C=1.0, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 3)), np.where(rng.random(n) < 0.5, 1.0, -1.0)
    return X @ X.T, Coordinates(np.zeros(n), y, np.full(n, C) * rng.uniform(0.5, 1, n))


def gap_of(G, at, loss):
    theta = at.C * at.b * at.y
    return float((at.C * (loss.value(at.y * (theta @ G)) + loss.conjugate(at.b))).sum() + theta @ G @ theta)


@by_loss
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_refining_ends_below_the_target_with_the_scores_of_the_duals(loss, C):
    G, at = small_task(C=C)
    f = np.zeros(6)
    at.b[:] = 0.5
    f[:] = (at.C * at.b * at.y) @ G
    _kernels.refine(G, f, at, loss.code, 1e-8, 3)
    assert gap_of(G, at, loss) <= 1.1e-8
    np.testing.assert_allclose(f, (at.C * at.b * at.y) @ G, atol=1e-9)


def test_refining_ends_after_the_first_pass_below_the_target():
    loss, ends = smooth_hinge(), set()
    for seed in (0, 5, 2**31 - 1):
        G, at, f = (
            np.array([[2.0, 1.2], [1.2, 3.0]]),
            Coordinates(np.zeros(2), np.ones(2), np.full(2, 0.5)),
            np.zeros(2),
        )
        _kernels.refine(G, f, at, loss.code, 0.05, seed)
        ends.add(tuple(at.b.round(9)))
    passes = set()
    for order in ((0, 1), (1, 0)):
        b = np.zeros(2)
        for i in order:
            b[i] = _kernels.best_dual(b[i], 0.5 * G[i] @ b, 0.5 * G[i, i], loss.code)
        assert 1e-6 < gap_of(G, Coordinates(b, np.ones(2), np.full(2, 0.5)), loss) < 0.05
        passes.add(tuple(b.round(9)))
    assert ends <= passes  # each seed gives one of the two orders


@pytest.mark.parametrize("loss", [SQUARED, smooth_hinge(0.01)], ids=str)
def test_refining_solves_what_coordinate_steps_alone_hardly_approach(loss):
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(8, 8)))[0]
    G, y, C = (Q * np.geomspace(0.01, 100, 8)) @ Q.T, np.where(rng.random(8) < 0.5, 1.0, -1.0), np.full(8, 1e3)
    b = np.linalg.solve(G + np.diag(loss.code.gamma / C), y) * y / C  # the optimum, if it has no bounds
    if loss.code.high < np.inf:
        G *= np.abs(b).max() * 3  # inside the bounds
    at, f = Coordinates(np.full(8, 0.1), y, C), (C * 0.1 * y) @ G
    _kernels.refine(G, f, at, loss.code, 1e-6, 0)
    assert gap_of(G, at, loss) <= 2e-6


def test_shuffling_is_fisher_and_yates_with_numbers_of_xorshift():
    state, order, mask = 88172645463325252, list(range(6)), 2**64 - 1
    shuffled = np.arange(6)
    after = _kernels.shuffle(shuffled, np.uint64(state))
    for i in (5, 4, 3, 2, 1):
        state ^= state << 13 & mask
        state ^= state >> 7
        state ^= state << 17 & mask
        place = (state >> 32) * (i + 1) >> 32
        order[i], order[place] = order[place], order[i]
    assert int(after) == state
    assert shuffled.tolist() == order


@pytest.mark.parametrize("loss", [HINGE, smooth_hinge(0.5), SQUARED_HINGE, SQUARED], ids=str)
def test_a_long_step_is_clipped_if_that_raises_the_dual_and_else_cut_short(loss):
    """The residual is an eigenvector of the Hessian, so that the first direction leads to the solution."""
    gamma, low, high = loss.code.gamma, loss.code.low, loss.code.high
    ways = set()
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, C = 4, rng.uniform(0.5, 2)
        y, v = rng.choice([-1.0, 1.0], n), rng.normal(size=n)
        b = rng.uniform(0.05, 0.95, n)
        outside = seed % 2 == 1 and low == 0
        if outside:
            b[3], v[3] = 0.0, 0.0  # at its bound: it stays there
        v /= np.linalg.norm(v)
        weak, strong = rng.uniform(0.02, 1), rng.uniform(1, 5)
        H = weak * np.outer(v, v) + strong * (np.eye(n) - np.outer(v, v))
        if outside:
            H[3, :3] = H[:3, 3] = rng.normal(size=3)
        G = H - gamma / C * np.eye(n)
        length = rng.choice([0.02, 1.0, 3.0])  # of the step of theta
        f = y * (1 - gamma * b) - weak * length * v
        if outside:
            f[3] = rng.normal()
        change = length * v * y / C

        def rise(db, C=C, y=y, b=b, f=f, G=G):
            theta = C * y * db
            return C * (db - gamma * (b + db) ** 2 / 2 + gamma * b**2 / 2).sum() - theta @ f - theta @ G @ theta / 2

        clipped = np.clip(b + change, low, high) - b
        if rise(clipped) > 0:
            expected = b + clipped
            ways.add("whole" if np.allclose(clipped, change) else "clipped")
        else:
            room = [((high if d > 0 else low) - x) / d for x, d in zip(b, change, strict=True) if d]
            expected = b + min(1.0, *room) * change
            ways.add("shorter")
        found, scores = b.copy(), f.copy()
        _kernels.solve_inside(G, scores, Coordinates(found, y, np.full(n, C)), loss.code)
        np.testing.assert_allclose(found, expected, atol=1e-9)
        np.testing.assert_allclose(scores, f + G @ (C * y * (expected - b)), atol=1e-9)
    assert ways >= ({"whole"} if low < 0 else {"whole", "clipped", "shorter"})


def test_a_long_step_without_curvature_is_none():
    b, f = np.array([0.3, 0.6]), np.zeros(2)
    _kernels.solve_inside(np.zeros((2, 2)), f, Coordinates(b, np.ones(2), np.ones(2)), HINGE.code)
    assert b.tolist() == [0.3, 0.6]
    assert f.tolist() == [0, 0]
