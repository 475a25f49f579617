"""The compiled loop of the rankings against the NumPy it stands for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from visterm.measures import ranking


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64])
@pytest.mark.parametrize("n_relevant", [0, 1, 24, 25, 60])  # few are counted, many are sorted
def test_pictures_above_and_beside(dtype, n_relevant, monkeypatch):
    monkeypatch.setattr(ranking, "_BLOCK", 130)  # two queries at a time
    rng = np.random.default_rng(n_relevant)
    scores = np.asfortranarray(rng.integers(0, 30, (5, 60)).astype(dtype))
    scores[0, :3] = 30 if np.dtype(dtype).kind == "i" else np.inf
    relevance = np.zeros((5, 60))
    for query in (0, 1, 3, 4):  # nothing is relevant to one
        relevance[query, rng.permutation(60)[:n_relevant]] = 1
    placed = ranking.Placements.of(sparse.csr_array(relevance), scores)
    queries, pictures = np.nonzero(relevance)
    own = scores[queries, pictures][:, np.newaxis]
    np.testing.assert_array_equal(placed.above, (scores[queries] > own).sum(axis=1))
    np.testing.assert_array_equal(placed.tied, (scores[queries] == own).sum(axis=1))
