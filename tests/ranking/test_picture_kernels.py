"""Kernels between sets of descriptors against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm

from visterm.errors import InputError
from visterm.ranking.pamir import PAMIR
from visterm.ranking.spaces.picture_kernels import LocalDescriptors, PictureGaussians, best_matches, expected_likelihood


@pytest.fixture
def pictures():
    rng = np.random.default_rng(0)
    return [rng.normal(size=(n, 11)) + shift for n, shift in ((5, 0), (1, 1), (8, 2), (3, 0))]


def test_gaussians_have_the_moments_of_the_descriptors(pictures):
    gaussians = LocalDescriptors.of(pictures).gaussians()
    np.testing.assert_allclose(gaussians.means, [part.mean(axis=0) for part in pictures], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(gaussians.variances[2], pictures[2].var(axis=0), rtol=1e-4)
    assert (gaussians.variances > 0).all()  # also that of a picture of one descriptor


def test_expected_likelihood_is_the_integral_of_the_product():
    a, b = (
        PictureGaussians(np.array([[0.3]]), np.array([[0.5]])),
        PictureGaussians(np.array([[1.0]]), np.array([[2.0]])),
    )

    def density(p, v):
        return norm.pdf(v, p.means[0, 0], p.variances[0, 0] ** 0.5)

    def integral(p, q):
        return quad(lambda v: density(p, v) * density(q, v), -20, 20)[0]

    expected = integral(a, b) / np.sqrt(integral(a, a) * integral(b, b))
    assert expected_likelihood(a, b).item() == pytest.approx(expected)


def test_expected_likelihood_in_many_dimensions(pictures):
    gaussians = LocalDescriptors.of(pictures).gaussians()
    kernel = expected_likelihood(gaussians)

    def log_density(i, j):
        total = gaussians.variances[i] + gaussians.variances[j]
        return multivariate_normal.logpdf(gaussians.means[i], gaussians.means[j], np.diag(total))

    for i in range(4):
        for j in range(4):
            expected = np.exp(log_density(i, j) - (log_density(i, i) + log_density(j, j)) / 2)
            assert kernel[i, j] == pytest.approx(expected, rel=1e-9)
    assert np.linalg.eigvalsh(kernel).min() > -1e-12


def test_best_matches_by_brute_force(pictures):
    kernel = best_matches(LocalDescriptors.of(pictures), deviation=3.0)

    def one_way(p, q):
        return np.mean([max(np.exp(-((d - e) ** 2).sum() / (2 * 3.0**2)) for e in q) for d in p])

    expected = [[(one_way(p, q) + one_way(q, p)) / 2 for q in pictures] for p in pictures]
    np.testing.assert_allclose(kernel, expected, rtol=1e-5)
    across = best_matches(LocalDescriptors.of(pictures[:2]), LocalDescriptors.of(pictures), deviation=3.0)
    np.testing.assert_allclose(across, kernel[:2], rtol=1e-5)


def test_a_ranker_learns_from_them(pictures):
    tags = [[1, 0], [0, 1], [0, 1], [1, 0]]
    descriptors = LocalDescriptors.of(pictures)
    for kernel in (
        expected_likelihood(descriptors.gaussians(smallest_variance=1.0)),
        best_matches(descriptors, deviation=2.0),
    ):
        model = PAMIR(n_steps=1000, kernel="precomputed", held_out_share=0, random_state=0).fit(kernel, tags)
        scores = model.score_queries(kernel, np.eye(2))
        assert scores[0, [0, 3]].min() > scores[0, [1, 2]].max()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LocalDescriptors(np.zeros((2, 3)), np.array([0, 0, 2])), "at least one descriptor"),
        (lambda: LocalDescriptors(np.zeros((2, 3)), np.array([0, 1])), "at least one descriptor"),
        (lambda: LocalDescriptors(np.full((1, 2), np.nan), np.array([0, 1])), "finite"),
        (lambda: best_matches(LocalDescriptors.of([[[0.0]]]), deviation=0.0), "deviation must be positive"),
        (
            lambda: best_matches(LocalDescriptors.of([[[0.0]]]), LocalDescriptors.of([[[0.0, 1.0]]]), deviation=1.0),
            "cannot be compared",
        ),
    ],
)
def test_unusable_descriptors_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_variances_are_at_least_a_share_of_those_of_all_descriptors(pictures):
    found = LocalDescriptors.of(pictures).gaussians(smallest_variance=0.25).variances
    overall = np.concatenate(pictures).var(axis=0)
    np.testing.assert_allclose(found[1], 0.25 * overall, rtol=1e-5)  # one descriptor
    np.testing.assert_allclose(found[0], np.maximum(pictures[0].var(axis=0), 0.25 * overall), rtol=1e-5)


@pytest.mark.parametrize("variance", [1e-4, 1e4])
def test_many_dimensions_neither_overflow_nor_underflow(variance):
    two = PictureGaussians(np.array([np.zeros(203), np.full(203, 0.1 * variance**0.5)]), np.full((2, 203), variance))
    np.testing.assert_allclose(expected_likelihood(two)[0], [1, np.exp(-203 * 0.01 / 4)])
