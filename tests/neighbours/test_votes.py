"""Votes of neighbours, their likelihood and the weights that maximise it, against plain definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit, softmax

from visterm.compute import progress
from visterm.neighbours.voting import votes
from visterm.neighbours.voting.votes import Votes, count_votes, fading, maximise_likelihood, minimise

NONE = np.full(4, np.inf), np.zeros(4)


@pytest.fixture
def neighbourhood():
    """Fifteen pictures of four tags, five neighbours of each, and their distances by two features."""
    rng = np.random.default_rng(1)
    tags = (rng.random((15, 4)) < 0.4).astype(np.float32)
    tags[tags.sum(axis=1) == 0, 0] = 1
    rows = np.array([rng.permutation(np.delete(np.arange(15), i))[:5] for i in range(15)])
    apart = np.abs(tags[:, None] - tags[rows]).sum(axis=2)
    base = np.stack([0.3 * apart + rng.random((15, 5)), rng.random((15, 5))], axis=2)
    return tags, rows, base


def log_likelihood(shares, tags, rows, slope=None, offset=None):
    """All present tags together count as much as all absent ones."""
    x = np.einsum("ik,ikt->it", shares, tags[rows])
    x = x if slope is None else expit(slope * x + offset)
    right = np.maximum(np.where(tags > 0, x, 1 - x), 1e-5)
    return np.log(right[tags > 0]).mean() + np.log(right[tags == 0]).mean()


def test_non_negative_weights_and_the_objective_after_every_step():
    target = np.array([-1.0, 2.0, 0.5])

    def cost(w):
        return ((w - target) ** 2).sum() + 3.0, 2 * (w - target)

    with progress.task("Testing", total=None) as bar:
        found, trace = minimise(cost, np.ones(3), max_iter=20, bar=bar)
        _, gains = minimise(cost, np.ones(3), max_iter=20, bar=bar, sign=-1)
        nowhere, none = minimise(cost, np.ones(3), max_iter=0, bar=bar)
    np.testing.assert_allclose(found, [0, 2, 0.5], atol=1e-6)
    assert trace[-1] == pytest.approx(4)
    assert gains == [-value for value in trace]
    assert (nowhere.tolist(), none) == ([1, 1, 1], [])


def test_how_many_neighbours_carry_each_label():
    rng = np.random.default_rng(0)
    labels, near = rng.random((6, 3)) < 0.5, rng.integers(6, size=(7, 4))
    counted = count_votes(near, sparse.csr_array(labels.astype(float)))
    np.testing.assert_array_equal(counted, labels[near].sum(axis=1))
    assert count_votes(near[:0], sparse.csr_array(labels.astype(float))).shape == (0, 3)


def test_shares_fade_with_the_distance(neighbourhood):
    _, _, base = neighbourhood
    np.testing.assert_allclose(
        fading(base, np.array([2.0, 3.0])), softmax(-2 * base[..., 0] - 3 * base[..., 1], axis=1)
    )
    np.testing.assert_allclose(fading(1e6 * base, np.ones(2)).sum(axis=1), 1)  # no underflow
    assert fading(base[:0], np.ones(2)).shape == (0, 5)


@pytest.mark.parametrize("with_sigmoids", [False, True])
def test_the_weights_are_the_most_likely_ones(neighbourhood, with_sigmoids):
    tags, rows, base = neighbourhood
    slope, offset = (np.array([9.0, 8, 9, 8]), np.array([-2.0, -2, -2, -2])) if with_sigmoids else (None, None)

    def surprise(weights):
        return -log_likelihood(fading(base, weights), tags, rows, slope, offset)

    best = minimize(surprise, np.ones(2), bounds=[(0, None)] * 2, tol=1e-10)
    with progress.task("Testing", total=None) as bar:
        calibration = (slope, offset) if with_sigmoids else NONE
        weights, trace = maximise_likelihood(
            Votes(rows, sparse.csr_array(tags)), base, np.array([3.0, 3.0]), calibration, max_iter=50, bar=bar
        )
    np.testing.assert_allclose(weights, best.x, atol=1e-3)
    assert best.x.max() > 0.5
    assert trace[-1] == pytest.approx(-best.fun, abs=1e-6)
    assert (np.diff(trace) >= -1e-12).all()


def test_slopes_are_derivatives_by_every_share(neighbourhood):
    tags, rows, _ = neighbourhood
    shares, every = np.random.default_rng(0).dirichlet(np.ones(5), 15), Votes(rows, sparse.csr_array(tags))
    slope, offset = np.array([9.0, 8, 9, 8]), np.full(4, -2.0)
    _, slopes = every.likelihood(shares, slope, offset)
    for place in [(0, 0), (3, 1), (8, 4), (14, 2)]:
        step = np.zeros((15, 5))
        step[place] = 1e-6
        more, less = (log_likelihood(shares + sign * step, tags, rows, slope, offset) for sign in (1, -1))
        assert slopes[place] == pytest.approx((more - less) / 2e-6, abs=1e-6)


def test_expected_slopes_are_those_of_em(neighbourhood):
    """A share times its slope: how likely this neighbour explains each tag that is there, and each that is not."""
    tags, rows, _ = neighbourhood
    shares = np.random.default_rng(0).dirichlet(np.ones(5), 15)
    found = Votes(rows, sparse.csr_array(tags))
    value, slopes = found.likelihood(shares, *NONE, expected=True)
    agree = tags[rows] == tags[:, None]
    right = np.einsum("ik,ikt->it", shares, agree)
    right_enough = np.where(right < 1e-5, np.inf, right)  # what nobody explains counts for nobody
    weight = np.where(tags > 0, 1 / tags.sum(), 1 / (tags == 0).sum())
    np.testing.assert_allclose(
        shares * slopes, np.einsum("ik,ikt,it->ik", shares, agree, weight / right_enough), atol=1e-12
    )
    assert value == pytest.approx(log_likelihood(shares, tags, rows))
    np.testing.assert_array_equal(found.present, tags > 0)


def test_a_sample_goes_from_the_first_picture_to_the_last(neighbourhood, monkeypatch):
    tags, rows, base = neighbourhood
    every = Votes(rows, sparse.csr_array(tags))
    for most, expected in [(16, range(15)), (15, range(15)), (8, range(0, 15, 2)), (3, [0, 7, 14])]:
        monkeypatch.setattr(votes, "_MAX_PAIRS", 4 * most)
        assert every.sample().tolist() == list(expected)
    some = every.of_pictures(np.array([0, 7, 14]))
    shares = fading(base[[0, 7, 14]], np.ones(2))
    apart = tags[[0, 7, 14]]
    x = np.einsum("ik,ikt->it", shares, tags[rows[[0, 7, 14]]])
    right = np.maximum(np.where(apart > 0, x, 1 - x), 1e-5)
    expected = np.log(right[apart > 0]).mean() + np.log(right[apart == 0]).mean()
    assert some.likelihood(shares, *NONE)[0] == pytest.approx(expected)


def test_pictures_that_all_carry_all_tags_are_no_surprise():
    every = Votes(np.array([[1], [0]]), sparse.csr_array(np.ones((2, 4))))
    assert every.likelihood(np.ones((2, 1)), *NONE)[0] == 0
