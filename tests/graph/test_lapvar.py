"""The optimisers: monotone, exact at both ends, and at a maximum of the whole problem."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import softmax

from visterm.graph import DirichletMeans, Discrete, LapVar, Point


def kinds(rng, n=12, k=4):
    return {
        "discrete": (Discrete(rng.normal(size=(n, k)) * 2), rng.dirichlet(np.ones(k), size=n)),
        "point": (Point(rng.gamma(1, size=(n, k)) * 3), rng.dirichlet(np.ones(k), size=n)),
        "dirichlet": (DirichletMeans(rng.gamma(2, size=(n, k)) + 0.1), rng.gamma(2, size=(n, k)) + 0.1),
    }


@pytest.fixture(params=["discrete", "point", "dirichlet"])
def case(request, rng):
    return kinds(rng)[request.param]


@pytest.mark.parametrize("strength", [0.01, 1.0, 50.0])
def test_lapvar1_never_falls(case, links, strength):
    variables, state = case
    lapvar = LapVar(links, strength)
    values = [lapvar.objective(variables, state)]
    for _ in range(15):
        state = lapvar.improve(variables, state)
        values.append(lapvar.objective(variables, state))
        np.testing.assert_allclose(variables.means(state).sum(axis=1), 1)
    assert (np.diff(values) >= -1e-9 * np.abs(values[1:])).all()
    assert values[-1] > values[0]


def test_lapvar1_reaches_the_maximum_of_all_pictures_together(links, rng):
    scores = rng.normal(size=(12, 3))
    lapvar, variables = LapVar(links, 2.0), Discrete(scores)
    state = variables.free()
    for _ in range(300):
        state = lapvar.improve(variables, state)

    def loss(logits):
        p = softmax(logits.reshape(12, 3), axis=1)
        return -lapvar.objective(variables, p)

    best = minimize(loss, np.log(state).ravel() * 0.5, method="L-BFGS-B", options={"maxiter": 3000, "maxfun": 10**6})
    assert lapvar.objective(variables, state) == pytest.approx(-best.fun, rel=1e-6)


def test_strength_0_leaves_pictures_to_themselves(case, links):
    variables, state = case
    np.testing.assert_array_equal(LapVar(links, 0.0).improve(variables, state), variables.free())


def test_infinite_strength_gives_a_connected_graph_one_distribution(case, links):
    variables, state = case
    shared = LapVar(links, np.inf).improve(variables, state)
    np.testing.assert_allclose(shared, np.tile(shared[:1], (12, 1)))
    # No other common distribution is better.
    for factor in (0.9, 1.1):
        other = shared.copy()
        other[:, 0] *= factor
        if not isinstance(variables, DirichletMeans):
            other /= other.sum(axis=1, keepdims=True)
        assert variables.value(other) < variables.value(shared)


def test_the_stronger_the_more_alike(case, links):
    variables, _ = case
    spreads = []
    for strength in (0.1, 1.0, 10.0, 1000.0):
        lapvar, state = LapVar(links, strength), variables.free()
        for _ in range(5000 if not isinstance(variables, DirichletMeans) else 300):
            state = lapvar.improve(variables, state)
        spreads.append(variables.means(state).std(axis=0).max())
    assert (np.diff(spreads) < 0).all()
    assert spreads[-1] < 0.02
    if not isinstance(variables, DirichletMeans):  # whose concentrations stay their own
        np.testing.assert_allclose(state, LapVar(links, np.inf).improve(*case), atol=0.05)


def test_components_agree_among_themselves_only(rng):
    pairs = sparse.csr_array(np.kron(np.eye(3), [[0, 1], [1, 0]]))
    variables = Discrete(rng.normal(size=(6, 3)))
    shared = LapVar(pairs, np.inf).improve(variables, variables.free())
    np.testing.assert_allclose(shared[::2], shared[1::2])
    assert np.abs(shared[0] - shared[2]).max() > 0.01


def test_lapvar2_is_better_than_ignoring_the_graph_and_keeps_the_best(case, links):
    variables, state = case
    for strength in (10.0, 100.0):
        lapvar = LapVar(links, strength, "lapvar2")
        mixed = lapvar.improve(variables, state)
        assert lapvar.objective(variables, mixed) > lapvar.objective(variables, variables.free())
        np.testing.assert_allclose(variables.means(mixed).sum(axis=1), 1)
        # One sweep of LapVar1 after another ends higher: it maximises Q itself.
        exact, better = LapVar(links, strength), mixed
        for _ in range(30):
            better = exact.improve(variables, better)
        assert exact.objective(variables, better) >= lapvar.objective(variables, mixed)


def test_lapvar2_mixes_as_long_as_that_helps(case, links):
    variables, state = case
    lapvar, degrees = LapVar(links, 30.0, "lapvar2"), np.asarray(links.sum(axis=1)).reshape(-1, 1)
    mixed = [variables.free()]
    for _ in range(100):
        means = variables.means(mixed[-1])
        mixed.append(variables.with_means(mixed[-1], 0.9 * means + 0.1 * (links @ means) / degrees))
    values = [lapvar.objective(variables, one) for one in mixed]
    best = int(np.argmax(values))
    assert best > 3
    np.testing.assert_allclose(lapvar.improve(variables, state), mixed[best])


def test_a_sweep_equals_the_updates_one_by_one(links, rng):
    from visterm.graph.inference._kernels import best_discrete

    scores, state = rng.normal(size=(12, 4)), rng.dirichlet(np.ones(4), size=12)
    order = rng.permutation(12)
    expected = state.copy()
    dense = links.toarray()
    for i in order:
        best_discrete(scores[i], dense[i] @ expected, 1.5, dense[i].sum(), expected[i], np.empty((2, 4)))
    swept = state.copy()
    Discrete(scores).sweep(links, 1.5, order, None, swept)
    np.testing.assert_allclose(swept, expected, rtol=1e-12)


def test_folding_in_is_the_update_of_one_more_picture(case, links):
    variables, state = case
    kind = type(variables)
    lapvar = LapVar(links, 2.0)
    means = variables.means(state)
    one = kind(variables.free()[:1]) if kind is not Discrete else Discrete(variables.given[:1])
    folded = lapvar.fold_in(links[[0]], means, one, state[:1])
    swept = state.copy()
    own = kind(variables.free()) if kind is not Discrete else variables
    own.sweep(links, 2.0, np.array([0]), None, swept)
    np.testing.assert_allclose(folded[0], swept[0], rtol=1e-6)
    for alone in (lapvar, LapVar(links, np.inf)):
        lonely = alone.fold_in(sparse.csr_array((1, 12)), means, one, state[:1])
        np.testing.assert_allclose(variables.means(lonely), variables.means(one.free()), rtol=1e-9)


class Landscape:
    """Two linked pictures with one number each; Q depends on how often they were mixed."""

    def __init__(self, *heights):
        self.heights = heights

    def free(self):
        return np.array([[1.0], [0.0]])

    def means(self, state):
        return state

    def with_means(self, _, means):
        return means

    def n_mixtures(self, state):  # each leaves four fifths of the difference
        return round(np.log(state[0, 0] - state[1, 0]) / np.log(0.8))

    def value(self, state):
        n = self.n_mixtures(state)
        return self.heights[n] + 0.8 ** (2 * n) / 2  # the second term is the price of the difference


def test_lapvar2_ends_after_three_mixtures_in_vain_and_keeps_the_first_of_the_best():
    pair = sparse.csr_array([[0.0, 1.0], [1.0, 0.0]])
    for heights, best in [
        ((0, -1, -1, 5, 2, 4, 6, 4, 5, 5, 9), 6),
        ((3, 2, 2, 2, 9), 0),
        ((0, 1, -1, -1, -1, 9), 1),
        (range(101), 100),
    ]:
        landscape = Landscape(*heights)
        mixed = LapVar(pair, 1.0, "lapvar2").improve(landscape, landscape.free())
        assert landscape.n_mixtures(mixed) == best


def test_pictures_without_neighbours_are_not_mixed(case, links):
    variables, state = case
    lonely = links.toarray()
    lonely[3] = lonely[:, 3] = 0
    mixed = LapVar(lonely, 10.0, "lapvar2").improve(variables, state)
    np.testing.assert_allclose(mixed[3], variables.free()[3])
    assert np.abs(mixed - variables.free())[[2, 4]].max(axis=1).min() > 1e-3


def test_the_objective_is_q_by_hand(links, rng):
    p, L = rng.dirichlet(np.ones(4), size=12), np.diag(links.sum(axis=1)) - links.toarray()
    scores, counts = rng.normal(size=(12, 4)), rng.gamma(1, size=(12, 4))
    price = 3.0 / 2 * np.trace(p.T @ L @ p)
    own = (p * scores).sum() - (p * np.log(p)).sum()
    assert LapVar(links, 3.0).objective(Discrete(scores), p) == pytest.approx(own - price)
    for strength in (0.0, np.inf):  # no price, and no choice
        assert LapVar(links, strength).objective(Discrete(scores), p) == pytest.approx(own)
    assert LapVar(links, 3.0).objective(Point(counts), p) == pytest.approx((counts * np.log(p)).sum() - price)


def test_new_pictures_at_infinite_strength_are_the_mean_of_their_neighbours(rng):
    known = rng.dirichlet(np.ones(3), size=4)
    links = sparse.csr_array([[0.2, 0.0, 0.3, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 4.0, 0.0, 1.0]])
    expected = [[0.4, 0.0, 0.6, 0.0] @ known, [0.2, 0.2, 0.6], [0.0, 0.8, 0.0, 0.2] @ known]
    alone = LapVar(sparse.csr_array((4, 4)), np.inf)
    targets, start = np.array([[9.0, 1, 1], [1, 1, 3], [1, 9, 1]]), np.array([[2.0, 2, 2], [1, 2, 7], [5, 5, 5]])
    np.testing.assert_allclose(alone.fold_in(links, known, Point(targets), start), expected)
    folded = alone.fold_in(links, known, DirichletMeans(targets), start)
    np.testing.assert_allclose(folded, expected * start.sum(axis=1, keepdims=True))


def test_at_strength_0_new_pictures_are_themselves(case, links):
    variables, state = case
    means = variables.means(state)
    np.testing.assert_array_equal(LapVar(links, 0.0).fold_in(links, means, variables, state), variables.free())


def test_a_shared_distribution_is_that_of_the_mean_of_its_group(rng):
    groups, rows = np.array([0, 1, 0, 0, 2]), rng.gamma(1, size=(5, 3))
    means = np.array([rows[groups == g].mean(axis=0) for g in groups])
    np.testing.assert_allclose(DirichletMeans(rows).shared(groups), means)
    np.testing.assert_allclose(Point(rows).shared(groups), means / means.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(Discrete(rows).shared(groups), softmax(means, axis=1))
