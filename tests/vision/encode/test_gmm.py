from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax

from visterm.errors import InputError
from visterm.vision import DiagonalGMM
from visterm.vision.encode import descriptor_pca


def blobs(n: int, n_dims: int, n_blobs: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_blobs, n_dims)) * 2
    spread = rng.uniform(0.3, 1.5, size=(n_blobs, n_dims))
    blob = rng.integers(n_blobs, size=n)
    return (centres[blob] + rng.normal(size=(n, n_dims)) * spread[blob]).astype(np.float32)


def joint_by_definition(gmm: DiagonalGMM, X: np.ndarray) -> np.ndarray:
    """p(x, component) term by term."""
    u = (X[:, None].astype(np.float64) - gmm.means_) ** 2 / gmm.variances_
    return gmm.weights_ * np.exp(-0.5 * u).prod(axis=2) / np.sqrt(2 * np.pi * gmm.variances_).prod(axis=1)


def responsibilities(gmm: DiagonalGMM, X: np.ndarray) -> np.ndarray:
    return softmax(np.concatenate([joint.copy() for _, joint in gmm.log_joint_blocks(X)]), axis=1)


def test_likelihood_and_responsibilities_equal_their_definitions():
    X = blobs(60, 3, 4)
    gmm = DiagonalGMM(4, random_state=0).fit(X)
    joint = joint_by_definition(gmm, X)
    assert gmm.log_likelihood(X) == pytest.approx(np.log(joint.sum(axis=1)).mean(), abs=1e-5)
    np.testing.assert_allclose(responsibilities(gmm, X), joint / joint.sum(axis=1, keepdims=True), atol=1e-5)


def test_one_component_is_the_mean_and_the_variance():
    X = blobs(500, 4, 3)
    gmm = DiagonalGMM(1, random_state=0).fit(X)
    assert gmm.weights_ == pytest.approx(1.0)
    np.testing.assert_allclose(gmm.means_[0], X.mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(gmm.variances_[0], X.var(axis=0), rtol=1e-5)


@pytest.mark.parametrize(("precision", "tolerance"), [("float64", 1e-9), ("float32", 2e-5)])
def test_same_likelihood_as_scikit_learn_from_the_same_start(precision, tolerance):
    import warnings

    from sklearn.mixture import GaussianMixture

    X = blobs(800, 5, 6)
    gmm = DiagonalGMM(6, precision=precision, random_state=0)
    gmm.initialise(X)
    theirs = GaussianMixture(
        6,
        covariance_type="diag",
        weights_init=gmm.weights_,
        means_init=gmm.means_,
        precisions_init=1 / gmm.variances_,
        reg_covar=0.0,
        tol=0.0,
        max_iter=15,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fifteen iterations do not converge, as meant
        theirs.fit(X.astype(np.float64))
    for _ in range(15):
        gmm.update(gmm.statistics(X))
    assert gmm.log_likelihood(X) == pytest.approx(theirs.score(X.astype(np.float64)), abs=tolerance)
    np.testing.assert_allclose(gmm.means_, theirs.means_, atol=100 * tolerance)


@given(seed=st.integers(0, 10_000), n_components=st.integers(1, 8))
@settings(max_examples=20, deadline=None)
def test_the_likelihood_never_falls(seed, n_components):
    X = blobs(150, 3, 5, seed)
    exact = DiagonalGMM(n_components, precision="float64", tolerance=-1.0, n_iterations=30, random_state=seed).fit(X)
    assert len(exact.log_likelihoods_) == 30
    assert (np.diff(exact.log_likelihoods_) >= -1e-12).all()
    fast = DiagonalGMM(n_components, tolerance=-1.0, n_iterations=30, random_state=seed).fit(X)
    assert (np.diff(fast.log_likelihoods_) >= -1e-4).all()


def test_merged_statistics_give_the_same_step(monkeypatch):
    X = blobs(1000, 4, 5)
    gmm = DiagonalGMM(5, precision="float64", random_state=0)
    gmm.initialise(X)
    whole = gmm.statistics(X)
    merged = gmm.statistics(X[:300]) + gmm.statistics(X[300:301]) + gmm.statistics(X[301:])
    monkeypatch.setattr(descriptor_pca, "SHARD_ROWS", 128)
    sharded = gmm.statistics(X)
    for statistics in (merged, sharded):
        assert statistics.n_descriptors == 1000
        assert statistics.log_likelihood == pytest.approx(whole.log_likelihood, rel=1e-12)
        np.testing.assert_allclose(statistics.sums, whole.sums, rtol=1e-9, atol=1e-9)
    before = gmm.log_likelihood(X)
    gmm.update(merged)
    assert gmm.log_likelihood(X) > before
    other = DiagonalGMM(5, random_state=0).fit(X + 1.0)
    with pytest.raises(InputError, match="different mixtures"):
        whole + other.statistics(X)


def test_known_clusters_are_recovered():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(-5, 1, (3000, 2)), rng.normal(5, 0.5, (1000, 2))])
    gmm = DiagonalGMM(2, random_state=0).fit(X)
    order = gmm.means_[:, 0].argsort()
    np.testing.assert_allclose(gmm.weights_[order], [0.75, 0.25], atol=1e-3)
    np.testing.assert_allclose(gmm.means_[order], [[-5, -5], [5, 5]], atol=0.1)
    np.testing.assert_allclose(gmm.variances_[order], [[1, 1], [0.25, 0.25]], rtol=0.12)


def test_the_same_seed_gives_the_same_mixture():
    X = blobs(500, 4, 5)
    first, second = (DiagonalGMM(5, max_sample=400, random_state=3).fit(X) for _ in range(2))
    np.testing.assert_array_equal(first.means_, second.means_)
    np.testing.assert_array_equal(first.variances_, second.variances_)


def test_an_offset_only_moves_the_means():
    X = blobs(600, 3, 4)
    gmm = DiagonalGMM(4, random_state=0).fit(X)
    moved = DiagonalGMM(4, random_state=0).fit(X + 64.0)
    assert moved.log_likelihood(X + 64.0) == pytest.approx(gmm.log_likelihood(X), abs=1e-3)


def test_constant_dimensions_and_duplicates_stay_finite():
    X = blobs(200, 3, 3)
    X[:, 1] = 0.1
    gmm = DiagonalGMM(4, random_state=0).fit(X)
    assert np.isfinite(gmm.log_likelihoods_).all()
    assert (gmm.variances_ >= gmm.floor_).all()
    alike = DiagonalGMM(3, random_state=0).fit(np.ones((10, 2)))
    assert np.isfinite(alike.log_likelihood(np.ones((4, 2))))
    np.testing.assert_allclose(responsibilities(alike, np.ones((4, 2))).sum(axis=1), 1.0, rtol=1e-6)
    assert np.isfinite(alike.log_likelihood([[1e6, -1e6]]))


def test_components_on_a_repeated_point_lose_no_precision():
    X = np.concatenate([blobs(300, 3, 2), np.repeat([[5.0, -7.0, 9.0]], 200, axis=0).astype(np.float32)])
    exact = DiagonalGMM(3, precision="float64", random_state=0).fit(X)
    assert exact.variances_.min() == pytest.approx(exact.floor_[0])
    fast = copy.deepcopy(exact)
    fast.precision = "float32"
    assert fast.log_likelihood(X) == pytest.approx(exact.log_likelihood(X), abs=1e-4)
    np.testing.assert_allclose(responsibilities(fast, X), responsibilities(exact, X), atol=1e-4)


def test_a_dead_component_stays_without_harm():
    X = blobs(300, 2, 2)
    gmm = DiagonalGMM(3, random_state=0)
    gmm.initialise(X)
    gmm.means_[1] = 1e4
    for _ in range(5):
        gmm.update(gmm.statistics(X))
    assert gmm.weights_[1] < 1e-8
    assert gmm.weights_.sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(gmm.means_[1], 1e4)
    assert np.isfinite(gmm.log_likelihood(X))


def test_all_learned_state_is_numeric_arrays():
    gmm = DiagonalGMM(2, random_state=0).fit(blobs(50, 2, 2))
    learned = {name: value for name, value in vars(gmm).items() if name.endswith("_")}
    assert set(learned) == {"weights_", "means_", "variances_", "floor_", "log_likelihoods_"}
    assert all(isinstance(value, np.ndarray) and value.dtype.kind == "f" for value in learned.values())


def test_misuse_is_refused():
    X = blobs(50, 2, 2)
    with pytest.raises(InputError, match="at least as many"):
        DiagonalGMM(51).fit(X)
    with pytest.raises(InputError, match="at least one component"):
        DiagonalGMM(0).fit(X)
    with pytest.raises(InputError, match="precision"):
        DiagonalGMM(2, precision="float16").fit(X)
    with pytest.raises(InputError, match="NaN"):
        DiagonalGMM(1).fit(np.full((3, 2), np.nan))
    with pytest.raises(InputError, match="fit"):
        DiagonalGMM(1).log_likelihood(X)
    gmm = DiagonalGMM(2, random_state=0).fit(X)
    with pytest.raises(InputError, match="2 dimensions"):
        gmm.log_likelihood(np.ones((3, 4)))
    with pytest.raises(InputError, match="no descriptors"):
        gmm.log_likelihood(np.empty((0, 2)))
    with pytest.raises(InputError, match="needs descriptors to learn from"):
        gmm.update(gmm.statistics(np.empty((0, 2))))
    assert list(gmm.log_joint_blocks(np.empty((0, 2)))) == []
