from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visterm.errors import InputError
from visterm.vision.encode import descriptor_pca
from visterm.vision.encode.descriptor_pca import DescriptorPCA, as_descriptors, sample_descriptors


def correlated(n: int, n_dims: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, n_dims)) @ rng.normal(size=(n_dims, n_dims)) + 5.0).astype(np.float32)


def test_equals_scikit_learn_up_to_sign():
    from sklearn.decomposition import PCA

    X = correlated(300, 7)
    ours = DescriptorPCA(4).fit(X).transform(X)
    theirs = PCA(4, svd_solver="full").fit_transform(X.astype(np.float64))
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


@given(seed=st.integers(0, 1000), size=st.integers(1, 50))
@settings(max_examples=25, deadline=None)
def test_shards_change_nothing(seed, size):
    X = correlated(40, 3, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(descriptor_pca, "SHARD_ROWS", size)
        pca = DescriptorPCA(3).fit(X)
    exact = X.astype(np.float64)
    np.testing.assert_allclose(pca.mean_, exact.mean(axis=0), rtol=1e-12)
    covariance = (pca.components_.T * pca.variances_) @ pca.components_
    np.testing.assert_allclose(covariance, np.cov(exact.T), rtol=1e-9, atol=1e-9)


def test_a_common_offset_costs_no_precision():
    X = correlated(500, 3)
    pca, shifted = DescriptorPCA(3).fit(X), DescriptorPCA(3).fit(X + 1024.0)
    np.testing.assert_allclose(shifted.variances_, pca.variances_, rtol=1e-4)


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


def test_misuse_is_refused():
    with pytest.raises(InputError, match="fit"):
        DescriptorPCA(1).transform([[1.0]])
    for n_dims in (0, 4):
        with pytest.raises(InputError, match=f"3 columns have 1 to 3 axes, not {n_dims}"):
            DescriptorPCA(n_dims).fit(correlated(20, 3))
    with pytest.raises(InputError, match="3 principal axes need 3 descriptors, got 2"):
        DescriptorPCA(3).fit(correlated(2, 3))
    with pytest.raises(InputError, match="3 dimensions"):
        DescriptorPCA(1).fit(correlated(9, 3)).transform(np.ones((2, 4)))
