"""Any annotator as a ranker: weighted log-probabilities, or weighted standard scores."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from visterm.contracts.estimator import Estimator
from visterm.errors import InputError
from visterm.neighbours import KnnAnnotator
from visterm.ranking.queries import query_vectors
from visterm.ranking.tag_ranker import FLOOR, TagRanker


class Given(Estimator):
    """An annotator whose scores are its features."""

    def fit(self, X, tags):
        self.n_tags_ = tags.shape[1]
        return self

    def score_tags(self, X):
        return np.asarray(X, dtype=float)


class GivenProbabilities(Given):
    scores_are_probabilities = True


PROBABILITIES = np.array([[0.9, 0.5, 0.0], [0.2, 1.0, 0.3], [0.6, 0.1, 1e-9], [1.0, 0.0, 0.7]])
TAGS = np.ones((4, 3))


def test_probabilities_are_weighted_in_logarithms():
    Q = np.array([[1.0, 0.0, 0.0], [0.6, 0.0, 0.8], [0.0, 0.0, 0.0]])
    scores = TagRanker(GivenProbabilities()).fit(PROBABILITIES, TAGS).score_queries(PROBABILITIES, Q)
    logs = np.log([[0.9, 0.5, FLOOR], [0.2, 1, 0.3], [0.6, 0.1, FLOOR], [1, FLOOR, 0.7]])
    np.testing.assert_allclose(scores, Q @ logs.T, rtol=1e-5, atol=1e-7)


def test_scores_are_brought_to_one_scale_on_the_training_pictures():
    X = np.array([[1.0, 100.0, 5.0], [3.0, 500.0, 5.0]])
    ranker = TagRanker(Given()).fit(X, np.ones((2, 3)))
    scores = ranker.score_queries([[4.0, 100.0, 5.0]], np.eye(3))
    np.testing.assert_allclose(scores.ravel(), [2.0, -1.0, 0.0])


@pytest.mark.parametrize("annotator", [Given(), GivenProbabilities()], ids=["scores", "probabilities"])
def test_one_word_orders_pictures_as_the_annotator_does(annotator):
    X = np.random.default_rng(0).uniform(0.01, 1, (30, 3))
    scores = TagRanker(annotator).fit(X, np.ones((30, 3))).score_queries(X, np.eye(3))
    np.testing.assert_array_equal(np.argsort(scores, axis=1), np.argsort(X.T, axis=1))


@pytest.mark.parametrize("annotator", [Given(), GivenProbabilities()], ids=["scores", "probabilities"])
def test_words_of_negative_weight_are_not_wanted(annotator):
    ranker = TagRanker(annotator).fit(PROBABILITIES, TAGS)
    wanted, unwanted = ranker.score_queries(PROBABILITIES, [[0.0, 1.0, 0.0], [0.0, -1.0, 0.0]])
    np.testing.assert_allclose(unwanted, -wanted)
    with_and_without = ranker.score_queries(PROBABILITIES, [[1.0, -1.0, 0.0]])[0]
    assert with_and_without.argmax() == 3


def test_all_words_count_more_than_one_word_twice():
    both, one = [0.5, 0.5, 0.5], [1.0, 0.0, 0.5]
    scores = TagRanker(GivenProbabilities()).fit(PROBABILITIES, TAGS).score_queries([both, one], [[0.7, 0.7, 0.0]])
    assert scores[0, 0] > scores[0, 1]


def test_over_a_fitted_annotator_it_is_the_same_ranker():
    rng = np.random.default_rng(1)
    X, tags = rng.random((30, 4)), (rng.random((30, 5)) < 0.4).astype(int)
    fitted = KnnAnnotator(4).fit(X, tags)
    of_fitted = TagRanker.of_fitted(fitted, X, 5)
    trained = TagRanker(KnnAnnotator(4)).fit(X, tags)
    Q = rng.random((6, 5))
    np.testing.assert_array_equal(of_fitted.score_queries(X, Q), trained.score_queries(X, sparse.csr_array(Q)))
    np.testing.assert_array_equal(of_fitted.score_tags(X), fitted.score_tags(X))
    assert of_fitted.annotator_ is fitted
    assert trained.annotator is not trained.annotator_
    assert trained.n_features_in_ == 4


@pytest.mark.parametrize("value", [-0.1, 1.1])
def test_probabilities_that_are_none_are_refused(value):
    ranker = TagRanker(GivenProbabilities()).fit(PROBABILITIES, TAGS)
    with pytest.raises(InputError, match="GivenProbabilities declares its scores as probabilities"):
        ranker.score_queries([[value, 0.0, 0.0]], np.eye(3))


def test_no_pictures_and_unfitted():
    ranker = TagRanker(GivenProbabilities()).fit(PROBABILITIES, TAGS)
    assert ranker.score_queries(np.empty((0, 3)), np.eye(3)).shape == (3, 0)
    with pytest.raises(NotFittedError):
        TagRanker(GivenProbabilities()).score_queries(PROBABILITIES, np.eye(3))
    with pytest.raises(NotFittedError):
        TagRanker.of_fitted(KnnAnnotator(), PROBABILITIES, 3)
    with pytest.raises(InputError, match="NaN"):
        ranker.score_queries(PROBABILITIES, [[np.nan, 0, 0]])


def test_words_of_equal_weight_multiply_their_probabilities(captioned):
    ranker = TagRanker(KnnAnnotator(8, shrinkage=1.0), equal_words=True).fit(captioned.X, captioned.tags)
    probabilities = ranker.annotator_.score_tags(captioned.X_test)
    Q = query_vectors([[1, 0, 1, 0, 0]], ranker.idf_)
    expected = np.log(np.maximum(probabilities[:, [0, 2]], FLOOR)).sum(axis=1)
    np.testing.assert_allclose(ranker.score_queries(captioned.X_test, Q)[0], expected)
    explained = ranker.explain(captioned.X_test[:1], Q)
    assert dict(explained.words) == pytest.approx(dict(zip((0, 2), np.log(probabilities[0, [0, 2]]), strict=True)))


def test_many_pictures_are_scaled_on_some_from_first_to_last(monkeypatch):
    monkeypatch.setattr("visterm.ranking.tag_ranker._SCALED", 3)
    X = np.array([[1.0], [90.0], [80.0], [3.0], [70.0], [60.0], [8.0]])
    ranker = TagRanker(Given()).fit(X, np.ones((7, 1)))
    assert ranker.score_means_ == pytest.approx([4.0])
    assert ranker.score_deviations_ == pytest.approx([np.std([1.0, 3.0, 8.0])])
    assert TagRanker(Given()).fit(X[:3], np.ones((3, 1))).score_means_ == pytest.approx([57.0])


def test_idf_counts_the_tagged_pictures():
    ranker = TagRanker(GivenProbabilities()).fit(PROBABILITIES, [[1, 0, 0], [1, 1, 0], [0, 0, 0], [1, 0, 0]])
    np.testing.assert_allclose(ranker.idf_, [0, np.log(3), 0])


def test_what_is_not_fitted_has_no_tags():
    with pytest.raises(NotFittedError):
        TagRanker(GivenProbabilities()).score_tags(PROBABILITIES)


def test_words_are_weighed_by_the_query_unless_told_otherwise():
    Q = np.array([[0.6, 0.0, 0.8]])
    logs = np.log(np.maximum(PROBABILITIES, FLOOR))
    tags = [[1, 0, 1], [1, 1, 0], [0, 0, 1], [0, 0, 1]]
    for given, weights in (({}, Q), ({"equal_words": True}, Q / [[np.log(2), 1, np.log(4 / 3)]])):
        scores = TagRanker(GivenProbabilities(), **given).fit(PROBABILITIES, tags).score_queries(PROBABILITIES, Q)
        scale = 2 / weights.sum() if given else 1.0  # with mean 1
        np.testing.assert_allclose(scores, scale * weights @ logs.T, rtol=1e-5)


def test_only_annotators_can_be_ranked_by():
    with pytest.raises(InputError, match="'annotator' parameter"):
        TagRanker("knn").fit(PROBABILITIES, TAGS)
