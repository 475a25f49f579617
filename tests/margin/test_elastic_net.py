"""The elastic net on the shared map: its kernel, its gap, its limits."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from visterm.errors import InputError
from visterm.margin import elastic_net_multitask
from visterm.margin._kernels import best_dual
from visterm.margin._kernels_elastic import Predictors, Shrunk, ascend_elastic_map
from visterm.margin.dual import Coordinates
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
    monkeypatch.setattr(elastic_net_multitask, "MAX_SWEEPS", 2)
    with pytest.warns(ConvergenceWarning, match="duality gap is still"):
        ElasticNetMultitask(C_map=100.0, l1=0.1, tol=1e-8, max_iter=1, random_state=0).fit(blobs.X, blobs.y)


def test_wrong_use_is_explained(blobs):
    for parameters, message in (({"kernel": "chi2"}, "kernel"), ({"l1": -1.0}, "l1"), ({"C_map": 0.0}, "C_map")):
        with pytest.raises(InputError, match=message):
            ElasticNetMultitask(**parameters).fit(blobs.X, blobs.y)
