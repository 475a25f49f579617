"""Refinement: derivatives are those of finite differences, and the labels' likelihood rises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime
from scipy.special import digamma, polygamma, softmax

from visterm.compute.threads import one_blas_thread
from visterm.topics import (
    JointTopics,
    Labelled,
    RefinedSupervisedLDA,
    RefinedTopics,
    SupervisedLDA,
    infer_topics,
    roots,
    starting_gamma,
)
from visterm.topics.inference._kernels_refine import propagate_back
from visterm.topics.inference.em import Bags
from visterm.topics.inference.joint_model import mean_assignments
from visterm.topics.inference.refine import (
    SWEEPS,
    RootScale,
    _Adam,
    _by_logits,
    _probabilities,
    _thinned,
    label_likelihood,
    label_value,
    refine,
    slopes_of_roots,
    sweep,
    topic_gradient,
)

RIDGE, SMOOTHING = 0.1, 0.01


@pytest.fixture(autouse=True)
def _one_core():
    with one_blas_thread():
        yield


def problem(seed, n_pictures=12, n_topics=4):
    rng = np.random.default_rng(seed)
    bags = sparse.csr_array(rng.poisson(2.0, (n_pictures, 8)).astype(float))
    tags = sparse.csr_array((rng.random((n_pictures, 3)) < 0.4).astype(np.float32))
    data = Labelled(bags, rng.integers(-1, 3, n_pictures), rng.uniform(0.5, 2, n_pictures), tags)
    model = RefinedTopics(
        rng.dirichlet(np.ones(8), n_topics),
        rng.dirichlet(np.ones(3), n_topics),
        rng.normal(size=(3, n_topics)),
        rng.uniform(0.2, 2, n_topics),
        np.zeros(3),
    )
    return data, model


def state(seed, data, model):
    """Somewhere on the way: the scale of the roots, and what climbs."""
    gamma = infer_topics(data.bags, model.codewords, model.alpha).gamma
    coefficients = np.random.default_rng(seed).normal(size=(3, 5))
    scale = RootScale.of(mean_assignments(gamma, data.bags, model.alpha))
    return scale, JointTopics(model.codewords, model.tags, coefficients, model.alpha)


def value(data, scale, at, start):
    gamma = sweep(data.bags, at, start)[:, -1]
    return label_value(data, gamma, scale, at, RIDGE, SMOOTHING)


def held_out_score(unseen):
    def look(model):
        gamma = infer_topics(unseen.bags, model.codewords, model.alpha).gamma
        coefficients = np.column_stack([model.coefficients, model.intercepts / 2.5])
        at = JointTopics(model.codewords, model.tags, coefficients, model.alpha)
        unit = RootScale(np.zeros(4), np.ones(4))
        return label_value(unseen, gamma, unit, at, 0.0, 0.0)[0]

    return look


@pytest.mark.parametrize("n_topics", [2, 5])
def test_sweeps_are_those_of_inference(n_topics):
    data, model = problem(0, n_topics=n_topics)
    start = starting_gamma(data.bags, model.alpha)
    found = sweep(data.bags, model, start)
    np.testing.assert_array_equal(found[:, 0], start)
    for n in range(1, SWEEPS + 1):
        expected = infer_topics(data.bags, model.codewords, model.alpha, max_sweeps=n, tolerance=0).gamma
        np.testing.assert_allclose(found[:, n], expected, rtol=1e-10)


@pytest.mark.parametrize("n_topics", [2, 5])
def test_the_kernel_equals_its_definition(n_topics):
    data, model = problem(0, n_topics=n_topics)
    start, upstream = starting_gamma(data.bags, model.alpha), np.random.default_rng(1).normal(size=(12, n_topics))
    expected = np.zeros((8, n_topics))
    for d, row in enumerate(data.bags.toarray()):
        words = np.flatnonzero(row)
        counts, likelihood = row[words], model.codewords.T[words]
        gammas = [start[d]]
        for _ in range(SWEEPS):
            weights = np.exp(digamma(gammas[-1]))
            gammas.append(model.alpha + weights * ((counts / (likelihood @ weights)) @ likelihood))
        above = upstream[d]
        for gamma in gammas[-2::-1]:
            weights = np.exp(digamma(gamma))
            total = likelihood @ weights
            inner = above * weights
            pull = -(likelihood @ inner) * counts / total**2
            expected[words] += np.outer(counts / total, inner) + np.outer(pull, weights)
            shares = (counts / total) @ likelihood
            above = (above * shares + pull @ likelihood) * weights * polygamma(1, gamma)
    found = np.zeros((8, n_topics))
    bags, likelihood = data.bags, np.ascontiguousarray(model.codewords.T)
    gammas = sweep(bags, model, start)
    propagate_back(Bags(bags.indptr, bags.indices, bags.data), likelihood, model.alpha, gammas, upstream, found)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["codewords", "coefficients", "tags"])
def test_gradients_are_those_of_finite_differences(seed, name):
    data, model = problem(seed)
    scale, at = state(seed, data, model)
    start = infer_topics(data.bags, model.codewords, model.alpha, max_sweeps=1).gamma
    _, by_gamma, slopes = value(data, scale, at, start)
    if name == "codewords":
        gammas = sweep(data.bags, at, start)
        gradient = topic_gradient(data.bags, at, gammas, by_gamma)
    else:
        gradient = getattr(slopes, name)
    for place in [(0, 0), (1, 2), (2, 1), (2, 2)]:
        step = np.zeros(gradient.shape)
        step[place] = 1e-6
        above = value(data, scale, replace(at, **{name: getattr(at, name) + step}), start)[0]
        below = value(data, scale, replace(at, **{name: getattr(at, name) - step}), start)[0]
        assert gradient[place] == pytest.approx((above - below) / 2e-6, rel=1e-4, abs=1e-5)


def test_pictures_of_one_token_teach_topics():
    data, model = problem(0, n_pictures=8)
    data = replace(data, bags=sparse.csr_array(np.eye(8)))
    scale, at = state(0, data, model)
    start = starting_gamma(data.bags, model.alpha)
    _, by_gamma, _ = value(data, scale, at, start)
    gammas = sweep(data.bags, at, start)
    gradient = topic_gradient(data.bags, at, gammas, by_gamma)
    assert np.abs(gradient).max() > 0.1
    for place in [(0, 0), (1, 2), (3, 7)]:
        step = np.zeros(gradient.shape)
        step[place] = 1e-6
        above, below = (
            value(data, scale, replace(at, codewords=at.codewords + sign * step), start)[0] for sign in (1, -1)
        )
        assert gradient[place] == pytest.approx((above - below) / 2e-6, rel=1e-4, abs=1e-5)


def test_steps_of_a_steady_climb_depend_on_the_rate_alone():
    climber = _Adam(np.zeros(3), 0.5, 4)
    expected = 0.0
    for step in range(1, 5):
        climber.climb(np.array([2.0, -1e-3, 300.0]))
        expected += 0.5 * (1 + np.cos(np.pi * step / 4)) / 2
        np.testing.assert_allclose(climber.value, expected * np.array([1, -1, 1]), rtol=1e-6)


def test_refinement_raises_the_likelihood_of_the_labels():
    data, model = problem(4, n_pictures=40)
    refined, objective = refine(
        data, model, n_passes=60, ridge=RIDGE, smoothing=SMOOTHING, random=np.random.RandomState(0)
    )
    unrefined, _ = refine(data, model, n_passes=0, ridge=RIDGE, smoothing=SMOOTHING, random=np.random.RandomState(0))
    look = held_out_score(data)
    assert look(refined) > look(unrefined) + 3
    assert objective[-10:].mean() > objective[:10].mean()
    np.testing.assert_allclose(refined.codewords.sum(axis=1), 1)
    np.testing.assert_allclose(refined.tags.sum(axis=1), 1)


def test_held_out_pictures_choose_the_model():
    data, model = problem(4, n_pictures=60)
    unseen, _ = problem(5, n_pictures=60)
    look = held_out_score(unseen)
    settings = {"n_passes": 30, "ridge": RIDGE, "smoothing": SMOOTHING}
    chosen, _ = refine(data, model, **settings, random=np.random.RandomState(0), score=look)
    last, _ = refine(data, model, **settings, random=np.random.RandomState(0))
    assert look(chosen) >= look(last)


def run(data, model, *, n_passes=1, step=0.5, score=None):
    return refine(
        data,
        model,
        n_passes=n_passes,
        ridge=RIDGE,
        smoothing=SMOOTHING,
        random=np.random.RandomState(0),
        score=score,
        step=step,
    )


def scale_of(data, model):
    gamma = infer_topics(data.bags, model.codewords, model.alpha).gamma
    return RootScale.of(mean_assignments(gamma, data.bags, model.alpha)[data.classes >= 0])


def assert_same(found, expected, **tolerance):
    for part in ("codewords", "tags", "coefficients", "intercepts"):
        np.testing.assert_allclose(getattr(found, part), getattr(expected, part), **tolerance)


def with_more(data, bags, classes, tags):
    """The pictures, and some more."""
    return Labelled(
        sparse.csr_array(sparse.vstack([data.bags, bags])),
        np.append(data.classes, np.full(bags.shape[0], classes)),
        np.append(data.class_weights, np.ones(bags.shape[0])),
        sparse.csr_array(sparse.vstack([data.tags, tags])),
    )


def test_a_pass_begins_with_the_value_of_the_model_it_continues(monkeypatch):
    monkeypatch.setattr("visterm.topics.inference.refine._KEPT_SHARE", 1.0)  # no codeword is left out
    data, model = problem(6)
    model = replace(model, intercepts=np.array([0.3, -0.2, 0.1]))
    scale, gamma = scale_of(data, model), infer_topics(data.bags, model.codewords, model.alpha).gamma
    start = JointTopics(model.codewords, model.tags, scale.scaled(model.coefficients, model.intercepts), model.alpha)
    found, objective = run(data, model)
    np.testing.assert_allclose(objective, [value(data, scale, start, gamma)[0]], rtol=1e-9)
    assert_same(found, model, atol=1e-9)  # steps shrink to zero: the last and only one is as short


def test_steps_are_those_of_adam_at_the_rates_of_topics_and_coefficients(monkeypatch):
    monkeypatch.setattr("visterm.topics.inference.refine._BATCH_PICTURES", 6)
    data, model = problem(7)  # two batches of six: the first step is half as long as the rate, the second is none
    data = replace(data, classes=np.arange(12) % 3)
    found, objective = run(data, model)
    assert len(objective) == 1
    scale = scale_of(data, model)
    moved = scale.scaled(found.coefficients, found.intercepts) - scale.scaled(model.coefficients, model.intercepts)
    np.testing.assert_allclose(np.abs(moved), 0.5 * 0.5 * 0.02, rtol=1e-6)
    for part in ("codewords", "tags"):
        change = np.log(getattr(found, part) / getattr(model, part))
        np.testing.assert_allclose(np.ptp(change, axis=1), 0.5 * 0.05, rtol=1e-6)  # some go up, some down


def test_a_step_raises_the_value_of_the_labels(monkeypatch):
    monkeypatch.setattr("visterm.topics.inference.refine._KEPT_SHARE", 1.0)
    data, model = problem(8)
    _, objective = run(data, model, n_passes=30, step=0.2)
    assert (np.diff(objective) > 0).all()


def test_pictures_that_say_nothing_about_labels_change_nothing():
    data, model = problem(9)
    found, objective = run(data, model, n_passes=3)
    without_labels = with_more(data, data.bags[:4], -1, sparse.csr_array((4, 3)))
    empty = with_more(data, sparse.csr_array((2, 8)), -1, sparse.csr_array(np.ones((2, 3), np.float32)))
    for more in (without_labels, empty):
        same, values = run(more, model, n_passes=3)
        np.testing.assert_allclose(values, objective)
        assert_same(same, found)


def test_one_label_and_one_codeword_are_enough_to_learn_from():
    data, model = problem(10, n_pictures=8)
    no_tags, single = sparse.csr_array((8, 3), dtype=np.float32), sparse.csr_array(np.eye(8, 3, dtype=np.float32))
    for bags, classes, tags in (
        (data.bags, 0, no_tags),
        (data.bags, -1, single),
        (sparse.csr_array(np.eye(8)), 1, no_tags),
    ):
        little = Labelled(bags, np.full(8, classes), np.ones(8), tags)
        found, _ = run(little, model, n_passes=3)
        assert np.abs(found.codewords - model.codewords).max() > 1e-3


@pytest.mark.parametrize("step", [0.5, 1.0])
def test_labels_of_empty_pictures_alone_refine_nothing(step):
    data, model = problem(11, n_pictures=3)
    nothing = replace(data, bags=sparse.csr_array((3, 8)), classes=np.array([0, 1, 2]))
    found, objective = run(nothing, model, n_passes=2, step=step)
    assert objective.tolist() == [0, 0]
    np.testing.assert_allclose(found.codewords, model.codewords)


def test_a_first_refinement_forgets_the_coefficients_and_ends_with_the_best_ones():
    data, model = problem(12)
    found, objective = run(data, model, n_passes=4, step=1.0)
    assert len(objective) == 4
    assert_same(run(data, replace(model, coefficients=np.zeros((3, 4))), n_passes=4, step=1.0)[0], found)
    scale, gamma = scale_of(data, model), infer_topics(data.bags, found.codewords, found.alpha).gamma
    at = JointTopics(found.codewords, found.tags, scale.scaled(found.coefficients, found.intercepts), found.alpha)
    slopes = label_value(data, gamma, scale, at, RIDGE, SMOOTHING)[2]
    assert np.abs(slopes.coefficients).max() < 1e-2
    again, _ = run(data, found, n_passes=4, step=0.5)
    assert np.abs(again.coefficients - found.coefficients).max() > 1e-6


def test_without_tags_the_tags_of_topics_stay():
    data, model = problem(13)
    untagged = replace(data, tags=sparse.csr_array((12, 3), dtype=np.float32))
    np.testing.assert_array_equal(run(untagged, model, n_passes=0, step=1.0)[0].tags, model.tags)
    tagged = run(data, model, n_passes=0, step=1.0)[0]
    assert label_likelihood(replace(data, classes=np.full(12, -1)), tagged) > label_likelihood(
        replace(data, classes=np.full(12, -1)), model
    )


@pytest.mark.parametrize(
    ("scores", "n_passes", "best"),
    [
        ([5, 1, 2, 3], 10, 0),  # never better than the start
        ([1, 1, 1, 1], 10, 0),  # of equal scores the first
        ([0, 1, 0, 0.5, 9], 15, 1),
        ([0, 1, 0, 2, 1, 1.5, 9], 25, 3),
        ([0, 1, 2, 3, 4, 5, 6], 30, 6),
    ],
)
def test_refinement_ends_after_two_scores_without_a_rise_and_keeps_the_best_model(scores, n_passes, best):
    seen, given = [], iter(scores)

    def look(model):
        seen.append(model)
        return float(next(given))

    data, model = problem(14)
    found, objective = run(data, model, n_passes=30, score=look)
    assert len(objective) == n_passes
    assert_same(found, seen[best])
    assert np.abs(found.codewords - seen[best - 1].codewords).max() > 1e-6


@pytest.mark.parametrize("rooted", [False, True])
def test_the_likelihood_of_labels_by_hand(rooted):
    data, model = problem(15)
    intercepts = np.array([0.3, -0.2, 0.1]) if rooted else np.zeros(3)
    parts = model.codewords, model.tags, model.coefficients, model.alpha
    model = RefinedTopics(*parts, intercepts) if rooted else JointTopics(*parts)
    phibar = mean_assignments(infer_topics(data.bags, model.codewords, model.alpha).gamma, data.bags, model.alpha)
    expected = 0.0
    for row, own, weight, tags in zip(phibar, data.classes, data.class_weights, data.tags.toarray(), strict=True):
        scores = model.coefficients @ (roots(row) if rooted else row) + intercepts
        expected += weight * (scores[own] - np.log(np.exp(scores).sum())) if own >= 0 else 0
        expected += np.log(row @ model.tags[:, tags > 0]).sum()
    assert label_likelihood(data, model) == pytest.approx(expected)
    untagged = replace(data, tags=sparse.csr_array((12, 0), dtype=np.float32))
    without = replace(model, coefficients=np.zeros((0, 4)), tags=np.zeros((4, 0)))
    assert label_likelihood(untagged, without) == 0


def test_an_empty_picture_has_no_derivative():
    data, model = problem(16)
    scale, at = state(16, data, model)
    empty = replace(data, bags=sparse.csr_array((12, 8)))
    _, by_gamma, _ = label_value(empty, np.tile(model.alpha, (12, 1)), scale, at, RIDGE, SMOOTHING)
    assert not by_gamma.any()


def test_derivatives_by_logits_are_those_of_finite_differences():
    rng = np.random.default_rng(0)
    logits, slope = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    found = _by_logits(slope, _probabilities(logits))
    np.testing.assert_allclose(_probabilities(logits), softmax(logits, axis=1))
    expected = approx_fprime(logits.ravel(), lambda flat: (slope * softmax(flat.reshape(2, 3), axis=1)).sum())
    np.testing.assert_allclose(found.ravel(), expected, atol=1e-6)
    np.testing.assert_array_equal(
        _probabilities(np.array([[800.0, 0.0], [-800.0, -900.0]])), [[1, 0], [1, np.exp(-100)]]
    )


def test_steps_follow_the_mean_of_the_gradients():
    climber, rate = _Adam(np.zeros(2), 1.0, 4), [(1 + np.cos(np.pi * n / 4)) / 2 for n in (1, 2)]
    gradients = np.array([[1.0, -2.0], [3.0, 2.0]])
    for gradient in gradients:
        climber.climb(gradient)
    mean = (0.9 * 0.1 * gradients[0] + 0.1 * gradients[1]) / (1 - 0.9**2)
    square = (0.99 * 0.01 * gradients[0] ** 2 + 0.01 * gradients[1] ** 2) / (1 - 0.99**2)
    np.testing.assert_allclose(climber.value, rate[0] * np.sign(gradients[0]) + rate[1] * mean / np.sqrt(square))


def test_thinned_pictures_are_right_on_average():
    data, _ = problem(1)
    random = np.random.RandomState(0)
    mean = sum(_thinned(data, random).bags.toarray() for _ in range(4000)) / 4000
    np.testing.assert_allclose(mean, data.bags.toarray(), atol=0.45)
    one = _thinned(data, random).bags
    assert set((one.toarray() / np.maximum(data.bags.toarray(), 1)).ravel()) == {0.0, 2.0}
    one.check_format(full_check=True)


def test_roots_have_finite_slopes():
    assert roots(np.zeros(2)).tolist() == [0.0, 0.0]
    assert roots(np.array([0.25]))[0] == pytest.approx(0.5, abs=1e-5)
    at, step = np.array([0.0, 1e-6, 0.3]), 1e-9
    np.testing.assert_allclose(slopes_of_roots(at), (roots(at + step) - roots(at)) / step, rtol=1e-3)


def test_standardised_coefficients_score_as_those_of_the_roots():
    proportions = np.random.default_rng(0).dirichlet(np.ones(4), 20)
    scale, coefficients = RootScale.of(proportions), np.random.default_rng(1).normal(size=(3, 5))
    features = scale.features(proportions)
    np.testing.assert_allclose(features[:, :4].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(features[:, :4].std(axis=0), 1, rtol=2e-2)
    by_root, intercepts = scale.unscaled(coefficients)
    np.testing.assert_allclose(roots(proportions) @ by_root.T + intercepts, features @ coefficients.T)


def test_refinement_depends_on_the_seed_alone():
    data, _ = problem(0, n_pictures=30)
    X, y = data.bags.toarray(), np.arange(30) % 3
    one, same, other = (RefinedSupervisedLDA(3, refine=5, random_state=seed).fit(X, y) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.topic_codewords_, same.topic_codewords_)
    assert not np.array_equal(one.topic_codewords_, other.topic_codewords_)


def test_five_iterations_of_em_come_before_refinement():
    data, _ = problem(0, n_pictures=30)
    X, y = data.bags.toarray(), np.arange(30) % 3
    assert RefinedSupervisedLDA(3, refine=2, tol=0, random_state=0).fit(X, y).n_iter_ == 5
    assert RefinedSupervisedLDA(3, refine=2, tol=0, max_iter=2, random_state=0).fit(X, y).n_iter_ == 2
    assert SupervisedLDA(3, tol=0, max_iter=8, random_state=0).fit(X, y).n_iter_ == 8
