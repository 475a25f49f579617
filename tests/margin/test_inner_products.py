"""Inner products: both forms give the same numbers, with and without the shift."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.margin.solver.inner_products import FeatureInnerProducts, GramInnerProducts

X = np.random.default_rng(0).normal(size=(9, 3))
THETA = np.random.default_rng(1).normal(size=(2, 9))
FORMS = {
    "gram": lambda shift: GramInnerProducts(X @ X.T, shift),
    "features": lambda shift: FeatureInnerProducts(X, shift),
}


@pytest.fixture(params=[0.0, 0.7], ids=["no shift", "shift"])
def shift(request):
    return request.param


@pytest.fixture(params=FORMS)
def products(request, shift):
    return FORMS[request.param](shift)


def test_scores_and_blocks(products, shift):
    G, rows, others = X @ X.T + shift, np.array([5, 0, 7]), np.array([2, 8])
    assert products.n_pictures == 9
    np.testing.assert_allclose(products.block(rows), G[np.ix_(rows, rows)])
    np.testing.assert_allclose(products.scores(THETA), THETA @ G, atol=1e-12)
    some = THETA[:, :3]
    np.testing.assert_allclose(products.scores_of(some, rows), some @ G[rows], atol=1e-12)
    np.testing.assert_allclose(products.held_out_scores(some, rows, others), some @ G[np.ix_(rows, others)], atol=1e-12)
    subset = products.subset(rows)
    assert subset.n_pictures == 3
    np.testing.assert_allclose(subset.scores(some), some @ G[np.ix_(rows, rows)], atol=1e-12)


def test_a_sweep_gives_each_block_the_scores_of_what_was_learned_before(products, shift):
    G, theta, rng = X @ X.T + shift, THETA.copy(), np.random.default_rng(2)
    blocks = [np.array([3, 1, 8, 0]), np.array([7, 2]), np.array([4, 5, 6])]
    expected, visited = THETA.copy(), []

    def step(gram, scores, rows):
        np.testing.assert_allclose(gram, G[np.ix_(rows, rows)])
        np.testing.assert_allclose(scores, (expected @ G)[:, rows], atol=1e-12)
        change = rng.normal(size=scores.shape)
        expected[:, rows] += change
        visited.append(rows)
        return change

    products.sweep(theta, blocks, step)
    np.testing.assert_allclose(theta, expected)
    assert [rows.tolist() for rows in visited] == [rows.tolist() for rows in blocks]


def test_the_mean_square_is_without_the_shift(products):
    assert products.mean_square() == pytest.approx((X**2).sum(axis=1).mean())


def test_the_mean_square_of_nothing_is_one():
    assert GramInnerProducts(np.zeros((3, 3)), 0.5).mean_square() == 1
    assert FeatureInnerProducts(np.zeros((3, 2)), 0.5).mean_square() == 1


def test_the_shift_is_zero_unless_given():
    np.testing.assert_allclose(GramInnerProducts(X @ X.T).scores(THETA), THETA @ X @ X.T)
    np.testing.assert_allclose(FeatureInnerProducts(X).scores(THETA), THETA @ X @ X.T)


def test_either_precision_keeps_the_numbers(products, shift):
    G = X @ X.T + shift
    single, rows = products.astype(np.float32), np.arange(9)
    assert products.dtype == np.float64
    assert single.dtype == np.float32
    assert single.block(rows).dtype == single.scores(THETA.astype(np.float32)).dtype == np.float32
    assert single.scores_of(THETA.astype(np.float32), rows).dtype == np.float32
    np.testing.assert_allclose(single.block(rows), G, rtol=1e-5, atol=1e-6)
    double = single.astype(np.float64)
    assert double.dtype == np.float64
    np.testing.assert_allclose(double.block(rows), G, rtol=1e-5, atol=1e-6)


def test_the_constant_feature_carries_the_shift(shift):
    features = FeatureInnerProducts(X.astype(np.float32), shift).with_constant()
    assert features.dtype == np.float64
    np.testing.assert_allclose(features @ features.T, X @ X.T + shift, atol=1e-6)
