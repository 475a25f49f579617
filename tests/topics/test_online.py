"""Batches: they continue a fit, count as much as they should, and teach refined models too."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from visterm.compute.threads import one_blas_thread
from visterm.topics import (
    LDA,
    CorrLDA,
    SupervisedLDA,
    TopicStatistics,
    improve_coefficients,
    infer_labelled,
    infer_topics,
    normalised,
)
from visterm.topics.online import OnlineStatistics


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
    "lda": LDA(3, random_state=0),
    "slda": SupervisedLDA(3, random_state=0),
    "slda-refined": SupervisedLDA(3, refine=3, random_state=0),
    "corr-lda": CorrLDA(3, random_state=0),
    "corr-lda-refined": CorrLDA(3, refine=3, random_state=0),
}


def new(name):
    return MODELS[name].__class__(**MODELS[name].get_params())


def labels(model, y, tags):
    if isinstance(model, LDA):
        return ()
    return (tags,) if isinstance(model, CorrLDA) else (y, tags)


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
    if not isinstance(model, LDA):
        np.testing.assert_array_equal(again.score_tags(X), model.score_tags(X))
        np.testing.assert_array_equal(model.tag_counts_, (tags.sum(axis=0) + more_tags.sum(axis=0)))


def test_topics_after_a_batch_are_those_of_the_averaged_statistics():
    X, _, _ = collection()
    more, _, _ = collection(1, 20)
    model = LDA(3, random_state=0).fit(X)
    topics, average = model.topic_codewords_, OnlineStatistics.unpacked(model.online_).average.codewords
    batch = infer_topics(sparse.csr_array(more), topics, model.alpha_).statistics.codewords
    step = (60 / 20 + 2) ** -0.6
    mixed = (1 - step) * average + step * batch / 20
    np.testing.assert_allclose(model.partial_fit(more).topic_codewords_, normalised(80 * mixed, 0.01))
    model = LDA(3, random_state=0).fit(X).partial_fit(more, n_total=7000)
    np.testing.assert_allclose(model.topic_codewords_, normalised(7000 * mixed, 0.01))


@pytest.mark.parametrize("n_total", [None, 1000])
def test_coefficients_go_the_batch_s_share_of_the_way_to_its_optimum(n_total):
    X, y, _ = collection()
    model = SupervisedLDA(3, random_state=0).fit(X[:40], y[:40])
    before = model._model()
    bags = sparse.csr_array(X[40:])
    data = model._labelled(bags, np.ones(20, bool), y[40:], sparse.csr_array((20, 0)))
    gamma = infer_topics(bags, before.codewords, before.alpha).gamma
    inferred = infer_labelled(data, before, gamma, max_sweeps=20)
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


def test_topics_of_earlier_versions_count_as_if_a_batch_like_the_next_had_made_them():
    X, _, _ = collection()
    more, _, _ = collection(1, 20)
    model = LDA(3, random_state=0).fit(X)
    del model.online_
    topics = model.topic_codewords_
    batch = infer_topics(sparse.csr_array(more), topics, model.alpha_).statistics.codewords
    step = (20 / 20 + 2) ** -0.6
    mixed = (1 - step) * topics * more.sum() / 3 + step * batch
    np.testing.assert_allclose(model.partial_fit(more).topic_codewords_, normalised(2 * mixed, 0.01))


def test_tags_of_earlier_versions_count_as_many_as_those_of_the_next_batch():
    tags = np.array([[0.9, 0.1], [0.3, 0.7]])
    batch = TopicStatistics(4, -1.0, np.full((2, 3), 5.0), np.zeros(2), np.array([[3.0, 2.0], [0.0, 7.0]]))
    guessed = OnlineStatistics.guessed(np.full((2, 3), 1 / 3), tags, batch).total
    np.testing.assert_allclose(guessed.tags, 6 * tags)
    np.testing.assert_allclose(guessed.codewords, batch.codewords)
    assert guessed.n_pictures == 4


@pytest.mark.parametrize("name", MODELS)
def test_models_of_earlier_versions_go_on_too(name):
    X, y, tags = collection()
    model = new(name).fit(X, *labels(MODELS[name], y, tags))
    del model.online_
    before = model.topic_codewords_.copy()
    model.partial_fit(X[:9], *labels(model, y[:9], tags[:9]))
    assert np.abs(model.topic_codewords_ - before).max() < 0.2
