"""Queries as normalised idf weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visterm.ranking.queries import idf, vectors_of_words

COUNTS, N = [1, 2, 4, 8, 0], 8


def test_idf_is_minus_the_log_of_the_share():
    np.testing.assert_allclose(idf(COUNTS, N), [np.log(8), np.log(4), np.log(2), 0, 0], atol=1e-12)


def test_nothing_tagged_tells_nothing():
    np.testing.assert_array_equal(idf([0, 0], 0), [0, 0])
    np.testing.assert_allclose(vectors_of_words([[0, 1]], [0, 0], 0).toarray(), [[2**-0.5, 2**-0.5]])


def test_rare_words_weigh_more_in_proportion():
    row = vectors_of_words([[2, 0]], COUNTS, N).toarray()[0]
    np.testing.assert_allclose(row, np.array([3, 0, 1, 0, 0]) / 10**0.5, rtol=1e-6)


def test_words_that_tell_nothing_are_still_asked_for():
    Q = vectors_of_words([[3], [3, 4], [3, 0], [], [0, 0]], COUNTS, N).toarray()
    np.testing.assert_allclose(Q[0], [0, 0, 0, 1, 0])
    np.testing.assert_allclose(Q[1], [0, 0, 0, 2**-0.5, 2**-0.5])
    np.testing.assert_allclose(Q[2], [1, 0, 0, 0, 0])
    np.testing.assert_allclose(Q[3], 0)
    np.testing.assert_allclose(Q[4], [1, 0, 0, 0, 0])


def test_no_queries():
    assert vectors_of_words([], COUNTS, N).shape == (0, 5)


def test_words_outside_the_vocabulary_are_an_error():
    with pytest.raises(IndexError):
        vectors_of_words([[5]], COUNTS, N)


@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=8).flatmap(
        lambda counts: st.tuples(
            st.just(counts), st.lists(st.lists(st.integers(0, len(counts) - 1), min_size=1, max_size=5), max_size=5)
        )
    )
)
@settings(max_examples=80, deadline=None)
def test_every_query_has_length_one_and_only_its_own_words(case):
    counts, queries = case
    Q = vectors_of_words(queries, counts, 50)
    assert Q.shape == (len(queries), len(counts))
    assert Q.dtype == np.float32
    np.testing.assert_allclose(np.sqrt((Q.toarray() ** 2).sum(axis=1)), 1, rtol=1e-5)
    for row, words in zip(Q.toarray(), queries, strict=True):
        assert set(np.flatnonzero(row)) <= set(words)
        assert (row >= 0).all()
