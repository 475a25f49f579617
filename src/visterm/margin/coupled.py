"""The paper's U step: all tasks at once, coupled by the inner products of their predictors.

With the predictors ``w_t`` fixed, the representation U minimises

    ||U||^2 / 2 + C sum_ti c_ti loss(y_ti <U, x_i w_t^T>),      C = 1 / (mu n T)

an SVM on the features ``x_i w_t^T``, whose kernel is ``M[t, t'] G[i, j]`` with ``M = W W^T``. Coordinate steps are (7) of the
paper, taken in blocks of pictures; once few bounds change, conjugate gradients finish the coordinates that are inside
their range, the product with the kernel being ``M P G``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.margin.losses import Loss
from visterm.margin.solver import MAX_SWEEPS, Pictures, random_blocks, warn_unconverged

Array = NDArray[Any]

_CG_STEPS = 15
_CG_REDUCTION = 0.1
#: Conjugate gradients pay once a sweep moves no more than this share of the coordinates to or from a bound.
_FEW_CHANGES = 0.02


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
        self.squared_norm, self.loss = float(norm), float(losses)
        self.primal, self.dual = 0.5 * norm + losses, -conjugates - 0.5 * norm

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
    from visterm.margin._kernels import ascend_coupled

    low, high = loss.code.low, loss.code.high
    state = CoupledSolution(pictures, M, y, C, np.array(start), loss)
    for _ in range(MAX_SWEEPS):
        if state.gap <= tol and (state.primal <= primal_below or state.gap <= np.finfo(y.dtype).eps):
            return state
        b = state.b.copy()

        def step(gram: Array, base: Array, rows: Array, b: Array = b) -> Array:
            scores, delta = M @ base, np.zeros_like(base)
            ascend_coupled(gram, M, scores, rows, b, y, C, loss.code, delta)
            return delta

        pictures.sweep(state.theta, random_blocks(pictures.n_pictures, rng), step)
        inside = (b > low) & (b < high)
        changes = np.count_nonzero(inside != ((state.b > low) & (state.b < high)))
        state = CoupledSolution(pictures, M, y, C, b, loss)
        if not loss.code.is_logistic and changes <= _FEW_CHANGES * b.size and state.gap > tol:
            state = _solve_inside(pictures, M, y, C, loss, state, inside)
    if state.gap > tol:
        warn_unconverged(state.gap, tol)
    return state


def _solve_inside(
    pictures: Pictures, M: Array, y: Array, C: Array, loss: Loss, state: CoupledSolution, inside: Array
) -> CoupledSolution:
    """Move the coordinates inside their range towards the solution of their linear system, if the dual rises by it."""
    _, gamma, low, high = loss.code
    curvature = np.divide(gamma, C, out=np.zeros_like(C), where=C > 0)
    residual = inside * (y * (1 - gamma * state.b) - state.scores)
    direction, step = residual.copy(), np.zeros_like(residual)
    squared = float(np.vdot(residual, residual))
    enough = _CG_REDUCTION**2 * squared
    for _ in range(_CG_STEPS):
        if squared <= enough:
            break
        image = M @ pictures.scores(direction) + curvature * direction
        bend = float(np.vdot(direction, image))
        if bend <= 0:
            break
        length = squared / bend
        step += y.dtype.type(length) * direction
        residual -= y.dtype.type(length) * (inside * image)
        following = float(np.vdot(residual, residual))
        direction = residual + y.dtype.type(following / squared) * direction
        squared = following
    change = np.divide(step * y, C, out=np.zeros_like(C), where=C > 0)
    moved = CoupledSolution(pictures, M, y, C, np.clip(state.b + change, low, high).astype(y.dtype), loss)
    return moved if moved.dual > state.dual else state
