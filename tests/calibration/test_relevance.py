"""Probabilities from scores: right on average, never against the scores, and silent when there is nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit

from visterm.calibration.combining import DEPENDENCE
from visterm.calibration.nothing_found import NOTHING_BELOW, cut_off
from visterm.calibration.relevance import Relevance, _fit_dependence, _fit_nothing_below, _queries, _surprise
from visterm.contracts import word_scores
from visterm.errors import InputError
from visterm.models.state import pack, unpack
from visterm.neighbours import KnnAnnotator


def collection(n=900, n_tags=12, seed=0, rare=2.5, spread=1.5):
    """Pictures of a few kinds, their tags, and scores that know the kinds but not the tags."""
    rng = np.random.default_rng(seed)
    odds = rng.normal(-rare, spread, (6, n_tags))
    of_picture = odds[rng.integers(0, 6, n)] + rng.normal(0, 0.5, (n, n_tags))
    tags = (rng.random((n, n_tags)) < expit(of_picture)).astype(int)
    tags[:, 0] |= tags.sum(axis=1) == 0
    scores = of_picture * rng.uniform(0.75, 3, n_tags) + rng.normal(0, 0.3, (n, n_tags)) + rng.normal(0, 3, n_tags)
    return scores, tags


def learned(scores, tags):
    train, held_out = tags[:300], slice(300, 600)
    relevance = Relevance().fit(
        scores[held_out], tags[held_out], tag_counts=train.sum(axis=0), n_tagged=300, asked=sparse.csr_array(train)
    )
    return relevance, scores[600:], tags[600:]


@pytest.fixture(scope="module")
def fitted():
    return learned(*collection())


def test_probabilities_are_right_on_average(fitted):
    relevance, scores, tags = fitted
    p = np.exp(relevance.log_probabilities(scores))
    order = np.argsort(p.ravel())
    for part in np.array_split(order, 8):
        assert tags.ravel()[part].mean() == pytest.approx(p.ravel()[part].mean(), abs=0.06)
    frequency = tags.mean(axis=0)
    brier, floor = ((p - tags) ** 2).mean(), ((frequency - tags) ** 2).mean()
    assert brier < 0.85 * floor


def test_better_scores_are_never_less_likely(fitted):
    relevance, scores, _ = fitted
    steps = np.linspace(scores.min() - 5, scores.max() + 5, 200)[:, None] * np.ones(scores.shape[1])
    assert (np.diff(relevance.log_probabilities(steps), axis=0) >= 0).all()


def test_a_model_is_never_certain(fitted):
    relevance, *_ = fitted
    log_p = relevance.log_probabilities(np.array([[1e9] * 12, [-1e9] * 12]))
    assert (log_p < 0).all()
    assert np.isfinite(log_p).all()


def test_dependence_is_found():
    """Words that always come together are as likely as one of them; words apart multiply."""
    rng = np.random.default_rng(0)
    odds = rng.normal(-1, 1.5, 2000)
    one = rng.random(2000) < expit(odds)
    together = np.column_stack([one, one]).astype(int)
    apart = np.column_stack([rng.random(2000) < expit(odds), rng.random(2000) < expit(odds)]).astype(int)
    scores = np.column_stack([odds, odds])
    found = [
        Relevance().fit(scores, tags, tag_counts=[600, 600], n_tagged=2000, asked=np.ones((5, 2), int)).dependence_
        for tags in (together, apart)
    ]
    assert found[0] > 0.85
    assert found[1] < 0.25


def test_nothing_is_found_more_often_where_there_is_nothing():
    relevance, scores, tags = learned(*collection(rare=4.0, spread=2.5))
    log_p = relevance.log_probabilities(scores)
    right, wrong = [], []
    for word in range(12):
        for start in range(0, 300, 20):
            rows = slice(start, start + 20)
            nothing = cut_off(log_p[rows, word], relevance.nothing_below_) == math.inf
            (wrong if tags[rows, word].any() else right).append(nothing)
    assert np.mean(right) > np.mean(wrong) + 0.3
    assert 0.02 <= relevance.nothing_below_ <= 0.8


@given(st.lists(st.floats(0.001, 0.999), min_size=1, max_size=30))
@settings(max_examples=200, deadline=None)
def test_the_cut_off_has_the_best_expected_measure(probabilities):
    p = np.array(probabilities)
    ordered = np.sort(p)[::-1]
    best = max(2 * ordered[:k].sum() / (k + p.sum()) for k in range(1, len(p) + 1))
    cut = cut_off(np.log(p), 0.0)
    assert cut == pytest.approx(best / 2)
    chosen = p[p >= cut]
    assert 2 * chosen.sum() / (len(chosen) + p.sum()) == pytest.approx(best)


def test_the_cut_off_of_nothing_and_of_many():
    assert cut_off(np.empty(0), 0.2) == math.inf
    assert cut_off(np.array([-np.inf, -np.inf]), 0.0) == math.inf
    assert cut_off(np.log([0.19]), 0.2) == math.inf
    assert cut_off(np.array([0.0]), 1.0) == 0.5  # as likely as it must be
    many = np.log(np.r_[np.full(20, 0.9), np.full(200_000, 0.001)])
    assert 0.3 < cut_off(many, 0.2) < 0.9


def test_scores_of_annotators_and_rankers():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1]])
    annotator = KnnAnnotator(1).fit(X, [[1, 0], [0, 1], [1, 0]])
    np.testing.assert_allclose(word_scores(annotator, X[:1]), np.log([[1.0, 1e-5]]))

    class Ranker:
        def word_scores(self, X):
            return X * 2

    np.testing.assert_allclose(word_scores(Ranker(), X), 2 * X)


def test_it_is_stored_without_pickle(fitted):
    relevance, scores, _ = fitted
    tensors = {}
    again = unpack(pack(relevance, "relevance", tensors), tensors)
    np.testing.assert_array_equal(again.log_probabilities(scores), relevance.log_probabilities(scores))
    assert (again.dependence_, again.nothing_below_) == (relevance.dependence_, relevance.nothing_below_)


def test_what_was_never_measured_is_a_guess_in_the_order_of_the_scores():
    scores, tags = collection(100)
    guess = Relevance.unmeasured(scores, tags.sum(axis=0), 100)
    log_p = guess.log_probabilities(scores)
    assert guess.nothing_below_ == 0
    for word in range(12):
        assert (np.argsort(scores[:, word]) == np.argsort(log_p[:, word], kind="stable")).mean() > 0.9


@pytest.mark.parametrize(
    ("scores", "tags", "said"),
    [
        (np.full((5, 3), np.nan), np.ones((5, 3)), "finite"),
        (np.ones(5), np.ones((5, 3)), "finite"),
        (np.ones((5, 3)), np.zeros((5, 3)), "at least two held-out"),
        (np.ones((1, 3)), np.ones((1, 3)), "at least two held-out"),
        (np.ones((5, 3)), np.ones((4, 3)), "tags must be"),
    ],
)
def test_what_cannot_be_learned_from(scores, tags, said):
    with pytest.raises(InputError, match=said):
        Relevance().fit(scores, tags, tag_counts=[1, 1, 1], n_tagged=5, asked=np.ones((2, 3)))


def test_scores_of_another_vocabulary_are_refused(fitted):
    with pytest.raises(InputError, match="each of 12 tags"):
        fitted[0].log_probabilities(np.zeros((2, 5)))


def test_equal_scores_and_single_pictures_are_no_trouble():
    tags = np.array([[1, 0], [0, 1], [1, 1]])
    relevance = Relevance().fit(np.zeros((3, 2)), tags, tag_counts=[2, 2], n_tagged=3, asked=tags)
    assert np.isfinite(relevance.log_probabilities(np.zeros((1, 2)))).all()


def captions(seed=0):
    """Captions of up to five of nine words; the last has none."""
    rng = np.random.default_rng(seed)
    tags = np.zeros((60, 9), int)
    for row in range(59):
        tags[row, rng.choice(9, rng.integers(1, 6), replace=False)] = 1
    return sparse.csr_array(tags)


def test_queries_are_up_to_three_different_words_of_a_caption():
    tags = captions()
    queries = _queries(tags, 30, np.random.default_rng(0))
    assert len(queries) == len(set(queries)) == 30
    assert {len(words) for words in queries} == {1, 2, 3}
    dense = tags.toarray() > 0
    for words in queries:
        assert list(words) == sorted(set(words))
        assert dense[:, list(words)].all(axis=1).any()
    pairs = sparse.csr_array(np.array([[1, 1, 0], [0, 1, 1]]))
    every = _queries(pairs, 100, np.random.default_rng(0))
    assert sorted(every) == [(0,), (0, 1), (1,), (1, 2), (2,)]
    assert _queries(sparse.csr_array((3, 2)), 5, np.random.default_rng(0)) == []


def test_the_dependence_makes_what_is_relevant_most_likely():
    rng = np.random.default_rng(1)
    log_p = np.log(rng.uniform(0.1, 0.9, (300, 3)))
    both = rng.random(300) < np.exp(0.6 * log_p[:, :2].min(axis=1) + 0.4 * log_p[:, :2].sum(axis=1))
    present = np.column_stack([both, both | (rng.random(300) < 0.4), rng.random(300) < np.exp(log_p[:, 2])])
    queries = [(0, 1), (1, 2), (0, 1, 2)]

    def surprise(d):
        values = []
        for words in queries:
            p = np.exp(log_p[:, list(words)])
            joint = p.min(axis=1) ** d * p.prod(axis=1) ** (1 - d)
            fits = present[:, list(words)].all(axis=1)
            values += (-np.log(np.where(fits, joint, 1 - joint))).tolist()
        return np.mean(values)

    grid = np.linspace(0, 0.95, 191)
    best = grid[np.argmin([surprise(d) for d in grid])]
    assert 0.1 < best < 0.9
    assert _fit_dependence(log_p, present, queries) == pytest.approx(best, abs=0.006)
    joint, fits = log_p.sum(axis=1), present.all(axis=1)
    expected = -np.log(np.where(fits, np.exp(joint), 1 - np.exp(joint))).mean()
    assert _surprise(joint, fits) == pytest.approx(expected)
    assert math.isfinite(_surprise(np.zeros(1), np.array([False])))


def test_words_that_are_never_together_tell_nothing_about_dependence():
    tags = np.array([[1, 0], [0, 1]] * 10)
    scores = np.random.default_rng(0).standard_normal(tags.shape)
    relevance = Relevance().fit(scores, tags, tag_counts=[10, 10], n_tagged=20, asked=np.ones((3, 2), int))
    assert relevance.dependence_ == DEPENDENCE


def test_nothing_counts_as_found_below_what_parts_the_queries_best():
    """Of eight pictures or fewer, each query sees all."""
    p = np.full((8, 3), 0.001)
    p[:3, 0] = [0.305, 0.3, 0.295]  # these are found, and the first two are relevant: the F-measure is 0.8
    p[4, 1], p[5, 2] = 0.205, 0.505  # nothing is relevant to the other words
    present = np.zeros((8, 3), bool)
    present[:2, 0] = True

    def learned_from(n_words):
        queries = [(word,) for word, n in enumerate(n_words) for _ in range(n)]
        found = [_fit_nothing_below(np.log(p), present, queries, 0.5, np.random.default_rng(i)) for i in range(3)]
        assert len(set(found)) == 1
        return found[0]

    assert learned_from((1, 1, 1)) == pytest.approx(0.21)  # 0.8 and a half of the others is more than all others
    assert learned_from((1, 1, 9)) == pytest.approx(0.51)  # 0.8 and a tenth is less
    assert learned_from((1, 0, 0)) == learned_from((0, 1, 1)) == NOTHING_BELOW  # always something, or always nothing


def test_without_captions_the_tags_are_asked_for():
    scores, tags = collection(n=60, n_tags=5)
    counts = tags.sum(axis=0)
    plain, same = (
        Relevance(n_queries=40).fit(scores, tags, tag_counts=counts, n_tagged=60, asked=asked) for asked in (None, tags)
    )
    assert (plain.dependence_, plain.nothing_below_) == (same.dependence_, same.nothing_below_)


def test_of_many_pictures_some_are_tried_each_once(monkeypatch):
    monkeypatch.setattr("visterm.calibration.relevance._MAX_PAIRS", 5 * 30)
    tried = []

    class Watched(Relevance):
        def log_probabilities(self, scores):
            tried.append(np.asarray(scores))
            return super().log_probabilities(scores)

    scores, tags = collection(n=60, n_tags=5)
    Watched(n_queries=10).fit(scores, tags, tag_counts=tags.sum(axis=0), n_tagged=60)
    (some,) = tried
    assert some.shape == (30, 5)
    assert len(np.unique(some, axis=0)) == 30


def test_an_unmeasured_model_always_finds_something():
    guess = Relevance.unmeasured(np.random.default_rng(0).standard_normal((20, 3)), [5, 6, 7], 20)
    assert (guess.dependence_, guess.nothing_below_) == (DEPENDENCE, 0.0)
