"""Updates of one picture: against brute force, general optimisers, NumPy references and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import digamma, entr, gammaln, lambertw, polygamma, softmax, xlogy

from visterm.graph.inference import _kernels, _kernels_dirichlet
from visterm.graph.nearest import _kernels_nearest
from visterm.topics.inference._kernels_lda import trigamma


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


def interpreted(kernel):
    """The kernel's Python, which sees patched constants."""
    return getattr(kernel, "py_func", kernel)


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
        for offset in (-1000, 1000):  # the unit of probability does not matter
            fast = rng.dirichlet(np.ones(6))
            assert _kernels._leap_discrete(t + offset, c, fast, np.empty(6))
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
        assert interpreted(_kernels._leap_discrete)(t, c, near, np.empty(5))
        np.testing.assert_allclose(near, of_discrete, atol=1e-10)
        interpreted(_kernels.best_point)(expected, pull, c, 2.0, p)
        np.testing.assert_allclose(p, of_point, atol=1e-10)


def test_log_share_is_lamberts_function(rng):
    for _ in range(50):
        t, c = rng.uniform(-60, 60), 10 ** rng.uniform(-2, 3)
        expected = np.log(lambertw(c * np.exp(t)).real / c)
        assert _kernels.log_share(t, c) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_a_joint_step_that_leaves_the_simplex_is_not_the_last():
    """From both entries at one, the first step moves nothing: one is held at one, the other becomes negligible."""
    p, t = np.array([1.0, 1.0]), np.array([0.0, -100.0])
    assert _kernels._leap_discrete(t, 1.0, p, np.empty(2))
    np.testing.assert_allclose(p, [1.0, np.exp(-99)], rtol=1e-12)


def test_a_start_of_zeros_goes_the_slow_way(rng):
    score, pull = rng.normal(size=4), rng.random(4)
    assert not _kernels._leap_discrete(score, 2.0, np.zeros(4), np.empty(4))
    np.testing.assert_allclose(
        discrete(score, pull, 2.0, 1.5, np.zeros(4)), discrete(score, pull, 2.0, 1.5), atol=1e-10
    )


def test_joint_steps_that_do_not_end_are_said_to_fail(monkeypatch):
    monkeypatch.setattr(_kernels, "_LEAPS", 1)
    assert not interpreted(_kernels._leap_discrete)(np.array([0.0, 3.0]), 5.0, np.array([0.9, 0.1]), np.empty(2))


def test_the_unit_of_probability_does_not_matter_without_neighbours(rng):
    score, pull = rng.normal(size=4), np.zeros(4)
    for offset in (-1000, 0, 1000):
        np.testing.assert_allclose(discrete(score + offset, pull, 1.0, 0.0), softmax(score), rtol=1e-10)


def test_negligible_entries_keep_their_proportions():
    """Whose own term is negligible is smaller by its score alone: by both ways."""
    score = np.array([1.0, 0.5, -45.0, -60.0, -700.0])
    fast, slow = np.full(5, 0.2), np.empty(5)
    assert _kernels._leap_discrete(score, 3.0, fast, np.empty(5))
    _kernels._descend_discrete(score, 3.0, 1.0, slow)
    for p in (fast, slow):
        np.testing.assert_allclose(np.log(p[2] / p[3:]), [15.0, 655.0], rtol=1e-10)
        assert np.log(p[0] / p[1]) + 3.0 * (p[0] - p[1]) == pytest.approx(0.5)
        assert np.log(p[1] / p[2]) + 3.0 * (p[1] - p[2]) == pytest.approx(45.5)


def test_point_estimates_are_right_however_small(rng):
    """c p^2 + (multiplier - pull) p = expected, with the same multiplier for all, also where much cancels."""
    expected, pull = np.array([4.0, 1e-9, 1e-20, 3e-20, 2.0]), np.array([0.3, 0.2, 0.2, 0.2, 0.0])
    p = point(expected, pull, 2.0, 1.5)
    assert p.sum() == pytest.approx(1)
    multipliers = expected / p - 3.0 * p + 2.0 * pull
    np.testing.assert_allclose(multipliers, multipliers[0], rtol=1e-9)


def test_a_topic_without_counts_and_neighbours_gets_nothing():
    """Here the first multiplier is exactly 0, where the topic's equation says nothing."""
    p = point(np.array([2.0, 0.0, 0.5]), np.zeros(3), 1.0, 2.0)
    assert p[1] == 0
    assert p.sum() == pytest.approx(1)
    assert 2.0 / p[0] - 2 * p[0] == pytest.approx(0.5 / p[2] - 2 * p[2])


def test_sweeps_update_one_row_after_the_other(links, rng):
    graph, dense, order = _kernels.Links.of(links), links.toarray(), rng.permutation(12)
    own, P, gammas = rng.gamma(1, size=(12, 4)), rng.dirichlet(np.ones(4), size=12), rng.gamma(2, size=(12, 4))
    expected = P.copy()
    for i in order:
        expected[i] = point(own[i], dense[i] @ expected, 2.0, dense[i].sum())
    _kernels.sweep_point(graph, own, 2.0, order, P, P)
    np.testing.assert_allclose(P, expected)
    means, states = gammas / gammas.sum(axis=1, keepdims=True), gammas.copy()
    expected = means.copy()
    for i in order:
        setting = own[i] + 0.5, dense[i] @ expected, 2.0, dense[i].sum()
        _kernels_dirichlet.best_dirichlet(*setting, states[i], np.empty((3, 4)))
        expected[i] = states[i] / states[i].sum()
    _kernels_dirichlet.sweep_dirichlet(graph, own + 0.5, 2.0, order, means, gammas, means)
    np.testing.assert_allclose(gammas, states)
    np.testing.assert_allclose(means, expected)


@pytest.mark.parametrize("n_counted", [0.0, 0.3, 5.0])
def test_points_without_neighbours_are_shares_of_the_counts(n_counted):
    p = point(n_counted * np.array([0.2, 0.8]), np.zeros(2), 3.0, 0.0)
    np.testing.assert_allclose(p, [0.2, 0.8] if n_counted else [0.5, 0.5])


def test_weights_of_exactly_one_count(rng):
    """No product of strength and degree but 0 means that there are no neighbours."""
    own, pull = rng.random(3), np.array([0.0, 1.0, 0.0])
    for solve in (discrete, point):
        assert solve(own, pull, 1.0, 1.0)[1] > solve(own, pull, 0.0, 1.0)[1] + 0.01
        np.testing.assert_allclose(solve(own, pull, 1.0, 1.0), solve(own, pull, 1.0, 1 + 1e-9), atol=1e-6)
    gamma = np.ones(3)
    _kernels_dirichlet.best_dirichlet(own + 1, pull, 1.0, 1.0, gamma, np.empty((3, 3)))
    assert gamma[1] / gamma.sum() > (own + 1)[1] / (own + 1).sum()


def test_steps_end_relative_to_where_they_are():
    assert _kernels.tolerance(0.0, 1e-3) == 1e-3
    assert _kernels.tolerance(-4.0, 1e-3) == _kernels.tolerance(4.0, 1e-3) == pytest.approx(5e-3)


def test_log_shares_take_a_few_steps(rng, monkeypatch):
    monkeypatch.setattr(_kernels, "_STEPS", 7)
    for _ in range(20):
        t, c = rng.uniform(-5, 5), 10 ** rng.uniform(-1, 1)
        u = interpreted(_kernels.log_share)(t, c)
        assert u + c * np.exp(u) == pytest.approx(t, abs=1e-9)


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
    for _ in range(5):
        found, squared, is_new = np.full(8, -1, np.int32), np.full(8, np.inf, np.float32), np.zeros(8, np.bool_)
        offered = rng.permutation(30)
        for row in [*offered, *offered]:
            _kernels_nearest.insert(found, squared, is_new, row, np.float32(row // 5))
        assert found.tolist() == list(range(8))  # of equally near rows the lower
        assert squared.tolist() == [0] * 5 + [1] * 3


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


def test_a_part_is_cut_between_two_of_its_own_rows():
    """A cut between rows of other clusters would leave all of them on one side."""
    rng = np.random.default_rng(1)
    rows, order = rng.random((300, 2)) + 100 * rng.integers(0, 3, (300, 1)), np.empty(300, np.int32)
    ends = _kernels_nearest.cut(rows.astype(np.float32), 20, 3, order)
    extents = [np.ptp(rows[leaf], axis=0) for leaf in np.split(order, ends[:-1])]
    assert np.mean(extents, axis=0).max() < 0.5


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


@pytest.mark.parametrize(("strength", "n_steps", "error"), [(0.3, 1, 0.03), (0.3, 3, 1e-6), (5.0, 6, 1e-4)])
def test_a_few_steps_of_newtons_method_suffice_for_posteriors(strength, n_steps, error, rng, monkeypatch):
    target, pull = rng.gamma(3, size=4) + 0.3, 2 * rng.dirichlet(np.ones(4))
    best = target.copy()
    _kernels_dirichlet.best_dirichlet(target, pull, strength, 2.0, best, np.empty((3, 4)))
    monkeypatch.setattr(_kernels_dirichlet, "_STEPS", n_steps)
    for _ in range(6):
        gamma = best * rng.uniform(0.8, 1.2, 4)
        interpreted(_kernels_dirichlet.best_dirichlet)(target, pull, strength, 2.0, gamma, np.empty((3, 4)))
        np.testing.assert_allclose(gamma, best, rtol=error)


def test_steps_that_are_too_long_are_halved_and_stay_positive():
    """In the first case a full step leads downhill, in both it leads below zero."""
    for target, pull, strength, degree, start in [
        ([0.03, 0.19], [2.66, 0.51], 9.78, 3.17, [0.09, 0.13]),
        ([0.3, 0.6, 0.2], [1.2, 0.0, 0.8], 20.0, 2.0, [0.8, 0.8, 0.2]),
    ]:
        setting = np.array(target), np.array(pull), strength, degree
        gamma, from_target, room = np.array(start), np.array(target), np.empty((3, len(start)))
        _kernels_dirichlet.best_dirichlet(*setting, gamma, room)
        _kernels_dirichlet.best_dirichlet(*setting, from_target, room)
        assert (gamma > 0).all()
        assert np.abs(gamma - start).max() > 0.1
        np.testing.assert_allclose(gamma, from_target, rtol=1e-4)


def test_posteriors_start_from_the_better_of_target_and_before(rng, monkeypatch):
    monkeypatch.setattr(_kernels_dirichlet, "_STEPS", 0)
    target, other, pull = rng.gamma(3, size=4), rng.gamma(3, size=4), 2 * rng.dirichlet(np.ones(4))
    at_target, at_other = (dirichlet_value(g, target, pull, 9.0, 2.0) for g in (target, other))
    for gamma, value in ((other.copy(), max(at_target, at_other)), (target.copy(), at_target)):
        interpreted(_kernels_dirichlet.best_dirichlet)(target, pull, 9.0, 2.0, gamma, np.empty((3, 4)))
        assert dirichlet_value(gamma, target, pull, 9.0, 2.0) == pytest.approx(value)


def test_own_values_are_summed_over_pictures(rng):
    targets, gammas = rng.gamma(2, size=(2, 5, 3)) + 0.2
    expected = sum(dirichlet_value(g, t, np.zeros(3), 0.0, 0.0) for g, t in zip(gammas, targets, strict=True))
    assert _kernels_dirichlet.own_values(targets, gammas) == pytest.approx(expected)


def lists_of(n, k):
    return _kernels_nearest.Lists(
        np.full((n, k), -1, np.int32), np.full((n, k), np.inf, np.float32), np.zeros((n, k), np.bool_)
    )


@pytest.mark.parametrize(("first", "last"), [(0, 3), (1, 3), (0, 1)])
def test_rows_of_a_leaf_are_offered_to_each_other(first, last):
    rows = np.arange(8, dtype=np.float32)[:, None] ** 2
    order, ends = np.array([3, 1, 4, 0, 2, 5, 7, 6], np.int32), np.array([2, 5, 8])
    lists = lists_of(8, 3)
    _kernels_nearest.compare_leaves(rows, order, ends, first, last, lists)
    leaves = [{3, 1}, {4, 0, 2}, {5, 7, 6}][first:last]
    for i in range(8):
        others = {j for leaf in leaves if i in leaf for j in leaf - {i}}
        expected = sorted(others, key=lambda j: abs(rows[i, 0] - rows[j, 0]))
        assert [j for j in lists.found[i] if j >= 0] == expected
        np.testing.assert_allclose(lists.squared[i, : len(expected)], (rows[i] - rows[expected, 0]) ** 2)


def test_at_most_a_leaf_is_left_whole(rng):
    for n, leaf, n_leaves in ((20, 20, 1), (21, 20, 2), (1, 1, 1), (5, 1, 5)):
        rows, order = rng.random((n, 2)).astype(np.float32), np.empty(n, np.int32)
        ends = _kernels_nearest.cut(rows, leaf, 7, order)
        assert len(ends) == n_leaves
        assert sorted(order) == list(range(n))


def test_a_cut_that_leaves_few_rows_on_one_side_is_replaced_by_halves():
    for n_others, is_halved in ((3, True), (4, False)):
        rows = np.zeros((64, 1), np.float32)
        rows[10 : 10 + n_others] = 1
        found = set()
        for seed in range(40):
            order = np.empty(64, np.int32)
            ends = _kernels_nearest.cut(rows, 64 - n_others, seed, order).tolist()
            found.add(tuple(ends))
            if ends != [32, 64]:
                assert {*rows[order[: ends[0]], 0]} != {*rows[order[ends[0] :], 0]}
        assert found == ({(32, 64)} if is_halved else {(32, 64), (4, 64), (60, 64)})


def test_random_halves_stay_within_their_part():
    rows, order = np.repeat([0.0, 1.0, 9.0], [40, 40, 48])[:, None].astype(np.float32), np.empty(128, np.int32)
    for seed in range(10):
        ends = _kernels_nearest.cut(rows, 5, seed, order)
        leaves = np.split(rows[order, 0], ends[:-1])
        assert np.mean([np.ptp(leaf) == 0 for leaf in leaves]) > 0.7


def test_a_row_keeps_only_as_many_of_those_that_list_it_as_there_is_room_for():
    forward = _kernels_nearest.Neighbours(
        np.array([[3], [3], [3], [0]], np.int32), np.array([[False], [True], [False], [True]])
    )
    backward = _kernels_nearest.Neighbours(np.empty((4, 2), np.int32), np.empty((4, 2), np.bool_))
    _kernels_nearest.reverse_lists(forward, backward)
    assert backward.rows.tolist() == [[3, -1], [-1, -1], [-1, -1], [1, 0]]
    assert backward.is_new.tolist() == [[True, False], [False, False], [False, False], [True, False]]


@pytest.mark.parametrize("seed", range(3))
def test_neighbours_of_neighbours_by_brute_force(seed):
    """A row gets who lists it, and whom its neighbours list, if one of the two links is new."""
    rng = np.random.default_rng(seed)
    n = 12
    rows = rng.normal(size=(n, 2)).astype(np.float32)
    distances = ((rows[:, None] - rows) ** 2).sum(axis=2)
    for k, kept in ((3, 3), (3, n - 1)):  # in the second case nothing is pushed out
        lists = lists_of(n, kept)
        for i in range(n):
            for j in rng.permutation(np.delete(np.arange(n), i))[: k - i % 2]:
                _kernels_nearest.insert(lists.found[i], lists.squared[i], lists.is_new[i], j, distances[i, j])
        lists.is_new[:] = (rng.random((n, kept)) < 0.4) & (lists.found >= 0)
        links = {(i, int(lists.found[i, at])): lists.is_new[i, at] for i, at in np.argwhere(lists.found >= 0).tolist()}
        forward = _kernels_nearest.Neighbours(lists.found.copy(), lists.is_new.copy())
        backward = _kernels_nearest.Neighbours(np.empty((n, n), np.int32), np.empty((n, n), np.bool_))
        _kernels_nearest.reverse_lists(forward, backward)
        n_taken = _kernels_nearest.compare_neighbours(rows, 0, n, forward, backward, lists)
        n_new = 0
        for i in range(n):
            had = {b for a, b in links if a == i}
            offered = {a for a, b in links if b == i}
            for j in had:
                offered |= {b for (a, b), new in links.items() if a == j and (new or links[i, j])}
                offered |= {a for (a, b), new in links.items() if b == j and (new or links[i, j])}
            for j in {a for a, b in links if b == i}:
                offered |= {b for (a, b), new in links.items() if a == j and (new or links[j, i])}
            expected = sorted((had | offered) - {i}, key=lambda j: distances[i, j])[:kept]
            assert [j for j in lists.found[i] if j >= 0] == expected
            assert lists.is_new[i, : len(expected)].tolist() == [j not in had for j in expected]
            n_new += len(set(expected) - had)
        assert n_taken == n_new if kept > k else n_taken >= n_new
