"""Suggested tags are judged by probabilities that had not seen the pictures, and by measures worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csr_array
from scipy.special import expit

from visterm.calibration import TagProbabilities
from visterm.contracts import rare_order
from visterm.learn import SUGGESTIONS_RIGHT, TAGS_FOUND, Dataset, JudgedTags, judge, judge_by_halves, tag_probabilities
from visterm.learn.engine.suggestions import measure_suggestions


def pictures(X, tags):
    return Dataset("pictures", X, np.full(len(X), -1), (), csr_array(tags), tuple("abcdefghij"[: tags.shape[1]]))


class Plain:
    """A method whose scores favour no tag."""

    def score_tags(self, X):
        return X


class Rare(Plain):
    favours_rare_tags = True


@pytest.fixture
def scored():
    rng = np.random.default_rng(0)
    tags = (rng.random((300, 4)) < [0.5, 0.3, 0.2, 0.05]).astype(np.float32)
    tags[~tags.any(axis=1), 0] = 1
    scores = 2 * tags + rng.standard_normal(tags.shape)
    return scores[:200], sparse.csr_array(tags[:200]), sparse.csr_array(tags[200:])


def test_no_half_is_judged_by_itself(scored, monkeypatch):
    scores, tags, train_tags = scored
    learned_from = []
    fit = TagProbabilities.fit

    def spy(self, given, *args, **settings):
        learned_from.append(given)
        return fit(self, given, *args, **settings)

    monkeypatch.setattr(TagProbabilities, "fit", spy)
    judged = judge_by_halves(scores, pictures(scores, tags), train_tags, Plain())
    np.testing.assert_array_equal(learned_from[0], scores[1::2])
    np.testing.assert_array_equal(learned_from[1], scores[::2])
    odd = tag_probabilities(scores[1::2], tags[1::2], train_tags)
    np.testing.assert_array_equal(judged.log_odds[::2], odd.log_odds(scores[::2]))
    np.testing.assert_array_equal(judged.suggested[::2], expit(judged.log_odds[::2]) >= odd.thresholds(0.8))


def test_too_few_pictures_are_judged_by_a_guess(scored):
    scores, tags, train_tags = scored
    judged = judge_by_halves(scores[:2], pictures(scores[:2], tags[:2]), train_tags, Plain())
    assert np.isfinite(judged.log_odds).all()


def test_the_order_that_favours_rare_tags_is_the_methods_own_if_it_has_one(scored):
    scores, tags, train_tags = scored
    learned = tag_probabilities(scores, tags, train_tags)
    np.testing.assert_array_equal(judge(learned, scores, Rare(), scores).rare, scores)
    odds = learned.log_odds(scores)
    by_lift = rare_order(Plain(), scores, learned.lifts(odds))
    np.testing.assert_allclose(odds - by_lift, np.broadcast_to(learned.word_odds_, odds.shape), atol=1e-5)
    # The lift of a tag is what its score adds to how frequent it is.
    assert (by_lift[:, 3] - odds[:, 3] > by_lift[:, 0] - odds[:, 0]).all()


def test_measures_by_hand():
    tags = sparse.csr_array(np.array([[1, 1, 0], [0, 1, 0]], np.float32))
    log_odds = np.array([[3.0, 1.0, 2.0], [0.0, 1.0, -1.0]], np.float32)
    rare = np.array([[0.0, 0.0, 9.0], [0.0, 9.0, 0.0]])
    suggested = np.array([[True, False, True], [False, True, False]])
    values, each = measure_suggestions(JudgedTags(log_odds, rare, suggested), tags, np.array([5, 5, 5]))
    assert each.tolist() == [0.5, 1.0]
    assert values["tag accuracy"] == 0.75
    assert values[SUGGESTIONS_RIGHT] == pytest.approx(2 / 3)
    assert values[TAGS_FOUND] == pytest.approx(2 / 3)
    nothing, _ = measure_suggestions(JudgedTags(log_odds, rare, suggested & False), tags, np.array([5, 5, 5]))
    assert SUGGESTIONS_RIGHT not in nothing
    assert nothing[TAGS_FOUND] == 0
