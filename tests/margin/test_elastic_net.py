"""The elastic net, alone and on the shared map: kernels, optima, objectives by hand, limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from visterm.compute import progress
from visterm.errors import InputError
from visterm.margin import elastic_net, elastic_net_multitask
from visterm.margin._kernels import best_dual
from visterm.margin._kernels_elastic import Predictors, Shrunk, ascend_elastic, ascend_elastic_map
from visterm.margin.dual import Coordinates
from visterm.margin.elastic_net import ElasticNetSDCA, solve_elastic
from visterm.margin.elastic_net_multitask import ElasticNetMultitask, solve_elastic_map
from visterm.margin.losses import Hinge, Logistic, SmoothHinge, SquaredHinge


def soft(V, thresholds):
    return np.sign(V) * np.maximum(np.abs(V) - thresholds[:, None], 0)


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(12, 5)), rng.normal(size=(3, 2))
    return X, W, np.where(rng.random((3, 12)) < 0.4, 1.0, -1.0)


@pytest.mark.parametrize("loss", [Hinge(), SmoothHinge(0.5), Logistic()])
def test_kernel_is_its_definition(problem, loss):
    X, W, y = problem
    X[:, -1], X[2, 1], X[5, 0] = 1, 0, 0
    order, C, thresholds = np.random.default_rng(1).permutation(12), 0.7, np.array([0.2, 0.2, 0.2, 0.2, 0.0])
    squared, lengths = (X**2).sum(axis=1), (W**2).sum(axis=1)
    b = np.full(y.shape, 0.3)
    V = X.T @ ((C * b * y).T @ W)
    expected_b, expected_V = b.copy(), V.copy()
    for i in order:
        for t in range(3):
            m = y[t, i] * (W[t] @ (soft(expected_V, thresholds).T @ X[i]))
            new = best_dual(expected_b[t, i], m, C * squared[i] * lengths[t], loss.code)
            expected_V += C * y[t, i] * (new - expected_b[t, i]) * np.outer(X[i], W[t])
            expected_b[t, i] = new
    at = Coordinates(b, y, np.full(y.shape, C))
    ascend_elastic_map(Shrunk(X, squared, thresholds), Predictors(W, lengths), order, V, at, loss.code)
    np.testing.assert_allclose(b, expected_b, atol=1e-12)
    np.testing.assert_allclose(V, expected_V, atol=1e-12)


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()])
def test_gap_bounds_the_distance_to_the_optimum(problem, loss):
    X, W, y = problem
    X = np.hstack([X, np.ones((12, 1))])

    def objective(U):
        scores = W @ (X @ U).T
        return 0.5 * (U**2).sum() + 0.3 * np.abs(U[:-1]).sum() + 0.5 * loss.value(y * scores).sum()

    rng = np.random.default_rng(0)
    U, _, primal, gap = solve_elastic_map(X, W, y, 0.5, 0.3, loss, 1e-4, rng, np.zeros(y.shape))
    assert 0 <= gap <= 1e-4
    assert primal == pytest.approx(objective(U))
    for _ in range(200):
        assert objective(U + 0.05 * rng.normal(size=U.shape)) >= (1 - gap) * primal


def test_objective_falls_and_more_l1_uses_fewer_features(many_blobs):
    blobs = many_blobs(n_dims=10)
    used = []
    for l1 in (0.0, 1.0, 3.0):
        model = ElasticNetMultitask(l1=l1, random_state=0).fit(blobs.X, blobs.y)
        assert (np.diff(model.objective_) <= 1e-9).all()
        assert model.map_.shape == (10, 3)
        used.append(np.count_nonzero(model.map_))
    assert used[0] > used[1] > used[2]
    assert ElasticNetMultitask(l1=0.5, random_state=0).fit(blobs.X, blobs.y).score(blobs.X, blobs.y) > 0.6


def test_rounds_go_on_while_the_objective_falls_by_more_than_the_tolerance(blobs):
    tol = 1e-3
    objective = ElasticNetMultitask(tol=tol, max_iter=50, random_state=0).fit(blobs.X, blobs.y).objective_
    of_rounds = objective[::2]  # each round learns the predictors and then the map
    small = -np.diff(of_rounds) <= tol * of_rounds[1:]
    assert len(small) > 1
    assert np.flatnonzero(small).tolist() == [len(small) - 1]


def test_a_gap_that_is_not_reached_is_told(blobs, monkeypatch):
    monkeypatch.setattr(elastic_net_multitask, "MAX_PASSES", 20)
    with pytest.warns(ConvergenceWarning, match="duality gap is still"):
        ElasticNetMultitask(C_map=100.0, l1=0.1, tol=1e-8, max_iter=1, random_state=0).fit(blobs.X, blobs.y)


def test_wrong_use_is_explained(blobs):
    for parameters, message in (({"kernel": "chi2"}, "kernel"), ({"l1": -1.0}, "l1"), ({"C_map": 0.0}, "C_map")):
        with pytest.raises(InputError, match=message):
            ElasticNetMultitask(**parameters).fit(blobs.X, blobs.y)


def slope(loss, m):
    """The derivative of a loss."""
    return (loss.value(m + 1e-6) - loss.value(m - 1e-6)) / 2e-6


def test_one_task_is_at_the_optimum_of_the_elastic_net(problem):
    X, _, y = problem
    y, C, loss, l1 = y[0], np.linspace(0.2, 1.5, 12), SmoothHinge(0.5), 0.4
    X[:, -1] = 1.5
    w, gap = solve_elastic(X, y, C, l1, loss, 1e-12, np.random.default_rng(0))
    assert 0 <= gap <= 1e-12
    towards = -(w + X.T @ (C * y * slope(loss, y * (X @ w))))  # the smooth part falls in this direction
    used = w[:-1] != 0
    assert 0 < used.sum() < 4
    np.testing.assert_allclose(towards[:-1][used], l1 * np.sign(w[:-1][used]), atol=1e-4)
    assert (np.abs(towards[:-1][~used]) < l1).all()
    assert towards[-1] == pytest.approx(0, abs=1e-4)  # the last column is not shrunk


def test_features_weights_and_shrinkage_of_another_scale_give_the_same_functions(problem):
    X, W, y = problem

    def learned(s):
        rng = np.random.default_rng(0)
        w, gap = solve_elastic(s * X, y[0], np.full(12, 0.5 / s**2), 0.3 / s, Hinge(), 0.01, rng)
        U, _, primal, map_gap = solve_elastic_map(
            s * X, W, y, 0.5 / s**2, 0.3 / s, Hinge(), 0.01, rng, np.zeros(y.shape)
        )
        return s * w, gap, s * U, s**2 * primal, map_gap

    for scale in (2.0**-9, 2.0**9):
        for one, other in zip(learned(1.0), learned(scale), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("loss", [Hinge(), SmoothHinge(0.5), Logistic()])
def test_kernel_of_one_task_is_its_definition(problem, loss):
    X, _, y = problem
    order, C, y = np.random.default_rng(1).permutation(12), np.linspace(0.3, 1.4, 12), y[0]
    C[3], thresholds, squared = 0.0, np.array([0.2, 0.3, 0.2, 0.1, 0.0]), (X**2).sum(axis=1)
    b = np.full(12, 0.3)
    v = (C * b * y) @ X
    expected_b, expected_v = b.copy(), v.copy()
    for i in order:
        if i != 3:  # it takes no part
            score = soft(expected_v[:, None], thresholds)[:, 0] @ X[i]
            new = best_dual(expected_b[i], y[i] * score, C[i] * squared[i], loss.code)
            expected_v += C[i] * y[i] * (new - expected_b[i]) * X[i]
            expected_b[i] = new
    ascend_elastic(Shrunk(X, squared, thresholds), order, v, Coordinates(b, y, C), loss.code)
    np.testing.assert_allclose(b, expected_b, atol=1e-12)
    np.testing.assert_allclose(v, expected_v, atol=1e-12)


def test_a_gap_of_one_task_that_is_not_reached_is_told(blobs, monkeypatch):
    monkeypatch.setattr(elastic_net, "MAX_PASSES", 2)
    with pytest.warns(ConvergenceWarning, match="the relative duality gap is still .*, not 1e-09"):
        ElasticNetSDCA(C=100.0, tol=1e-9, random_state=0).fit(blobs.X, blobs.y)


@pytest.mark.parametrize("method", [ElasticNetSDCA, ElasticNetMultitask])
@pytest.mark.parametrize("kernel", ["linear", "hellinger"])
def test_scores_are_those_of_the_weights_and_the_intercepts(method, kernel, blobs):
    X = np.abs(blobs.X)
    model = method(kernel=kernel, l1=0.1, random_state=0).fit(X, blobs.y)
    mapped = X if kernel == "linear" else np.sqrt(X / X.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(model.decision_function(X), mapped @ model.coef_.T + model.intercept_)
    of_sparse = method(kernel=kernel, l1=0.1, random_state=0).fit(sparse.csr_array(X), blobs.y)
    np.testing.assert_allclose(of_sparse.decision_function(sparse.csr_array(X)), model.decision_function(X), atol=0.1)
    with pytest.raises(InputError, match="features"):
        model.decision_function(X[:, :4])
    assert not hasattr(model, "predict_proba")  # there are no folds to calibrate on


def test_the_weights_of_each_class_solve_its_task(blobs):
    model = ElasticNetSDCA(C=0.4, l1=0.7, loss="smooth_hinge", tol=1e-9, random_state=0).fit(blobs.X, blobs.y)
    X = np.hstack([blobs.X, np.ones((len(blobs.X), 1))])
    assert (model.duality_gap_ <= 1e-9).all()
    for label, coef, intercept in zip(blobs.labels, model.coef_, model.intercept_, strict=True):
        w, _ = solve_elastic(X, label, np.full(len(label), 0.4), 0.7, SmoothHinge(), 1e-9, np.random.default_rng(1))
        np.testing.assert_allclose(np.append(coef, intercept), w, atol=1e-4)


def test_the_shared_objective_after_each_step_by_hand(blobs):
    settings = {"C": 0.3, "C_predictors": 0.5, "C_map": 2.0, "l1": 0.4, "tol": 1e-7, "max_iter": 1}
    loss, y, X = SmoothHinge(), blobs.labels, np.hstack([blobs.X, np.ones((len(blobs.X), 1))])
    n_tasks, full = len(y), np.full(y.shape[1], 0.3)
    model = ElasticNetMultitask(loss="smooth_hinge", random_state=np.random.default_rng(0), **settings)
    with progress.task("Learning") as bar:
        U, W = model._learn(X, y, loss, np.random.default_rng(0), bar)
    first = np.stack(
        [solve_elastic(X, label, full, 0.4, loss, 1e-7, np.random.default_rng(1))[0] for label in y], axis=1
    )

    def objective(U, W):
        of_map = (U**2).sum() / 2 + 0.4 * np.abs(U[:-1]).sum()
        return loss.value(y * (W @ U.T @ X.T)).sum() + (W**2).sum() / 2 / 0.5 + of_map / 2.0

    best = minimize(lambda W: objective(first, W.reshape(n_tasks, n_tasks)), np.zeros(n_tasks**2), method="BFGS")
    expected = [objective(first, np.zeros((n_tasks, n_tasks))), best.fun, objective(U, W)]
    np.testing.assert_allclose(model.objective_, expected, rtol=1e-4)
    model.fit(blobs.X, blobs.y)
    np.testing.assert_allclose(model.map_, U[:-1])
    np.testing.assert_allclose(model.decision_function(blobs.X), X @ U @ W.T)


def test_an_objective_that_stays_the_same_is_no_rise():
    model = ElasticNetMultitask(random_state=0).fit(np.zeros((4, 2)), [0, 1, 0, 1])
    assert model.objective_.tolist() == [4, 4, 4]
    assert not model.map_.any()


@pytest.mark.parametrize("tol", [0.03, 0.1, 0.3])
def test_the_shared_objective_never_rises_however_rough_the_steps_are(tol):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(24, 4)), rng.integers(0, 3, 24)
    model = ElasticNetMultitask(C=0.5, C_predictors=0.5, C_map=2.0, l1=0.3, tol=tol, random_state=0).fit(X, y)
    assert len(model.objective_) >= 2
    assert (np.diff(model.objective_) < 0).all()
