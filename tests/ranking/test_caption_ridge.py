"""Regression of captions: its relation to the sum of logarithms, and what sets of words add."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from visterm.errors import InputError
from visterm.margin.ridge_tags import KernelRidgeAnnotator
from visterm.ranking import caption_ridge
from visterm.ranking.caption_ridge import CaptionRidge
from visterm.ranking.queries import from_tags, query_vectors
from visterm.ranking.tag_ranker import TagRanker


def test_without_sets_it_is_the_sum_of_calibrated_logarithms(captioned):
    alone = CaptionRidge(0.1, kernel="hellinger", set_size=1).fit(captioned.X, captioned.tags)
    annotator = KernelRidgeAnnotator(0.1, kernel="hellinger")
    summed = TagRanker(annotator, probabilities=True, equal_words=True).fit(captioned.X, captioned.tags)
    Q = query_vectors(from_tags(captioned.tags_test).words, alone.idf_)
    np.testing.assert_allclose(
        alone.score_queries(captioned.X_test, Q), summed.score_queries(captioned.X_test, Q), atol=1e-6
    )
    no_weight = CaptionRidge(0.1, kernel="hellinger", set_weight=0).fit(captioned.X, captioned.tags)
    np.testing.assert_allclose(no_weight.score_queries(captioned.X_test, Q), alone.score_queries(captioned.X_test, Q))
    np.testing.assert_allclose(
        alone.score_tags(captioned.X_test), summed.annotator_.tag_probabilities(captioned.X_test)
    )


def test_a_set_is_a_word_of_its_own(captioned):
    """The regression of a pair is that of a tag that pictures with both words carry."""
    model = CaptionRidge(0.1, kernel="hellinger").fit(captioned.X, captioned.tags)
    both = captioned.tags.toarray()[:, [1]] * captioned.tags.toarray()[:, [3]]
    tags = np.hstack([captioned.tags.toarray(), both])
    annotator = KernelRidgeAnnotator(0.1, kernel="hellinger", tag_power=0).fit(captioned.X, tags)
    pair = annotator.score_tags(captioned.X_test)[:, 5] + annotator.tag_means_[5]
    words = np.log(annotator.tag_probabilities(captioned.X_test)[:, [1, 3]]).sum(axis=1)
    expected = words + np.log(np.maximum(pair, 0) + 1e-3)
    Q = query_vectors([[0, 1, 0, 1, 0]], model.idf_)
    np.testing.assert_allclose(model.score_queries(captioned.X_test, Q)[0], expected, rtol=1e-5)


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


def test_explanations_add_up(captioned):
    model = CaptionRidge(kernel="hellinger", set_size=3).fit(captioned.X, captioned.tags)
    Q = query_vectors([[1, 1, 0, 1, 0]], model.idf_)
    explained = model.explain(captioned.X_test[:1], Q, n_best=100)
    assert explained.score == pytest.approx(model.score_queries(captioned.X_test[:1], Q)[0, 0])
    parts = [*explained.words, *explained.evidence]
    assert sum(part for _, part in parts) == pytest.approx(explained.score)
    assert {word for word, _ in explained.words} == {0, 1, 3}
    for row, _ in explained.evidence:
        assert set(model.set_words_[[row]].indices) <= {0, 1, 3}
    with pytest.raises(InputError, match="one picture"):
        model.explain(captioned.X_test, Q)


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
