"""Algorithm 1: its objective by hand, what it keeps of a given start, its default regularisers."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.compute import progress
from visterm.margin.mtl_sdca import Duals, MultitaskSDCA
from visterm.margin.solver.inner_products import GramInnerProducts
from visterm.margin.solver.losses import smooth_hinge

#: Every start lies within this gap, so a step that is not worse than before stays where it starts.
ANY_GAP = 5.0
C, LAM, MU, LOSS = 0.7, 0.3, 0.2, smooth_hinge()


def learn(X, labels, start=None, *, loss="smooth_hinge", lam=LAM, mu=MU, tol=ANY_GAP, max_iter=1):
    model = MultitaskSDCA(C, mu=mu, lam=lam, loss=loss, tol=tol, max_iter=max_iter)
    with progress.task("Learning") as bar:
        return model._learn(GramInnerProducts(X @ X.T), labels, np.random.default_rng(0), bar, start)


class ByHand:
    """A problem with weighted labels, random dual variables, and the objective (1) after each step that keeps them."""

    def __init__(self, seed, mu=MU):
        rng, n_tasks, n = np.random.default_rng(seed), 2, 8
        self.X = rng.normal(size=(n, 3))
        y, weights = np.where(rng.random((n_tasks, n)) < 0.5, 1.0, -1.0), rng.uniform(0.5, 2, (n_tasks, n))
        weights[0, 0] = 0  # unknown
        self.labels = y * weights
        self.start = Duals(*rng.uniform(0, 0.8, (3, n_tasks, n)))
        alone, predictors, mapped = (self.labels * b for b in self.start)
        first = C * self.X.T @ alone.T
        self.W = predictors / (LAM * n) @ self.X @ first
        self.U = self.X.T @ (mapped / (mu * n * n_tasks)).T @ self.W

        def objective(U, W):
            losses = (weights * LOSS.value(y * (W @ U.T @ self.X.T))).mean()
            return losses + LAM / 2 * (W**2).sum() / n_tasks + mu / 2 * (U**2).sum()

        self.objectives = [objective(first, 0 * self.W), objective(first, self.W), objective(self.U, self.W)]


def test_the_objective_after_each_step_is_that_of_problem_1():
    hand = ByHand(1)
    assert hand.objectives == sorted(hand.objectives, reverse=True)
    learned = learn(hand.X, hand.labels, hand.start)
    np.testing.assert_array_equal(learned.duals, hand.start)
    np.testing.assert_allclose(learned.objectives, hand.objectives)
    np.testing.assert_allclose(learned.M, hand.W @ hand.W.T)
    np.testing.assert_allclose(learned.theta @ hand.X, hand.W @ hand.U.T)
    assert learned.n_rounds == 1


def test_predictors_within_the_gap_that_are_worse_are_solved_to_a_tenth_of_it():
    worse = ByHand(7)
    assert worse.objectives[1] > worse.objectives[0]
    learned = learn(worse.X, worse.labels, worse.start)
    assert learned.n_rounds == 1
    assert worse.objectives[0] == pytest.approx(learned.objectives[0])
    assert learned.objectives[1] < learned.objectives[0]


def test_predictors_within_a_tenth_of_the_gap_that_are_worse_end_the_rounds():
    worse = ByHand(2)
    assert worse.objectives[1] > worse.objectives[0]
    learned = learn(worse.X, worse.labels, worse.start)
    assert learned.n_rounds == 0
    assert learned.objectives == pytest.approx(worse.objectives[:1])
    np.testing.assert_allclose(learned.theta, C * worse.labels * worse.start.alone)  # one-vs-all


def test_a_map_within_the_gap_that_is_worse_is_solved_until_it_is_not():
    worse = ByHand(45, mu=0.06)
    assert worse.objectives[1] < worse.objectives[2] < worse.objectives[0]
    learned = learn(worse.X, worse.labels, worse.start, mu=0.06)
    assert learned.objectives[:2] == pytest.approx(worse.objectives[:2])
    assert learned.objectives[2] < learned.objectives[1]
    assert learned.n_rounds == 1


def unlike_pictures():
    """Pictures without anything in common, and the optimum of one-vs-all, with predictors of zero."""
    labels = np.array([[1.0, 1, -1, -1], [1.0, -1, 1, -1]])
    return np.eye(4), labels, Duals(np.full((2, 4), 1 / (1 + C)), np.zeros((2, 4)), np.ones((2, 4)))


def test_predictors_of_zero_are_not_worse_than_none():
    learned = learn(*unlike_pictures(), lam=0.25, mu=0.125)
    assert learned.objectives[1] == learned.objectives[0]
    np.testing.assert_array_equal(learned.duals.predictors, 0)


@pytest.mark.parametrize("share", [0.99, 1.01])
def test_the_gap_of_the_predictors_is_relative_to_the_whole_objective(share):
    losses, of_map = 0.5, 0.125 / 2 * 8 * (C / (1 + C)) ** 2
    gap = losses / (losses + of_map)  # the dual objective of zero is zero
    learned = learn(*unlike_pictures(), lam=0.25, mu=0.125, tol=share * gap)
    assert learned.objectives[0] == pytest.approx(losses + of_map)
    assert learned.duals.predictors.any() == (share < 1)


def test_the_default_regularisers_give_every_loss_the_weight_one():
    hand = ByHand(1)
    by_default = learn(hand.X, hand.labels, hand.start, lam=None, mu=None)
    given = learn(hand.X, hand.labels, hand.start, lam=1 / 8, mu=1 / 16)
    assert by_default.objectives == given.objectives
    np.testing.assert_array_equal(by_default.theta, given.theta)


def test_no_rounds_are_one_vs_all():
    hand = ByHand(1)
    learned = learn(hand.X, hand.labels, tol=1e-6, max_iter=0)  # without a warning
    assert learned.n_rounds == 0
    np.testing.assert_array_equal(learned.M, np.eye(2))
    np.testing.assert_allclose(learned.theta, C * hand.labels * learned.duals.alone)


@pytest.mark.filterwarnings("ignore:the relative duality gap")
@pytest.mark.parametrize("seed", [1, 32, 38])
def test_the_objective_does_not_even_rise_by_rounding(seed):
    rng = np.random.default_rng(seed)
    X, labels = rng.normal(size=(6, 3)), np.where(rng.random((2, 6)) < 0.5, 1.0, -1.0)
    learned = learn(X, labels, loss="squared", lam=0.05, mu=0.05, tol=1e-16, max_iter=60)
    assert np.diff(learned.objectives).max() <= 0
