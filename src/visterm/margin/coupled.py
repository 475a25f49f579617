"""The paper's U step: all tasks at once, coupled by the inner products of their predictors.

With the predictors ``w_t`` fixed, the representation U minimises

    ||U||^2 / 2 + C sum_ti c_ti loss(y_ti <U, x_i w_t^T>),      C = 1 / (mu n T)

This is an SVM on the features ``x_i w_t^T``, whose kernel is ``M[t, t'] G[i, j]`` with ``M = W W^T``. Coordinate steps
are (7) of the paper. They first go over blocks of pictures for all tasks, then over the coordinates not settled at a
bound: all together if they are few, else task by task.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute.threads import one_blas_thread
from visterm.margin.dual import Block, Coordinates, Problem, warn_unconverged
from visterm.margin.solver import MAX_SWEEPS, REFINE_FALL, REFINE_ROWS, REFINE_SHARE, SEEDS, random_blocks, unsettled

Array = NDArray[Any]

#: Up to this many coordinates of all tasks are solved together.
TOGETHER_ROWS = 1024
#: Tasks are strongly coupled if a round leaves at least this share of the gap.
STRONGLY_COUPLED = 0.5


class CoupledSolution:
    """Dual variables of the coupled problem, and the quantities computed from them.

    ``theta = C b y``; ``base = theta G``; the score of task t at picture i is ``(M base)[t, i]``.
    """

    def __init__(self, problem: Problem, M: Array, b: Array) -> None:
        from visterm.margin._kernels import task_values

        self.b, self.theta = b, problem.C * b * problem.y
        self.base = problem.products.scores(self.theta)
        self.scores = M @ self.base
        sums = np.empty((len(b), 3))
        task_values(self.scores, Coordinates(b, problem.y, problem.C), problem.loss.code, sums)
        norm, losses, conjugates = sums.sum(axis=0)
        self.squared_norm = float(norm)
        self.primal, self.dual = float(0.5 * norm + losses), float(-conjugates - 0.5 * norm)
        #: The share of each task in the gap.
        self.task_gaps = sums.sum(axis=1)

    @property
    def gap(self) -> float:
        """The relative duality gap."""
        scale = max(abs(self.primal), abs(self.dual))
        return float((self.primal - self.dual) / scale) if scale else 0.0


def solve_coupled(
    problem: Problem,
    M: Array,
    *,
    tol: float,
    rng: np.random.Generator,
    start: Array,
    primal_below: float = np.inf,
) -> CoupledSolution:
    """Solve to the relative gap ``tol`` and until the primal objective is at most ``primal_below``."""
    state = CoupledSolution(problem, M, np.array(start))
    smallest_gap = np.finfo(problem.y.dtype).eps
    all_refined, fell = False, True
    with one_blas_thread():
        for _ in range(MAX_SWEEPS):
            if state.gap <= tol and (state.primal <= primal_below or state.gap <= smallest_gap):
                break
            before = state.gap
            if not all_refined:
                _sweep(problem, M, state, rng)
                state = CoupledSolution(problem, M, state.b)
            goal = REFINE_SHARE * min(tol, state.gap) * max(abs(state.primal), abs(state.dual))
            _, rows = _unsettled(problem, state.scores, state.b)
            few = len(rows) < TOGETHER_ROWS
            all_refined = few or _refine_each(problem, M, state, goal / len(M), rng)
            if few or not fell:  # strongly coupled tasks cannot be solved one by one
                _refine_together(problem, M, state, goal, rng)
            state = CoupledSolution(problem, M, state.b)
            fell = state.gap < STRONGLY_COUPLED * before
    if state.gap > tol:
        warn_unconverged(state.gap, tol)
    return state


def _sweep(problem: Problem, M: Array, state: CoupledSolution, rng: np.random.Generator) -> None:
    """One pass over all coordinates; changes ``state.b``."""
    from visterm.margin._kernels import ascend_coupled

    at = Coordinates(state.b, problem.y, problem.C)

    def step(gram: Array, base: Array, rows: Array) -> Array:
        block = Block(gram, rows, M @ base, np.zeros_like(base))
        ascend_coupled(block, M, at, problem.loss.code)
        return block.delta

    problem.products.sweep(state.theta, random_blocks(problem.products.n_pictures, rng), step)


def _refine_each(problem: Problem, M: Array, state: CoupledSolution, goal: float, rng: np.random.Generator) -> bool:
    """Solve each task in turn on its unsettled coordinates, with the others fixed; changes ``state.b`` and ``base``.

    Returns whether all unsettled coordinates took part.
    """
    from visterm.margin import _kernels

    products, y, C, code = problem.products, problem.y, problem.C, problem.loss.code
    complete = True
    for t in rng.permutation(len(y)):
        scores = M[t] @ state.base
        rows = unsettled(scores, Coordinates(state.b[t], y[t], C[t]), code, REFINE_ROWS)
        at, seed = Coordinates(state.b[t, rows], y[t, rows], C[t, rows]), int(rng.integers(SEEDS))
        target = max(goal, REFINE_FALL * state.task_gaps[t])
        _kernels.refine(M[t, t] * products.block(rows), scores[rows], at, code, target, seed)
        change = at.C * at.y * (at.b - state.b[t, rows])
        state.b[t, rows] = at.b
        state.base[t] += products.scores_of(change[None], rows)[0]
        complete = complete and len(rows) < REFINE_ROWS
    return complete


def _refine_together(problem: Problem, M: Array, state: CoupledSolution, goal: float, rng: np.random.Generator) -> None:
    """Solve the unsettled coordinates of all tasks as one problem, those with the largest gap first; changes ``b``."""
    from visterm.margin import _kernels

    scores = M @ state.base
    tasks, rows = _unsettled(problem, scores, state.b)
    at = Coordinates(state.b[tasks, rows], problem.y[tasks, rows], problem.C[tasks, rows])
    gram = problem.products.block(rows) * M[np.ix_(tasks, tasks)]
    target, seed = max(goal, REFINE_FALL * (state.primal - state.dual)), int(rng.integers(SEEDS))
    _kernels.refine(gram, scores[tasks, rows], at, problem.loss.code, target, seed)
    state.b[tasks, rows] = at.b


def _unsettled(problem: Problem, scores: Array, b: Array) -> tuple[Array, Array]:
    """Tasks and rows of the coordinates that are not settled at a bound, at most ``TOGETHER_ROWS``."""
    f, *at = (np.ascontiguousarray(array).ravel() for array in (scores, b, problem.y, problem.C))
    chosen = unsettled(f, Coordinates(*at), problem.loss.code, TOGETHER_ROWS)
    tasks, rows = np.divmod(chosen, b.shape[1])
    return tasks, rows
