"""Pictures as bags of tokens."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from visterm.compute.parallel import Shard
from visterm.contracts.estimator import Estimator
from visterm.errors import InputError
from visterm.topics.inference.em import check_bags, check_tag_bags, distributions, rows_of


def unordered():
    """A picture with a zero that is stored, and one with two entries for one codeword."""
    arrays = np.array([0.0, 3.0, 1.0, 2.0]), np.array([0, 1, 2, 2], np.int64), np.array([0, 2, 4], np.int64)
    return sparse.csr_array(arrays, shape=(2, 3))


def test_zeros_and_duplicates_go_and_the_original_stays():
    X = unordered()
    bags = check_bags(Estimator(), X, fitting=True)
    assert bags.data.tolist() == [3, 3]
    assert bags.indices.tolist() == [1, 2]
    assert bags.indptr.tolist() == [0, 1, 2]
    assert (bags.indices.dtype, bags.indptr.dtype) == (np.int32, np.int32)
    assert X.data.tolist() == [0, 3, 1, 2]
    assert X.indices.tolist() == [0, 1, 2, 2]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_every_picture_is_scaled_to_its_tokens_and_an_empty_one_stays_empty(form):
    X = form([[0.5, 0.0, 1.5], [0.0, 0.0, 0.0], [0.0, 7.0, 0.0]])
    bags = check_bags(Estimator(), X, fitting=True, n_tokens=10)
    np.testing.assert_allclose(bags.toarray(), [[2.5, 0, 7.5], [0, 0, 0], [0, 10, 0]])
    np.testing.assert_array_equal(check_bags(Estimator(), X, fitting=True, n_tokens=0).toarray()[0], [0.5, 0, 1.5])


def test_shards_have_their_own_pictures():
    bags = check_bags(Estimator(), np.array([[1, 0, 2], [0, 3, 0], [4, 5, 0], [0, 0, 6]]), fitting=True)
    pictures = rows_of(bags, Shard(1, 3))
    assert [part.tolist() for part in pictures] == [[0, 1, 3], [1, 0, 1], [3, 4, 5]]


def test_negative_counts_and_pictures_without_any_tag_are_refused():
    with pytest.raises(InputError, match="Negative values in data passed to Estimator: it counts codewords"):
        check_bags(Estimator(), [[1.0, -0.5]], fitting=True)
    with pytest.raises(InputError, match="no picture has a tag: at least one is needed"):
        check_tag_bags(np.zeros((2, 3)), 2)
    assert check_tag_bags(np.eye(2, dtype=np.float32), 2).dtype == np.float64


def test_rows_become_distributions_and_nothing_is_uniform():
    np.testing.assert_allclose(distributions(np.array([[1, 3, 0, 0], [0, 0, 0, 0]])), [[0.25, 0.75, 0, 0], [0.25] * 4])
    np.testing.assert_allclose(distributions(np.array([0.1, 0.4])), [0.2, 0.8])
