from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from visterm.errors import InputError
from visterm.topics import LinkLDA, infer_topics


def problem(seed, n_pictures=15, n_codewords=5, n_tags=4):
    rng = np.random.default_rng(seed)
    X = rng.poisson(1.5, (n_pictures, n_codewords)).astype(float)
    tags = (rng.random((n_pictures, n_tags)) < 0.4).astype(float)
    tags[rng.random(n_pictures) < 0.3] = 0
    tags[0, 0] = 1
    return X, tags


@given(seed=st.integers(0, 10**6), n_topics=st.integers(1, 5), learn_alpha=st.booleans())
@settings(max_examples=20, deadline=None)
def test_the_bound_never_falls(seed, n_topics, learn_alpha):
    model = LinkLDA(n_topics, learn_alpha=learn_alpha, tol=0, max_iter=30, random_state=seed % 100)
    objective = model.fit(*problem(seed)).objective_
    assert (np.diff(objective) >= -1e-7 * np.abs(objective[-1])).all()


@pytest.mark.parametrize("learn_alpha", [False, True])
def test_the_objective_is_the_bound_and_the_priors(learn_alpha):
    X, tags = problem(1)
    settings = {"alpha": 2.0, "learn_alpha": learn_alpha, "smoothing": 0.5, "tol": 0, "random_state": 0}
    once = LinkLDA(3, max_iter=1, **settings).fit(X, tags)
    topics = np.hstack([once.topic_codewords_, once.topic_tags_])
    bound = infer_topics(sparse.csr_array(np.hstack([X, tags])), topics, once.alpha_).statistics.bound
    expected = bound + 0.5 * np.log(topics).sum() - 0.1 * once.alpha_.sum() * learn_alpha
    assert LinkLDA(3, max_iter=2, **settings).fit(X, tags).objective_[1] == pytest.approx(expected, rel=1e-5)


def test_both_vocabularies_are_distributions():
    model = LinkLDA(3, learn_alpha=True, random_state=0).fit(*problem(1))
    for part, width in ((model.topic_codewords_, 5), (model.topic_tags_, 4)):
        assert part.shape == (3, width)
        np.testing.assert_allclose(part.sum(axis=1), 1)
    assert (model.alpha_ > 0).all()


def test_tags_say_as_much_of_the_topics_as_codewords():
    """A tag token weighs as a codeword token: exchanging the vocabularies exchanges the topics."""
    X, tags = problem(2, n_pictures=30)
    X = (X > 1).astype(float)
    tags[tags.sum(axis=1) == 0, 0] = 1
    one = LinkLDA(2, tol=0, max_iter=1, random_state=0).fit(X, tags)
    topics = np.hstack([one.topic_codewords_, one.topic_tags_])
    swapped = np.hstack([one.topic_tags_, one.topic_codewords_])
    a = infer_topics(sparse.csr_array(np.hstack([X, tags])), topics, 0.1)
    b = infer_topics(sparse.csr_array(np.hstack([tags, X])), swapped, 0.1)
    np.testing.assert_allclose(a.gamma, b.gamma)


def test_planted_tags_are_predicted():
    rng = np.random.default_rng(0)
    pi, beta = rng.dirichlet(np.full(40, 0.1), 4), rng.dirichlet(np.full(12, 0.1), 4)
    theta = rng.dirichlet(np.full(4, 0.2), 400)
    X = np.array([rng.multinomial(60, row @ pi) for row in theta])
    tags = np.array([rng.multinomial(3, row @ beta) > 0 for row in theta]).astype(float)
    tags[200:] = 0
    truth = (theta @ beta)[200:]
    scores = LinkLDA(4, random_state=0).fit(X, tags).score_tags(X[200:])
    np.testing.assert_allclose(scores.sum(axis=1), 1)
    assert np.abs(scores - truth).mean() < 0.5 * np.abs(tags.sum(axis=0) / tags.sum() - truth).mean()


def test_one_topic_is_the_smoothed_tag_frequency():
    X, tags = problem(3)
    scores = LinkLDA(1, smoothing=0.5, random_state=0).fit(X, tags).score_tags(X[:1])
    np.testing.assert_allclose(scores[0], (tags.sum(axis=0) + 0.5) / (tags.sum() + 2))


def test_empty_pictures_have_the_prior():
    model = LinkLDA(3, learn_alpha=True, random_state=0).fit(*problem(4))
    np.testing.assert_allclose(model.transform(np.zeros((1, 5)))[0], model.alpha_ / model.alpha_.sum())


@pytest.mark.parametrize("name", ["alpha", "smoothing", "n_topics", "max_iter"])
def test_parameters_without_sense_are_refused(name):
    with pytest.raises(InputError, match=name):
        LinkLDA(**{name: 0}).fit(*problem(0))
