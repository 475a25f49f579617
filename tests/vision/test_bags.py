from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy.sparse import csr_array

from visterm.errors import InputError
from visterm.vision import BagEncoder, Codebook, TfIdf, count_words, stack_bags

counts_matrices = npst.arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 5)), elements=st.integers(0, 4))


@given(ids=st.lists(st.integers(0, 9), max_size=30))
@settings(max_examples=30, deadline=None)
def test_counting_and_stacking_give_the_histogram(ids):
    bags = stack_bags([count_words(np.array(ids, np.int32)), count_words(np.array([9], np.int32))], n_words=10)
    np.testing.assert_array_equal(bags.toarray()[0], np.bincount(np.array(ids, int), minlength=10))
    assert bags.dtype == np.float32
    assert bags.has_sorted_indices


def test_soft_shares_are_added():
    ids = np.array([[2, 5], [5, 7]], np.int32)
    words, counts = count_words(ids, np.array([[0.75, 0.25], [0.5, 0.5]], np.float32))
    np.testing.assert_array_equal(words, [2, 5, 7])
    np.testing.assert_allclose(counts, [0.75, 0.75, 0.5])


def test_stacking_no_pictures():
    assert stack_bags([], n_words=3).shape == (0, 3)


@pytest.mark.parametrize(
    "bag",
    [([3], [1.0]), ([-1], [1.0]), ([1, 1], [1.0, 1.0]), ([2, 0], [1.0, 1.0]), ([0, 1], [1.0])],
)
def test_malformed_bags_are_refused(bag):
    words, counts = np.array(bag[0], np.int32), np.array(bag[1], np.float32)
    with pytest.raises(InputError, match="picture 0"):
        stack_bags([(words, counts)], n_words=3)


@given(counts=counts_matrices)
@settings(max_examples=60, deadline=None)
def test_tf_idf_equals_its_definition(counts):
    n_pictures, n_words = counts.shape
    expected = np.zeros(counts.shape)
    for i in range(n_pictures):
        for j in range(n_words):
            containing = (counts[:, j] > 0).sum()
            expected[i, j] = counts[i, j] * -np.log(containing / n_pictures) if containing else 0.0
        if expected[i].any():
            expected[i] /= np.sqrt((expected[i] ** 2).sum())
    weighted = TfIdf().fit_transform(csr_array(counts))
    np.testing.assert_allclose(weighted.toarray(), expected, atol=1e-6)


def test_weights_come_from_the_training_pictures_alone():
    tf_idf = TfIdf().fit(csr_array([[1.0, 0.0, 0.0], [1.0, 2.0, 0.0]]))
    np.testing.assert_allclose(tf_idf.idf_, [0.0, np.log(2.0), 0.0])
    # The first word is in every training picture, the last in none.
    np.testing.assert_allclose(tf_idf.transform(csr_array([[5.0, 3.0, 9.0], [1.0, 0.0, 1.0]])).toarray()[0], [0, 1, 0])


def test_the_bags_handed_in_are_left_alone():
    bags = csr_array([[1.0, 0.0], [2.0, 3.0]], dtype=np.float32)
    TfIdf().fit_transform(bags)
    np.testing.assert_array_equal(bags.toarray(), [[1.0, 0.0], [2.0, 3.0]])


def test_bag_encoder_is_the_normalised_histogram():
    codebook = Codebook(2, random_state=0).fit([[0.0], [10.0]])
    encoder = BagEncoder(codebook)
    vector = encoder.encode_sums(encoder.sums([[0.0], [10.0], [11.0], [9.0]]))
    np.testing.assert_allclose(sorted(vector), np.array([1, 3]) / np.sqrt(10), rtol=1e-6)


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0])
def test_impossible_counts_are_refused(value):
    with pytest.raises(InputError, match="counts"):
        TfIdf().fit(csr_array([[value, 1.0]]))


def test_misuse_is_refused():
    with pytest.raises(InputError, match="fit"):
        TfIdf().transform(csr_array([[1.0]]))
    with pytest.raises(InputError, match="at least one picture"):
        TfIdf().fit(csr_array((0, 3)))
    with pytest.raises(InputError, match="1 codewords"):
        TfIdf().fit(csr_array([[1.0]])).transform(csr_array([[1.0, 2.0]]))
