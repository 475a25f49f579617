"""Approximate nearest neighbours: how long the search goes on, and what does not change its result."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from visterm.graph import nearest_of_all
from visterm.graph.nearest import approximate


@pytest.fixture
def rows(rng):
    return rng.normal(size=(200, 8))


def search(monkeypatch, rows, **numbers):
    """What is found if the module had other numbers."""
    with monkeypatch.context() as patch:
        for name, value in numbers.items():
            patch.setattr(approximate, name, value)
        return nearest_of_all(rows, 6)


def share_found(found, rows):
    """The share of the six nearest rows that were found."""
    nearest = np.argsort(cdist(rows, rows), axis=1)[:, 1:7]
    return (found[:, :, None] == nearest[:, None, :]).sum() / nearest.size


def test_neighbours_are_asked_until_few_rows_find_a_nearer_one(rows, monkeypatch):
    few_trees = {"_TREES": 2, "_LEAF": 20}
    asked_once, _ = search(monkeypatch, rows, **few_trees, _ROUNDS=1)
    asked, _ = search(monkeypatch, rows, **few_trees)
    assert share_found(asked_once, rows) < 0.9
    assert share_found(asked, rows) > 0.99
    # If all entries have to change for another round, there is none.
    np.testing.assert_array_equal(search(monkeypatch, rows, **few_trees, _WORTHWHILE=1.0)[0], asked_once)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_the_size_of_the_parts_does_not_change_what_is_found(rows, kind, monkeypatch):
    whole = search(monkeypatch, kind(rows), _PARTS=1)
    for parts in ({"_PARTS": 7}, {"_PAIRS": 1000}):
        for expected, found in zip(whole, search(monkeypatch, kind(rows), **parts), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_of_sparse_rows_the_nearest_candidates_are_kept_with_their_distances(rows):
    found, distances = nearest_of_all(sparse.csr_array(rows), 6)
    exact = cdist(rows, rows)
    np.testing.assert_allclose(distances, np.take_along_axis(exact, found, axis=1), rtol=1e-5)
    assert share_found(found, rows) > 0.99
