"""Base distances against their definitions; every compiled kernel against plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from visterm.distances import METRICS, _kernels, metric_named, nearest
from visterm.distances.nearest_rows import smallest
from visterm.errors import InputError

SUMS = ("l1", "chi2", "intersection")
KINDS = {
    "float64": np.asarray,
    "float32": lambda X: X.astype(np.float32),
    "csr": sparse.csr_array,
    "csr of float32": lambda X: sparse.csr_array(X.astype(np.float32)),
    "fortran": np.asfortranarray,
}


def reference(A, B, metric):
    if metric != "l1":
        A, B = (X / np.where(X.sum(axis=1, keepdims=True) > 0, X.sum(axis=1, keepdims=True), 1) for X in (A, B))
    a, b = A[:, None], B[None]
    if metric == "l1":
        return np.abs(a - b).sum(axis=2)
    if metric == "intersection":
        return 1 - np.minimum(a, b).sum(axis=2)
    total = a + b
    return (np.divide((a - b) ** 2, total, out=np.zeros_like(total), where=total > 0)).sum(axis=2) / 2


def counts(n_rows, n_dims=23, seed=0):
    return np.random.default_rng(seed).poisson(0.7, (n_rows, n_dims)).astype(np.float64)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("metric", SUMS)
def test_sums_over_pairs(metric, kind):
    A, B = counts(11), counts(37, seed=1)
    A[3] = B[5] = 0
    found = metric_named(metric)(KINDS[kind](A), KINDS[kind](B))
    np.testing.assert_allclose(found, reference(A, B, metric), rtol=1e-5, atol=1e-6)
    _, near = nearest(KINDS[kind](A), KINDS[kind](B), 5, metric=metric)
    np.testing.assert_allclose(near, np.sort(reference(A, B, metric), axis=1)[:, :5], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("metric", SUMS)
def test_dense_meets_sparse(metric):
    A, B = counts(5), counts(9, seed=1)
    np.testing.assert_allclose(metric_named(metric)(A, sparse.csr_array(B)), reference(A, B, metric), atol=1e-10)


def test_l1_of_negative_values():
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((6, 9)), rng.standard_normal((8, 9)) * (rng.random((8, 9)) < 0.5)
    for convert in (np.asarray, sparse.csr_array):
        np.testing.assert_allclose(metric_named("l1")(convert(A), convert(B)), reference(A, B, "l1"), atol=1e-9)


@given(st.integers(0, 999), st.sampled_from(SUMS), st.sampled_from(["float64", "float32", "csr"]))
@settings(max_examples=40, deadline=None)
def test_histogram_distances_are_distances(seed, metric, kind):
    X = KINDS[kind](counts(6, seed=seed) + (np.arange(23) == seed % 23))
    found = metric_named(metric)(X, X)
    np.testing.assert_allclose(found, found.T, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(np.diag(found), 0, atol=1e-6)
    assert found.min() >= -1e-6
    if metric != "l1":
        assert found.max() <= 1 + 1e-6
        np.testing.assert_allclose(metric_named(metric)(X * 4, X), found, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("metric", sorted(METRICS))
@pytest.mark.parametrize("kind", ["float64", "float32", "csr"])
def test_where_a_row_stands_does_not_matter(metric, kind):
    original = counts(4) + 0.5
    copies = np.arange(60) % 4
    rows, _ = nearest(KINDS[kind](original), KINDS[kind](original[copies]), 15, metric=metric)
    for picture, near in enumerate(rows):
        np.testing.assert_array_equal(near, np.flatnonzero(copies == picture))


@given(st.integers(1, 6), st.integers(1, 50), st.integers(1, 50), st.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_the_smallest_by_walk_and_by_sort(n_rows, n_columns, k, seed):
    k = min(k, n_columns)
    block = np.random.default_rng(seed).integers(0, 9, (n_rows, n_columns)).astype(np.float32)
    expected = np.argsort(block, axis=1, kind="stable")[:, :k]
    walked = np.empty((n_rows, k), np.intp)
    _kernels.smallest(block, walked)
    np.testing.assert_array_equal(walked, expected)
    np.testing.assert_array_equal(smallest(block, k), expected)


@pytest.mark.parametrize("kind", ["float64", "csr"])
@pytest.mark.parametrize("metric", SUMS)
def test_histograms_of_one_bin(metric, kind):
    A, B = np.array([[0.0], [2.0]]), np.array([[3.0], [0.0], [1.0]])
    found = metric_named(metric)(KINDS[kind](A), KINDS[kind](B))
    np.testing.assert_allclose(found, reference(A, B, metric), atol=1e-12)


@pytest.mark.parametrize(("kind", "step"), [(np.float32, 2.0**-18), (np.float64, 2.0**-37)])
def test_sums_are_rounded_to_the_nearest_step(kind, step):
    A, B = (np.random.default_rng(seed).random((40, 3)).astype(kind) for seed in range(2))
    found, exact = metric_named("l1")(A, B), reference(A.astype(np.float64), B.astype(np.float64), "l1")
    apart = np.abs(found / exact - 1)
    assert 0.4 * step < apart.max() < 0.51 * step


@pytest.mark.parametrize("metric", sorted(METRICS))
def test_no_rows_have_no_distances(metric):
    assert metric_named(metric)(np.ones((0, 4)), np.ones((3, 4))).shape == (0, 3)


def test_many_candidates_are_sorted():
    block = np.random.default_rng(0).random((4, 900))
    for k in (1, 5, 100, 256, 257):
        expected = np.argsort(block, axis=1, kind="stable")[:, :k]
        np.testing.assert_array_equal(smallest(block, k), expected)


@pytest.mark.parametrize("metric", ["chi2", "intersection", "hellinger"])
def test_histograms_are_not_negative(metric):
    with pytest.raises(InputError, match="negative"):
        metric_named(metric)(-np.ones((1, 2)), np.ones((1, 2)))


@given(st.integers(1, 700), st.integers(1, 9), st.integers(1, 9), st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_nearest_codes_are_those_of_a_full_sort(n_train, n_dims, k, seed):
    rng = np.random.default_rng(seed)
    A, B = (rng.integers(0, 4, (n, n_dims)).astype(np.float32) for n in (5, n_train))
    k = min(k, n_train)
    rows, squared = np.empty((5, k), np.intp), np.empty((5, k), np.float32)
    _kernels.nearest_codes(A, np.ascontiguousarray(B.T), rows, squared)
    full = ((A[:, None] - B[None]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(rows, np.argsort(full, axis=1, kind="stable")[:, :k])
    np.testing.assert_array_equal(squared, np.sort(full, axis=1)[:, :k])


def test_infinitely_far_codes_are_rows_that_exist():
    rows, squared = np.empty((2, 1), np.intp), np.empty((2, 1), np.float32)
    _kernels.nearest_codes(np.full((2, 3), np.inf, np.float32), np.zeros((3, 1), np.float32), rows, squared)
    np.testing.assert_array_equal(rows, 0)
    np.testing.assert_array_equal(squared, np.inf)


def test_many_codes_and_few_agree():
    rng = np.random.default_rng(0)
    train, queries = (
        rng.standard_normal((5000, 12)).astype(np.float32),
        rng.standard_normal((300, 12)).astype(np.float32),
    )
    rows, found = nearest(queries, train, 7)
    few, expected = nearest(queries.astype(np.float64), train.astype(np.float64), 7)
    np.testing.assert_array_equal(rows, few)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_array_equal(nearest(queries * np.float32(1e25), train * np.float32(1e25), 7)[0], few)
