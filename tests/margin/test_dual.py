"""The dual problem: its solution at given dual variables, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from visterm.margin.solver.ascent import Solution, warn_unconverged
from visterm.margin.solver.inner_products import GramInnerProducts
from visterm.margin.solver.losses import HINGE, SQUARED_HINGE
from visterm.margin.solver.tasks import Problem


def two_pictures(offset=None):
    G, y, C = np.array([[2.0, 1], [1, 3]]), np.array([[1.0, -1]]), np.array([[0.5, 2]])
    return Problem(GramInnerProducts(G), y, C, HINGE, *([] if offset is None else [offset]))


def test_the_solution_of_two_pictures():
    found = two_pictures().evaluate(np.array([[1.0, 0.25]]))
    np.testing.assert_allclose(found.theta, [[0.5, -0.5]])
    np.testing.assert_allclose(found.scores, [[0.5, -1]])
    squared_length = 0.5 * 0.5 + 0.5
    assert found.squared_length == pytest.approx(squared_length)
    np.testing.assert_allclose(found.primal, [squared_length / 2 + 0.5 * 0.5 + 2 * 0])
    np.testing.assert_allclose(found.dual, [0.5 * 1 + 2 * 0.25 - squared_length / 2])
    np.testing.assert_allclose(found.scales, [0.625])
    np.testing.assert_allclose(found.gaps, [(0.625 - 0.625) / 0.625], atol=1e-15)


def test_the_scores_of_dual_variables_of_zero_are_zero():
    found = two_pictures().evaluate(np.zeros((1, 2)))
    np.testing.assert_array_equal(found.scores, [[0, 0]])
    np.testing.assert_array_equal([found.primal, found.dual], [[2.5], [0]])


@pytest.mark.parametrize(
    ("offset", "gap", "scale"), [(None, 1.0, 2.5), (0.0, 1.0, 2.5), (7.5, 0.25, 10), (-8, 0.3125, 8)]
)
def test_the_gap_is_relative_to_the_larger_objective(offset, gap, scale):
    problem = two_pictures(offset)
    found = problem.evaluate(np.zeros((1, 2)))
    np.testing.assert_allclose(found.gaps, [gap])
    np.testing.assert_allclose(found.scales, [scale])
    single = Problem(problem.products.astype(np.float32), problem.y, problem.C, HINGE, problem.offset)
    for same in (problem.part(np.array([0])), single.in_double(np.array([0]))):
        np.testing.assert_allclose(same.evaluate(np.zeros((1, 2))).gaps, [gap])


def test_the_gap_is_relative_to_a_dual_objective_far_below_zero():
    found = Solution(*np.zeros((3, 1, 2)), np.array([5.0]), np.array([-10.0]), 1.0)
    np.testing.assert_allclose(found.scales, [9])
    np.testing.assert_allclose(found.gaps, [15 / 9])


def test_a_start_is_taken_into_the_range_of_the_loss():
    problem = two_pictures()
    np.testing.assert_array_equal(problem.start(np.array([[-1.0, 3.0]])), [[0, 1]])
    np.testing.assert_array_equal(problem.start(None), [[0, 0]])
    wide = Problem(problem.products, problem.y, problem.C, SQUARED_HINGE)
    np.testing.assert_array_equal(wide.start(np.array([[-1.0, 3.0]])), [[0, 3]])


def test_single_precision_becomes_double():
    problem = two_pictures()
    single = Problem(problem.products.astype(np.float32), problem.y, problem.C, HINGE)
    found = single.evaluate(single.start(np.array([[0.5, 0.5]])))
    assert {getattr(found, name).dtype.name for name in ("b", "theta", "scores")} == {"float32"}
    found.to_double()
    assert {getattr(found, name).dtype.name for name in ("b", "theta", "scores")} == {"float64"}
    double = single.in_double(np.array([0]))
    assert double.in_double(np.array([0])) is None
    assert {array.dtype.name for array in (double.y, double.C, double.products.G)} == {"float64"}


def test_some_tasks_are_replaced_and_the_objectives_noted():
    names = ("b", "theta", "scores", "primal", "dual")
    all_tasks = Solution(*np.zeros((3, 3, 2)), *np.zeros((2, 3)), 0.0)
    part = Solution(*np.arange(1.0, 13).reshape(3, 2, 2), *np.array([[5.0, 6], [3, 4]]), 0.0)
    all_tasks.take(np.array([2, 0]), part)
    for name in names:
        np.testing.assert_array_equal(getattr(all_tasks, name)[[2, 0]], getattr(part, name))
        assert not getattr(all_tasks, name)[1].any()
    all_tasks.note()
    assert all_tasks.trace == [(11.0, 7.0)]


def test_the_warning_says_both_gaps_and_what_helps():
    message = r"the relative duality gap is still 0\.12, not 0\.001: scale the features, lower C or raise tol"
    with pytest.warns(ConvergenceWarning, match=message):
        warn_unconverged(0.1234, 1e-3)
