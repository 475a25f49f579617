"""Inference of topic proportions: the kernel equals its definition, bounds rise, shards merge."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import digamma, gammaln

from visterm.errors import InputError
from visterm.topics import TopicStatistics, infer_topics


def problem(seed, n_pictures=6, n_codewords=9, n_topics=3, mean=2.0):
    rng = np.random.default_rng(seed)
    bags = sparse.csr_array(rng.poisson(mean, (n_pictures, n_codewords)).astype(np.float64))
    topics = rng.dirichlet(np.ones(n_codewords), n_topics)
    return bags, topics, rng.uniform(0.05, 2, n_topics)


def reference(bags, topics, alpha, n_sweeps):
    """The same by the book, one picture at a time."""
    gammas, counts, bound, log_proportions = [], np.zeros_like(topics), 0.0, 0.0
    for row in bags.toarray():
        gamma = alpha + row.sum() / len(alpha)
        for _ in range(n_sweeps):
            phi = np.exp(digamma(gamma)) * topics.T
            phi /= phi.sum(axis=1, keepdims=True)
            gamma = alpha + row @ phi
        log_theta = digamma(gamma) - digamma(gamma.sum())
        phi = np.exp(log_theta) * topics.T
        total = phi.sum(axis=1, keepdims=True)
        phi /= total
        counts += (row[:, None] * phi).T
        # E[log p(theta)] + E[log p(z)] + E[log p(r)] - E[log q(theta)] - E[log q(z)], term by term
        bound += gammaln(alpha.sum()) - gammaln(alpha).sum() + (alpha - 1) @ log_theta
        bound += row @ (phi @ log_theta) + np.sum(row[:, None] * phi * np.log(topics.T))
        bound -= gammaln(gamma.sum()) - gammaln(gamma).sum() + (gamma - 1) @ log_theta
        bound -= np.sum(row[:, None] * phi * np.log(phi))
        gammas.append(gamma)
        log_proportions = log_proportions + log_theta
    return np.array(gammas), counts, bound, log_proportions


@pytest.mark.parametrize("seed", range(5))
def test_the_kernel_equals_its_definition(seed):
    bags, topics, alpha = problem(seed)
    found = infer_topics(bags, topics, alpha, max_sweeps=7, tolerance=0)
    gamma, counts, bound, log_proportions = reference(bags, topics, alpha, 7)
    np.testing.assert_allclose(found.gamma, gamma, rtol=1e-10)
    np.testing.assert_allclose(found.statistics.codewords, counts, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.statistics.log_proportions, log_proportions, rtol=1e-10)
    assert found.statistics.bound == pytest.approx(bound, rel=1e-10)
    assert found.statistics.tags.shape == (3, 0)
    np.testing.assert_allclose(found.proportions, gamma / gamma.sum(axis=1, keepdims=True), rtol=1e-10)


@pytest.mark.parametrize("tolerance", [0.05, 0.3])
def test_a_picture_ends_when_its_gamma_changes_by_less_than_the_tolerance_per_topic(tolerance):
    bags, topics, alpha = problem(0, n_pictures=20)
    gammas = [alpha + bags.sum(axis=1)[:, None] / 3] + [reference(bags, topics, alpha, n)[0] for n in range(1, 9)]
    changes = [np.abs(after - before).mean(axis=1) for before, after in pairwise(gammas)]
    last = np.argmax(np.vstack([np.array(changes)[:-1] < tolerance, np.ones((1, 20), bool)]), axis=0) + 1
    assert len(set(last)) > 2
    found = infer_topics(bags, topics, alpha, max_sweeps=8, tolerance=tolerance)
    np.testing.assert_allclose(found.gamma, np.array(gammas)[last, np.arange(20)], rtol=1e-10)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5), st.floats(0.1, 20))
def test_every_sweep_raises_the_bound(seed, n_topics, mean):
    bags, topics, alpha = problem(seed, n_topics=n_topics, mean=mean)
    bounds, gamma = [], None
    for _ in range(8):
        found = infer_topics(bags, topics, alpha, start=gamma, max_sweeps=1, tolerance=0)
        gamma = found.gamma
        bounds.append(found.statistics.bound)
    assert np.all(np.diff(bounds) >= -1e-9 * np.abs(bounds[0]))


def test_the_bound_is_below_the_evidence():
    # Two codewords, one picture with one of each: the evidence is an integral over theta, taken on a grid.
    topics, alpha = np.array([[0.7, 0.3], [0.2, 0.8]]), np.array([0.8, 1.7])
    share = (np.arange(200_000) + 0.5) / 200_000
    density = share ** (alpha[0] - 1) * (1 - share) ** (alpha[1] - 1)
    words = share[:, None] * topics[0] + (1 - share)[:, None] * topics[1]
    evidence = np.log(np.sum(density * words[:, 0] * words[:, 1]) / density.sum())
    bound = infer_topics(sparse.csr_array([[1.0, 1.0]]), topics, alpha).statistics.bound
    assert evidence - 0.4 < bound < evidence


def test_statistics_of_shards_merge_to_those_of_the_whole():
    bags, topics, alpha = problem(3, n_pictures=2500)
    whole = infer_topics(bags, topics, alpha)
    parts = [infer_topics(bags[rows], topics, alpha) for rows in (slice(0, 100), slice(100, 450), slice(450, 2500))]
    merged = parts[0].statistics + parts[1].statistics + parts[2].statistics
    np.testing.assert_allclose(np.vstack([part.gamma for part in parts]), whole.gamma, rtol=1e-12)
    np.testing.assert_allclose(merged.codewords, whole.statistics.codewords, rtol=1e-10)
    assert merged.n_pictures == 2500
    assert merged.bound == pytest.approx(whole.statistics.bound)
    single = infer_topics(bags, topics, alpha, n_jobs=1)
    assert np.array_equal(single.statistics.codewords, whole.statistics.codewords)


def test_one_topic_empty_pictures_and_no_pictures():
    bags = sparse.csr_array(np.array([[3.0, 1.0], [0.0, 0.0]]))
    one = infer_topics(bags, [[0.5, 0.5]], 0.3)
    np.testing.assert_allclose(one.gamma, [[4.3], [0.3]])
    assert one.statistics.bound == pytest.approx(4 * np.log(0.5))
    none = infer_topics(bags[:0], [[0.5, 0.5]], 0.3)
    assert none.gamma.shape == (0, 1)
    assert none.statistics.n_pictures == 0


def test_a_codeword_no_topic_knows_costs_no_nan():
    found = infer_topics(sparse.csr_array([[2.0, 1.0]]), [[1.0, 0.0], [1.0, 0.0]], 1e-4)
    assert np.isfinite(found.gamma).all()
    assert np.isfinite(found.statistics.codewords).all()
    assert np.isfinite(found.statistics.bound)


def test_what_does_not_fit_is_refused():
    with pytest.raises(InputError, match="codewords"):
        infer_topics(sparse.csr_array(np.ones((1, 3))), np.ones((2, 4)) / 4, 0.1)
    sums = TopicStatistics(0, 0.0, np.zeros((2, 3)), np.zeros(2), np.zeros((2, 0)))
    with pytest.raises(InputError, match="merged"):
        sums + TopicStatistics(0, 0.0, np.zeros((2, 4)), np.zeros(2), np.zeros((2, 0)))
