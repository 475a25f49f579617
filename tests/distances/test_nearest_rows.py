"""Nearest neighbours: equal to plain definitions, for any kind of matrix and any size of block."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist

from visterm.distances import METRICS as ALL_METRICS
from visterm.distances import metric_named, nearest, nearest_rows
from visterm.errors import InputError

METRICS = ("euclidean", "cosine", "hellinger")
KINDS = {"dense": np.asarray, "csr": sparse.csr_array, "float32": lambda X: X.astype(np.float32)}


def reference(A, B, metric):
    if metric != "hellinger":
        return cdist(A, B, metric)
    return cdist(np.sqrt(A / A.sum(axis=1, keepdims=True)), np.sqrt(B / B.sum(axis=1, keepdims=True)))


def histograms(n_rows, n_dims=9, seed=0):
    return np.random.default_rng(seed).gamma(1.5, size=(n_rows, n_dims)) + 0.01


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("metric", METRICS)
def test_distances_are_those_of_their_definitions(metric, kind):
    A, B = histograms(13), histograms(29, seed=1)
    found = metric_named(metric)(KINDS[kind](A), KINDS[kind](B))
    np.testing.assert_allclose(found, reference(A, B, metric), rtol=1e-5, atol=1e-6)
    assert isinstance(found, np.ndarray)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("metric", METRICS)
def test_neighbours_are_those_of_a_full_sort(metric, kind):
    A, B = histograms(13), histograms(29, seed=1)
    rows, found = nearest(KINDS[kind](A), KINDS[kind](B), 7, metric=metric)
    full = reference(A, B, metric)
    np.testing.assert_array_equal(rows, np.argsort(full, axis=1)[:, :7])
    np.testing.assert_allclose(found, np.sort(full, axis=1)[:, :7], rtol=1e-5, atol=1e-6)


@given(st.integers(1, 12), st.integers(1, 9), st.integers(1, 40), st.sampled_from(METRICS), st.booleans())
@settings(max_examples=60, deadline=None)
def test_blocks_do_not_matter_and_ties_go_by_row(n_queries, k, n_train, metric, as_csr):
    rng = np.random.default_rng(n_train)
    originals = rng.random((5, 11))
    copies = rng.integers(0, 5, n_train)
    queries, train = np.concatenate([originals[:2], rng.random((n_queries, 11))]), originals[copies]
    if as_csr:
        queries, train = sparse.csr_array(queries), sparse.csr_array(train)
    whole, _ = nearest(queries, train, k, metric=metric)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest_rows, "BLOCK_BYTES", 8 * n_train * 3)
        np.testing.assert_array_equal(nearest(queries, train, k, metric=metric)[0], whole)
        patch.setattr(nearest_rows, "BLOCK_BYTES", 1)
        np.testing.assert_array_equal(nearest(queries, train, k, metric=metric)[0], whole)
    for rows in whole:
        for first, second in pairwise(rows):
            assert copies[first] != copies[second] or first < second


def test_two_blocks(monkeypatch):
    A, B = histograms(13), histograms(29, seed=1)
    whole = nearest(A, B, 7)
    monkeypatch.setattr(nearest_rows, "BLOCK_BYTES", 16 * 29 * 8)
    for found, expected in zip(nearest(A, B, 7), whole, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("metric", sorted(ALL_METRICS))
def test_halves_are_compared_in_full_precision(metric):
    A, B = histograms(13).astype(np.float16), histograms(29, seed=1).astype(np.float16)
    rows, found = nearest(A, B, 7, metric=metric)
    expected_rows, expected = nearest(A.astype(np.float64), B.astype(np.float64), 7, metric=metric)
    np.testing.assert_array_equal(rows, expected_rows)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_directions_are_not_compared_as_codes(monkeypatch):
    monkeypatch.setattr(nearest_rows, "_COMPILED_FROM", 1)
    A, B = histograms(13).astype(np.float32), histograms(29, seed=1).astype(np.float32)
    for metric in METRICS:
        full = reference(A.astype(np.float64), B.astype(np.float64), metric)
        np.testing.assert_allclose(nearest(A, B, 7, metric=metric)[1], np.sort(full, axis=1)[:, :7], atol=1e-6)


def test_a_row_is_at_no_distance_from_itself():
    X = np.random.default_rng(0).random((40, 256)) + 100
    for metric in METRICS:
        rows, found = nearest(X, X, 1, metric=metric)
        np.testing.assert_array_equal(rows[:, 0], np.arange(40))
        np.testing.assert_allclose(found, 0, atol=1e-12)


@pytest.mark.parametrize("width", [2**14, 2**16, 2**18])
def test_rounding_of_long_sums_makes_no_distance_negative(width):
    rows = np.full((2, width), 0.1)
    found = metric_named("euclidean")(rows, rows)
    np.testing.assert_allclose(found, 0, atol=1e-5 * np.linalg.norm(rows[0]))


def test_small_differences_of_long_rows_are_seen():
    train = np.full((3, 50), 10.0)
    train[1, 0] += 1e-3
    train[2, 0] += 3e-3
    rows, found = nearest(train[:1], train, 3)
    assert rows.tolist() == [[0, 1, 2]]
    np.testing.assert_allclose(found, [[0, 1e-3, 3e-3]], atol=1e-4)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_rows_of_zeros(convert):
    X = convert(np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]]))
    np.testing.assert_allclose(metric_named("euclidean")(X, X), [[0, 5, 0], [5, 0, 5], [0, 5, 0]], atol=1e-9)
    np.testing.assert_allclose(metric_named("cosine")(X, X), [[1, 1, 1], [1, 0, 1], [1, 1, 1]], atol=1e-9)
    np.testing.assert_allclose(metric_named("hellinger")(X, X), [[0, 1, 0], [1, 0, 1], [0, 1, 0]], atol=1e-9)


@pytest.mark.parametrize("scale", [1e-100, 1e-30, 1.0, 1e30])
@pytest.mark.parametrize("metric", METRICS)
def test_units_do_not_matter(metric, scale):
    A, B = histograms(6), histograms(9, seed=1)
    expected, _ = nearest(A, B, 4, metric=metric)
    found, values = nearest(A * scale, B * scale, 4, metric=metric)
    np.testing.assert_array_equal(found, expected)
    assert np.isfinite(values).all()


def test_no_queries_and_few_rows():
    rows, found = nearest(np.empty((0, 2)), np.ones((3, 2)), 2)
    assert rows.shape == found.shape == (0, 2)
    assert nearest(np.ones((1, 2)), np.ones((3, 2)), 99)[0].tolist() == [[0, 1, 2]]
    assert nearest(np.ones((0, 2)), np.ones((3, 2)), 2, metric="hellinger")[0].shape == (0, 2)


def test_hellinger_needs_counts():
    with pytest.raises(InputError, match="negative"):
        nearest(np.array([[1.0, -1.0]]), np.ones((2, 2)), 1, metric="hellinger")


def test_unknown_metrics_are_refused_with_the_choice():
    with pytest.raises(InputError, match="cosine, euclidean, hellinger"):
        nearest(np.ones((1, 1)), np.ones((1, 1)), 1, metric="manhattan")


@pytest.mark.parametrize("metric", METRICS)
def test_memory_is_bounded_by_the_block(metric, monkeypatch):
    monkeypatch.setattr(nearest_rows, "BLOCK_BYTES", 2**20)
    queries, train = histograms(3000, 4), histograms(2000, 4, seed=1)  # all distances at once: 48 MB
    nearest(queries[:10], train, 3, metric=metric)
    tracemalloc.start()
    nearest(queries, train, 3, metric=metric)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 6 * 2**20


def test_own_rows_are_left_out():
    near = np.array([[3, 1, 2], [0, 1, 2], [5, 6, 7]])
    kept = near[nearest_rows.of_others(near, np.array([1, 0, 9]))].reshape(3, 2)
    np.testing.assert_array_equal(kept, [[3, 2], [1, 2], [5, 6]])


def test_no_picture_is_its_own_neighbour():
    X = np.random.default_rng(0).integers(0, 3, (30, 2)).astype(float)  # with copies
    own = np.arange(4, 19)
    rows, found = nearest(X[own], X, 6, own_rows=own)
    full = cdist(X[own], X)
    full[np.arange(15), own] = np.inf
    np.testing.assert_allclose(found, np.sort(full, axis=1)[:, :6], atol=1e-6)
    assert (rows != own[:, None]).all()
    assert nearest(X[:3], X[:3], 9, own_rows=np.arange(3))[0].shape == (3, 2)
    assert nearest(X[:0], X, 2, own_rows=own[:0])[0].shape == (0, 2)


def test_only_many_short_dense_rows_are_compared_as_codes(monkeypatch):
    monkeypatch.setattr(nearest_rows, "_COMPILED_FROM", 100)
    rows = np.random.default_rng(0).standard_normal((20, 8)).astype(np.float32)
    assert nearest_rows._are_codes(rows, rows, 5)
    assert nearest_rows._are_codes(rows[:5], rows, 5)  # just enough
    others = [
        (sparse.csr_array(rows), rows, 5),
        (rows, sparse.csr_array(rows), 5),
        (rows.astype(np.float64), rows, 5),
        (rows[:4], rows, 5),  # few
        (rows, rows, 257),
        (np.tile(rows, 9), np.tile(rows, 9), 5),  # long
        (rows * np.float32(1e16), rows, 5),
        (rows * np.float32(1e-13), rows * np.float32(1e-13), 5),
    ]
    assert not any(nearest_rows._are_codes(*case) for case in others)
