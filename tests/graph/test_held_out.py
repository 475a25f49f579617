"""Hidden tags: whose are hidden, and how well they are foretold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from visterm.graph.inference.held_out import hide_tags, tag_surprise


def test_the_tags_of_some_tagged_pictures_are_hidden(rng):
    tags = sparse.csr_array((rng.random((40, 6)) < 0.3) * (np.arange(40) % 4 > 0)[:, None], dtype=np.int8)
    hidden = hide_tags(tags, 0.25, 3)
    tagged = np.flatnonzero(tags.sum(axis=1))
    assert len(hidden.rows) == round(len(tagged) / 4)
    assert set(hidden.rows) < set(tagged)
    np.testing.assert_array_equal(hidden.tags.toarray(), tags.toarray()[hidden.rows])
    expected = tags.toarray()
    expected[hidden.rows] = 0
    np.testing.assert_array_equal(hidden.shown.toarray(), expected)
    assert hidden.shown.dtype == np.int8
    assert hidden.shown.nnz == np.count_nonzero(expected)


@pytest.mark.parametrize(
    ("n", "share", "n_hidden"), [(8, 0.5, 4), (7, 0.5, 0), (10, 0.3, 0), (20, 0.8, 16), (17, 0.8, 0)]
)
def test_at_least_four_pictures_are_hidden_and_four_shown(n, share, n_hidden):
    hidden = hide_tags(sparse.csr_array(np.eye(n)), share, 0)
    assert (0 if hidden is None else len(hidden.rows)) == n_hidden


def test_the_surprise_is_the_mean_log_probability_of_a_hidden_tag():
    chances = np.array([[0.5, 0.3, 0.2], [0.0, 0.1, 0.9]])
    tags = sparse.csr_array([[1, 0, 1], [1, 0, 0]])
    # One tag in a hundred is any of the three.
    expected = [np.log(0.99 * p + 0.01 / 3) for p in (0.5, 0.2, 0.0)]
    assert tag_surprise(chances, tags) == pytest.approx(np.mean(expected))
