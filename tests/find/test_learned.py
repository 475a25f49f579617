"""A search is measured with a relevance that had not seen the pictures it judges."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.special import log_expit

from visterm.calibration.relevance import Relevance
from visterm.contracts import ScoredPictures, Task
from visterm.contracts.estimator import Estimator
from visterm.learn import Dataset, train_method
from visterm.learn.learned_search import learn_relevance, learned_search, measure_search
from visterm.measures import AveragePrecision
from visterm.ranking.queries import from_tags
from visterm.registry import Method


@pytest.fixture
def scored():
    rng = np.random.default_rng(0)
    tags = (rng.random((120, 4)) < 0.4).astype(np.float32)
    tags[~tags.any(axis=1), 0] = 1
    scores = 2 * tags + rng.standard_normal(tags.shape)
    return ScoredPictures(scores[:60], None, []), sparse.csr_array(tags[:60]), sparse.csr_array(tags[60:])


def test_relevance_is_fitted_to_held_out_scores_and_training_captions(scored):
    pictures, tags, train_tags = scored
    relevance = learn_relevance(pictures, tags, train_tags)
    counts = train_tags.toarray().sum(axis=0)
    by_hand = Relevance().fit(pictures.scores, tags, tag_counts=counts, n_tagged=60, asked=train_tags)
    np.testing.assert_array_equal(relevance.coefficients_, by_hand.coefficients_)
    assert relevance.nothing_below_ == by_hand.nothing_below_


def test_pictures_are_ranked_by_the_probability_of_all_words(scored):
    pictures, tags, train_tags = scored
    relevance = learn_relevance(pictures, tags, train_tags)
    log_p = relevance.log_probabilities(pictures.scores)
    asked = from_tags(tags, max_words=3)
    joint = np.stack([relevance.joint(log_p, words) for words in asked.columns()])
    found = measure_search(log_p, pictures, tags, relevance)
    assert found["AvgP"] == AveragePrecision()(asked.relevance, joint)


def test_training_pictures_without_tags_do_not_count(scored):
    pictures, tags, train_tags = scored
    some = train_tags.toarray()
    some[::3] = 0
    relevance = learn_relevance(pictures, tags, sparse.csr_array(some))
    by_hand = Relevance().fit(pictures.scores, tags, tag_counts=some.sum(axis=0), n_tagged=40, asked=some)
    np.testing.assert_array_equal(relevance.coefficients_, by_hand.coefficients_)


def test_the_weight_of_pairs_is_learned_where_a_method_knows_pairs(scored):
    pictures, tags, train_tags = scored
    log_pairs = np.log(np.clip(tags.toarray()[:, [0]] * tags.toarray()[:, [1]], 0.02, 0.98))
    relevance = learn_relevance(ScoredPictures(pictures.scores, log_pairs, [(0, 1)]), tags, train_tags)
    assert relevance.pair_weight_ > 0.1
    assert not hasattr(learn_relevance(pictures, tags, train_tags), "pair_weight_")


class Columns(Estimator):
    """Scores tags by the first columns of X."""

    scores_are_probabilities = False

    def fit(self, X, tags):
        self.n_features_in_, self.n_tags_ = X.shape[1], tags.shape[1]
        return self

    def score_tags(self, X):
        return np.asarray(X)[:, : self.n_tags_]


@pytest.fixture
def method(monkeypatch):
    load = Method.load
    monkeypatch.setattr(Method, "load", lambda self: Columns if self.name == "columns" else load(self))
    return Method("columns", "a class of this file", frozenset({Task.ANNOTATE}), "colour", "a test")


def pictures(n_test=0, n_tagged=40):
    """Forty pictures with three tags that X tells roughly; the last ``n_test`` are test pictures."""
    rng = np.random.default_rng(0)
    tags = (rng.random((40, 3)) < 0.5) | (np.arange(40)[:, None] % 3 == np.arange(3))
    tags[n_tagged:] = False
    splits = (None,) * (40 - n_test) + ("test",) * n_test
    X = tags + 0.7 * rng.standard_normal((40, 3))
    return Dataset("d", X, np.full(40, -1), (), sparse.csr_array(tags, dtype=np.float32), ("a", "b", "c"), splits)


def test_a_search_is_measured_on_the_test_pictures(method):
    data = pictures(n_test=10)
    trained = train_method(method, data)
    relevance, found = learned_search(trained)
    test = ScoredPictures(data.X[30:], None, [])
    own = {"AvgP by own scores": trained.metrics["AvgP"]}
    assert found == measure_search(relevance.log_probabilities(data.X[30:]), test, data.tags[30:], relevance) | own


def test_without_test_pictures_it_is_measured_by_halves(method):
    trained = train_method(method, pictures())
    relevance, found = learned_search(trained)
    held_out = trained.held_out
    by_halves = measure_search(log_expit(held_out.judged.log_odds), held_out.scored, held_out.tags, relevance)
    assert found == by_halves | {"AvgP by own scores": trained.metrics["AvgP"]}


def test_where_nothing_can_be_measured_nothing_is_said(method):
    relevance, found = learned_search(train_method(method, pictures(n_test=10, n_tagged=30)))
    assert relevance is not None
    assert found == {}
    assert learned_search(train_method(method, pictures(n_tagged=1))) == (None, {})
