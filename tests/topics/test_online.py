"""Batches: they continue a fit, count as much as they should, and teach refined models too."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.special import softmax

from visterm.compute.threads import one_blas_thread
from visterm.topics import (
    Labelled,
    RefinedCorrLDA,
    RefinedSupervisedLDA,
    TopicStatistics,
    improve_coefficients,
    infer_labelled,
    infer_topics,
    normalised,
)
from visterm.topics.inference.online import OnlineStatistics
from visterm.topics.inference.refine import refine


@pytest.fixture(autouse=True)
def _one_core():
    with one_blas_thread():
        yield


def collection(seed=0, n_pictures=60):
    """Three classes with codewords of their own, and a tag for each."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_pictures) % 3
    rates = np.full((n_pictures, 12), 0.5)
    for c in range(3):
        rates[y == c, 4 * c : 4 * c + 4] += 2
    return rng.poisson(rates) + 0.0, y, np.eye(3, dtype=np.float32)[y]


MODELS = {
    "slda": RefinedSupervisedLDA(3, refine=0, random_state=0),
    "slda-refined": RefinedSupervisedLDA(3, refine=3, random_state=0),
    "corr-lda": RefinedCorrLDA(3, refine=0, random_state=0),
    "corr-lda-refined": RefinedCorrLDA(3, refine=3, random_state=0),
}


def new(name):
    return MODELS[name].__class__(**MODELS[name].get_params())


def labels(model, y, tags):
    return (tags,) if isinstance(model, RefinedCorrLDA) else (y, tags)


def statistics_of(model, X, tags):
    """The expected counts of codewords in a batch: ten times the sweeps of an iteration."""
    data, topics = Labelled.without_classes(sparse.csr_array(X), sparse.csr_array(tags)), model._model()
    gamma = infer_topics(data.bags, topics.codewords, topics.alpha).gamma
    return infer_labelled(data, topics, gamma, max_sweeps=20).statistics.codewords


def sums(n_pictures, value):
    return TopicStatistics(n_pictures, -1.0, np.full((2, 3), value * n_pictures), np.zeros(2), np.zeros((2, 0)))


def test_the_weight_of_batches_falls_and_grows_with_their_size():
    online = OnlineStatistics.none(sums(10, 1.0))
    steps = []
    for n in range(6):
        steps.append(online.step(10))
        online = online.including(sums(10, float(n)))
    np.testing.assert_allclose(steps, [1.0] + [(t + 2) ** -0.6 for t in range(1, 6)])
    assert online.step(1) < online.step(10) < online.step(100) < 1
    assert online.including(sums(0, 1.0)) is online


def test_the_average_is_that_of_the_weights():
    online = OnlineStatistics.of(sums(10, 1.0))
    step = online.step(20)
    online = online.including(sums(20, 7.0))
    np.testing.assert_allclose(online.average.codewords, (1 - step) * 1.0 + step * 7.0)
    assert online.average.n_pictures == 30
    np.testing.assert_allclose(online.total.codewords, 30 * online.average.codewords)
    known = OnlineStatistics(1, online.average, 500)
    np.testing.assert_allclose(known.total.codewords, 500 * online.average.codewords)
    assert known.total.n_pictures == 500
    assert OnlineStatistics.unpacked(known.packed()).n_total == 500


def test_nothing_is_known_before_the_first_batch_and_single_pictures_count():
    none = OnlineStatistics.none(sums(10, 1.0))
    assert (none.n_batches, none.n_pictures, none.average.bound) == (0, 0, 0)
    assert not none.total.codewords.any()
    one = none.including(sums(1, 4.0))
    assert (one.n_batches, one.n_pictures) == (1, 1)
    np.testing.assert_allclose(one.total.codewords, 4)
    two = one.including(sums(1, 6.0))
    assert (two.n_batches, two.n_pictures) == (2, 2)
    np.testing.assert_allclose(two.average.codewords, 4 + 3**-0.6 * 2)
    assert two.step(0) == 1


@pytest.mark.parametrize("name", MODELS)
def test_batches_continue_a_fit_and_a_fit_forgets_batches(name):
    X, y, tags = collection()
    more_X, more_y, more_tags = collection(1, 6)
    model = new(name).fit(X, *labels(MODELS[name], y, tags))
    before = model.topic_codewords_.copy()
    model.partial_fit(more_X, *labels(model, more_y, more_tags))
    moved = np.abs(model.topic_codewords_ - before).max()
    assert 0 < moved < 0.1  # the six pictures are a tenth of those before
    again = new(name)
    for rows in (slice(0, 9), slice(9, 30)):
        again.partial_fit(X[rows, ::-1], *labels(model, y[rows], tags[rows]))
    again.fit(X, *labels(model, y, tags)).partial_fit(more_X, *labels(model, more_y, more_tags))
    np.testing.assert_array_equal(again.topic_codewords_, model.topic_codewords_)
    np.testing.assert_array_equal(again.score_tags(X), model.score_tags(X))
    np.testing.assert_array_equal(model.tag_counts_, (tags.sum(axis=0) + more_tags.sum(axis=0)))


def test_topics_after_a_batch_are_those_of_the_averaged_statistics():
    X, _, tags = collection()
    more, _, more_tags = collection(1, 20)
    model = new("corr-lda").fit(X, tags)
    average, batch = OnlineStatistics.unpacked(model.online_).average.codewords, statistics_of(model, more, more_tags)
    step = (60 / 20 + 2) ** -0.6
    mixed = (1 - step) * average + step * batch / 20
    np.testing.assert_allclose(model.partial_fit(more, more_tags).topic_codewords_, normalised(80 * mixed, 0.01))
    model = new("corr-lda").fit(X, tags).partial_fit(more, more_tags, n_total=7000)
    np.testing.assert_allclose(model.topic_codewords_, normalised(7000 * mixed, 0.01))


@pytest.mark.parametrize("n_total", [None, 1000])
def test_coefficients_go_the_batch_s_share_of_the_way_to_its_optimum(n_total):
    X, y, _ = collection()
    model = RefinedSupervisedLDA(3, refine=0, max_sweeps=5, random_state=0).fit(X[:40], y[:40])
    before = model._model()
    bags = sparse.csr_array(X[40:])
    data = model._labelled(bags, np.ones(20, bool), y[40:], sparse.csr_array((20, 0)))
    gamma = infer_topics(bags, before.codewords, before.alpha).gamma
    inferred = infer_labelled(data, before, gamma, max_sweeps=50)  # ten times those of an iteration
    best = improve_coefficients(inferred, before.coefficients, 0.01 * 20 / (n_total or 60))
    step = (40 / 20 + 2) ** -0.6
    model.partial_fit(X[40:], y[40:], n_total=n_total)
    np.testing.assert_allclose(model.class_coefficients_, before.coefficients + step * (best - before.coefficients))
    assert np.abs(model.class_coefficients_ - best).max() > 0.1


@pytest.mark.parametrize("name", ["slda", "slda-refined"])
def test_batches_teach_about_what_a_fit_does(name):
    X, y, tags = collection(n_pictures=240)
    test_X, test_y, _ = collection(1)
    model = new(name)
    for rows in np.array_split(np.arange(240), 6):
        model.partial_fit(X[rows], y[rows], tags[rows], classes=[0, 1, 2], n_total=240)
    assert model.is_refined == (name == "slda-refined")
    assert model.score(test_X, test_y) >= new(name).fit(X, y, tags).score(test_X, test_y) - 0.05
    np.testing.assert_allclose(model.topic_codewords_.sum(axis=1), 1)
    np.testing.assert_allclose(model.mean_n_tags_, 1)


def test_refinement_goes_on_with_every_batch():
    X, y, _ = collection()
    model = new("slda-refined").fit(X, y)
    topics, n_passes = model._unrefined().codewords, len(model.refinement_)
    model.partial_fit(X[:30], y[:30])
    assert len(model.refinement_) == n_passes + 3
    assert np.abs(model.topic_codewords_ - model._unrefined().codewords).max() > 1e-3
    assert np.abs(model._unrefined().codewords - topics).max() > 1e-6
    model.partial_fit(X[:5])  # without labels there is nothing to refine by
    assert len(model.refinement_) == n_passes + 3


@pytest.mark.parametrize("name", ["slda-refined", "corr-lda-refined"])
def test_refinement_is_a_factor_that_moves_with_the_topics(name):
    X, y, tags = collection()
    model = new(name).fit(X, *labels(MODELS[name], y, tags))
    before, refined = model._unrefined(), model._model()
    more, _, _ = collection(1, 20)
    model.partial_fit(more, *labels(model, np.full(20, -1), np.zeros((20, 3))))  # no label to refine by
    after, found = model._unrefined(), model._model()
    for part in ("codewords", "tags"):
        moved = getattr(after, part) * getattr(refined, part) / getattr(before, part)
        np.testing.assert_allclose(getattr(found, part), moved / moved.sum(axis=1, keepdims=True))
        assert np.abs(getattr(found, part) - getattr(refined, part)).max() > 1e-4 * (part == "codewords")
    np.testing.assert_array_equal(found.coefficients, refined.coefficients)
    np.testing.assert_array_equal(found.intercepts, refined.intercepts)


def test_a_batch_is_refined_with_its_share_of_the_priors(monkeypatch):
    asked = []

    def recorded(data, model, **settings):
        asked.append([settings[name] for name in ("n_passes", "ridge", "smoothing")] + [settings.get("step", 1.0)])
        return refine(data, model, **settings)

    monkeypatch.setattr("visterm.topics.slda_refined.refine", recorded)
    X, y, _ = collection()
    RefinedSupervisedLDA(4, refine=3, refine_ridge=0.5, smoothing=0.02, random_state=0).fit(X, y)
    model = RefinedSupervisedLDA(4, refine=3, refine_ridge=0.5, smoothing=0.02, random_state=0)
    model.partial_fit(X[:20], y[:20], n_total=80).partial_fit(X[20:60], y[20:60], n_total=80)
    np.testing.assert_allclose(
        asked, [[3, 2.0, 0.02, 1.0], [3, 0.5, 0.005, 1.0], [3, 1.0, 0.01, (20 / 40 + 2) ** -0.6]]
    )


@pytest.mark.parametrize("name", ["slda", "slda-refined"])
def test_a_batch_of_the_first_class_alone_teaches_that_class(name):
    X, y, _ = collection()
    model = new(name).fit(X, y)
    before, n_passes = model.decision_function(X), len(model.refinement_)
    only = np.flatnonzero(y == 0)[:5]
    model.partial_fit(X[only], y[only])
    after = model.decision_function(X)
    assert (after[:, 0] - after[:, 1]).mean() > (before[:, 0] - before[:, 1]).mean()
    assert len(model.refinement_) == n_passes + 3 * (name == "slda-refined")
    coefficients = model.class_coefficients_.copy()
    model.partial_fit(X[:5])
    np.testing.assert_array_equal(model.class_coefficients_, coefficients)


def test_a_first_batch_may_be_a_single_picture():
    X, y, tags = collection()
    model = RefinedSupervisedLDA(3, refine=0, random_state=0).partial_fit(X[:1], y[:1], tags[:1], classes=[0, 1, 2])
    data = model._labelled(sparse.csr_array(X[:1]), np.ones(1, bool), y[:1], sparse.csr_array(tags[:1]))
    start, gamma = RefinedSupervisedLDA(3)._start(data, 3, np.random.RandomState(0))
    inferred = infer_labelled(data, start, gamma, max_sweeps=20)
    np.testing.assert_allclose(model.objective_, [inferred.statistics.bound])
    np.testing.assert_allclose(
        model.class_coefficients_, improve_coefficients(inferred, start.coefficients, 0.01), rtol=1e-6
    )
    np.testing.assert_allclose(model.predict_proba(X), softmax(model.decision_function(X), axis=1))


@pytest.mark.parametrize("name", ["corr-lda", "slda"])
def test_the_objective_of_a_batch_is_its_bound_per_picture(name):
    X, y, tags = collection()
    model = new(name).fit(X, *labels(MODELS[name], y, tags))
    for n in (1, 4):
        bound = model.infer(X[:n]).statistics.bound
        unlabelled = labels(model, np.full(n, -1), np.zeros((n, 3)))
        assert model.partial_fit(X[:n], *unlabelled).objective_[-1] == pytest.approx(bound / n, rel=1e-3)
    assert model.n_iter_ == len(model.objective_)


def test_tags_of_all_batches_are_counted():
    X, _, tags = collection()
    tags[0] = 1
    tags[3:6] = 0
    model = RefinedCorrLDA(3, refine=0, random_state=0).partial_fit(X[:2], tags[:2]).partial_fit(X[2:10], tags[2:10])
    assert model.tag_counts_.tolist() == tags[:10].sum(axis=0).tolist()
    assert model.mean_n_tags_ == pytest.approx(tags[:10].sum() / 7)
    model.partial_fit(X[:3], np.zeros((3, 3)))
    assert model.mean_n_tags_ == pytest.approx(tags[:10].sum() / 7)
