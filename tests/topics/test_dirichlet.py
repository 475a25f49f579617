from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import digamma, gammaln

from visterm.topics import infer_topics
from visterm.topics.inference import em
from visterm.topics.inference.em import fit_dirichlet
from visterm.topics.theme_lda import picture_bounds


@given(
    alpha=st.lists(st.floats(0.02, 20), min_size=2, max_size=6),
    start=st.floats(0.01, 10),
    rate=st.sampled_from([0.0, 1.0]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=40, deadline=None)
def test_the_gradient_vanishes_at_the_answer(alpha, start, rate, seed):
    draws = np.random.default_rng(seed).dirichlet(alpha, 50)
    sums = np.log(np.maximum(draws, 1e-200)).sum(axis=0)
    found = fit_dirichlet(sums, 50, np.full(len(alpha), start), rate=rate)
    assert (found > 0).all()
    gradient = 50 * (digamma(found.sum()) - digamma(found)) + sums - rate
    np.testing.assert_allclose(gradient * found, 0, atol=2e-2)


def test_agrees_with_a_general_optimiser():
    sums = np.log(np.random.default_rng(0).dirichlet([1.0, 3.0, 0.3], 200)).sum(axis=0)

    def loss(log_alpha):
        alpha = np.exp(log_alpha)
        return -(200 * (gammaln(alpha.sum()) - gammaln(alpha).sum()) + alpha @ (sums - 0.5))

    expected = np.exp(minimize(loss, np.zeros(3), tol=1e-10).x)
    np.testing.assert_allclose(fit_dirichlet(sums, 200, np.ones(3), rate=0.5), expected, rtol=1e-4)


def test_a_step_near_the_answer_squares_its_error(monkeypatch):
    monkeypatch.setattr(em, "_MAX_STEPS", 1)
    answer = np.array([1.0, 3.0, 0.3])
    sums = 7 * (digamma(answer) - digamma(answer.sum())) + 0.5  # the derivative at the answer is zero
    for error in (1e-2, 1e-3):
        found = fit_dirichlet(sums, 7, answer * (1 + error * np.array([1, -1, 1])), rate=0.5)
        assert np.abs(found / answer - 1).max() < 5 * error**2


@pytest.mark.parametrize("start", [1e-3, 1e3])
def test_far_from_the_answer_steps_are_shortened(start):
    answer = np.array([1.0, 3.0, 0.3])
    sums = 7 * (digamma(answer) - digamma(answer.sum()))
    np.testing.assert_allclose(fit_dirichlet(sums, 7, np.full(3, start), rate=0), answer, rtol=1e-3)


def test_the_answer_depends_on_the_mean_alone():
    means = digamma([1.0, 3.0, 0.3]) - digamma(4.3)
    for n in (1e-6, 1, 1e6):
        np.testing.assert_allclose(fit_dirichlet(n * means, n, np.ones(3), rate=0), [1.0, 3.0, 0.3], rtol=1e-3)


def test_a_single_topic_keeps_its_alpha_and_a_start_stays_as_it_was():
    assert fit_dirichlet(np.array([-3.0]), 5, np.array([0.7])).tolist() == [0.7]
    start = np.array([0.7, 0.2])
    assert not np.array_equal(fit_dirichlet(np.array([-9.0, -7.0]), 5, start), start)
    assert start.tolist() == [0.7, 0.2]


def test_one_picture_needs_the_prior():
    sums = np.log([0.2, 0.8])
    assert fit_dirichlet(sums, 1, np.ones(2)).max() < 100


def test_bounds_of_pictures_sum_to_the_bound_of_the_e_step():
    rng = np.random.default_rng(0)
    bags = sparse.csr_array(rng.poisson(1.0, (2500, 7)).astype(float))  # more than one block
    topics, alpha = rng.dirichlet(np.ones(7), 3), np.array([0.1, 0.5, 2.0])
    inferred = infer_topics(bags, topics, alpha)
    bounds = picture_bounds(bags, topics, alpha, inferred.gamma)
    assert bounds.sum() == pytest.approx(inferred.statistics.bound, rel=1e-9)


def test_the_bound_of_any_gamma_by_hand():
    rng = np.random.default_rng(0)
    counts = np.vstack([rng.poisson(2.0, (3, 2)), np.zeros((2, 2))])
    topics, alpha, gamma = rng.dirichlet(np.ones(2), 3), np.array([0.1, 0.5, 2.0]), rng.uniform(0.2, 3, (5, 3))
    expected = []
    for row, own in zip(counts, gamma, strict=True):
        log_theta = digamma(own) - digamma(own.sum())
        phi = np.exp(log_theta)[:, None] * topics
        phi /= phi.sum(axis=0)
        tokens = (row * phi * (log_theta[:, None] + np.log(topics) - np.log(phi))).sum()
        prior = gammaln(alpha.sum()) - gammaln(alpha).sum() + (alpha - 1) @ log_theta
        posterior = gammaln(own.sum()) - gammaln(own).sum() + (own - 1) @ log_theta
        expected.append(tokens + prior - posterior)
    np.testing.assert_allclose(picture_bounds(sparse.csr_array(counts), topics, alpha, gamma), expected)


def test_the_bound_of_a_single_token_is_below_its_probability_and_of_none_is_zero():
    topics, alpha = np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([1.0, 3.0])
    bags = sparse.csr_array([[1.0, 0.0], [0.0, 0.0]])
    bounds = picture_bounds(bags, topics, alpha, infer_topics(bags, topics, alpha).gamma)
    exact = np.log(0.25 * 0.9 + 0.75 * 0.2)
    assert exact - 0.2 < bounds[0] <= exact
    assert bounds[1] == pytest.approx(0, abs=1e-12)
