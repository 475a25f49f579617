"""One numerical contract: in torch, all tasks at once reach the optimum of coordinate ascent, with the same gap."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.compute import device
from visterm.margin import GramInnerProducts, MultitaskSDCA, Problem, SDCAClassifier, solve
from visterm.margin.solver import ascent, on_device
from visterm.margin.solver.coupled import CoupledProblem
from visterm.margin.solver.inner_products import FeatureInnerProducts
from visterm.margin.solver.losses import loss_named

N, N_TASKS = 160, 5
TOL = 1e-4


@pytest.fixture(autouse=True)
def on_numpy(monkeypatch):
    pytest.importorskip("torch", reason="torch is not installed")
    monkeypatch.setenv("VISTERM_DEVICE", "numpy")
    monkeypatch.setattr(on_device, "LEAST_PICTURES", 0)


@pytest.fixture(params=["singles", "halves"])
def on_torch(request, monkeypatch):
    """Switches to torch's CPU, where coordinate ascent must not be needed; ``halves``: with the products of a GPU."""

    def switch():
        monkeypatch.setenv("VISTERM_DEVICE", "cpu")
        monkeypatch.setattr(ascent, "ascend", None)
        if request.param == "halves":
            monkeypatch.setattr(device, "_by_halves", lambda values: "64" not in str(values.dtype))

    return switch


@pytest.fixture(scope="module")
def X():
    made = np.random.default_rng(0).standard_normal((N, 40)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def made(X, kind, loss, coupled):
    rng = np.random.default_rng(1)
    y = np.where(rng.random((N_TASKS, N)) < 0.3, 1.0, -1.0)
    C = 5.0 * rng.random((N_TASKS, N))
    C[rng.random((N_TASKS, N)) < 0.1] = 0  # takes no part
    products = GramInnerProducts(X @ X.T, 1.0) if kind == "gram" else FeatureInnerProducts(X.astype(kind), 1.0)
    if not coupled:
        return Problem(products, y, C, loss_named(loss))
    W = rng.standard_normal((N_TASKS, 3))
    M = (W @ W.T).astype(products.dtype)
    y, C = y.astype(products.dtype), C.astype(products.dtype)
    return CoupledProblem(products, y, C, loss_named(loss), M)


@pytest.mark.parametrize("coupled", [False, True])
@pytest.mark.parametrize(
    ("kind", "loss"),
    [
        ("gram", "hinge"),
        ("float32", "hinge"),
        ("float64", "smooth_hinge:0.5"),
        ("gram", "squared_hinge"),
        ("gram", "squared"),
    ],
)
def test_torch_reaches_the_optimum_of_coordinate_ascent(X, kind, loss, coupled, on_torch):
    problem = made(X, kind, loss, coupled)
    ours = solve(problem, tol=TOL, rng=np.random.default_rng(0))
    on_torch()
    theirs = solve(problem, tol=TOL, rng=np.random.default_rng(0))
    assert theirs.gap <= TOL
    np.testing.assert_allclose(theirs.primal, ours.primal, rtol=2 * TOL)
    np.testing.assert_allclose(theirs.dual, ours.dual, rtol=2 * TOL)
    distance = np.linalg.norm(theirs.scores - ours.scores) / np.linalg.norm(ours.scores)
    assert distance <= 0.05  # two solutions within the gap
    # NumPy finds the same objectives, so the gap is certain.
    again = problem.evaluate(theirs.b.astype(problem.y.dtype))
    np.testing.assert_allclose(again.primal, theirs.primal, rtol=3e-5)
    np.testing.assert_allclose(again.dual, theirs.dual, rtol=3e-5)
    np.testing.assert_allclose(again.scores, theirs.scores, atol=1e-3)
    assert theirs.trace[-1][0] == pytest.approx(theirs.objective)


def test_multitask_learning_in_torch_learns_the_same(X, monkeypatch):
    classes = np.arange(N) % 4
    given = X + 0.3 * np.eye(40, dtype=np.float32)[classes]
    settings = {
        "C": 10.0,
        "kernel": "linear",
        "calibration_folds": 0,
        "random_state": 0,
        "tol": TOL,
        "until": "optimum",
    }
    ours = MultitaskSDCA(**settings).fit(given, classes)
    monkeypatch.setenv("VISTERM_DEVICE", "cpu")
    theirs = MultitaskSDCA(**settings).fit(given, classes)
    assert theirs.objective_[-1] == pytest.approx(ours.objective_[-1], rel=2 * TOL)
    assert (np.diff(theirs.objective_) <= 0).all()
    np.testing.assert_allclose(theirs.coef_, ours.coef_, atol=0.03 * np.abs(ours.coef_).max())


def test_classes_by_landmarks_in_torch_are_the_same(X, on_torch):
    classes = np.arange(N) % 4
    given = X + 0.3 * np.eye(40, dtype=np.float32)[classes]
    settings = {"kernel": "exp-chi2", "landmarks": 30, "calibration_folds": 0, "random_state": 0, "tol": TOL}
    ours = SDCAClassifier(**settings).fit(given, classes)
    on_torch()
    theirs = SDCAClassifier(**settings).fit(given, classes)
    assert theirs.duality_gap_.max() <= TOL
    scores = ours.decision_function(given)
    assert np.linalg.norm(theirs.decision_function(given) - scores) <= 0.02 * np.linalg.norm(scores)


def test_coordinate_ascent_goes_on_where_a_device_stops(X, monkeypatch):
    problem = made(X, "gram", "hinge", coupled=False)
    monkeypatch.setenv("VISTERM_DEVICE", "cpu")
    monkeypatch.setattr(on_device, "MAX_ROUNDS", 5)
    left = on_device.ascend(problem, None, TOL, device.Device("cpu"))
    assert left.gap > TOL
    assert left.gap < problem.evaluate(problem.start(None)).gap
    found = solve(problem, tol=TOL, rng=np.random.default_rng(0))
    assert found.gap <= TOL


def test_a_start_near_the_optimum_is_used(X, on_torch):
    problem = made(X, "gram", "hinge", coupled=True)
    on_torch()
    cold = solve(problem, tol=TOL, rng=np.random.default_rng(0))
    warm = solve(problem, tol=TOL, rng=np.random.default_rng(0), start=cold.b)
    assert len(warm.trace) < len(cold.trace)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_small_problems_and_the_logistic_loss_stay_with_coordinate_ascent(X, loss, monkeypatch):
    monkeypatch.setenv("VISTERM_DEVICE", "cpu")
    problem = made(X, "gram", loss, coupled=False)
    assert (on_device.device_for(problem) is None) == (loss == "logistic")
    monkeypatch.setattr(on_device, "LEAST_PICTURES", N + 1)
    assert on_device.device_for(problem) is None


def test_eigenvectors_are_kept_while_the_pictures_are(X):
    there = device.Device("cpu")
    problem = made(X, "gram", "hinge", coupled=False)
    kept = on_device._spectrum(problem.products, there)
    assert on_device._spectrum(GramInnerProducts(problem.products.G, 1.0), there) is kept
    assert on_device._spectrum(GramInnerProducts(problem.products.G, 2.0), there) is not kept
    assert on_device._kept
    on_device._kept.pop(FeatureInnerProducts, None)
    del problem
    assert not on_device._kept
