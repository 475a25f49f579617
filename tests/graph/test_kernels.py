"""Updates of one picture: against brute force, general optimisers, NumPy references and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import digamma, entr, gammaln, lambertw, polygamma, softmax, xlogy

from visterm.graph import _kernels, _kernels_dirichlet, _kernels_nearest
from visterm.topics.special import trigamma


def regulariser(p, pull, strength, degree):
    return strength / 2 * (degree * p @ p - 2 * p @ pull)


def discrete_value(p, score, pull, strength, degree):
    return p @ score + entr(p).sum() - regulariser(p, pull, strength, degree)


def point_value(p, expected, pull, strength, degree):
    return xlogy(expected, p).sum() - regulariser(p, pull, strength, degree)


def discrete(score, pull, strength, degree, start=None):
    p = np.full(len(score), 1 / len(score)) if start is None else start.copy()
    _kernels.best_discrete(score, pull, strength, degree, p, np.empty((2, len(score))))
    return p


def point(expected, pull, strength, degree):
    p = np.empty(len(expected))
    _kernels.best_point(expected, pull, strength, degree, p)
    return p


def simplex_grid(n):
    a, b = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n))
    grid = np.column_stack([a.ravel(), b.ravel(), 1 - a.ravel() - b.ravel()])
    return grid[grid[:, 2] >= 0]


problems = st.tuples(
    st.integers(2, 9), st.floats(-3, 3), st.floats(-4, 5), st.floats(0.05, 30), st.integers(0, 2**32 - 1)
)


@pytest.mark.parametrize(("solve", "value"), [(discrete, discrete_value), (point, point_value)])
def test_no_point_of_the_simplex_is_better(solve, value, rng):
    grid = simplex_grid(150)
    for strength in (0.1, 1.0, 20.0):
        own, pull = rng.random(3) * 4, rng.random(3) * 3
        p = solve(own, pull, strength, 2.5)
        assert p.sum() == pytest.approx(1)
        best = max(value(q, own, pull, strength, 2.5) for q in grid)
        assert value(p, own, pull, strength, 2.5) >= best - 1e-9
        assert value(p, own, pull, strength, 2.5) <= best + 0.02  # the grid is fine, so it is not far behind


@given(problems)
@settings(max_examples=150, deadline=None)
def test_discrete_updates_are_stationary_wherever_they_start(problem):
    n_topics, spread, log_strength, degree, seed = problem
    rng = np.random.default_rng(seed)
    score, strength = rng.normal(size=n_topics) * 10**spread, 10**log_strength
    pull = degree * rng.dirichlet(np.ones(n_topics))
    start = rng.dirichlet(np.full(n_topics, 0.1))
    p = discrete(score, pull, strength, degree, start)
    assert (p >= 0).all()
    assert p.sum() == pytest.approx(1, abs=1e-9)
    # The derivatives of all entries that are anything are the same, the multiplier.
    slope = score - np.log(np.maximum(p, 1e-300)) - strength * (degree * p - pull)
    scale = np.abs(score).max() + strength * degree
    inside = p > 1e-12
    assert np.ptp(slope[inside]) <= 1e-7 * (1 + scale)
    np.testing.assert_allclose(discrete(score, pull, strength, degree), p, atol=1e-8)


@given(problems)
@settings(max_examples=150, deadline=None)
def test_point_updates_are_stationary(problem):
    n_topics, spread, log_strength, degree, seed = problem
    rng = np.random.default_rng(seed)
    expected, strength = rng.gamma(0.5, size=n_topics) * 10**spread, 10**log_strength
    pull = degree * rng.dirichlet(np.ones(n_topics))
    p = point(expected, pull, strength, degree)
    assert (p >= 0).all()
    assert p.sum() == pytest.approx(1, abs=1e-9)
    inside = p > 1e-9
    slope = expected[inside] / p[inside] - strength * (degree * p[inside] - pull[inside])
    assert np.ptp(slope) <= 1e-5 * (1 + np.abs(slope).max() + strength * degree)


def test_a_topic_that_was_never_counted_lives_by_its_neighbours():
    p = point(np.array([1.0, 0.0, 0.0]), np.array([0.0, 2.0, 0.0]), 5.0, 2.0)
    assert p[1] > 0.1
    assert p[2] == 0
    np.testing.assert_allclose(point(np.zeros(2), np.array([0.5, 1.5]), 1.0, 2.0), [0.25, 0.75])


def test_both_ways_to_the_discrete_optimum_meet(rng):
    for _ in range(100):
        t, c = rng.normal(size=6) * 10 ** rng.uniform(-1, 2), 10 ** rng.uniform(-3, 4)
        slow, fast = np.empty(6), rng.dirichlet(np.ones(6))
        _kernels._descend_discrete(t, c, t.max(), slow)
        assert _kernels._leap_discrete(t, c, fast, np.empty(6))
        np.testing.assert_allclose(fast, slow, atol=1e-10)


def test_a_few_steps_of_newtons_method_suffice(rng, monkeypatch):
    problems = [(rng.normal(size=5), rng.gamma(2, size=5), rng.random(5), 10 ** rng.uniform(-1, 2)) for _ in range(20)]
    solved = [(np.empty(5), point(expected, pull, c, 2.0)) for _, expected, pull, c in problems]
    for (t, _, _, c), (best, _) in zip(problems, solved, strict=True):
        _kernels._descend_discrete(t, c, t.max(), best)
    monkeypatch.setattr(_kernels, "_LEAPS", 4)  # only the kernels' Python is called from here: nothing is compiled
    monkeypatch.setattr(_kernels, "_STEPS", 9)
    for (t, expected, pull, c), (of_discrete, of_point) in zip(problems, solved, strict=True):
        near, p = of_discrete * rng.uniform(0.99, 1.01, 5), np.empty(5)
        assert _kernels._leap_discrete.py_func(t, c, near, np.empty(5))
        np.testing.assert_allclose(near, of_discrete, atol=1e-10)
        _kernels.best_point.py_func(expected, pull, c, 2.0, p)
        np.testing.assert_allclose(p, of_point, atol=1e-10)


def test_log_share_is_lamberts_function(rng):
    for _ in range(50):
        t, c = rng.uniform(-60, 60), 10 ** rng.uniform(-2, 3)
        expected = np.log(lambertw(c * np.exp(t)).real / c)
        assert _kernels.log_share(t, c, 0.0) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("strength", "degree"), [(0.0, 3.0), (2.0, 0.0)])
def test_without_neighbours_pictures_are_themselves(strength, degree, rng):
    own, pull = rng.random(5), np.zeros(5)
    np.testing.assert_allclose(discrete(own, pull, strength, degree), softmax(own), rtol=1e-14)
    np.testing.assert_allclose(point(own, pull, strength, degree), own / own.sum(), rtol=1e-14)
    gamma = np.ones(5)
    _kernels_dirichlet.best_dirichlet(own, pull, strength, degree, gamma, np.empty((3, 5)))
    np.testing.assert_array_equal(gamma, own)


def test_gather_and_roughness_are_products(links, rng):
    P = rng.dirichlet(np.ones(4), size=12)
    graph, pull = _kernels.Links.of(links), np.empty(4)
    for i in range(12):
        degree = _kernels.gather(graph, i, P, pull)
        assert degree == pytest.approx(links[[i]].sum())
        np.testing.assert_allclose(pull, (links @ P)[i])
    laplacian = np.diag(links.sum(axis=1)) - links.toarray()
    rough = _kernels.roughness(graph, P)
    assert rough == pytest.approx(np.trace(P.T @ laplacian @ P))


def test_special_functions(rng):
    for x in 10 ** rng.uniform(-3, 3, 30):
        assert trigamma(x) == pytest.approx(polygamma(1, x), rel=1e-9)


def dirichlet_value(gamma, target, pull, strength, degree):
    mean = gamma / gamma.sum()
    own = (target - gamma) @ (digamma(gamma) - digamma(gamma.sum())) + gammaln(gamma).sum() - gammaln(gamma.sum())
    return own - regulariser(mean, pull, strength, degree)


def numerical_gradient(f, x, h=1e-6):
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))])


def test_dirichlet_value_and_gradient_by_finite_differences(rng):
    for _ in range(10):
        target, gamma, pull = rng.gamma(2, size=4) + 0.2, rng.gamma(2, size=4) + 0.2, rng.random(4)
        setting = (pull, 3.0, 2.5)
        assert _kernels_dirichlet.value(target, *setting, gamma) == pytest.approx(
            dirichlet_value(gamma, target, *setting), rel=1e-10
        )
        slope = np.empty(4)
        _kernels_dirichlet.gradient(target, *setting, gamma, slope)
        expected = numerical_gradient(lambda g: dirichlet_value(g, target, *setting), gamma)  # noqa: B023
        np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-6)


def test_newton_direction_solves_with_the_curvature(rng):
    gamma, slope = rng.gamma(2, size=5) + 0.3, rng.normal(size=5)
    strength, degree = 4.0, 3.0
    total = gamma.sum()
    mean = gamma / total
    project = np.eye(5) - np.outer(np.ones(5), mean)
    A = np.diag(polygamma(1, gamma)) - polygamma(1, total)
    A = A + strength * degree / total**2 * project @ project.T
    direction = np.empty(5)
    _kernels_dirichlet.newton_direction(slope, strength, degree, gamma, direction)
    np.testing.assert_allclose(A @ direction, slope, rtol=1e-9)
    # At the optimum of F alone its Hessian is minus the Fisher information.
    hessian = np.array(
        [
            numerical_gradient(
                lambda g, k=k: numerical_gradient(lambda x: dirichlet_value(x, gamma, np.zeros(5), 0.0, 0.0), g)[k],
                gamma,
                1e-4,
            )
            for k in range(5)
        ]
    )
    np.testing.assert_allclose(hessian, polygamma(1, total) - np.diag(polygamma(1, gamma)), rtol=1e-2, atol=1e-2)


def test_discrete_updates_are_maxima_by_finite_differences(rng):
    """On the simplex the slope is the same in all directions, and the value falls on all sides."""
    strength, degree = 1.5, 2.0
    for _ in range(5):
        score, pull = rng.normal(size=4), rng.random(4)
        p = discrete(score, pull, strength, degree)

        def value(q, score=score, pull=pull):
            return discrete_value(q, score, pull, strength, degree)

        slope = numerical_gradient(value, p)
        np.testing.assert_allclose(slope, slope.mean(), rtol=1e-5, atol=1e-6)
        for _ in range(10):
            step = 1e-3 * rng.normal(size=4)
            assert value(p + step - step.mean()) < value(p)


@pytest.mark.parametrize("strength", [0.1, 3.0, 100.0])
def test_dirichlet_updates_equal_a_general_optimiser(strength, rng):
    for _ in range(5):
        target, pull = rng.gamma(2, size=4) + 0.1, 3 * rng.dirichlet(np.ones(4))
        gamma = rng.gamma(2, size=4) + 0.1
        before = dirichlet_value(gamma, target, pull, strength, 3.0)
        _kernels_dirichlet.best_dirichlet(target, pull, strength, 3.0, gamma, np.empty((3, 4)))
        assert (gamma > 0).all()
        after = dirichlet_value(gamma, target, pull, strength, 3.0)
        assert after >= before
        best = min(
            minimize(
                lambda logs: -dirichlet_value(np.exp(logs), target, pull, strength, 3.0),  # noqa: B023
                np.log(start),
                method="BFGS",
            ).fun
            for start in (target, gamma, np.ones(4))
        )
        assert after == pytest.approx(-best, rel=1e-5, abs=1e-5)


def test_lists_keep_the_nearest_in_order(rng):
    found, squared, is_new = np.full(4, -1, np.int32), np.full(4, np.inf, np.float32), np.zeros(4, np.bool_)
    offered = rng.permutation(30)
    for row in [*offered, *offered]:
        _kernels_nearest.insert(found, squared, is_new, row, np.float32(row // 2))
    assert found.tolist() == [0, 1, 2, 3]  # of equally near rows the lower
    assert squared.tolist() == [0, 0, 1, 1]


def test_a_list_says_whether_it_takes_a_row():
    found, squared = np.full((3, 2), -1, np.int32), np.full((3, 2), np.inf, np.float32)
    is_new = np.zeros((3, 2), np.bool_)
    offered = [(4, 9.0, True), (4, 9.0, False), (2, 1.0, True), (2, 1.0, False), (6, 9.0, False), (3, 9.0, True)]
    for row, distance, is_taken in offered:  # of equally near rows the lower
        taken = _kernels_nearest.insert(found[1], squared[1], is_new[1], row, np.float32(distance))
        assert taken == is_taken
    assert found.tolist() == [[-1, -1], [2, 3], [-1, -1]]
    assert is_new.tolist() == [[False, False], [True, True], [False, False]]


def test_cuts_put_every_row_into_one_leaf(rng):
    for rows in (rng.normal(size=(500, 3)), np.ones((500, 3))):
        order = np.empty(500, np.int32)
        ends = _kernels_nearest.cut(rows.astype(np.float32), 20, 3, order)
        assert sorted(order) == list(range(500))
        assert ends[-1] == 500
        assert 0 < np.diff(ends, prepend=0).min() <= np.diff(ends, prepend=0).max() <= 20


def test_copies_are_cut_into_equal_halves():
    order = np.empty(512, np.int32)
    ends = _kernels_nearest.cut(np.ones((512, 3), np.float32), 20, 3, order)
    assert ends.tolist() == list(range(16, 513, 16))


def test_rows_of_a_leaf_are_alike_wherever_the_cloud_lies(rng):
    for offset in ([0.0, 0.0], [10.0, 0.0], [0.0, -10.0]):
        rows, order = (rng.random((500, 2)) + offset).astype(np.float32), np.empty(500, np.int32)
        ends = _kernels_nearest.cut(rows, 20, 3, order)
        extents = [np.ptp(rows[leaf], axis=0) for leaf in np.split(order, ends[:-1])]
        assert np.mean(extents, axis=0).max() < 0.4  # of 1 in each direction


def test_reverse_lists_name_who_lists_a_row():
    found = np.array([[1, 2], [2, 0], [1, -1]], np.int32)
    is_new = np.array([[False, True], [False, False], [True, False]])
    backward, backward_new = np.empty((3, 2), np.int32), np.empty((3, 2), np.bool_)
    forward = _kernels_nearest.Neighbours(found, is_new)
    _kernels_nearest.reverse_lists(forward, _kernels_nearest.Neighbours(backward, backward_new))
    assert backward.tolist() == [[1, -1], [2, 0], [0, 1]]  # new entries first
    assert backward_new.tolist() == [[False, False], [True, False], [True, False]]


def test_a_row_is_offered_who_lists_it_and_the_neighbours_of_its_neighbours():
    found, is_new = np.full((6, 5), -1, np.int32), np.zeros((6, 5), np.bool_)
    # Row 1 lists 5, and 2 lists 1, which 0 lists; 3 lists 0 and 4.
    for row, listed in enumerate([[1], [5], [1], [0, 4]]):
        found[row, : len(listed)], is_new[row, : len(listed)] = listed, True
    rows = np.arange(6, dtype=np.float32)[:, None]
    squared = np.where(found < 0, np.inf, (np.arange(6)[:, None] - found) ** 2).astype(np.float32)
    forward = _kernels_nearest.Neighbours(found.copy(), is_new.copy())
    backward = _kernels_nearest.Neighbours(np.empty_like(found), np.empty_like(is_new))
    _kernels_nearest.reverse_lists(forward, backward)
    lists = _kernels_nearest.Lists(found, squared, is_new)
    assert _kernels_nearest.compare_neighbours(rows, 0, 1, forward, backward, lists) == 4
    assert found[0].tolist() == [1, 2, 3, 4, 5]
    assert squared[0].tolist() == [1, 4, 9, 16, 25]
    assert is_new[0].tolist() == [False, True, True, True, True]
    np.testing.assert_array_equal(found[1:], forward.rows[1:])
