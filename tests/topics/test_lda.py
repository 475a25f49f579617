"""LDA: the objective rises, known topics are found, batches and shards agree."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from visterm.compute import parallel
from visterm.errors import InputError
from visterm.topics import LDA, infer_topics, normalised, start_topics
from visterm.topics.inference import em


def pictures(n_pictures=200, n_topics=3, n_codewords=30, seed=0, length=80):
    """Pictures of known topics."""
    rng = np.random.default_rng(seed)
    topics = np.random.default_rng(99).dirichlet(np.full(n_codewords, 0.1), n_topics)
    proportions = rng.dirichlet(np.full(n_topics, 0.3), n_pictures)
    counts = np.array([rng.multinomial(length, p) for p in proportions @ topics])
    return sparse.csr_array(counts.astype(float)), topics


@pytest.mark.parametrize("learn_alpha", [False, True])
@pytest.mark.parametrize("start", ["spread", "random"])
def test_the_objective_never_falls(learn_alpha, start):
    X, _ = pictures()
    model = LDA(4, learn_alpha=learn_alpha, start=start, max_iter=40, tol=0, max_sweeps=2, random_state=0).fit(X)
    rises = np.diff(model.objective_)
    assert len(rises) == 39
    assert np.all(rises >= -1e-9 * np.abs(model.objective_[:-1]))


def test_known_topics_are_found():
    X, topics = pictures()
    found = LDA(3, alpha=0.3, n_restarts=3, tol=1e-7, random_state=0).fit(X).topic_codewords_
    distance = np.abs(found[:, None] - topics[None]).sum(axis=2)
    assert distance.min(axis=0).max() < 0.25


def test_a_learned_alpha_explains_the_pictures_better():
    X, _ = pictures()
    fixed = LDA(3, alpha=5.0, random_state=0).fit(X)
    learned = LDA(3, alpha=5.0, learn_alpha=True, random_state=0).fit(X)
    assert learned.perplexity(X) < fixed.perplexity(X)
    assert learned.alpha_.mean() == pytest.approx(0.3, abs=0.2)


def test_perplexity_is_near_that_of_scikit_learn():
    from sklearn.decomposition import LatentDirichletAllocation

    X, _ = pictures()
    unseen, _ = pictures(seed=1)
    ours = LDA(3, alpha=0.3, random_state=0).fit(X)
    peer = LatentDirichletAllocation(3, doc_topic_prior=0.3, max_iter=40, random_state=0).fit(X)
    theirs = LDA(3, alpha=0.3)
    theirs.topic_codewords_ = normalised(peer.components_, 0.0)
    theirs.alpha_, theirs.n_features_in_ = ours.alpha_, 30
    assert ours.perplexity(unseen) < 1.03 * theirs.perplexity(unseen)


@pytest.mark.parametrize("learn_alpha", [False, True])
def test_the_objective_is_the_bound_and_the_priors(learn_alpha):
    X, _ = pictures(20, length=10)
    settings = {"alpha": 2.0, "learn_alpha": learn_alpha, "smoothing": 0.5, "max_sweeps": 100, "random_state": 0}
    once = LDA(3, max_iter=1, **settings).fit(X)
    bound = infer_topics(X, once.topic_codewords_, once.alpha_).statistics.bound
    expected = bound + 0.5 * np.log(once.topic_codewords_).sum() - 0.1 * once.alpha_.sum() * learn_alpha
    assert LDA(3, max_iter=2, tol=0, **settings).fit(X).objective_[1] == pytest.approx(expected, rel=1e-5)
    assert (once.alpha_ == 2).all() == (not learn_alpha)


def test_perplexity_of_one_topic_is_that_of_its_frequencies():
    X, _ = pictures(20)
    model = LDA(1, random_state=0).fit(X)
    counts = X.toarray()
    likelihood = (counts * np.log(model.topic_codewords_[0])).sum() / counts.sum()
    assert model.perplexity(X) == pytest.approx(np.exp(-likelihood))


def test_merged_statistics_of_shards_give_the_same_topics():
    X, _ = pictures()
    model = LDA(3, random_state=0).fit(X)
    whole = model.infer(X).statistics
    merged = model.infer(X[:70]).statistics + model.infer(X[70:]).statistics
    np.testing.assert_allclose(normalised(merged.codewords, 0.01), normalised(whole.codewords, 0.01), rtol=1e-9)


def test_start_topics_are_far_apart_and_deal_with_few_or_empty_pictures():
    X = sparse.csr_array(np.repeat(np.eye(3) * 4, 10, axis=0))
    assert set(start_topics(X, 3, np.random.RandomState(0)).argmax(axis=1)) == {0, 1, 2}
    assert start_topics(X[:1], 4, np.random.RandomState(0)).shape == (4, 3)
    np.testing.assert_array_equal(start_topics(sparse.csr_array((30, 3)), 2, np.random.RandomState(0)), np.ones((2, 3)))


@pytest.mark.parametrize("max_iter", [1, 2, 12])
def test_more_restarts_never_end_at_a_lower_objective(max_iter):
    X, _ = pictures(40)
    ends = [LDA(3, max_iter=max_iter, n_restarts=n, random_state=0).fit(X).objective_[-1] for n in range(1, 7)]
    assert (np.diff(ends) >= 0).all()
    assert ends[-1] > ends[0]


def test_one_topic_and_empty_pictures():
    model = LDA(1).fit([[1, 2], [0, 0]])
    np.testing.assert_allclose(model.transform([[0, 0], [5, 1]]), [[1], [1]])
    assert LDA(2, random_state=0).fit([[0, 0], [0, 0]]).transform([[1, 1]]).shape == (1, 2)


def test_new_pictures_have_the_codewords_of_the_model():
    X = np.random.default_rng(0).poisson(1.0, (12, 6))
    model = LDA(2, max_iter=3, random_state=0).fit(X)
    with pytest.raises(InputError, match="6"):
        model.transform(X[:, :5])


def test_workers_elsewhere_infer_the_same_topics(monkeypatch, request):
    """Bags are laid out in files; topics travel, and the posterior of each picture."""
    bags, _ = pictures(90)
    alone = LDA(n_topics=3, max_iter=3, random_state=0).fit(bags)
    monkeypatch.setattr(em, "_LAID_OUT_FROM", 10)
    monkeypatch.setattr(em, "_SHARD_PICTURES", 10)
    monkeypatch.setattr(parallel, "_ROWS_ELSEWHERE", 10)
    begun = request.getfixturevalue("far_workers")
    found = LDA(n_topics=3, max_iter=3, random_state=0).fit(bags)
    assert len(begun) >= 3 * 8
    np.testing.assert_allclose(found.topic_codewords_, alone.topic_codewords_, atol=1e-12)
    np.testing.assert_allclose(found.transform(bags), alone.transform(bags), atol=1e-12)
