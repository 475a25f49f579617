"""Kernels between pictures: their numbers, rows and blocks, and the sums that scale each picture."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from visterm.errors import InputError
from visterm.margin.functions import kernels


def test_numbers_that_a_name_leaves_out():
    assert kernels.kernel_named("exp-chi2") == ("exp-chi2", 2.0)
    for name in ("product", "weighted-product", "linear", "precomputed"):
        assert kernels.kernel_named(name) == (name, 1.0)
    assert kernels.kernel_named("product:0.5") == ("product", 0.5)


@pytest.mark.parametrize("number", ["0", "-1", "inf", "nan", "x"])
def test_numbers_that_are_not_positive(number):
    with pytest.raises(InputError, match=r"cannot read the kernel 'exp-chi2:.*write exp-chi2:NUMBER with a positive"):
        kernels.kernel_named(f"exp-chi2:{number}")


def test_kernels_of_several_features_are_computed_elsewhere():
    with pytest.raises(InputError, match=r"product is a kernel of several features: use visterm.margin.ProductKernel"):
        kernels.gram(np.eye(2), kernel="product")
    with pytest.raises(InputError, match="pass the matrix itself as X"):
        kernels.gram(np.eye(2), kernel="precomputed")


@pytest.mark.parametrize("kernel", ["linear", "cosine", "hellinger", "chi2", "exp-chi2"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_as_many_rows_as_columns(kernel, kind):
    X = np.random.default_rng(0).random((12, 7))
    rows = np.array([0, 2, 3, 5, 8, 9, 11])
    whole = kernels.gram(X, kernel=kernel)
    np.testing.assert_allclose(kernels.gram(kind(X), kernel=kernel, rows=rows), whole[np.ix_(rows, rows)], atol=1e-12)
    others = kernels.gram(kind(X), kind(X[:4]), kernel=kernel, rows=rows)
    np.testing.assert_allclose(others, whole[np.ix_(rows, np.arange(4))], atol=1e-12)


def test_factors_are_a_column():
    X = np.array([[3.0, -4.0, 0.0], [0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(kernels._shares(X, "linear"), [[1.0], [1.0]])
    np.testing.assert_allclose(kernels._shares(X, "cosine"), [[0.2], [0.0]])
    np.testing.assert_allclose(kernels._shares(X, "hellinger"), [[1 / 7], [0.0]])


@pytest.mark.parametrize("kernel", kernels.EXPLICIT)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_feature_maps_are_their_definition(kernel, kind):
    X = np.random.default_rng(0).normal(size=(5, 4))
    expected = {
        "linear": X,
        "cosine": X / np.linalg.norm(X, axis=1, keepdims=True),
        "hellinger": np.sign(X) * np.sqrt(np.abs(X) / np.abs(X).sum(axis=1, keepdims=True)),
    }[kernel]
    mapped = kernels.feature_map(kind(X), kernel)
    assert sparse.issparse(mapped) == (kind is sparse.csr_array)
    np.testing.assert_allclose(kernels._dense(mapped), expected, atol=1e-12)
    np.testing.assert_allclose(kernels.gram(kind(X), kernel=kernel), expected @ expected.T, atol=1e-12)


@pytest.mark.parametrize("shape", [(7, 3), (3, 7)])
@pytest.mark.parametrize("kernel", kernels.EXPLICIT)
@pytest.mark.parametrize("rows", [None, np.array([0, 2])])
def test_blocks_of_mapped_features_are_the_whole(shape, kernel, rows, monkeypatch):
    X = np.random.default_rng(0).normal(size=shape)
    monkeypatch.setattr(kernels, "BLOCK_BYTES", 2 * shape[1] * 8)  # two pictures at a time
    expected = kernels.feature_map(X if rows is None else X[rows], kernel)
    parts, blocks = zip(*kernels.mapped_blocks(X, kernel, np.float64, rows), strict=True)
    assert [part.start for part in parts] == list(range(0, len(expected), 2))
    assert [part.stop - part.start for part in parts] == [len(block) for block in blocks]
    np.testing.assert_allclose(np.vstack(blocks), expected, atol=1e-15)


def test_a_precomputed_kernel_is_square():
    for wrong in (np.ones((2, 3)), np.ones((3, 2)), sparse.csr_array(np.ones((2, 3)))):
        with pytest.raises(InputError, match="must be square to train on, but has shape"):
            kernels.check_square(wrong)
    np.testing.assert_array_equal(kernels.check_square(sparse.csr_array(np.eye(3))), np.eye(3))
