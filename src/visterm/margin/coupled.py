"""The paper's U step: all tasks at once, coupled by the inner products of their predictors.

With the predictors ``w_t`` fixed, the representation U minimises

    ||U||^2 / 2 + C sum_ti c_ti loss(y_ti <U, x_i w_t^T>),      C = 1 / (mu n T)

an SVM on the features ``x_i w_t^T``, whose kernel is ``M[t, t'] G[i, j]`` with ``M = W W^T``. Coordinate steps are (7)
of the paper: in blocks of pictures for all tasks at first, then on the coordinates not settled at a bound, all together
where they are few, else task by task.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute.threads import one_blas_thread
from visterm.margin.losses import Loss
from visterm.margin.solver import (
    MAX_SWEEPS,
    REFINE_FALL,
    REFINE_ROUNDS,
    REFINE_ROWS,
    REFINE_SHARE,
    Pictures,
    random_blocks,
    warn_unconverged,
)

Array = NDArray[Any]

#: Coordinates of all tasks are solved together up to this many.
TOGETHER_ROWS = 1024


class CoupledSolution:
    """Dual variables of the coupled problem and what follows from them, computed afresh.

    ``theta = C b y``; ``base = theta G``; the score of task t at picture i is ``(M base)[t, i]``.
    """

    def __init__(self, pictures: Pictures, M: Array, y: Array, C: Array, b: Array, loss: Loss) -> None:
        from visterm.margin._kernels import task_values

        self.b, self.theta = b, C * b * y
        self.base = pictures.scores(self.theta)
        self.scores = M @ self.base
        sums = np.empty((len(y), 3))
        task_values(self.scores, b, y, C, loss.code, sums)
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
    pictures: Pictures,
    M: Array,
    y: Array,
    C: Array,
    loss: Loss,
    *,
    tol: float,
    rng: np.random.Generator,
    start: Array,
    primal_below: float = np.inf,
) -> CoupledSolution:
    """Solve to the relative gap ``tol``, and on until the primal objective is no more than ``primal_below``."""
    from visterm.margin import _kernels

    state = CoupledSolution(pictures, M, y, C, np.array(start), loss)
    all_refined, fell = False, True
    with one_blas_thread():
        for _ in range(MAX_SWEEPS):
            if state.gap <= tol and (state.primal <= primal_below or state.gap <= np.finfo(y.dtype).eps):
                break
            before = state.gap
            if not all_refined:
                _sweep(pictures, M, y, C, state, loss, rng)
                state = CoupledSolution(pictures, M, y, C, state.b, loss)
            goal = REFINE_SHARE * min(tol, state.gap) * max(abs(state.primal), abs(state.dual))
            f, b, labels, weights = _flat(state.scores, state.b, y, C)
            few = len(_kernels.unsettled(f, b, labels, weights, loss.code, TOGETHER_ROWS)) < TOGETHER_ROWS
            all_refined = few or _refine_each(pictures, M, y, C, state, loss, goal / len(y), rng)
            if few or not fell:  # tasks that lean on each other strongly are not solved one by one
                _refine_together(pictures, M, y, C, state, loss, goal, rng)
            state = CoupledSolution(pictures, M, y, C, state.b, loss)
            fell = state.gap < 0.5 * before
    if state.gap > tol:
        warn_unconverged(state.gap, tol)
    return state


def _sweep(
    pictures: Pictures, M: Array, y: Array, C: Array, state: CoupledSolution, loss: Loss, rng: np.random.Generator
) -> None:
    """One pass over all coordinates; ``state.b`` is changed."""
    from visterm.margin._kernels import ascend_coupled

    def step(gram: Array, base: Array, rows: Array) -> Array:
        scores, delta = M @ base, np.zeros_like(base)
        ascend_coupled(gram, M, scores, rows, state.b, y, C, loss.code, delta)
        return delta

    pictures.sweep(state.theta, random_blocks(pictures.n_pictures, rng), step)


def _refine_each(
    pictures: Pictures,
    M: Array,
    y: Array,
    C: Array,
    state: CoupledSolution,
    loss: Loss,
    goal: float,
    rng: np.random.Generator,
) -> bool:
    """Solve each task in turn on its unsettled coordinates, the others fixed; ``state.b`` and ``base`` are changed.

    Says whether all unsettled coordinates took part.
    """
    from visterm.margin import _kernels

    complete = True
    for t in rng.permutation(len(y)):
        scores = M[t] @ state.base
        rows = _kernels.unsettled(scores, state.b[t], y[t], C[t], loss.code, REFINE_ROWS)
        f, b, seed = scores[rows], state.b[t, rows], int(rng.integers(2**31))
        target = max(goal, REFINE_FALL * state.task_gaps[t])
        gram = M[t, t] * pictures.block(rows)
        _kernels.refine(gram, f, b, y[t, rows], C[t, rows], loss.code, target, REFINE_ROUNDS, seed)
        change = C[t, rows] * y[t, rows] * (b - state.b[t, rows])
        state.b[t, rows] = b
        state.base[t] += pictures.scores_of(change[None], rows)[0]
        complete = complete and len(rows) < REFINE_ROWS
    return complete


def _refine_together(
    pictures: Pictures,
    M: Array,
    y: Array,
    C: Array,
    state: CoupledSolution,
    loss: Loss,
    goal: float,
    rng: np.random.Generator,
) -> None:
    """Solve the unsettled coordinates of all tasks as one problem, at most those of largest gap; ``b`` is changed."""
    from visterm.margin import _kernels

    f, b, y, C = _flat(M @ state.base, state.b, y, C)
    chosen = _kernels.unsettled(f, b, y, C, loss.code, TOGETHER_ROWS)
    tasks, rows = np.divmod(chosen, state.b.shape[1])
    gram = pictures.block(rows) * M[np.ix_(tasks, tasks)]
    target = max(goal, REFINE_FALL * (state.primal - state.dual))
    b_chosen, seed = b[chosen], int(rng.integers(2**31))
    _kernels.refine(gram, f[chosen], b_chosen, y[chosen], C[chosen], loss.code, target, REFINE_ROUNDS, seed)
    state.b[tasks, rows] = b_chosen


def _flat(*arrays: Array) -> list[Array]:
    return [np.ascontiguousarray(array).ravel() for array in arrays]
