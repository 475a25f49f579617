from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visterm.errors import InputError
from visterm.vision import descriptor_pca
from visterm.vision.descriptor_pca import DescriptorMoments, DescriptorPCA, as_descriptors, sample_descriptors


def correlated(n: int, n_dims: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, n_dims)) @ rng.normal(size=(n_dims, n_dims)) + 5.0).astype(np.float32)


@pytest.mark.parametrize("whiten", [False, True])
def test_equals_scikit_learn_up_to_sign(whiten):
    from sklearn.decomposition import PCA

    X = correlated(300, 7)
    ours = DescriptorPCA(4, whiten).fit(X).transform(X)
    theirs = PCA(4, whiten=whiten, svd_solver="full").fit_transform(X.astype(np.float64))
    signs = np.sign((ours * theirs).sum(axis=0))
    np.testing.assert_allclose(ours * signs, theirs, rtol=1e-4, atol=2e-4)


def test_variances_and_components():
    X = correlated(300, 5)
    pca = DescriptorPCA(5).fit(X)
    np.testing.assert_allclose(pca.components_ @ pca.components_.T, np.eye(5), atol=1e-12)
    np.testing.assert_allclose(pca.variances_, pca.transform(X).var(axis=0, ddof=1), rtol=1e-4)
    assert (np.diff(pca.variances_) <= 0).all()
    largest = np.abs(pca.components_).argmax(axis=1)
    assert (pca.components_[np.arange(5), largest] > 0).all()


@given(seed=st.integers(0, 1000), cuts=st.lists(st.integers(0, 40), max_size=4))
@settings(max_examples=25, deadline=None)
def test_merged_moments_are_those_of_the_whole(seed, cuts):
    X = correlated(40, 3, seed)
    parts = np.split(X, sorted(cuts))
    merged = DescriptorMoments.of(parts[0])
    for part in parts[1:]:
        merged = merged + DescriptorMoments.of(part)
    exact = X.astype(np.float64)
    assert merged.n_descriptors == 40
    np.testing.assert_allclose(merged.mean, exact.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(merged.scatter, np.cov(exact.T) * 39, rtol=1e-9)


def test_shards_change_nothing(monkeypatch):
    X = correlated(1000, 4)
    whole = DescriptorMoments.of(X)
    monkeypatch.setattr(descriptor_pca, "SHARD_ROWS", 64)
    sharded = DescriptorMoments.of(X)
    assert sharded.n_descriptors == 1000
    np.testing.assert_allclose(sharded.mean, whole.mean, rtol=1e-12)
    np.testing.assert_allclose(sharded.scatter, whole.scatter, rtol=1e-10)


def test_a_common_offset_costs_no_precision():
    X = correlated(500, 3)
    pca, shifted = DescriptorPCA(3).fit(X), DescriptorPCA(3).fit(X + 1024.0)
    np.testing.assert_allclose(shifted.variances_, pca.variances_, rtol=1e-4)


def test_each_kind_gets_its_own_axes():
    sift, colour = correlated(200, 6, seed=1), correlated(200, 4, seed=2)
    both = DescriptorPCA((3, 2), kinds=(6, 4)).fit(np.hstack([sift, colour]))
    alone = np.hstack([DescriptorPCA(3).fit(sift).transform(sift), DescriptorPCA(2).fit(colour).transform(colour)])
    np.testing.assert_allclose(both.transform(np.hstack([sift, colour])), alone, atol=1e-3)


def test_whitening_does_not_blow_up_constant_dimensions():
    X = correlated(50, 3)
    X[:, 1] = 7.0
    white = DescriptorPCA(3, whiten=True).fit(X).transform(X)
    np.testing.assert_allclose(white.var(axis=0, ddof=1), [1.0, 1.0, 0.0], atol=1e-4)
    alike = DescriptorPCA(2, whiten=True).fit(np.ones((5, 3)))
    assert not alike.transform(np.ones((2, 3))).any()


def test_an_empty_set_stays_empty():
    assert DescriptorPCA(2).fit(correlated(20, 3)).transform(np.empty((0, 3))).shape == (0, 2)


@pytest.mark.parametrize(
    "descriptors",
    [
        [1.0, 2.0],
        [[np.nan, 1.0]],
        [[np.inf, 1.0]],
        [[1e30, 0.0]],
        [["a", "b"]],
        [[1j, 2j]],
        np.empty((3, 0)),
        3.0,
        [[1.0], [1.0, 2.0]],
    ],
)
def test_hostile_descriptors_are_refused(descriptors):
    with pytest.raises(InputError):
        as_descriptors(descriptors)


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float16, np.float64])
def test_number_types_and_layouts_are_accepted(dtype):
    X = np.arange(12).reshape(3, 4).astype(dtype)
    np.testing.assert_array_equal(as_descriptors(X.T), np.arange(12).reshape(3, 4).T)
    assert as_descriptors(X.T).flags.c_contiguous


def test_a_sample_is_reproducible_and_without_repetition():
    X = np.arange(100)[:, None]
    first = sample_descriptors(X, 10, np.random.default_rng(3))
    np.testing.assert_array_equal(first, sample_descriptors(X, 10, np.random.default_rng(3)))
    assert len(np.unique(first)) == 10


@pytest.mark.parametrize(
    ("pca", "message"),
    [
        (DescriptorPCA(4), "1 to 3"),
        (DescriptorPCA(0), "1 to 3"),
        (DescriptorPCA((1, 1)), "kinds"),
        (DescriptorPCA((1, 1), kinds=(2, 2)), "columns"),
    ],
)
def test_impossible_layouts_are_refused(pca, message):
    with pytest.raises(InputError, match=message):
        pca.fit(correlated(20, 3))


def test_misuse_is_refused():
    with pytest.raises(InputError, match="fit"):
        DescriptorPCA(1).transform([[1.0]])
    with pytest.raises(InputError, match="at least 3"):
        DescriptorPCA(3).fit(correlated(2, 3))
    with pytest.raises(InputError, match="3 dimensions"):
        DescriptorPCA(1).fit(correlated(9, 3)).transform(np.ones((2, 4)))
    with pytest.raises(InputError, match="merged"):
        DescriptorMoments.of([[1.0]]) + DescriptorMoments.of([[1.0, 2.0]])
