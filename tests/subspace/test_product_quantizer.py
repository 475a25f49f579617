"""Codes of a few bytes: words are the nearest, distances are sums of tables, more bytes lose less."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visterm.errors import InputError
from visterm.subspace import ProductQuantizer, _kernels, nearest_coded
from visterm.subspace.product_quantizer import balanced_groups


@pytest.fixture
def codes():
    rng = np.random.default_rng(0)
    return (rng.standard_normal((600, 11)) * 0.8 ** np.arange(11)).astype(np.float32)


def test_every_group_names_its_nearest_word(codes):
    quantizer = ProductQuantizer(4).fit(codes)
    stored = quantizer.transform(codes[:50])
    assert stored.shape == (50, 4)
    for group, dims in enumerate(quantizer.groups_):
        words = quantizer.words_[group, :, : len(dims)]
        apart = ((codes[:50, None, dims] - words) ** 2).sum(axis=2)
        np.testing.assert_allclose(
            np.take_along_axis(apart, stored[:, [group]].astype(int), axis=1)[:, 0], apart.min(axis=1), atol=1e-5
        )
    assert sorted(np.concatenate(quantizer.groups_)) == list(range(11))


def test_tables_add_up_to_distances_from_what_codes_stand_for(codes):
    quantizer = ProductQuantizer(5).fit(codes)
    stored, tables = quantizer.transform(codes), quantizer.tables(codes[:7])
    sums = sum(tables[:, group, stored[:, group]] for group in range(5))
    expected = ((codes[:7, None] - quantizer.inverse_transform(stored)[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(sums, expected, rtol=1e-4, atol=1e-5)


def test_more_bytes_lose_less(codes):
    lost = []
    for n_bytes in (1, 2, 4, 8):
        quantizer = ProductQuantizer(n_bytes).fit(codes)
        lost.append(np.mean((quantizer.inverse_transform(quantizer.transform(codes)) - codes) ** 2))
    assert lost == sorted(lost, reverse=True)
    assert lost[-1] < 0.02 * codes.var()


@given(st.integers(1, 20), st.integers(1, 20), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_groups_hold_every_dimension_once_and_are_of_one_size(n_dims, n_groups, seed):
    n_groups = min(n_groups, n_dims)
    groups = balanced_groups(np.random.default_rng(seed).random(n_dims) ** 4, n_groups)
    assert sorted(np.concatenate(groups)) == list(range(n_dims))
    assert len(groups) == n_groups
    assert min(map(len, groups)) >= 1
    assert max(map(len, groups)) <= -(-n_dims // n_groups)


def test_groups_do_not_depend_on_the_unit_of_the_features():
    variances = np.random.default_rng(0).gamma(0.5, size=12)
    expected = [group.tolist() for group in balanced_groups(variances, 3)]
    for unit in (2.0**-50, 2.0**50):
        assert [group.tolist() for group in balanced_groups(unit * variances, 3)] == expected


def test_constant_dimensions_fill_every_group():
    assert [group.tolist() for group in balanced_groups(np.zeros(4), 3)] == [[0, 3], [1], [2]]
    assert [group.tolist() for group in balanced_groups(np.array([0.0, 5.0, 0.0]), 2)] == [[1], [0, 2]]
    assert [group.tolist() for group in balanced_groups(np.array([9.0, 0.0, 0.0, 0.0]), 2)] == [[0, 3], [1, 2]]


def test_rows_of_another_width_are_refused(codes):
    quantizer = ProductQuantizer(4, max_iter=1).fit(codes[:20])
    for method in (quantizer.transform, quantizer.tables):
        with pytest.raises(InputError, match="expecting 11 features"):
            method(codes[:5, :7])
        assert len(method(codes[:5])) == 5


def test_few_rows_and_constant_dimensions():
    rows = np.column_stack([np.arange(5.0), np.zeros(5)])
    quantizer = ProductQuantizer(8).fit(rows)  # no more groups than dimensions
    np.testing.assert_allclose(quantizer.inverse_transform(quantizer.transform(rows)), rows)
    assert quantizer.transform(rows[:0]).shape == (0, 2)


@pytest.mark.parametrize("n_bytes", [0, -3, 1.5, "8"])
def test_impossible_numbers_of_bytes(n_bytes):
    with pytest.raises(InputError, match="n_bytes"):
        ProductQuantizer(n_bytes).fit(np.ones((3, 2)))


def test_nearest_bytes_are_those_of_plain_sums():
    rng = np.random.default_rng(0)
    tables, codes = rng.integers(0, 9, (5, 3, 16)).astype(np.float32), rng.integers(0, 16, (300, 3)).astype(np.uint8)
    rows, squared = np.empty((5, 7), np.intp), np.empty((5, 7), np.float32)
    _kernels.nearest_bytes(tables, codes, rows, squared)
    full = tables[:, np.arange(3), codes].sum(axis=2)
    np.testing.assert_array_equal(rows, np.argsort(full, axis=1, kind="stable")[:, :7])
    np.testing.assert_array_equal(squared, np.sort(full, axis=1)[:, :7])


def test_infinitely_far_rows_are_rows_that_exist():
    rows, squared = np.empty((2, 1), np.intp), np.empty((2, 1), np.float32)
    _kernels.nearest_bytes(np.full((2, 3, 16), np.inf, np.float32), np.zeros((1, 3), np.uint8), rows, squared)
    np.testing.assert_array_equal(rows, 0)
    np.testing.assert_array_equal(squared, np.inf)


@pytest.mark.parametrize("n_queries", [7, 300])
def test_coded_neighbours_are_the_nearest_of_what_codes_stand_for(n_queries):
    X = np.random.default_rng(0).standard_normal((500, 6)).astype(np.float32)
    quantizer = ProductQuantizer(2).fit(X)
    codes = quantizer.transform(X)
    rows, distances = nearest_coded(X[:n_queries], quantizer, codes, 9)
    full = np.linalg.norm(X[:n_queries, None] - quantizer.inverse_transform(codes), axis=2)
    np.testing.assert_allclose(distances, np.sort(full, axis=1)[:, :9], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(np.take_along_axis(full, rows, axis=1), distances, rtol=1e-3, atol=1e-4)
    assert nearest_coded(X[:0], quantizer, codes, 9)[0].shape == (0, 9)
