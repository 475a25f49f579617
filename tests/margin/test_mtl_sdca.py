"""Multitask learning: the U step by brute force, a falling objective, classes and tags in one model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from visterm.errors import InputError
from visterm.margin.mtl_sdca import MultitaskSDCA
from visterm.margin.sdca import SDCAClassifier
from visterm.margin.sdca_stacked import StackedSDCA
from visterm.margin.solver import _kernels, alternation
from visterm.margin.solver.arrays import Block, Coordinates
from visterm.margin.solver.ascent import solve
from visterm.margin.solver.coupled import CoupledProblem, Spectrum
from visterm.margin.solver.inner_products import FeatureInnerProducts, GramInnerProducts
from visterm.margin.solver.losses import HINGE, LOGISTIC, SQUARED, smooth_hinge
from visterm.margin.solver.tasks import Problem


def coupled_problem(seed, n_pictures=14, n_dims=4, n_tasks=3, k=2):
    rng = np.random.default_rng(seed)
    X, W = rng.normal(size=(n_pictures, n_dims)), rng.normal(size=(n_tasks, k))
    y = np.where(rng.random((n_tasks, n_pictures)) < 0.4, 1.0, -1.0)
    return X, W, y


def flattened(X, W):
    """x_i w_t^T as rows, task by task."""
    return np.concatenate([[np.outer(x, w).ravel() for x in X] for w in W])


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 1000),
    C=st.floats(0.01, 5.0),
    loss=st.sampled_from([HINGE, smooth_hinge(), SQUARED, LOGISTIC]),
)
def test_u_step_is_an_svm_on_flattened_features(seed, C, loss):
    X, W, y = coupled_problem(seed)
    weights, rng = np.full(y.shape, C), np.random.default_rng(seed)
    problem = CoupledProblem(GramInnerProducts(X @ X.T), y, weights, loss, W @ W.T)
    mapped = solve(problem, tol=1e-6, rng=rng)
    flat = flattened(X, W)
    task = Problem(GramInnerProducts(flat @ flat.T), y.reshape(1, -1), weights.reshape(1, -1), loss)
    single = solve(task, tol=1e-6, rng=rng)
    assert mapped.objective == pytest.approx(single.objective, rel=3e-6)
    assert mapped.gap <= 1e-6
    U = X.T @ mapped.theta.T @ W  # (n_dims, k)
    np.testing.assert_allclose(mapped.scores, (X @ U @ W.T).T, atol=1e-8)
    assert mapped.squared_norm == pytest.approx((U**2).sum(), abs=1e-8)


def test_u_step_objective_is_that_of_linear_svc():
    X, W, y = coupled_problem(3, n_pictures=20)
    svc = LinearSVC(C=0.5, loss="hinge", fit_intercept=False, tol=1e-9, max_iter=500_000)
    svc.fit(flattened(X, W), y.ravel())
    value = 0.5 * (svc.coef_**2).sum() + 0.5 * HINGE.value(y.ravel() * (flattened(X, W) @ svc.coef_[0])).sum()
    problem = CoupledProblem(GramInnerProducts(X @ X.T), y, np.full(y.shape, 0.5), HINGE, W @ W.T)
    ours = solve(problem, tol=1e-6, rng=np.random.default_rng(0))
    assert ours.objective == pytest.approx(value, rel=1e-5)


def test_equation_7_over_a_block_equals_single_steps():
    """The NumPy reference of ``ascend_coupled``."""
    X, W, y = coupled_problem(5)
    G, M, C = X @ X.T, W @ W.T, 0.4
    rng = np.random.default_rng(0)
    b, rows = rng.uniform(size=y.shape), rng.permutation(len(X))[:9]
    expected = b.copy()
    for i in rows:
        for t in range(len(y)):
            U = X.T @ (C * expected * y).T @ W
            score, q = X[i] @ U @ W[t], C * (X[i] @ X[i]) * (W[t] @ W[t])
            expected[t, i] = np.clip(expected[t, i] + (1 - y[t, i] * score) / q, 0, 1)
    f = np.ascontiguousarray((M @ (C * b * y) @ G)[:, rows])
    delta, before = np.zeros_like(f), b.copy()
    block = Block(np.ascontiguousarray(G[np.ix_(rows, rows)]), rows, f, delta)
    _kernels.ascend_coupled(block, M, Coordinates(b, y, np.full(y.shape, C)), HINGE.code)
    np.testing.assert_allclose(b, expected, atol=1e-9)
    np.testing.assert_allclose(delta, (C * (b - before) * y)[:, rows], atol=1e-9)
    np.testing.assert_allclose(f, (M @ (C * b * y) @ G)[:, rows], atol=1e-9)


def test_a_u_step_that_starts_near_enough_stays_where_it_is():
    X, W, y = coupled_problem(7)
    problem = CoupledProblem(GramInnerProducts(X @ X.T), y, np.full(y.shape, 0.5), HINGE, W @ W.T)
    start = solve(problem, tol=0.1, rng=np.random.default_rng(0))
    settings = {"tol": start.gap, "rng": np.random.default_rng(1), "start": start.b}
    again = solve(replace(problem, primal_below=start.objective), **settings)
    np.testing.assert_array_equal(again.b, start.b)
    lower = replace(problem, primal_below=np.nextafter(start.objective, 0))
    assert solve(lower, **settings).objective < start.objective


def test_orthonormal_predictors_give_back_one_vs_all(blobs):
    G, C = blobs.X @ blobs.X.T, np.full(blobs.labels.shape, 0.8)
    rng = np.random.default_rng(0)
    tasks = GramInnerProducts(G), blobs.labels, C, smooth_hinge()
    alone = solve(Problem(*tasks), tol=1e-8, rng=rng)
    together = solve(CoupledProblem(*tasks, np.eye(3)), tol=1e-8, rng=rng)
    np.testing.assert_allclose(together.scores, alone.scores, atol=2e-3)


def test_the_dual_of_the_u_step_never_falls():
    X, W, y = coupled_problem(11, n_pictures=40)
    problem = CoupledProblem(GramInnerProducts(X @ X.T), y, np.full(y.shape, 3.0), HINGE, W @ W.T)
    b, rng, duals = np.zeros_like(y), np.random.default_rng(0), []
    for tol in (0.5, 0.1, 0.01, 1e-3, 1e-4):
        state = solve(problem, tol=tol, rng=rng, start=b)
        duals.append(state.dual[0])
        assert state.gap <= tol
        b = state.b
    assert (np.diff(duals) >= -1e-9).all()
    assert problem.evaluate(b).objective >= duals[-1]


def objective_1(X, y, scores_of, U_norm, W, lam, mu, loss):
    n_tasks, n = y.shape
    return loss.value(y * scores_of).sum() / (n * n_tasks) + lam / 2 * (W**2).sum() / n_tasks + mu / 2 * U_norm


@pytest.mark.parametrize("loss", ["hinge", "squared"])
def test_rounds_go_on_while_the_objective_stays_the_same(loss):
    tags = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
    settings = {"lam": 1 / 4, "mu": 1 / 8, "intercept_scaling": 0.0, "calibration_folds": 0, "random_state": 0}
    model = MultitaskSDCA(kernel="precomputed", loss=loss, **settings).fit(np.zeros((4, 4)), tags=tags)
    assert model.n_iter_ == 2  # the second round finds that the first one's solutions did not change
    np.testing.assert_array_equal(model.objective_, np.ones(5))


@pytest.mark.parametrize("n_dims", [None, 1, 2])
@pytest.mark.parametrize("loss", ["hinge", "smooth_hinge", "logistic"])
def test_the_objective_never_rises(n_dims, loss, blobs):
    model = MultitaskSDCA(C=1.0, n_dims=n_dims, loss=loss, calibration_folds=0, random_state=0).fit(blobs.X, blobs.y)
    assert len(model.objective_) >= 3
    assert (np.diff(model.objective_) <= 0).all()
    assert model.n_iter_ >= 1


def trace_norm_optimum(X, y, weight, loss, n_steps=3000):
    """min over V of the mean loss of y V X^T + weight ||V||_*, by proximal gradient steps with momentum."""
    n_tasks, n = y.shape
    step = n * n_tasks * loss.code.gamma / np.linalg.norm(X, 2) ** 2
    V, ahead, momentum, best = np.zeros((n_tasks, X.shape[1])), np.zeros((n_tasks, X.shape[1])), 1.0, np.inf
    for _ in range(n_steps):
        slope = -y * np.clip((1 - y * (ahead @ X.T)) / loss.code.gamma, 0, 1) / (n * n_tasks)
        left, values, right = np.linalg.svd(ahead - step * slope @ X, full_matrices=False)
        values = np.maximum(values - step * weight, 0)
        previous, V = V, (left * values) @ right
        grown = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead, momentum = V + (momentum - 1) / grown * (V - previous), grown
        best = min(best, loss.value(y * (V @ X.T)).mean() + weight * values.sum())
    return best


@pytest.mark.parametrize("ratio", [0.1, 1.0, 10.0])
def test_at_the_end_the_objective_is_that_of_the_trace_norm(ratio, blobs):
    # min of lam/2T ||W||^2 + mu/2 ||U||^2 over all U, W of the product V is sqrt(lam mu / T) ||V||_*.
    product, n_tasks = 2e-4, len(blobs.labels)
    lam, mu = np.sqrt(product * ratio), np.sqrt(product / ratio)
    model = MultitaskSDCA(
        1.0, lam=lam, mu=mu, loss="smooth_hinge", tol=1e-5, max_iter=300, intercept_scaling=0, calibration_folds=0,
        random_state=0,
    ).fit(blobs.X, blobs.y)  # fmt: skip
    optimum = trace_norm_optimum(blobs.X, blobs.labels, np.sqrt(product / n_tasks), smooth_hinge())
    assert optimum * (1 - 1e-6) <= model.objective_[-1] <= optimum * (1 + 1e-3)


def low_rank_tasks(n=60, n_dims=20, n_tasks=5, rank=3):
    """Pictures, and tags that depend on a few directions."""
    rng = np.random.default_rng(0)
    directions, mixed = rng.normal(size=(rank, n_dims)), rng.normal(size=(n_tasks, rank))
    X = rng.normal(size=(n, n_dims)) / np.sqrt(n_dims)
    tags = (X @ directions.T @ mixed.T + 0.3 * rng.normal(size=(n, n_tasks)) > 0).astype(int)
    tagged = tags.any(axis=1)  # a picture without any tag is unknown, not a picture without these tags
    return X[tagged], tags[tagged]


@pytest.mark.parametrize(("loss", "product"), [("hinge", 1e-5), ("hinge", 1e-4), ("smooth_hinge", 1e-5)])
def test_the_optimum_is_that_of_the_trace_norm_where_algorithm_1_stops_above_it(loss, product):
    X, tags = low_rank_tasks()
    settings = {
        "lam": np.sqrt(product), "mu": np.sqrt(product), "loss": loss, "intercept_scaling": 0, "calibration_folds": 0,
        "random_state": 0,
    }  # fmt: skip
    found = MultitaskSDCA(until="optimum", **settings).fit(X, tags=tags)
    y, weight = np.where(tags.T > 0, 1.0, -1.0), np.sqrt(product / tags.shape[1])
    # The smooth hinge lies below the hinge by at most gamma / 2, so its optimum bounds that of the hinge on both sides.
    gamma = 1e-3 if loss == "hinge" else 1.0
    optimum = trace_norm_optimum(X, y, weight, smooth_hinge(gamma))
    above = gamma / 2 if loss == "hinge" else 0.0
    assert optimum * (1 - 1e-3) <= found.objective_[-1] <= (optimum + above) * (1 + 2e-3)
    # The objective is that of the functions that were kept.
    losses = (HINGE if loss == "hinge" else smooth_hinge()).value(y * (found.coef_ @ X.T)).mean()
    norm = np.linalg.svd(found.coef_, compute_uv=False).sum()
    assert losses + weight * norm == pytest.approx(found.objective_[-1], rel=1e-6)
    settled = MultitaskSDCA(max_iter=300, **settings).fit(X, tags=tags)
    assert settled.objective_[-1] >= found.objective_[-1] * (1 - 1e-3)
    if loss == "hinge":
        assert settled.objective_[-1] > 1.02 * found.objective_[-1]


def test_only_the_product_of_the_regularisers_matters_at_the_optimum():
    X, tags = low_rank_tasks()
    scores = []
    for ratio in (0.01, 1.0, 100.0):
        lam, mu = np.sqrt(1e-4 * ratio), np.sqrt(1e-4 / ratio)
        model = MultitaskSDCA(until="optimum", lam=lam, mu=mu, tol=1e-4, calibration_folds=0, random_state=0)
        scores.append(model.fit(X, tags=tags).objective_[-1])
    np.testing.assert_allclose(scores, scores[0], rtol=2e-4)


@pytest.mark.parametrize(("loss", "product"), [("smooth_hinge", 3e-3), ("smooth_hinge", 3e-2), ("hinge", 3e-2)])
def test_the_gap_is_soon_reached_where_the_optimum_has_fewer_directions_than_tasks(loss, product):
    X, tags = low_rank_tasks()
    model = MultitaskSDCA(until="optimum", lam=product, mu=1.0, loss=loss, calibration_folds=0, random_state=0)
    found = model.fit(X, tags=tags)  # a gap that is not reached would be a warning
    lengths = np.linalg.svd(found.coef_, compute_uv=False)
    assert lengths[-1] < 1e-3 * lengths[0]
    assert found.n_iter_ <= 100


def test_the_trace_norm_of_one_task_is_the_length_of_its_weights():
    X, tags = low_rank_tasks()
    settings = {"lam": 0.1, "mu": 0.1, "loss": "smooth_hinge", "intercept_scaling": 0, "calibration_folds": 0}
    found = MultitaskSDCA(until="optimum", random_state=0, **settings).fit(X, tags[:, 0])
    y = np.where(tags.T[:1] > 0, 1.0, -1.0)
    length = np.linalg.norm(found.coef_)
    assert smooth_hinge().value(y * (found.coef_ @ X.T)).mean() + 0.1 * length == pytest.approx(found.objective_[-1])
    optimum = trace_norm_optimum(X, y, 0.1, smooth_hinge(), n_steps=300)
    assert optimum * (1 - 1e-3) <= found.objective_[-1] <= optimum * (1 + 2e-3)


def test_the_optimum_needs_all_columns():
    X, tags = low_rank_tasks()
    with pytest.raises(InputError, match="as many columns as tasks"):
        MultitaskSDCA(until="optimum", n_dims=2).fit(X, tags=tags)


def test_one_round_is_one_round_of_algorithm_1(blobs):
    named = MultitaskSDCA(until="one-round", lam=1.0, calibration_folds=0, random_state=0).fit(blobs.X, blobs.y)
    counted = MultitaskSDCA(max_iter=1, lam=1.0, calibration_folds=0, random_state=0).fit(blobs.X, blobs.y)
    assert named.n_iter_ == 1
    np.testing.assert_array_equal(named.coef_, counted.coef_)


@pytest.mark.parametrize("name", ["mu", "lam"])
def test_a_regulariser_of_zero_is_refused(name, blobs):
    with pytest.raises(InputError, match=name):
        MultitaskSDCA(**{name: 0}).fit(blobs.X, blobs.y)


def test_a_gap_that_is_not_reached_is_told(blobs, monkeypatch):
    monkeypatch.setattr(alternation, "PREDICTOR_SWEEPS", 1)
    with pytest.warns(ConvergenceWarning, match="duality gap is still"):
        MultitaskSDCA(100.0, lam=1e-6, tol=1e-9, max_iter=1, calibration_folds=0, random_state=0).fit(blobs.X, blobs.y)
    monkeypatch.setattr(alternation, "MAX_ROUNDS", 1)
    with pytest.warns(ConvergenceWarning, match="duality gap is still"):
        MultitaskSDCA(until="optimum", tol=1e-6, calibration_folds=0, random_state=0).fit(blobs.X, blobs.y)


def test_one_round_with_predictors_at_their_bounds_depends_on_one_number(blobs):
    # All dual variables of the predictors at C_w: w_t = C_w sum_i y_ti z_i, and the map sees C_w^2 C_u.
    n_tasks, n = blobs.labels.shape

    def scores(C_w, C_u):
        settings = {"tol": 1e-7, "max_iter": 1, "calibration_folds": 0, "random_state": 0}
        model = MultitaskSDCA(10.0, lam=1 / (C_w * n), mu=1 / (C_u * n * n_tasks), **settings)
        return model.fit(blobs.X, blobs.y).decision_function(blobs.X)

    np.testing.assert_allclose(scores(1e-5, 1e6), scores(2e-5, 2.5e5), atol=2e-3)


def test_few_dims_mean_low_rank(many_blobs):
    data = many_blobs(n_pictures=120, n_dims=8, n_classes=6)
    full = MultitaskSDCA(C=1.0, calibration_folds=0, random_state=0).fit(data.X, data.y)
    model = MultitaskSDCA(C=1.0, n_dims=2, calibration_folds=0, random_state=0).fit(data.X, data.y)
    weights = np.hstack([model.coef_, model.intercept_[:, None]])
    assert np.linalg.matrix_rank(weights, tol=1e-6 * np.abs(weights).max()) <= 2
    assert np.linalg.matrix_rank(full.coef_) > 2


def test_a_map_hardly_penalised_gives_back_the_ranking_of_one_vs_all(many_blobs):
    # With separable classes and mu, lam -> 0 both are hard-margin machines; their functions agree up to scale.
    data = many_blobs(n_pictures=60, n_dims=40, n_classes=3, spread=0.3)
    alone = SDCAClassifier(C=1e4, calibration_folds=0, intercept_scaling=0, random_state=0).fit(data.X, data.y)
    together = MultitaskSDCA(C=1e4, lam=1e-7, calibration_folds=0, intercept_scaling=0, random_state=0)
    together.fit(data.X, data.y)
    for a, b in zip(alone.decision_function(data.X).T, together.decision_function(data.X).T, strict=True):
        assert np.corrcoef(a, b)[0, 1] > 0.99


def test_folded_weights_equal_the_expansion(blobs):
    G = blobs.X @ blobs.X.T
    linear = MultitaskSDCA(C=2.0, tol=1e-6, calibration_folds=0, random_state=0).fit(blobs.X, blobs.y)
    given = MultitaskSDCA(C=2.0, tol=1e-6, calibration_folds=0, random_state=0, kernel="precomputed").fit(G, blobs.y)
    np.testing.assert_allclose(given.decision_function(G), linear.decision_function(blobs.X), atol=0.05)
    np.testing.assert_array_equal(given.predict(G), linear.predict(blobs.X))


def two_views(seed=0, n=80):
    """Classes and tags that say the same, so each can help the other."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 4
    tags = np.stack([y < 2, y % 2 == 0, rng.random(n) < 0.3], axis=1).astype(float)
    tags[:, 2] = np.maximum(tags[:, 2], tags[:, :2].sum(axis=1) == 0)  # every row has a tag
    X = rng.normal(size=(4, 5))[y] + 0.5 * rng.normal(size=(n, 5))
    return X, y, tags


def test_of_very_many_tags_the_rare_ones_are_learned_alone():
    X, y, tags = two_views()
    tags[::8] = 0  # not tagged
    rest = np.column_stack([tags, np.roll(tags, 1, axis=1) * (np.arange(80) % 5 == 0)[:, None]])
    work = (4 + 2) * 80**2
    model = MultitaskSDCA(C=3.0, max_work=work, random_state=0).fit(X, y=y, tags=rest)
    counts = rest.sum(axis=0)
    alone = np.setdiff1d(np.arange(6), model.shared_tags_)
    assert len(model.shared_tags_) == 2
    assert counts[model.shared_tags_].min() >= counts[alone].max()
    assert model.task_similarity_.shape == (6, 6)
    # The others are least-squares machines of the tagged pictures.
    tagged = rest.any(axis=1)
    G = X[tagged] @ X[tagged].T + 1
    theta = np.linalg.solve(G + np.eye(len(G)) / 3.0, 2 * rest[np.ix_(tagged, alone)] - 1)
    expected = (X @ X[tagged].T + 1) @ theta
    np.testing.assert_allclose(model._tag_scores(X)[:, alone], expected, atol=1e-6)
    assert model.score_tags(X).shape == (80, 6)
    assert model.score(X, y) > 0.8
    bare = MultitaskSDCA(C=3.0, max_work=work, calibration_folds=0, random_state=0).fit(X, y=y, tags=rest)
    np.testing.assert_allclose(bare.score_tags(X)[:, alone], expected, atol=1e-6)


def test_classes_and_tags_in_one_model():
    X, y, tags = two_views()
    model = MultitaskSDCA(C=1.0, random_state=0).fit(X, y=y, tags=tags)
    assert model.score(X, y) > 0.8
    scores = model.score_tags(X)
    assert scores.shape == tags.shape
    for t in range(2):
        assert scores[tags[:, t] == 1, t].min() > scores[tags[:, t] == 0, t].min()
    assert model.task_similarity_.shape == (7, 7)
    np.testing.assert_allclose(np.diag(model.task_similarity_), 1)


def test_unlabelled_pictures_take_no_part():
    X, y, tags = two_views()
    extra = np.vstack([X, 100 * np.ones((5, X.shape[1]))])
    for kernel in ("linear", "hellinger"):
        with_extra = MultitaskSDCA(kernel=kernel, random_state=0).fit(
            extra, y=np.append(y, [-1] * 5), tags=np.vstack([tags, np.zeros((5, 3))])
        )
        without = MultitaskSDCA(kernel=kernel, random_state=0).fit(X, y=y, tags=tags)
        np.testing.assert_allclose(with_extra.decision_function(X), without.decision_function(X))
        np.testing.assert_allclose(with_extra.score_tags(X), without.score_tags(X))


def test_partial_labels_each_serve_their_own_tasks():
    X, y, tags = two_views()
    y, tags = y.copy(), tags.copy()
    y[::3], tags[1::3] = -1, 0
    model = MultitaskSDCA(C=1.0, random_state=0).fit(X, y=y, tags=sparse.csr_array(tags))
    assert model.score(X[y >= 0], y[y >= 0]) > 0.8
    assert np.isfinite(model.score_tags(X)).all()


def test_classes_alone_and_tags_alone():
    X, y, tags = two_views()
    classes_alone = MultitaskSDCA(random_state=0).fit(X, y)
    with pytest.raises(InputError, match="classes only"):
        classes_alone.score_tags(X)
    tags_alone = MultitaskSDCA(random_state=0).fit(X, tags)  # a matrix of indicators is tags
    with pytest.raises(InputError, match="tags only"):
        tags_alone.decision_function(X)
    assert tags_alone.predict(X).shape == tags.shape
    assert tags_alone.score(X, tags) > 0.8
    np.testing.assert_allclose(tags_alone.score_tags(X), MultitaskSDCA(random_state=0).fit(X, tags=tags).score_tags(X))


def test_tag_scores_are_normalised_on_held_out_pictures():
    X, _, tags = two_views(n=200)
    power = MultitaskSDCA(random_state=0, tag_power=1.0).fit(X, tags=tags)
    raw = MultitaskSDCA(random_state=0, calibration_folds=0).fit(X, tags=tags)
    np.testing.assert_allclose(power.score_tags(X) * power.tag_scales_ + power.tag_means_, raw.score_tags(X), atol=1e-6)
    assert (power.tag_scales_ > 0).all()


def test_more_classes_than_pictures_of_them_and_bad_parameters(blobs):
    X = np.eye(6)
    model = MultitaskSDCA(C=10.0, calibration_folds=2, random_state=0).fit(X, np.arange(6))  # one picture a class
    assert np.isfinite(model.predict_proba(X)).all()
    for parameters in ({"C": 0.0}, {"mu": -1.0}, {"n_dims": 9}, {"kernel": "rbf"}, {"loss": "zero"}, {"tol": 0.0}):
        with pytest.raises(InputError):
            MultitaskSDCA(**parameters).fit(blobs.X, blobs.y)


def test_stacked_is_two_layers_in_one(blobs):
    model = StackedSDCA(C=1.0, C_second=2.0, calibration_folds=0, random_state=0).fit(blobs.X, blobs.y)
    products = GramInnerProducts(blobs.X @ blobs.X.T, 1.0)
    tasks = Problem(products, blobs.labels, np.ones(blobs.labels.shape), HINGE)
    first = solve(tasks, rng=np.random.default_rng(0))
    # The second layer's functions are combinations of the first's.
    combined = np.linalg.lstsq(first.scores.T, model.decision_function(blobs.X), rcond=None)
    assert np.abs(first.scores.T @ combined[0] - model.decision_function(blobs.X)).max() < 0.1
    assert model.score(blobs.X, blobs.y) > 0.5


def test_squared_loss_in_closed_form_is_what_coordinate_ascent_comes_to(blobs, monkeypatch):
    settings = {"C": 2.0, "loss": "squared", "tol": 1e-7, "max_iter": 4, "calibration_folds": 0, "random_state": 0}
    for features in ({"X": blobs.X}, {"X": blobs.X @ blobs.X.T, "kernel": "precomputed"}):
        X = features.pop("X")
        formula = MultitaskSDCA(**settings, **features).fit(X, blobs.y)
        with monkeypatch.context() as patch:
            patch.setattr(alternation, "is_closed", lambda *_: False)
            ascent = MultitaskSDCA(**settings, **features).fit(X, blobs.y)
        np.testing.assert_allclose(formula.objective_, ascent.objective_, rtol=1e-4)
        np.testing.assert_allclose(formula.decision_function(X), ascent.decision_function(X), atol=5e-3)
        assert (np.diff(formula.objective_) <= 1e-12).all()


@pytest.mark.parametrize("scale", [1.0, 1e-14])
@pytest.mark.parametrize("n_pictures", [2, 5], ids=["fewer pictures", "fewer features"])
def test_the_spectrum_leaves_out_what_is_tiny_beside_the_largest_eigenvalue(n_pictures, scale):
    X = np.zeros((n_pictures, 3))
    X[0, 0], X[1, 1] = np.sqrt([scale, 1e-13 * scale])
    for products in (FeatureInnerProducts(X), GramInnerProducts(X @ X.T)):
        spectrum = Spectrum.of(products)
        np.testing.assert_allclose(spectrum.values, [scale])
        np.testing.assert_allclose(np.abs(spectrum.vectors[:, 0]), np.eye(n_pictures)[0], atol=1e-6)


def test_the_spectrum_of_pictures_without_features_is_empty():
    for products in (FeatureInnerProducts(np.zeros((4, 2))), GramInnerProducts(np.zeros((4, 4)))):
        assert Spectrum.of(products).vectors.shape == (4, 0)


def test_warm_start_ends_at_the_same_objective(blobs):
    settings = {"mu": 1e-3, "tol": 1e-5, "calibration_folds": 0, "random_state": 0, "max_iter": 3}
    model = MultitaskSDCA(C=1.0, warm_start=True, **settings).fit(blobs.X, blobs.y)
    again = model.set_params(C=2.0).fit(blobs.X, blobs.y)
    cold = MultitaskSDCA(C=2.0, **settings).fit(blobs.X, blobs.y)
    assert again.objective_[-1] == pytest.approx(cold.objective_[-1], rel=1e-3)
    assert not hasattr(cold, "duals_")
    fewer = model.fit(blobs.X[:60], blobs.y[:60])  # other pictures: nothing to start from
    assert fewer.duals_["map"].shape == (3, 60)


@pytest.mark.parametrize("method", [MultitaskSDCA, StackedSDCA])
def test_weights_of_pictures_are_copies(blobs, method):
    weight = 1 + np.arange(len(blobs.y)) // 3 % 2
    n, copies = len(blobs.y), np.repeat(np.arange(len(blobs.y)), weight)
    settings = {"C": 0.5, "tol": 1e-6, "calibration_folds": 0, "random_state": 0}
    if method is MultitaskSDCA:  # the paper's regularisers are relative to the number of pictures
        settings |= {"max_iter": 2}
        weighted = method(lam=1 / n, mu=1 / (3 * n), **settings)
        copied = method(lam=1 / len(copies), mu=1 / (3 * len(copies)), **settings)
    else:
        weighted, copied = method(**settings), method(**settings)
    weighted.fit(blobs.X, blobs.y, picture_weight=weight)
    copied.fit(blobs.X[copies], blobs.y[copies])
    np.testing.assert_allclose(
        weighted.decision_function(blobs.X), copied.decision_function(blobs.X), rtol=2e-2, atol=2e-2
    )
    with pytest.raises(InputError, match="picture_weight"):
        weighted.fit(blobs.X, blobs.y, picture_weight=np.ones(3))
