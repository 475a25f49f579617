from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax

from visterm.errors import InputError
from visterm.vision import DiagonalGMM, FisherEncoder
from visterm.vision.encode._kernels import sum_likely


def cloud(n: int, n_dims: int = 3, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, n_dims)) + 3.0 * rng.integers(3, size=(n, 1))).astype(np.float32)


@pytest.fixture(scope="module")
def gmm() -> DiagonalGMM:
    return DiagonalGMM(4, precision="float64", random_state=0).fit(cloud(400))


def responsibilities(gmm: DiagonalGMM, X: np.ndarray) -> np.ndarray:
    return softmax(np.concatenate([joint.copy() for _, joint in gmm.log_joint_blocks(X)]), axis=1)


def gradients(gmm: DiagonalGMM, X: np.ndarray) -> np.ndarray:
    encoder = FisherEncoder(gmm, truncate=0.0)
    return encoder.gradients(encoder.sums(X))


def by_definition(gmm: DiagonalGMM, X: np.ndarray) -> np.ndarray:
    """The gradients descriptor by descriptor, component by component."""
    K, D = gmm.means_.shape
    of_means, of_deviations = np.zeros((K, D)), np.zeros((K, D))
    for x, r in zip(X.astype(np.float64), responsibilities(gmm, X), strict=True):
        for k in range(K):
            u = (x - gmm.means_[k]) / np.sqrt(gmm.variances_[k])
            of_means[k] += r[k] * u / np.sqrt(gmm.weights_[k])
            of_deviations[k] += r[k] * (u**2 - 1) / np.sqrt(2 * gmm.weights_[k])
    return np.concatenate([of_means.ravel(), of_deviations.ravel()]) / len(X)


@given(n=st.integers(1, 40), seed=st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_equals_its_definition(gmm, n, seed):
    X = cloud(n, seed=seed)
    raw = by_definition(gmm, X)
    np.testing.assert_allclose(gradients(gmm, X), raw, rtol=1e-4, atol=1e-5)
    improved = np.sign(raw) * np.sqrt(np.abs(raw))
    expected = improved / np.linalg.norm(improved)
    np.testing.assert_allclose(FisherEncoder(gmm, truncate=0.0).encode(X), expected, atol=2e-3)
    assert FisherEncoder(gmm).encode(X) @ expected > 0.999  # a handful of descriptors feels the truncation most


@pytest.mark.parametrize(("parameter", "part"), [("means_", 0), ("variances_", 1)])
def test_entries_are_gradients_of_the_likelihood(gmm, parameter, part):
    """Finite differences, times sigma / sqrt(w) and sigma / sqrt(2 w): the Fisher information's inverse root."""
    X = cloud(30, seed=7)
    K, D = gmm.means_.shape
    vector = gradients(gmm, X).reshape(2, K, D)[part]
    step = 1e-4
    for k in range(K):
        for d in range(D):
            sigma = math.sqrt(gmm.variances_[k, d])
            likelihoods = []
            for sign in (1, -1):
                nudged = copy.deepcopy(gmm)
                if parameter == "means_":
                    nudged.means_[k, d] += sign * step
                else:
                    nudged.variances_[k, d] = (sigma + sign * step) ** 2
                likelihoods.append(nudged.log_likelihood(X))
            gradient = (likelihoods[0] - likelihoods[1]) / (2 * step)
            scale = sigma / math.sqrt((1 + part) * gmm.weights_[k])
            assert vector[k, d] == pytest.approx(gradient * scale, rel=1e-4, abs=1e-5)


def test_the_training_set_is_a_stationary_point(gmm):
    exact = DiagonalGMM(4, precision="float64", tolerance=0.0, n_iterations=2000, random_state=0).fit(cloud(400))
    vector = gradients(exact, cloud(400))
    assert np.abs(vector).max() < 1e-3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_kernel_equals_its_definition(dtype):
    rng = np.random.default_rng(0)
    joint, terms = rng.normal(size=(50, 9)).astype(dtype) * 5, rng.normal(size=(50, 7)).astype(dtype)
    least = math.log(1e-2)
    sums = np.zeros((9, 7), dtype)
    sum_likely(terms, joint, dtype(least), sums)
    gaps = joint - joint.max(axis=1, keepdims=True)
    odds = np.where(gaps >= least, np.exp(gaps), 0.0)
    np.testing.assert_allclose(sums, (odds / odds.sum(axis=1, keepdims=True)).T @ terms, atol=1e-5)


def test_truncation_hardly_changes_the_vector(gmm):
    X = cloud(500, seed=3)
    exact = FisherEncoder(gmm, truncate=0.0).encode(X)
    assert FisherEncoder(gmm, truncate=1e-4).encode(X) @ exact > 0.99999
    assert FisherEncoder(gmm, truncate=1e-2).encode(X) @ exact > 0.999


def test_float32_mixtures_give_the_same_vector(gmm):
    fast = copy.deepcopy(gmm)
    fast.precision = "float32"
    X = cloud(3000, seed=4)
    assert FisherEncoder(fast).encode(X) @ FisherEncoder(gmm).encode(X) > 0.99999


def test_sums_add_up(gmm):
    encoder = FisherEncoder(gmm)
    X = cloud(100)
    np.testing.assert_allclose(encoder.sums(X[:30]) + encoder.sums(X[30:]), encoder.sums(X), rtol=1e-9, atol=1e-9)


def test_order_and_repetition_do_not_matter(gmm):
    X = cloud(80)
    vector = FisherEncoder(gmm).encode(X)
    np.testing.assert_allclose(FisherEncoder(gmm).encode(X[::-1]), vector, atol=1e-4)
    np.testing.assert_allclose(FisherEncoder(gmm).encode(np.concatenate([X, X])), vector, atol=1e-4)


def test_shape_length_and_type(gmm):
    encoder = FisherEncoder(gmm)
    vector = encoder.encode(cloud(50))
    assert vector.shape == (encoder.n_dims,) == (24,)
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("truncate", [0.0, 1e-4])
def test_no_descriptors_give_zeros(gmm, truncate):
    assert not FisherEncoder(gmm, truncate=truncate).encode(np.empty((0, 3))).any()


def test_misuse_is_refused(gmm):
    with pytest.raises(InputError, match="NaN"):
        FisherEncoder(gmm).encode(np.full((3, 3), np.nan))
    with pytest.raises(InputError, match="3 dimensions"):
        FisherEncoder(gmm).encode(np.ones((3, 4)))
    with pytest.raises(InputError, match="share"):
        FisherEncoder(gmm, truncate=1.5).encode(cloud(5))
    with pytest.raises(InputError, match="fit"):
        FisherEncoder(DiagonalGMM(2)).encode(cloud(5))
