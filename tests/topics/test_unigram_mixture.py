from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import logsumexp

from visterm.errors import InputError
from visterm.topics import UnigramMixture, Unigrams
from visterm.topics.unigram_mixture import fit_unigrams, start_responsibilities


def problem(seed, n_pictures=12, n_codewords=5, n_tags=4):
    rng = np.random.default_rng(seed)
    X = rng.poisson(1.5, (n_pictures, n_codewords)).astype(float)
    tags = (rng.random((n_pictures, n_tags)) < 0.4).astype(float)
    tags[rng.random(n_pictures) < 0.3] = 0
    tags[0, 0] = 1
    return X, tags


@given(seed=st.integers(0, 10**6), n_topics=st.integers(1, 6), smoothing=st.sampled_from([0.0, 1e-3, 0.5]))
@settings(max_examples=40, deadline=None)
def test_the_objective_never_falls(seed, n_topics, smoothing):
    model = UnigramMixture(n_topics, smoothing=smoothing, tol=0, max_iter=40, n_restarts=1, random_state=seed % 100)
    rises = np.diff(model.fit(*problem(seed)).objective_)
    assert (rises >= -1e-9 * np.abs(model.objective_[-1])).all()


def test_of_several_starts_the_one_that_ends_highest_is_kept(monkeypatch):
    objectives = iter([np.array([-9.0, -2.0]), np.array([-8.0, -3.0])])
    monkeypatch.setattr(
        "visterm.topics.unigram_mixture.fit_unigrams",
        lambda *given, **settings: (fit_unigrams(*given, **settings)[0], next(objectives)),
    )
    model = UnigramMixture(2, n_restarts=2, max_iter=2, random_state=0).fit(*problem(0))
    assert model.objective_.tolist() == [-9, -2]


@given(seed=st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_log_joint_is_the_sum_over_tokens(seed):
    X, tags = problem(seed)
    model = UnigramMixture(3, random_state=0).fit(X, tags)
    theta, pi, beta = model.topic_shares_, model.topic_codewords_, model.topic_tags_
    expected = np.array(
        [
            [
                np.log(theta[k])
                + sum(c * np.log(pi[k, v]) for v, c in enumerate(row))
                + sum(np.log(beta[k, w]) for w in np.flatnonzero(words))
                for k in range(3)
            ]
            for row, words in zip(X, tags, strict=True)
        ]
    )
    np.testing.assert_allclose(model.log_joint(X, tags), expected, rtol=1e-10)
    # Untagged pictures have only the codewords' terms, whether the row is empty or no tags are given at all.
    np.testing.assert_allclose(model.log_joint(X, np.zeros_like(tags)), model.log_joint(X))
    assert model.objective_[-1] == pytest.approx(
        expected_objective(model, X, tags), rel=1e-4
    )  # the last step is not counted


def expected_objective(model, X, tags):
    parts = (model.topic_shares_, model.topic_codewords_, model.topic_tags_)
    return logsumexp(model.log_joint(X, tags), axis=1).sum() + model.smoothing * sum(
        np.log(part).sum() for part in parts
    )


def test_parameters_are_the_smoothed_shares_of_expected_counts():
    bags, tags = sparse.csr_array([[2.0, 0.0, 1.0], [0.0, 4.0, 0.0]]), sparse.csr_array([[1.0, 0.0], [1.0, 1.0]])
    found = Unigrams.maximise(bags, tags, np.array([[0.25, 0.75], [0.5, 0.5]]), 0.5)
    np.testing.assert_allclose(found.shares, np.array([1.25, 1.75]) / 3)
    np.testing.assert_allclose(found.codewords, [np.array([1, 2.5, 0.75]) / 4.25, np.array([2, 2.5, 1.25]) / 5.75])
    np.testing.assert_allclose(found.tags, [np.array([1.25, 1]) / 2.25, np.array([1.75, 1]) / 2.75])
    parts = (found.shares, found.codewords, found.tags)
    assert found.log_prior(0.3) == pytest.approx(0.3 * sum(np.log(part).sum() for part in parts))


def test_the_first_topics_are_those_of_pictures_that_are_alike():
    kinds = np.arange(12) % 3
    bags, tags = sparse.csr_array(np.eye(3)[kinds] * 5), sparse.csr_array(np.eye(3)[kinds])
    start = start_responsibilities(bags, tags, 3, np.random.RandomState(0))
    np.testing.assert_allclose(start.sum(axis=1), 1)
    assert len(set(start[:3].argmax(axis=1))) == 3
    np.testing.assert_array_equal(start.argmax(axis=1), start[kinds].argmax(axis=1))
    # A likeness of 2, that of both vocabularies, counts ten times; the noise is up to a tenth.
    odds = np.log(start.max(axis=1) / np.median(start, axis=1))
    assert 19 < odds.min() < odds.max() < 21
    assert np.ptp(odds) > 0.2
    few = start_responsibilities(bags[:2], tags[:2] * 0, 3, np.random.RandomState(0))
    assert few.shape == (2, 3)
    assert set(few.argmax(axis=1)) == {0, 1}


def test_probability_of_every_bag_of_two_tokens_sums_to_one():
    rng = np.random.default_rng(0)
    unigrams = Unigrams(rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(4), 3), rng.dirichlet(np.ones(2), 3))
    orders = [(a, b) for a in range(4) for b in range(4)]
    bags = sparse.csr_array([np.bincount(order, minlength=4) for order in orders], dtype=float)
    assert np.exp(unigrams.log_joint(bags, None)).sum() == pytest.approx(1)


def test_one_topic_is_the_tag_frequency():
    X, tags = problem(3)
    model = UnigramMixture(1, smoothing=0, random_state=0).fit(X, tags)
    np.testing.assert_allclose(model.score_tags(X), np.tile(tags.sum(axis=0) / tags.sum(), (len(X), 1)))
    np.testing.assert_allclose(model.topic_codewords_[0], X.sum(axis=0) / X.sum())
    np.testing.assert_allclose(model.transform(X), 1)


def test_the_planted_topics_are_found():
    rng = np.random.default_rng(1)
    pi, beta = rng.dirichlet(np.full(30, 0.1), 4), rng.dirichlet(np.full(12, 0.1), 4)
    topic = rng.integers(4, size=400)
    X = np.array([rng.multinomial(25, pi[z]) for z in topic])
    tags = np.array([np.bincount(rng.choice(12, 2, p=beta[z]), minlength=12) > 0 for z in topic]).astype(float)
    tags[200:] = 0
    model = UnigramMixture(4, random_state=0).fit(X, tags)
    found = model.transform(X).argmax(axis=1)
    matches = np.array([np.bincount(topic[found == k], minlength=4).max() for k in range(4)])
    assert matches.sum() >= 395
    expected = np.array([beta[z] for z in topic[200:]])
    assert np.abs(model.score_tags(X[200:]) - expected).mean() < 0.03


def test_untagged_pictures_teach_which_codewords_go_together():
    # Codewords 0 and 1 occur together only in untagged pictures; tags are known for 0 (first) and 2 (second) alone.
    X = np.array([[5, 0, 0, 0]] + [[0, 0, 5, 0]] + [[4, 4, 0, 0]] * 20 + [[0, 0, 4, 4]] * 20)
    tags = np.zeros((42, 2))
    tags[0, 0] = tags[1, 1] = 1
    scores = UnigramMixture(2, random_state=0).fit(X, tags).score_tags([[0, 5, 0, 0], [0, 0, 0, 5]])
    assert scores[0, 0] > 0.8
    assert scores[1, 1] > 0.8


def test_more_restarts_are_never_worse():
    X, tags = problem(5, n_pictures=60, n_codewords=12)
    one, five = (UnigramMixture(6, n_restarts=n, random_state=0).fit(X, tags).objective_[-1] for n in (1, 5))
    assert five >= one


def test_long_pictures_do_not_underflow():
    X = np.array([[1e6, 2e6, 0], [0, 1e6, 3e6]])
    model = UnigramMixture(2, random_state=0).fit(X, [[1, 0], [0, 1]])
    assert np.isfinite(model.objective_).all()
    np.testing.assert_allclose(model.transform(X).sum(axis=1), 1)


def test_empty_pictures_and_unseen_codewords_get_the_prior():
    X, tags = problem(7)
    X[:, 4] = 0
    model = UnigramMixture(3, smoothing=0, random_state=0).fit(X, tags)
    prior = model.topic_shares_ @ model.topic_tags_
    np.testing.assert_allclose(model.score_tags([[0, 0, 0, 0, 0], [0, 0, 0, 0, 2]]), [prior, prior])


def test_more_topics_than_pictures():
    scores = UnigramMixture(9, random_state=0).fit([[1, 0], [0, 1]], [[1, 0], [0, 1]]).score_tags([[3, 0]])
    assert scores[0, 0] > scores[0, 1]


@pytest.mark.parametrize(
    ("parameters", "word"),
    [({"n_topics": 0}, "n_topics"), ({"n_restarts": 0}, "n_restarts"), ({"smoothing": -1}, "smoothing")],
)
def test_parameters_without_sense_are_refused(parameters, word):
    with pytest.raises(InputError, match=word):
        UnigramMixture(**parameters).fit(*problem(0))


def test_input_without_sense_is_refused():
    X, tags = problem(0)
    with pytest.raises(InputError, match="Negative"):
        UnigramMixture().fit(-X, tags)
    with pytest.raises(InputError, match="n_tokens"):
        UnigramMixture(n_tokens=-1).fit(X, tags)
    with pytest.raises(InputError, match="fitted with 4 tags"):
        UnigramMixture(2).fit(X, tags).log_joint(X, tags[:, :2])


def test_tokens_scale_histograms():
    X, tags = problem(2)
    X += 1
    shares = X / X.sum(axis=1, keepdims=True)
    scaled = UnigramMixture(2, n_tokens=50, random_state=0).fit(shares, tags)
    counted = UnigramMixture(2, random_state=0).fit(50 * shares, tags)
    np.testing.assert_allclose(scaled.score_tags(shares), counted.score_tags(50 * shares), rtol=1e-6)
