"""Compiled loops of the top-k solver beside their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.margin.solver import _kernels_top_k
from visterm.margin.solver._kernels_top_k import ascend_pictures, picture_values, project_top_k
from visterm.margin.solver.arrays import Block, PictureDuals


def projected(b, k, rho):
    p = np.full(len(b), np.nan)
    project_top_k(np.array(b), k, rho, p)
    return p


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("rho", [0.0, 0.7, 1.0])
def test_projections_satisfy_their_conditions(k, rho):
    """No feasible direction from the projection lowers the cost: checked at the corners of the feasible set."""
    rng = np.random.default_rng(k)
    corners = np.array(
        [np.isin(np.arange(5), rng.permutation(5)[:size]) / size for size in range(k, 6) for _ in range(40)]
    )
    for scale in (0.1, 0.3, 1.0, 3.0):
        for shift in (-0.2, 0.0, 0.4):
            b = scale * (rng.normal(size=5) + shift)
            p = projected(b, k, rho)
            assert p.min() >= 0
            assert p.sum() <= 1 + 1e-12
            assert p.max() <= p.sum() / k + 1e-12
            slope = p - b + rho * p.sum()
            assert (corners @ slope >= slope @ p - 1e-9).all()
            assert slope @ p <= 1e-9  # nor does zero


def test_projections_by_hand():
    np.testing.assert_allclose(projected([0.5, -1.0, -2.0], 1, 1.0), [0.25, 0, 0])
    np.testing.assert_allclose(projected([3.0, -1.0, -2.0], 1, 1.0), [1, 0, 0])
    np.testing.assert_allclose(projected([-3.0, -1.0, -2.0], 1, 1.0), [0, 0, 0])
    np.testing.assert_allclose(projected([1.0, -1.0, -2.0], 2, 1.0), [0, 0, 0])  # the two largest gain nothing together
    np.testing.assert_allclose(projected([0.6, 0.2, -2.0], 2, 0.0), [0.4, 0.4, 0])
    np.testing.assert_allclose(projected([5.0, 4.0, 3.0], 2, 1.0), [0.5, 0.5, 0])
    np.testing.assert_allclose(projected([0.3, 0.3, 0.3], 3, 0.0), [0.3, 0.3, 0.3])
    np.testing.assert_allclose(projected([5.0, 0.0], 2, 1.0), [0.5, 0.5])
    np.testing.assert_allclose(projected([1e6 + 0.5, 1e6 + 0.1, 1e6 - 3], 1, 1.0), [0.7, 0.3, 0], atol=1e-8)
    np.testing.assert_allclose(projected([2.5], 1, 1.0), [1])
    np.testing.assert_allclose(projected([5.0, 4.5, 1.0], 1, 1.0), [0.75, 0.25, 0])
    np.testing.assert_allclose(projected([9.0, 5.0, 4.9, 1.0], 2, 1.0), [0.5, 0.3, 0.2, 0])


@pytest.mark.parametrize("k", [1, 2, 3])
def test_thresholds_of_a_sum_of_one_are_exact_after_few_halvings(k, monkeypatch):
    monkeypatch.setattr(_kernels_top_k, "_HALVINGS", 14)  # which alone are good for four digits
    on_the_edge = getattr(_kernels_top_k._on_the_edge, "py_func", _kernels_top_k._on_the_edge)
    rng = np.random.default_rng(0)
    for scale in (0.2, 1.0, 5.0):
        for _ in range(8):
            b = scale * rng.normal(size=6)
            t = on_the_edge(b, np.argsort(-b), k)
            p = np.clip(b - t, 0, 1 / k)
            if ((p > 1e-9) & (p < 1 / k - 1e-9)).any():
                assert p.sum() == pytest.approx(1, abs=1e-12)
            else:
                assert p.sum() == pytest.approx(1, abs=1e-3 * scale)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_loss_of_a_picture_is_the_mean_of_its_largest_slacks(k):
    rng = np.random.default_rng(0)
    f, p, y = 2 * rng.normal(size=(4, 30)), rng.random((4, 30)), rng.integers(0, 4, 30)
    losses, gains = np.empty(30), np.empty(30)
    picture_values(f, p, y, k, losses, gains)
    for i in range(30):
        slacks = np.sort(np.delete(1 + f[:, i] - f[y[i], i], y[i]))[::-1]
        assert losses[i] == pytest.approx(max(0, slacks[:k].mean()))
    np.testing.assert_allclose(gains, p.sum(axis=0))
    assert (losses == 0).any()


@pytest.mark.parametrize("k", [1, 2])
def test_pictures_of_a_block_step_in_order_and_absent_ones_do_not(k):
    rng = np.random.default_rng(1)
    n_classes, n, rows = 4, 7, np.array([5, 1, 6, 3])
    X, y, C = rng.normal(size=(n, 3)), rng.integers(0, n_classes, n), rng.uniform(0.3, 1.5, n)
    C[6] = 0
    G = X @ X.T
    p = rng.uniform(0, 0.2, (n_classes, n))
    p[y, np.arange(n)] = 0

    def theta(p):
        found = -p * C
        found[y, np.arange(n)] = C * p.sum(axis=0)
        return found

    start, order = p.copy(), np.array([2, 0, 3, 1])
    block = Block(
        np.ascontiguousarray(G[np.ix_(rows, rows)]),
        rows,
        np.ascontiguousarray((theta(p) @ G)[:, rows]),
        np.ones((n_classes, 4)),
    )
    expected = p.copy()
    for row in rows[order]:
        if C[row] > 0:
            f, rivals = theta(expected) @ G[:, row], np.arange(n_classes) != y[row]
            b = (1 + f[rivals] - f[y[row]]) / (C[row] * G[row, row]) + expected[rivals, row] + expected[:, row].sum()
            expected[rivals, row] = projected(b, k, 1.0)
    ascend_pictures(block, order, PictureDuals(p, y, C), k)
    np.testing.assert_allclose(p, expected, atol=1e-10)
    np.testing.assert_allclose(block.f, (theta(p) @ G)[:, rows], atol=1e-10)
    np.testing.assert_allclose(block.delta, 1 + (theta(p) - theta(start))[:, rows], atol=1e-10)


def test_the_step_of_one_picture_by_hand():
    G, rows, f, delta = np.array([[0.25]]), np.array([0]), np.zeros((3, 1)), np.zeros((3, 1))
    p = np.zeros((3, 1))
    p_of_rivals = projected([4.0, 4.0], 1, 1.0)
    ascend_pictures(Block(G, rows, f, delta), np.array([0]), PictureDuals(p, np.array([1]), np.ones(1)), 1)
    np.testing.assert_allclose(p_of_rivals, [0.5, 0.5])
    np.testing.assert_allclose(p[:, 0], [0.5, 0, 0.5])
    np.testing.assert_allclose(delta[:, 0], [-0.5, 1, -0.5])
    np.testing.assert_allclose(f[:, 0], [-0.125, 0.25, -0.125])


def test_the_step_of_one_picture_whose_second_rival_is_far_below():
    p, f = np.zeros((3, 1)), np.array([[0.0], [0.0], [-1.5]])
    block = Block(np.array([[0.25]]), np.array([0]), f, np.zeros((3, 1)))
    ascend_pictures(block, np.array([0]), PictureDuals(p, np.array([1]), np.ones(1)), 2)
    np.testing.assert_allclose(p[:, 0], [1 / 3, 0, 1 / 3])  # minimises |p - (4, -2)|^2 + sum(p)^2 for equal entries
