"""The optimum of the trace norm: objectives, duals and the next inner products of predictors, from the weights."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from visterm.compute import progress
from visterm.margin.solver import alternation
from visterm.margin.solver.alternation import (
    GROWTH,
    HARDLY,
    LEAST_GROWTH,
    LEAST_SHARE,
    LESS,
    MORE,
    Optimum,
    Steps,
    find_optimum,
)
from visterm.margin.solver.coupled import CoupledProblem
from visterm.margin.solver.inner_products import GramInnerProducts
from visterm.margin.solver.losses import smooth_hinge

N, N_TASKS, LAM, MU, LOSS = 14, 3, 0.2, 0.03, smooth_hinge(0.5)
C = np.sqrt(LAM * MU / N_TASKS)


class Setting:
    """A problem with a picture of weight 2 and an unknown label, and what follows from dual variables by hand."""

    def __init__(self, tol=1e-4):
        rng = np.random.default_rng(0)
        self.X, self.labels = rng.normal(size=(N, 5)), np.where(rng.random((N_TASKS, N)) < 0.4, 1.0, -1.0)
        self.labels[0, 2], self.labels[1, 3] = 2.0, 0.0
        products, rng = GramInnerProducts(self.X @ self.X.T), np.random.default_rng(0)
        self.steps = Steps(products, self.labels, rng, loss="smooth_hinge:0.5", C=1.0, lam=LAM, mu=MU, tol=tol)
        self.weight, self.y = np.abs(self.labels), np.where(self.labels < 0, -1.0, 1.0)

    def mapped(self, M, b):
        """The V step at given dual variables."""
        weights = self.weight / (MU * N * N_TASKS)
        return CoupledProblem(self.steps.products, self.y, weights, LOSS, M).evaluate(b)

    def V(self, M, b):
        return self.X.T @ (self.weight * b * self.y).T @ M / (MU * N * N_TASKS)

    def objective(self, V):
        losses = self.weight * LOSS.value(self.y * (V.T @ self.X.T))
        return losses.sum() / (N * N_TASKS) + C * np.linalg.svd(V, compute_uv=False).sum()

    def Z(self, b):
        return self.X.T @ (self.weight * b * self.y).T / (N * N_TASKS)

    def dual(self, b):
        """That of dual variables shrunk until the spectral norm of Z is at most c."""
        inside = b / max(1.0, np.linalg.norm(self.Z(b), 2) / C)
        return -(self.weight * LOSS.conjugate(inside)).sum() / (N * N_TASKS)


@pytest.fixture
def setting():
    return Setting()


@pytest.fixture
def first():
    A = np.random.default_rng(1).normal(size=(N_TASKS, 4))
    return A @ A.T


def some_duals(seed, size):
    return size * np.random.default_rng(seed).random((N_TASKS, N))


@pytest.mark.parametrize("size", [0.05, 1.0])
def test_a_round_by_hand(setting, first, size):
    found, b = Optimum(setting.steps, first), some_duals(0, size)
    M = found.M
    assert found.gap == np.inf
    found.take(setting.mapped(M, b))
    V = setting.V(M, b)
    np.testing.assert_allclose(setting.X.T @ found.theta.T, V, atol=1e-9)
    assert found.objectives == [pytest.approx(setting.objective(V))]
    assert found.dual == pytest.approx(setting.dual(b))
    assert found.dual <= found.objectives[0]
    assert found.gap == pytest.approx((found.objectives[0] - found.dual) / found.objectives[0])
    # The next M: the best factors of V, and more where the dual solution is not feasible.
    _, lengths, right = np.linalg.svd(V)
    best = np.sqrt(MU * N_TASKS / LAM) * (right.T * lengths) @ right
    _, lengths, right = np.linalg.svd(setting.Z(b))
    excess = np.maximum((lengths / C) ** 2 - 1, 0)
    assert (excess > 0).any() == (size == 1)
    grown = best + GROWTH * MORE * np.trace(best) / N_TASKS * (right.T * excess) @ right
    np.testing.assert_allclose(found.M, grown, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("first_is_best", [True, False])
def test_the_best_objective_and_dual_are_kept_and_the_mean_of_dual_solutions_counts(setting, first, first_is_best):
    found, start = Optimum(setting.steps, first), np.zeros((N_TASKS, N))
    some = np.random.default_rng(1).random(N) < 0.5
    points = [0.9 * some + some_duals(1, 0.1), 0.9 * ~some + some_duals(2, 0.1), some_duals(3, 0.1), start]
    if first_is_best:
        points[0] = setting.steps.map(found.M, start, tol=1e-3).b
    objectives, growth, hand = [], GROWTH, []
    for i, b in enumerate(points):
        V = setting.V(found.M, b)
        is_better = not objectives or setting.objective(V) < min(objectives)
        objectives.append(setting.objective(V))
        growth = max(growth * (MORE if is_better else LESS), LEAST_GROWTH)
        found.take(setting.mapped(found.M, b))
        mean = np.average(points[: i + 1], axis=0, weights=np.arange(1, i + 2))  # later rounds weigh more
        np.testing.assert_allclose(found.mean.b, mean)
        hand += [setting.dual(b), setting.dual(mean)]
        assert found.dual == pytest.approx(max(hand))
        assert found.objectives[-1] == pytest.approx(min(objectives))
        assert found.growth == pytest.approx(growth)
    assert (len(found.objectives) == 1) == first_is_best
    assert (max(hand) in hand[::2]) == first_is_best, "or else the mean is the best"
    assert found.n_rounds == 4


def test_growth_does_not_end(setting, first):
    found, b = Optimum(setting.steps, first), some_duals(1, 1.0)
    found.objectives.append(0.0)  # nothing is better
    for _ in range(8):
        found.take(setting.mapped(found.M, b))
    assert found.growth == LEAST_GROWTH


def test_no_direction_is_lost_from_the_inner_products_of_predictors(setting):
    scale = np.sqrt(MU * N_TASKS / LAM)
    np.testing.assert_allclose(Optimum(setting.steps, np.zeros((3, 3))).M, LEAST_SHARE * scale * np.eye(3))
    v = np.array([[3.0], [0.0], [4.0]])
    values = np.linalg.eigvalsh(Optimum(setting.steps, v @ v.T).M)
    np.testing.assert_allclose(values / scale, [5 * LEAST_SHARE, 5 * LEAST_SHARE, 5.0], rtol=1e-5)


def test_the_gap_is_relative_to_the_larger_objective(setting, first):
    found = Optimum(setting.steps, first)
    for primal, dual, gap in ((2.0, 1.0, 0.5), (1.0, -4.0, 1.25), (0.0, 0.0, 0.0)):
        found.objectives, found.dual = [primal], dual
        assert found.gap == gap


def test_every_step_is_solved_to_a_share_of_the_gap_that_is_left(first, monkeypatch):
    tols, gaps, setting = [], [np.inf], Setting(tol=1e-5)
    solve = setting.steps.map

    def keep_tol(M, start, tol):
        tols.append(tol)
        return solve(M, start, tol=tol)

    class Kept(Optimum):
        def take(self, mapped):
            super().take(mapped)
            gaps.append(self.gap)

    setting.steps.map = keep_tol
    monkeypatch.setattr(alternation, "Optimum", Kept)
    with progress.task("") as bar:
        found, b = find_optimum(setting.steps, first, np.zeros((N_TASKS, N)), bar)
    assert found.gap <= 1e-5
    assert found.n_rounds == len(tols)
    share, shares = alternation.STEP_SHARE, []
    for before, gap in itertools.pairwise(gaps):
        shares.append(share)
        if gap > HARDLY * before:
            share = max(share / 2, alternation.LEAST_STEP_SHARE)
    np.testing.assert_allclose(tols, np.array(shares) * np.minimum(gaps[:-1], 1.0))
    assert shares[-1] < alternation.STEP_SHARE
    assert setting.dual(b) <= found.objectives[-1]
    assert found.objectives[-1] == pytest.approx(setting.objective(setting.X.T @ found.theta.T))
