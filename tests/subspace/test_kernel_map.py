"""Kernel principal components on landmarks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.decomposition import KernelPCA

from visterm.errors import InputError
from visterm.subspace import KernelMap


@pytest.fixture
def X():
    return np.random.default_rng(0).gamma(1.0, size=(60, 8)) + 0.01


def test_all_pictures_as_landmarks_is_kernel_pca(X):
    model = KernelMap(6, metric="l1", n_landmarks=60).fit(X)
    distances = cdist(X, X, "cityblock")
    P = distances.sum() / (60 * 59)
    theirs = KernelPCA(6, kernel="precomputed").fit_transform(np.exp(-distances / (2 * P)))
    np.testing.assert_allclose(np.abs(model.transform(X)), np.abs(theirs), atol=1e-6)


def test_directions_are_those_of_largest_variance_and_of_unit_length(X):
    model = KernelMap(4, metric="chi2", n_landmarks=15).fit(X)
    codes = model.transform(X)
    np.testing.assert_allclose(np.cov(codes.T, bias=True), np.diag(model.variance_), atol=1e-8)
    K = model._kernel(model.landmarks_)
    np.testing.assert_allclose(model.components_.T @ K @ model.components_, np.eye(4), atol=1e-6)


@pytest.mark.parametrize("metric", ["chi2", "l1", "euclidean", "intersection", "hellinger", "cosine"])
def test_kinds_of_arrays_do_not_matter(metric, X):
    expected = KernelMap(3, metric=metric, n_landmarks=30).fit_transform(X)
    found = KernelMap(3, metric=metric, n_landmarks=30).fit(sparse.csr_array(X))
    np.testing.assert_allclose(found.transform(sparse.csr_array(X)), expected, atol=1e-6)
    single = KernelMap(3, metric=metric, n_landmarks=30).fit_transform(X.astype(np.float32))
    np.testing.assert_allclose(single, expected, atol=1e-3)


def test_copies_and_blocks(X, monkeypatch):
    same = np.repeat(X[:1], 9, axis=0)
    assert np.isfinite(KernelMap(5).fit_transform(same)).all()
    model = KernelMap(3).fit(X)
    whole = model.transform(X)
    monkeypatch.setattr("visterm.subspace.kernel_map._BLOCK", 7)
    np.testing.assert_allclose(model.transform(X), whole)


@pytest.mark.parametrize("n_copies", [1, 2, 9])
def test_copies_of_one_picture_have_one_direction(X, n_copies):
    model = KernelMap(5).fit(np.repeat(X[:1], n_copies, axis=0))
    assert model.components_.shape == (n_copies, 1)
    np.testing.assert_allclose(model.transform(X[:1]), 0, atol=1e-12)


@pytest.mark.parametrize("given", [np.ones((5, 2)), np.zeros((1, 2))])
def test_distances_to_pictures_that_are_all_alike_are_in_their_own_unit(given):
    model = KernelMap(2, metric="cosine").fit(given)
    assert model.mean_distance_ == 1
    np.testing.assert_allclose(model._kernel(np.array([[-1.0, 1.0]])), np.exp(-0.5))


def test_two_blocks(X, monkeypatch):
    model = KernelMap(3).fit(X)
    whole = model.transform(X)
    monkeypatch.setattr("visterm.subspace.kernel_map._BLOCK", 40)
    np.testing.assert_allclose(model.transform(X[::-1]), whole[::-1])  # memory may still hold what was computed before
    assert model.transform(X[:0]).shape == (0, 3)


def test_many_landmarks_are_compared_along_their_leading_axes(X, monkeypatch):
    model = KernelMap(8, metric="l1", n_landmarks=60)
    along_all = model.fit(X).variance_
    monkeypatch.setattr("visterm.subspace.kernel_map._ALL_AXES", 60)
    np.testing.assert_array_equal(model.fit(X).variance_, along_all)
    monkeypatch.setattr("visterm.subspace.kernel_map._ALL_AXES", 59)
    along_some = model.fit(X).variance_
    assert len(along_some) == 8
    assert 0.95 * along_all.sum() < along_some.sum() < along_all.sum()


def test_what_is_refused(X):
    with pytest.raises(InputError, match=r"metric.*hellinger"):
        KernelMap(metric="manhattan").fit(X)
    with pytest.raises(InputError, match="n_landmarks"):
        KernelMap(n_landmarks=1).fit(X)
    with pytest.raises(InputError, match="Negative"):
        KernelMap(metric="chi2").fit(-X)


def test_the_papers_numbers_are_the_defaults():
    assert KernelMap().get_params() == {"n_dims": 200, "metric": "chi2", "n_landmarks": 300, "random_state": 0}
