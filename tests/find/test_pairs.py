"""Words together: what a model knows of pairs counts beside the words, and as much as it has proved to be worth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from visterm.calibration import together
from visterm.calibration.combining import pair_weights
from visterm.calibration.relevance import Relevance
from visterm.collection.evidence import Evidence
from visterm.contracts import pairs_of
from visterm.find.rank.beliefs import Beliefs, Leaf
from visterm.find.rank.omission import Doubts
from visterm.find.rank.pairs import Pairs
from visterm.find.rank.searcher import Searcher
from visterm.index.index import Index
from visterm.ranking import CaptionRidge

NAMES = ["sea", "horse", "tall building"]
KEYS = list("abcd")
P = np.array([[0.5, 0.5, 0.1], [0.5, 0.5, 0.1], [0.9, 0.1, 0.4], [0.4, 0.6, 0.2]])
PAIRS = np.array([[0.01, 0.2], [0.4, 0.2], [0.1, 0.3], [0.2, 0.1]])


def made(tags=None, weight=0.4, dependence=0.3, names=(("horse", "sea"), ("sea", "Tall Building"))):
    index, of_pairs = Index(3), Index(2)
    index.add(KEYS, np.log(P))
    of_pairs.add(KEYS, np.log(PAIRS))
    given_tags = np.zeros((4, 3)) if tags is None else tags
    evidence = Evidence([f"{key}.jpg" for key in KEYS], tags=sparse.csr_array(given_tags), tag_names=NAMES)
    return Searcher(
        evidence,
        Beliefs(index.snapshot(), NAMES, KEYS),
        pairs=Pairs(of_pairs.snapshot(), names, KEYS, weight),
        dependence=dependence,
    )


def probabilities(searcher, text):
    hits = searcher.search(text, unlikely=True).hits
    return {hit.row: hit.probability for hit in hits}


@given(
    st.integers(2, 6).flatmap(
        lambda n: st.tuples(
            st.just(n), st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda p: p[0] < p[1]))
        )
    ),
    st.floats(0, 0.95),
)
@settings(max_examples=100, deadline=None)
def test_words_that_are_independent_are_as_likely_with_pairs_as_without(case, weight):
    n_words, pairs = case
    logs = -np.arange(1.0, n_words + 1)
    of_words, of_pair = pair_weights(n_words, sorted(pairs), weight)
    assert min(of_words) > 0
    total = np.dot(of_words, logs) + sum(of_pair * (logs[a] + logs[b]) for a, b in pairs)
    assert total == pytest.approx(logs.sum())


def test_a_known_pair_counts_beside_its_words():
    found = probabilities(made(), "sea horse")
    for row in range(4):
        parts = [0.6 * np.log(P[row, 0]), 0.6 * np.log(P[row, 1]), 0.4 * np.log(PAIRS[row, 0])]
        assert np.log(found[row]) == pytest.approx(float(together(parts, 0.3)), abs=1e-3)
    assert found[1] > found[0]  # whose words alone are as likely


def test_three_words_of_which_two_pairs_are_known():
    found = probabilities(made(), 'sea horse "tall building"')
    words = np.array([1 - 0.2 * 2, 1 - 0.2, 1 - 0.2])
    for row in range(4):
        parts = [*(words * np.log(P[row])), *(0.2 * np.log(PAIRS[row]))]
        assert np.log(found[row]) == pytest.approx(float(together(parts, 0.3)), abs=1e-3)


def test_what_is_no_known_pair_is_as_before():
    plain = Searcher(made()._evidence, made()._interpreter._leaves._beliefs["tag"], dependence=0.3)
    for text in ("sea", "horse tall-building", "sea -horse", "sea OR horse", "sea sea", "sea filename:jpg"):
        assert probabilities(made(), text) == pytest.approx(probabilities(plain, text))


def test_weights_of_the_query_hold_for_pairs_too():
    found = probabilities(made(dependence=0.0), "sea^3 horse")
    expected = 0.6 * 1.5 * np.log(P[2, 0]) + 0.6 * 0.5 * np.log(P[2, 1]) + 0.4 * np.log(PAIRS[2, 0])
    assert np.log(found[2]) == pytest.approx(expected, abs=1e-3)


def test_what_people_say_of_both_words_they_say_of_the_pair():
    tags = np.zeros((4, 3))
    tags[0, [0, 1]] = 1
    hits = made(tags).search("sea horse").hits
    assert (hits[0].row, hits[0].told, hits[0].probability) == (0, True, 1.0)
    assert [reason.word for reason in hits[0].reasons] == ["sea", "horse", "sea and horse"]


def test_what_is_excluded_keeps_its_weight_beside_a_pair():
    found = probabilities(made(dependence=0.0), "sea horse -tall-building")
    for row in range(4):
        words = 0.6 * np.log(P[row, 0]) + 0.6 * np.log(P[row, 1]) + np.log(1 - P[row, 2])
        assert np.log(found[row]) == pytest.approx(words + 0.4 * np.log(PAIRS[row, 0]), abs=1e-3)


def known_pairs(names, n_pairs):
    """A model's pairs, and a word for each of ``names``."""
    index = Index(n_pairs)
    index.add(KEYS, np.full((4, n_pairs), -1.0))
    source = (Beliefs(index.snapshot(), [f"x{i}" for i in range(n_pairs)], KEYS), "x0")
    return index.snapshot(), [Leaf(name, 4, sources=(source,)) for name in names]


def test_pairs_of_names_with_signs_are_known_by_them():
    snapshot, (c, sea) = known_pairs(["c++", "sea"], 1)
    pairs = Pairs(snapshot, [("C++", "Sea")], KEYS, 0.4)
    assert [part.text for part in pairs.joined((c, sea), (1.0, 1.0)).parts] == ["c++", "sea", "c++ and sea"]


def test_the_latest_pairs_are_remembered(monkeypatch):
    monkeypatch.setattr("visterm.find.rank.pairs._MAX_REMEMBERED", 2)
    snapshot, (a, b, c) = known_pairs("abc", 3)
    pairs = Pairs(snapshot, [("a", "b"), ("a", "c"), ("b", "c")], KEYS, 0.4)

    def leaf(*words):
        return pairs.joined(words, (1.0, 1.0)).parts[-1]

    first, second = leaf(a, b), leaf(a, c)
    assert (leaf(a, b), leaf(a, c)) == (first, second)
    third = leaf(b, c)
    assert leaf(b, c) is third
    assert leaf(a, b) is not first


def test_a_pair_is_doubted_and_denied_as_its_words_are():
    snapshot, (a, b) = known_pairs("ab", 1)
    doubts = Doubts(np.array([0, 3, 0, 0], np.uint8))
    a.denied, b.denied, a.told_by, b.told_by = (
        *map(np.array, ([3], [1])),
        *({"tag": np.array(x)} for x in ([0, 2], [2])),
    )
    for of_a, of_b in ((doubts, None), (None, doubts)):
        a.doubted, b.doubted = of_a, of_b
        pair = Pairs(snapshot, [("a", "b")], KEYS, 0.4).joined((a, b), (1.0, 1.0)).parts[-1]
        assert pair.doubted is doubts
        assert (pair.denied.tolist(), pair.told.tolist(), pair.n_rows) == ([1, 3], [2], 4)


def test_the_words_of_a_query_and_their_pairs_by_hand():
    rng = np.random.default_rng(0)
    log_p, log_pairs = -rng.random((6, 4)), -rng.random((6, 2))
    relevance = Relevance()
    relevance.dependence_, relevance.pair_weight_ = 0.25, 0.6
    columns = {(0, 2): 0, (2, 3): 1}
    found = relevance.joint(log_p, (0, 2, 3), log_pairs, columns)
    parts = [0.7 * log_p[:, 0], 0.4 * log_p[:, 2], 0.7 * log_p[:, 3], 0.3 * log_pairs[:, 0], 0.3 * log_pairs[:, 1]]
    np.testing.assert_allclose(found, 0.25 * np.min(parts, axis=0) + 0.75 * np.sum(parts, axis=0))
    words = log_p[:, :2]
    np.testing.assert_allclose(
        relevance.joint(log_p, (0, 1), log_pairs, columns), 0.25 * words.min(axis=1) + 0.75 * words.sum(axis=1)
    )


def test_how_much_pairs_count_is_learned():
    rng = np.random.default_rng(0)
    n = 400
    tags = (rng.random((n, 3)) < 0.5).astype(int)
    log_p = np.full((n, 3), np.log(0.5), np.float32)  # the words know nothing
    both = [tags[:, a] * tags[:, b] for a, b in ((0, 1), (0, 2), (1, 2))]
    pairs = [(0, 1), (0, 2), (1, 2)]
    relevance = Relevance().fit(rng.standard_normal((n, 3)), tags, tag_counts=[200] * 3, n_tagged=400, asked=tags)
    told = np.log(np.clip(np.array(both).T, 0.02, 0.98))
    assert relevance.fit_pairs(log_p, told, pairs, tags).pair_weight_ > 0.8
    assert relevance.pair_weight_ <= 0.95
    mistaken = np.log(np.clip(1 - np.array(both).T, 0.02, 0.98))
    assert relevance.fit_pairs(log_p, mistaken, pairs, tags).pair_weight_ < 0.1
    assert relevance.fit_pairs(log_p, told[:, :0], [], tags).pair_weight_ == 0


def test_the_pairs_of_an_estimator():
    X = np.random.default_rng(0).random((6, 4))
    tags = [[1, 1, 0], [1, 1, 0], [0, 1, 1], [1, 1, 1], [0, 0, 1], [1, 0, 0]]
    model = CaptionRidge(kernel="linear", set_size=3).fit(X, tags)
    numbers, columns = pairs_of(model)
    assert columns == [(0, 1), (0, 2), (1, 2)]
    assert len(numbers) == 3 < model.set_words_.shape[0]
    logs = model.set_log_probabilities(X)
    assert logs.shape == (6, model.set_words_.shape[0])
    assert (logs <= 0).all()
    assert pairs_of(CaptionRidge(kernel="linear", set_size=1).fit(X, tags)) == ([], [])
    assert pairs_of(object()) == ([], [])
