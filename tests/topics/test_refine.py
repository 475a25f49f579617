"""Refinement: derivatives are those of finite differences, and the labels' likelihood rises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.special import digamma, polygamma

from visterm.topics._kernels_refine import propagate_back, trigamma
from visterm.topics.inference import infer_topics, one_blas_thread, starting_gamma
from visterm.topics.joint import JointTopics, Labelled
from visterm.topics.refine import SWEEPS, label_value, refine, roots, topic_gradient


@pytest.fixture(autouse=True)
def _one_core():
    with one_blas_thread():
        yield


def problem(seed, n_pictures=12):
    rng = np.random.default_rng(seed)
    bags = sparse.csr_array(rng.poisson(2.0, (n_pictures, 8)).astype(float))
    tags = sparse.csr_array((rng.random((n_pictures, 3)) < 0.4).astype(np.float32))
    data = Labelled(bags, rng.integers(-1, 3, n_pictures), rng.uniform(0.5, 2, n_pictures), tags)
    model = JointTopics(
        rng.dirichlet(np.ones(8), 4), rng.dirichlet(np.ones(3), 4), rng.normal(size=(3, 4)), rng.uniform(0.2, 2, 4)
    )
    return data, model


def value(data, model, start):
    gamma = infer_topics(data.bags, model.codewords, model.alpha, start=start, max_sweeps=SWEEPS, tolerance=0).gamma
    return label_value(data, gamma, model, 0.1, 0.01)


def test_trigamma_is_that_of_scipy():
    x = np.concatenate([np.geomspace(1e-6, 1e6, 400), [1.0, 9.999, 10.0]])
    np.testing.assert_allclose([trigamma(one) for one in x], polygamma(1, x), rtol=1e-12)


def test_the_kernel_equals_its_definition():
    data, model = problem(0)
    start, upstream = starting_gamma(data.bags, model.alpha), np.random.default_rng(1).normal(size=(12, 4))
    expected = np.zeros((8, 4))
    for d, row in enumerate(data.bags.toarray()):
        words = np.flatnonzero(row)
        counts, likelihood = row[words], model.codewords.T[words]
        gammas = [start[d]]
        for _ in range(3):
            weights = np.exp(digamma(gammas[-1]))
            gammas.append(model.alpha + weights * ((counts / (likelihood @ weights)) @ likelihood))
        above = upstream[d]
        for gamma in gammas[-2::-1]:
            weights = np.exp(digamma(gamma))
            total = likelihood @ weights
            inner = above * weights
            pull = -(likelihood @ inner) * counts / total**2
            expected[words] += np.outer(counts / total, inner) + np.outer(pull, weights)
            shares = (counts / total) @ likelihood
            above = (above * shares + pull @ likelihood) * weights * polygamma(1, gamma)
    found = np.zeros((8, 4))
    bags, likelihood = data.bags, np.ascontiguousarray(model.codewords.T)
    propagate_back(bags.indptr, bags.indices, bags.data, likelihood, model.alpha, 3, start, upstream, found)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_of_the_topics_is_that_of_finite_differences(seed):
    data, model = problem(seed)
    start = infer_topics(data.bags, model.codewords, model.alpha, max_sweeps=1).gamma
    _, upstream = value(data, model, start)
    gradient = topic_gradient(data, model, start, upstream)
    for place in [(0, 0), (1, 5), (3, 7), (2, 2)]:
        step = np.zeros(gradient.shape)
        step[place] = 1e-6
        above = value(data, replace(model, codewords=model.codewords + step), start)[0]
        below = value(data, replace(model, codewords=model.codewords - step), start)[0]
        assert gradient[place] == pytest.approx((above - below) / 2e-6, rel=1e-4, abs=1e-5)


def test_refinement_raises_the_likelihood_of_the_labels():
    data, model = problem(4, n_pictures=40)
    refined, objective = refine(data, model, n_steps=40, ridge=0.1, smoothing=0.01)
    assert objective[-1] > objective[0] + 1
    np.testing.assert_allclose(refined.codewords.sum(axis=1), 1)
    np.testing.assert_allclose(refined.tags.sum(axis=1), 1)


def test_held_out_pictures_choose_the_model():
    data, model = problem(4, n_pictures=60)
    unseen, _ = problem(5, n_pictures=60)

    def look(model):
        gamma = infer_topics(unseen.bags, model.codewords, model.alpha).gamma
        return label_value(unseen, gamma, model, 0.1, 0.01)[0]

    chosen, _ = refine(data, model, n_steps=30, ridge=0.1, smoothing=0.01, look=look)
    last, _ = refine(data, model, n_steps=30, ridge=0.1, smoothing=0.01)
    assert look(chosen) >= look(last)


def test_roots_have_finite_slopes():
    assert roots(np.zeros(2)).tolist() == [0.0, 0.0]
    assert roots(np.array([0.25]))[0] == pytest.approx(0.5, abs=1e-5)
