"""Regression of captions: its relation to the sum of logarithms, and what sets of words add."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from visterm.calibration import fit_platt, sigmoid
from visterm.errors import InputError
from visterm.margin import GramInnerProducts, KernelRidgeAnnotator, Ridge, gram
from visterm.ranking import caption_ridge
from visterm.ranking.caption_ridge import CaptionRidge
from visterm.ranking.queries import from_tags, query_vectors
from visterm.ranking.tag_ranker import TagRanker


def probabilities(captioned, alpha, tags):
    """Those of the test pictures: Platt's sigmoid of ridge regressions, by the leave-one-out scores."""
    annotator = KernelRidgeAnnotator(alpha, kernel="hellinger", tag_power=0).fit(captioned.X, tags)
    products = GramInnerProducts(gram(captioned.X, kernel="hellinger"), 1.0)
    left_out = Ridge(alpha).fit(products).solve(tags.toarray())[1]
    scores = annotator.score_tags(captioned.X_test) + annotator.tag_means_
    return sigmoid(scores, *fit_platt(left_out, tags.toarray() > 0).T)


def test_without_sets_it_is_the_sum_of_calibrated_logarithms(captioned):
    alone = CaptionRidge(0.1, kernel="hellinger", set_size=1).fit(captioned.X, captioned.tags)
    summed = TagRanker(alone, equal_words=True).fit(captioned.X, captioned.tags)
    Q = query_vectors(from_tags(captioned.tags_test).words, alone.idf_)
    np.testing.assert_allclose(
        alone.score_queries(captioned.X_test, Q), summed.score_queries(captioned.X_test, Q), atol=1e-6
    )
    no_weight = CaptionRidge(0.1, kernel="hellinger", set_weight=0).fit(captioned.X, captioned.tags)
    np.testing.assert_allclose(no_weight.score_queries(captioned.X_test, Q), alone.score_queries(captioned.X_test, Q))
    np.testing.assert_allclose(alone.score_tags(captioned.X_test), probabilities(captioned, 0.1, captioned.tags))


def test_a_set_is_a_word_of_its_own(captioned):
    """The regression of a pair is that of a tag that pictures with both words carry."""
    model = CaptionRidge(0.1, kernel="hellinger").fit(captioned.X, captioned.tags)
    both = captioned.tags.toarray()[:, [1]] * captioned.tags.toarray()[:, [3]]
    tags = np.hstack([captioned.tags.toarray(), both])
    annotator = KernelRidgeAnnotator(0.1, kernel="hellinger", tag_power=0).fit(captioned.X, tags)
    pair = annotator.score_tags(captioned.X_test)[:, 5] + annotator.tag_means_[5]
    words = np.log(probabilities(captioned, 0.1, captioned.tags)[:, [1, 3]]).sum(axis=1)
    expected = words + np.log(np.maximum(pair, 0) + 1e-3)
    Q = query_vectors([[0, 1, 0, 1, 0]], model.idf_)
    np.testing.assert_allclose(model.score_queries(captioned.X_test, Q)[0], expected, rtol=1e-5)


def test_pictures_of_the_training_can_be_left_out():
    rng = np.random.default_rng(0)
    X, tags = rng.random((20, 6)), rng.integers(0, 2, (20, 3))
    tags[:, 0] |= ~tags.any(axis=1)  # every picture has a tag
    model = CaptionRidge(0.1).fit(X, tags)
    without = CaptionRidge(0.1).fit(X[1:], tags[1:])
    left_out = model.as_if_left_out()._task_scores(X[:1])[0, :3]
    np.testing.assert_allclose(left_out, without._task_scores(X[:1])[0, :3], rtol=1e-6)


def test_words_that_are_not_wanted_make_no_set(captioned):
    model = CaptionRidge(kernel="hellinger").fit(captioned.X, captioned.tags)
    alone = CaptionRidge(kernel="hellinger", set_size=1).fit(captioned.X, captioned.tags)
    Q = sparse.csr_array([[0.7, -0.7, 0, 0, 0], [0, 0, 0, 0, 1.0], [0, 0, 0, 0, 0]])
    np.testing.assert_allclose(model.score_queries(captioned.X_test, Q), alone.score_queries(captioned.X_test, Q))


def test_sets_no_caption_holds_change_no_ranking():
    X = np.random.default_rng(0).random((30, 6))
    tags = np.eye(3)[np.arange(30) % 3]  # never two words together
    model = CaptionRidge(kernel="hellinger").fit(X, tags)
    assert model.set_words_.shape == (0, 3)
    scores = model.score_queries(X, [[0.6, 0.8, 0.0]])
    alone = CaptionRidge(kernel="hellinger", set_size=1).fit(X, tags).score_queries(X, [[0.6, 0.8, 0.0]])
    np.testing.assert_allclose(scores, alone)


def test_only_the_most_frequent_sets_are_kept(captioned, monkeypatch):
    every = CaptionRidge(kernel="hellinger", set_size=3).fit(captioned.X, captioned.tags)
    assert set(np.diff(every.set_words_.indptr)) == {2, 3}
    monkeypatch.setattr(caption_ridge, "MAX_SETS", 4)
    fewer = CaptionRidge(kernel="hellinger", set_size=3).fit(captioned.X, captioned.tags)
    assert fewer.set_words_.shape[0] == 4
    kept = from_tags(captioned.tags).multi_word().n_relevant
    held = (captioned.tags.toarray() @ fewer.set_words_.toarray().T == np.diff(fewer.set_words_.indptr)).sum(axis=0)
    assert sorted(held) == sorted(np.sort(kept)[-4:])


@pytest.mark.parametrize("parameters", [{"alpha": 0.0}, {"set_size": 0}, {"set_weight": -1.0}])
def test_unusable_parameters_are_refused(parameters, captioned):
    with pytest.raises(InputError):
        CaptionRidge(**parameters).fit(captioned.X, captioned.tags)


def test_long_captions_lose_their_rarest_words_before_sets_are_made(captioned, monkeypatch):
    counts = np.asarray(captioned.tags.sum(axis=0)).ravel()
    n_all = from_tags(captioned.tags, max_words=2).n_relevant.sum()
    monkeypatch.setattr(caption_ridge, "MAX_SUBSETS", n_all - 1)
    model = CaptionRidge(kernel="hellinger").fit(captioned.X, captioned.tags)
    used = np.unique(model.set_words_.indices)
    assert len(used) < len(counts)
    assert counts[used].min() >= counts[np.setdiff1d(np.arange(len(counts)), used)].max()


def test_the_coefficients_of_sets_are_bounded(captioned, monkeypatch):
    monkeypatch.setattr(caption_ridge, "MAX_COEFFICIENTS", 3 * captioned.X.shape[0])
    assert CaptionRidge(kernel="hellinger").fit(captioned.X, captioned.tags).set_words_.shape[0] == 3


def test_its_scores_are_probabilities_and_it_learns_from_denied_tags(captioned):
    model = CaptionRidge(kernel="hellinger", set_size=1).fit(captioned.X, captioned.tags)
    ranker = TagRanker.of_fitted(model, captioned.X, 5)
    np.testing.assert_allclose(ranker.word_scores(captioned.X_test), np.log(model.score_tags(captioned.X_test)))
    assert CaptionRidge.learns_from_denied
    X, tags = np.vstack([captioned.X, captioned.X_test[:1]]), sparse.vstack([captioned.tags, np.zeros((1, 5))])
    denied = sparse.csr_array(([1.0], ([50], [int(captioned.tags_test[[0]].indices[0])])), shape=(51, 5))
    taught = CaptionRidge(kernel="hellinger", set_size=1).fit(X, tags, denied=denied)
    change = (taught.score_tags(captioned.X_test) - model.score_tags(captioned.X_test))[0]
    assert np.flatnonzero(np.abs(change) > 1e-9).tolist() == denied.indices.tolist()
    assert change.min() < -0.01


def test_logarithms_of_sets_are_at_most_zero():
    """A pair that all pictures have but one, which is far from the others: the regression exceeds 1 at its opposite."""
    X, tags = [[1.0], [0.9], [0.8], [-3.0]], [[1, 1], [1, 1], [1, 1], [1, 0]]
    model = CaptionRidge(0.01, kernel="linear").fit(X, tags)
    found = model.set_log_probabilities([[3.0], [-1.0], [-9.0]])
    constant = np.hstack([X, np.ones((4, 1))])
    weights = np.linalg.solve(constant.T @ constant + 0.01 * np.eye(2), constant.T @ np.array([1.0, 1, 1, 0]))
    expected = np.array([[3, 1], [-1, 1], [-9, 1]]) @ weights
    assert expected[0] > 1
    np.testing.assert_allclose(found[:, 0], np.minimum(np.log(np.maximum(expected, 0) + 1e-3), 0), rtol=1e-6)
    assert found[0, 0] == 0
    assert found[1, 0] < 0


def test_what_is_not_fitted_gives_no_probabilities():
    for method in ("score_tags", "set_log_probabilities"):
        with pytest.raises(NotFittedError):
            getattr(CaptionRidge(), method)([[1.0]])


def test_words_and_sets_are_solved_in_blocks(captioned, monkeypatch):
    whole = CaptionRidge(kernel="hellinger", set_size=3).fit(captioned.X, captioned.tags)
    monkeypatch.setattr("visterm.margin.solver.ridge._BLOCK_BYTES", 2 * 8 * 50)  # two targets
    parts = CaptionRidge(kernel="hellinger", set_size=3).fit(captioned.X, captioned.tags)
    for find in (CaptionRidge.score_tags, CaptionRidge.set_log_probabilities):
        np.testing.assert_allclose(find(parts, captioned.X_test), find(whole, captioned.X_test), rtol=1e-6)


def test_scores_have_a_row_for_each_query_with_and_without_sets(captioned):
    Q = np.eye(5)[:2]
    for set_size in (1, 2):
        model = CaptionRidge(kernel="hellinger", set_size=set_size).fit(captioned.X, captioned.tags)
        assert model.score_queries(captioned.X_test, Q).shape == (2, 30)


def test_sets_are_made_of_as_many_words_as_the_limit_allows(captioned, monkeypatch):
    present = captioned.tags.toarray().astype(int)
    frequent_first = np.argsort(-present.sum(axis=0), kind="stable")
    pairs = {(a, b) for a in range(5) for b in range(a + 1, 5) if (present[:, a] & present[:, b]).any()}
    n_with = [from_tags(present[:, frequent_first[:n]], max_words=2).n_relevant.sum() for n in range(6)]
    for most in (n_with[5], *(n_with[n] + more for n in range(5) for more in (0, 1))):
        monkeypatch.setattr(caption_ridge, "MAX_SUBSETS", most)
        monkeypatch.setattr("visterm.ranking.queries.MAX_SUBSETS", most)
        words, _ = caption_ridge._sets(captioned.tags, 2, 50)
        kept = set(frequent_first[: max(n for n in range(6) if n_with[n] <= most)].tolist())
        assert {tuple(pair) for pair in words.indices.reshape(-1, 2).tolist()} == {
            one for one in pairs if kept >= {*one}
        }


def test_with_all_pictures_as_landmarks_it_is_the_exact_regression(captioned):
    exact = CaptionRidge(0.1, landmarks=None).fit(captioned.X, captioned.tags)
    found = CaptionRidge(0.1, landmarks=10**6).fit(captioned.X, captioned.tags)
    np.testing.assert_allclose(found.tag_platt_, exact.tag_platt_, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found.score_tags(captioned.X_test), exact.score_tags(captioned.X_test), atol=1e-5)
    Q = query_vectors(from_tags(captioned.tags_test).words, exact.idf_)
    of_exact = exact.score_queries(captioned.X_test, Q)
    np.testing.assert_allclose(found.score_queries(captioned.X_test, Q), of_exact, rtol=1e-3, atol=1e-3)
    left_out = exact.as_if_left_out().set_log_probabilities(captioned.X)
    np.testing.assert_allclose(found.as_if_left_out().set_log_probabilities(captioned.X), left_out, atol=1e-3)


def test_sigmoids_of_a_sample_keep_the_frequencies_of_words(captioned, monkeypatch):
    monkeypatch.setattr(caption_ridge, "_MOST_JUDGED", 12)  # of 50; some words have more pictures, and all are rarer
    sampled = CaptionRidge(0.1, landmarks=20).fit(captioned.X, captioned.tags)
    found = sampled.as_if_left_out().score_tags(captioned.X).mean(axis=0)
    np.testing.assert_allclose(found, captioned.tags.toarray().mean(axis=0), atol=0.08)


def test_a_score_that_stands_for_two_pictures_counts_twice():
    rng = np.random.default_rng(0)
    scores, present = rng.normal(size=(30, 2)), rng.random((30, 2)) < 0.5
    twice = np.vstack([scores, scores]), np.vstack([present, present])
    weighed = fit_platt(scores, present, np.full(scores.shape, 2.0))
    np.testing.assert_allclose(weighed, fit_platt(*twice), rtol=1e-6)
