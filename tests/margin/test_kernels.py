"""Kernels: their definitions, wide features read in pieces, and what has no meaning refused."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import additive_chi2_kernel

from visterm.contracts import inputs
from visterm.errors import InputError
from visterm.margin import SDCAClassifier
from visterm.margin.functions import kernels


@pytest.fixture
def histograms():
    rng = np.random.default_rng(0)
    A, B = rng.poisson(2.0, size=(7, 12)).astype(float), rng.poisson(1.0, size=(5, 12)).astype(float)
    A[3] = 0.0  # a picture without features
    return A, B


def shares(X):
    return X / np.maximum(X.sum(axis=1, keepdims=True), 1e-300)


@pytest.mark.parametrize("kernel", ["linear", "hellinger", "chi2", "exp-chi2:1.5"])
def test_definitions(kernel, histograms):
    A, B = histograms
    expected = {
        "linear": lambda: A @ B.T,
        "hellinger": lambda: np.sqrt(shares(A)) @ np.sqrt(shares(B)).T,
        # sum (a - b)^2 / (a + b) = sum (a + b) - 2 chi2 for shares
        "chi2": lambda: (
            (shares(A).sum(axis=1)[:, None] + shares(B).sum(axis=1) + additive_chi2_kernel(shares(A), shares(B))) / 2
        ),
        "exp-chi2:1.5": lambda: np.exp(1.5 * (kernels.gram(A, B, kernel="chi2") - 1)),
    }[kernel]()
    np.testing.assert_allclose(kernels.gram(A, B, kernel=kernel), expected, atol=1e-9)
    csr = kernels.gram(sparse.csr_array(A), sparse.csr_array(B), kernel=kernel)
    np.testing.assert_allclose(csr, expected, atol=1e-9)
    np.testing.assert_allclose(kernels.gram(A, kernel=kernel), kernels.gram(A, A, kernel=kernel), atol=1e-12)


@pytest.mark.parametrize("kernel", ["chi2", "exp-chi2:0.7"])
@pytest.mark.parametrize("n_columns", [3, 40])
def test_sparse_features_are_compared_as_if_they_were_dense(kernel, n_columns):
    rng = np.random.default_rng(n_columns)
    A, B = (sparse.random_array((n, n_columns), density=0.2, rng=rng, format="csr") for n in (8, 6))
    A.data[::3] *= -1  # signs are kept
    for other in (None, B, sparse.csr_array(B.shape)):
        dense = None if other is None else other.toarray()
        expected = kernels.gram(A.toarray(), dense, kernel=kernel)
        np.testing.assert_allclose(kernels.gram(A, other, kernel=kernel), expected, atol=1e-12)
        assert kernels.gram(A, other, kernel=kernel, dtype=np.float32).dtype == np.float32


@pytest.mark.parametrize("kernel", ["hellinger", "chi2", "exp-chi2"])
def test_a_picture_is_like_itself(kernel, histograms):
    A = np.delete(histograms[0], 3, axis=0)
    np.testing.assert_allclose(np.diag(kernels.gram(A, kernel=kernel)), 1.0)
    np.testing.assert_allclose(kernels.gram(5 * A, kernel=kernel), kernels.gram(A, kernel=kernel))


@pytest.mark.parametrize("kernel", ["linear", "hellinger", "chi2"])
def test_signs_are_kept(kernel):
    a, b = np.array([[1.0, -2.0, 0.5]]), np.array([[-1.0, 2.0, -0.5]])
    np.testing.assert_allclose(kernels.gram(a, b, kernel=kernel), -kernels.gram(a, kernel=kernel))


@pytest.mark.parametrize("kernel", ["linear", "hellinger", "chi2"])
def test_wide_features_are_read_in_pieces(kernel, tmp_path, monkeypatch):
    X = np.random.default_rng(0).normal(size=(6, 500)).astype(np.float32)
    np.save(tmp_path / "features.npy", X)
    mapped = np.load(tmp_path / "features.npy", mmap_mode="r")
    whole = kernels.gram(X, kernel=kernel, dtype=np.float32)
    monkeypatch.setattr(kernels, "BLOCK_BYTES", 6 * 4 * 7)  # 7 columns at a time
    np.testing.assert_allclose(kernels.gram(mapped, kernel=kernel, dtype=np.float32), whole, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kernel", kernels.EXPLICIT)
def test_feature_maps_give_the_kernel(kernel, histograms):
    A, B = histograms
    mapped = kernels.feature_map(A, kernel) @ kernels.feature_map(B, kernel).T
    np.testing.assert_allclose(mapped, kernels.gram(A, B, kernel=kernel), atol=1e-12)


@pytest.mark.parametrize("wrong", ["rbf", "exp-chi2:x", "exp-chi2:-1", "exp-chi2:nan", "linear:2", ""])
def test_unknown_kernels_are_refused(wrong):
    with pytest.raises(InputError, match="kernel"):
        kernels.kernel_named(wrong)
    with pytest.raises(InputError, match="precomputed"):
        kernels.gram(np.eye(2), kernel="precomputed")
    with pytest.raises(InputError, match="square"):
        kernels.check_square(np.ones((2, 3)))


@pytest.mark.parametrize("kernel", ["linear", "cosine", "hellinger", "chi2", "exp-chi2"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_some_rows_are_those_of_the_whole_matrix(kernel, kind):
    X = np.random.default_rng(0).random((12, 7))
    rows = np.array([0, 3, 4, 9])
    whole = kernels.gram(X, kernel=kernel)
    np.testing.assert_allclose(kernels.gram(kind(X), kernel=kernel, rows=rows), whole[np.ix_(rows, rows)], atol=1e-12)
    np.testing.assert_allclose(kernels.gram(kind(X), kernel=kernel, rows=np.arange(12)), whole, atol=1e-12)


def test_halves_are_used_as_they_are_and_one_unknown_class_copies_no_rows(monkeypatch):
    monkeypatch.setattr(kernels, "BLOCK_BYTES", 2**18)
    monkeypatch.setattr(inputs, "_BLOCK", 2**16)
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3
    X = (rng.random((120, 20_000)) + 2 * (np.arange(20_000) % 3 == y[:, None])).astype(np.float16)
    y[5] = -1
    model = SDCAClassifier(kernel="hellinger", calibration_folds=0, random_state=0)
    model.fit(X[:, :300], y).predict(X[:, :300])  # imports and compiled code take memory, too
    tracemalloc.start()
    model.fit(X, y)
    scores = model.decision_function(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.9 * X.nbytes
    known = y >= 0
    same = SDCAClassifier(kernel="hellinger", calibration_folds=0, random_state=0)
    same.fit(X[known].astype(np.float32), y[known])
    np.testing.assert_allclose(scores, same.decision_function(X.astype(np.float32)), atol=1e-4)
    spoilt = X.copy()
    spoilt[-1, 0] = np.nan
    with pytest.raises(InputError, match="NaN"):
        model.fit(spoilt, y)
    with pytest.raises(InputError, match="features"):
        model.decision_function(X[:, :-1])


@pytest.mark.parametrize("n_rows", [15, 16, 17, 40])
def test_chi2_of_more_pictures_than_are_compared_at_once(n_rows):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(20, 3)), rng.normal(size=(n_rows, 3))

    def chi2(X, Y):
        X, Y = (Z / np.abs(Z).sum(axis=1, keepdims=True) for Z in (X, Y))
        pairs = 2 * X[:, None] * Y / (np.abs(X[:, None]) + np.abs(Y))
        return pairs.sum(axis=2)

    np.testing.assert_allclose(kernels.gram(A, B, kernel="chi2"), chi2(A, B), atol=1e-12)
    np.testing.assert_allclose(kernels.gram(B, kernel="chi2"), chi2(B, B), atol=1e-12)
