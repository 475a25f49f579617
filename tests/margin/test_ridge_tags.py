"""Ridge: scikit-learn's solution, leave-one-out by actually leaving out, comparable tags."""

from __future__ import annotations

import weakref

import numpy as np
import pytest
from scipy import sparse
from sklearn.kernel_ridge import KernelRidge

from visterm.errors import InputError
from visterm.margin.ridge_tags import KernelRidgeAnnotator
from visterm.margin.solver import ridge as kernel_ridge
from visterm.margin.solver.inner_products import FeatureInnerProducts, GramInnerProducts
from visterm.margin.solver.ridge import Ridge, least_squares_machines


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 5))
    return X, (rng.random((30, 4)) < 0.4).astype(float)


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_solution_is_that_of_scikit_learn(problem, shift):
    X, targets = problem
    theta, _ = Ridge(0.3).fit(GramInnerProducts(X @ X.T, shift)).solve(targets)
    theirs = KernelRidge(alpha=0.3, kernel="precomputed").fit(X @ X.T + shift, targets)
    np.testing.assert_allclose(theta, theirs.dual_coef_, atol=1e-10)


@pytest.mark.parametrize("form", [GramInnerProducts, FeatureInnerProducts])
@pytest.mark.parametrize("shift", [0.0, 2.0])
def test_left_out_scores_are_those_of_leaving_out(problem, form, shift):
    X, targets = problem
    G = X @ X.T + shift
    theta, left_out = Ridge(0.3).fit(form(X @ X.T if form is GramInnerProducts else X, shift)).solve(targets)
    np.testing.assert_allclose(theta, np.linalg.solve(G + 0.3 * np.eye(30), targets), atol=1e-8)
    for i in range(30):
        rest = np.delete(np.arange(30), i)
        without = np.linalg.solve(G[np.ix_(rest, rest)] + 0.3 * np.eye(29), targets[rest])
        np.testing.assert_allclose(left_out[i], G[i, rest] @ without, atol=1e-8)


def test_a_kernel_that_is_none_is_refused():
    with pytest.raises(InputError, match="positive definite"):
        KernelRidgeAnnotator(alpha=0.1, kernel="precomputed").fit(-np.eye(3), np.eye(3))
    with pytest.raises(InputError, match="alpha"):
        KernelRidgeAnnotator(alpha=0.0).fit(np.eye(3), np.eye(3))


def test_rare_tags_are_heard():
    """Two tags equally well told by the features, one of them rare: after normalisation both make the list."""
    rng = np.random.default_rng(0)
    n = 400
    rare = np.arange(n) < 12
    tags = np.stack([np.ones(n), rare], axis=1)
    tags[:, 0] = rng.random(n) < 0.7
    tags[~tags.any(axis=1), 0] = 1
    X = np.abs(rng.normal(size=(n, 6))) + np.outer(rare, [0, 0, 0, 0, 0, 2.0])
    raw = KernelRidgeAnnotator(kernel="hellinger", tag_power=0.0).fit(X, tags).score_tags(X)
    scaled = KernelRidgeAnnotator(kernel="hellinger").fit(X, tags).score_tags(X)
    found = (scaled[rare, 1] > scaled[rare, 0]).mean()
    assert found > 0.8
    assert found > (raw[rare, 1] > raw[rare, 0]).mean() - 1e-9


def test_words_are_scaled_half_way(problem):
    X, tags = problem
    model = KernelRidgeAnnotator().fit(np.abs(X), tags)
    half_way = model.score_tags(np.abs(X)) * np.sqrt(model.tag_scales_)
    np.testing.assert_allclose(model.word_scores(np.abs(X)), half_way, rtol=1e-5)


def test_blocks_of_tags_and_sparse_targets_change_nothing(problem, monkeypatch):
    X, targets = problem
    monkeypatch.setattr(kernel_ridge, "_BLOCK_BYTES", 2 * 8 * 30)  # two tags at a time
    for products in (GramInnerProducts(X @ X.T, 1.0), FeatureInnerProducts(X, 1.0)):
        theta, left_out = Ridge(0.3).fit(products).solve(targets)
        parts = list(Ridge(0.3).fit(products).blocks(sparse.csr_array(targets)))
        assert [columns.start for columns, _, _ in parts] == [0, 2]
        np.testing.assert_allclose(np.hstack([part for _, part, _ in parts]), theta, atol=1e-12)
        np.testing.assert_allclose(np.hstack([part for _, _, part in parts]), left_out, atol=1e-12)


def test_the_gram_matrix_is_freed_before_the_inverse_is_computed(problem, monkeypatch):
    X, inverse, kept, is_freed = problem[0], kernel_ridge._inverse, [], []

    def products():
        G = X @ X.T
        kept.append(weakref.ref(G))
        return GramInnerProducts(G, 1.0)

    def watched(system):
        is_freed.append(kept[0]() is None)
        return inverse(system)

    monkeypatch.setattr(kernel_ridge, "_inverse", watched)
    Ridge(0.3).fit(products())
    assert is_freed == [True]


def test_machines_of_least_squares_and_what_they_score_without_a_picture(problem):
    X, tags = problem
    G, labels, C = X @ X.T + 1.0, 2 * tags - 1, 4.0
    machines = Ridge(1 / C).fit(GramInnerProducts(X @ X.T, 1.0))
    ((columns, theta, left_out),) = least_squares_machines(machines, sparse.csr_array(tags))
    assert columns == slice(0, tags.shape[1])
    np.testing.assert_allclose(theta, np.linalg.solve(G + np.eye(30) / C, labels), atol=1e-9)
    for i in (0, 13, 29):
        rest = np.delete(np.arange(30), i)
        without = np.linalg.solve(G[np.ix_(rest, rest)] + np.eye(29) / C, labels[rest])
        np.testing.assert_allclose(left_out[i], G[i, rest] @ without, atol=1e-9)


@pytest.mark.parametrize("n", [1, 3, 4, 10])
def test_an_inverse_is_computed_in_place_and_whole(n, monkeypatch):
    monkeypatch.setattr(kernel_ridge, "_MIRRORED_COLUMNS", 3)
    A = np.random.default_rng(n).normal(size=(n, n))
    system = A @ A.T + np.eye(n)
    expected = np.linalg.inv(system)
    inverse = kernel_ridge._inverse(system)
    np.testing.assert_allclose(inverse, expected, atol=1e-10)
    assert np.shares_memory(inverse, system)


def test_pictures_get_as_many_tags_as_training_pictures_have():
    X = np.eye(8) + 0.1
    model = KernelRidgeAnnotator().fit(X, np.eye(8))
    np.testing.assert_array_equal(model.predict(X).toarray(), np.eye(8))
    assert model.tag_counts_.tolist() == [1] * 8


def test_what_the_annotator_says_of_itself():
    assert not KernelRidgeAnnotator.scores_are_probabilities
    assert KernelRidgeAnnotator.favours_rare_tags
    assert KernelRidgeAnnotator.learns_from_denied
