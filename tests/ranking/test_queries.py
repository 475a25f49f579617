from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from visterm.errors import InputError
from visterm.ranking import queries
from visterm.ranking.queries import (
    affordable_words,
    from_tags,
    idf,
    query_vectors,
    relevant_pictures,
    sample_from_tags,
    wanted_words,
)

few = settings(max_examples=40, deadline=None)
tag_matrices = hnp.arrays(np.int64, st.tuples(st.integers(0, 7), st.integers(0, 6)), elements=st.integers(0, 1))


def brute_force(tags, max_words):
    """Every set of columns, in order, with the pictures that have them all; only sets that have a picture."""
    found = {}
    for size in range(1, max_words + 1):
        for words in combinations(range(tags.shape[1]), size):
            pictures = [i for i in range(len(tags)) if all(tags[i, word] for word in words)]
            if pictures:
                found[words] = pictures
    return found


@few
@given(tag_matrices, st.none() | st.integers(1, 4))
def test_every_set_of_words_with_a_relevant_picture_is_a_query(tags, max_words):
    expected = brute_force(tags, max_words or tags.shape[1])
    made = from_tags(sparse.csr_array(tags), max_words=max_words)
    assert made.columns() == list(expected)
    assert [np.flatnonzero(row).tolist() for row in made.relevance.toarray()] == list(expected.values())
    assert made.words.shape == (len(expected), tags.shape[1])
    assert made.relevance.shape == (len(expected), len(tags))
    assert made.relevance.dtype == made.words.dtype == bool
    assert made.relevance.has_canonical_format


@few
@given(tag_matrices)
def test_relevance_by_matching_equals_relevance_by_construction(tags):
    made = from_tags(tags)
    assert (relevant_pictures(made.words, tags) != made.relevance).nnz == 0


def test_matching_in_blocks_is_the_same(monkeypatch):
    tags = np.random.default_rng(0).random((30, 8)) < 0.4
    made = from_tags(tags)
    monkeypatch.setattr(queries, "_BLOCK", 7)
    assert (relevant_pictures(made.words, tags) != made.relevance).nnz == 0


@few
@given(tag_matrices)
def test_queries_of_several_words_are_those_without_one_word(tags):
    made = from_tags(tags)
    single = made.select(made.n_words == 1)
    assert sorted(single.columns() + made.multi_word().columns()) == sorted(made.columns())
    assert (made.multi_word().n_words > 1).all()


def test_long_captions_need_a_cap():
    tags = np.ones((1, 60))
    with pytest.raises(InputError, match="set max_words lower"):
        from_tags(tags)
    assert len(from_tags(tags, max_words=2)) == 60 + 60 * 59 // 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: from_tags([[1, 2]]), "0 or 1"),
        (lambda: from_tags([1, 0]), "n_pictures, n_tags"),
        (lambda: from_tags([[1, 0]], max_words=0), "at least 1 word"),
        (lambda: from_tags(1), r"for the 0 pictures of X, but have shape \(\)"),
        (lambda: sample_from_tags([[1, 0]], 1, max_words=0), "at least 1 word"),
        (lambda: relevant_pictures([[0, 0]], [[1, 1]]), "query 0 has no words"),
        (lambda: relevant_pictures([[1]], [[1, 1]]), r"\(1, 1\) and the tags \(1, 2\)"),
    ],
)
def test_unusable_input_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_corel_test_queries_are_as_many_as_published():
    """Grangier & Bengio (2008): 179 words, 2,241 queries, 421 of them easy; words of a single picture are left out."""
    path = Path(__file__).parents[3] / "shared/data/corel5k/blobs.npz"
    if not path.exists():
        pytest.skip("the Corel 5K labels (../shared/data/corel5k) are not here")
    with np.load(path) as corel:
        tags = corel["labels"][corel["is_test"]]
    made = from_tags(tags[:, tags.sum(axis=0) >= 2])
    assert (made.words.shape[1], len(made), np.count_nonzero(made.n_relevant >= 3)) == (179, 2241, 421)


def test_vectors_are_normalised_idf_weights_of_the_words():
    weights = idf([1, 2, 4, 0], 4)
    vectors = query_vectors([[1, 1, 1, 0], [0, 0, 1, 1], [0, 0, 0, 0], [2, 1, 0, 0]], weights).toarray()
    raw = np.array([np.log(4), np.log(2), 0, 0])
    np.testing.assert_allclose(vectors[0], raw / np.linalg.norm(raw))
    np.testing.assert_allclose(vectors[1], np.array([0, 0, 1, 1]) / np.sqrt(2))  # no word tells anything: all alike
    assert not vectors[2].any()
    np.testing.assert_allclose(vectors[3, 0] / vectors[3, 1], 2 * np.log(4) / np.log(2))


@few
@given(hnp.arrays(np.float64, (3, 4), elements=st.sampled_from([-1.0, 0.0, 1.0, 2.0])))
def test_what_was_wanted_is_known_from_the_vector(words):
    weights = np.array([0.5, 3.0, 1.0, 2.0])
    wanted = wanted_words(query_vectors(words, weights), weights).toarray()
    n_words = (words != 0).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(wanted, words * n_words / np.maximum(np.abs(words).sum(axis=1, keepdims=True), 1))


def test_as_many_words_as_can_be_afforded():
    tags = np.ones((1, 60))
    assert affordable_words(tags, 60 + 60 * 59 // 2) == 2
    assert affordable_words(tags, 10) == 1
    assert affordable_words(np.ones((2, 3)), 10**6) == 3
    assert affordable_words(np.zeros((2, 3)), 5) == 1


def test_a_sample_is_of_the_queries_and_the_same_each_time():
    tags = np.random.default_rng(3).random((30, 12)) < 0.4
    every = from_tags(tags, max_words=3)
    some = sample_from_tags(tags, 40, max_words=3)
    assert len(some) == 40
    relevance = dict(zip(every.columns(), every.relevance.toarray().tolist(), strict=True))
    assert [relevance[words] for words in some.columns()] == some.relevance.toarray().tolist()
    assert some.columns() == sample_from_tags(tags, 40, max_words=3).columns()
    assert sample_from_tags(tags, 40, max_words=3, random_state=1).columns() != some.columns()
    assert len(set(some.columns())) == 40
    for enough in (len(every), 10**6):
        assert sample_from_tags(tags, enough, max_words=3).columns() == every.columns()


def test_long_captions_are_sampled_without_making_all_queries(monkeypatch):
    tags = np.random.default_rng(3).random((30, 12)) < 0.4
    every = set(from_tags(tags, max_words=3).columns())
    monkeypatch.setattr("visterm.ranking.queries.MAX_ENUMERATED", 0)
    monkeypatch.setattr("visterm.ranking.queries._subsets", lambda *a: pytest.fail("all queries were made"))
    drawn = sample_from_tags(tags, 50, max_words=3)
    assert len(drawn) == 50
    assert set(drawn.columns()) <= every
    assert drawn.columns() == sorted(drawn.columns(), key=lambda words: (len(words), words))
    for words, row in zip(drawn.columns(), drawn.relevance.toarray(), strict=True):
        np.testing.assert_array_equal(row, tags[:, list(words)].all(axis=1))


def test_pictures_that_match_are_in_order():
    tags = np.random.default_rng(0).random((30, 8)) < 0.4
    made = relevant_pictures(from_tags(tags).words, tags)
    for start, stop in zip(made.indptr[:-1], made.indptr[1:], strict=True):
        assert (np.diff(made.indices[start:stop]) > 0).all()


def test_small_idf_weigh_like_large_ones():
    np.testing.assert_allclose(query_vectors([[1, 1, 0]], np.array([0.03, 0.04, 0.0])).toarray(), [[0.6, 0.8, 0]])
    np.testing.assert_array_equal(idf([1, 0], 1), [0, 0])
    wanted = wanted_words(sparse.csr_array([[0.8, 0.6, 0.0], [0.0, 0.5, 0.5]]), np.array([0.5, 0.0, 0.0])).toarray()
    np.testing.assert_allclose(wanted[0], [1, 0, 0])  # a word that tells nothing is not asked for beside others
    np.testing.assert_allclose(wanted[1], [0, 1, 1])


def test_every_subset_of_a_long_caption_is_drawn_now_and_then(monkeypatch):
    monkeypatch.setattr("visterm.ranking.queries.MAX_ENUMERATED", 0)
    tags = [[1, 1, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 0]]
    for max_words in (None, 1, 2):
        assert (
            sample_from_tags(tags, 50, max_words=max_words).columns() == from_tags(tags, max_words=max_words).columns()
        )
