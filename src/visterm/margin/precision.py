"""Solving the dual in the precision of the pictures, and finishing in double precision if that does not suffice."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute import progress
from visterm.compute.threads import one_blas_thread
from visterm.margin.dual import Problem, Solution, warn_unconverged
from visterm.margin.inner_products import InnerProducts
from visterm.margin.losses import Loss
from visterm.margin.solver import MAX_SWEEPS, ascend

Array = NDArray[Any]

#: Single precision does not suffice if the dual rises by at most this share of the gap in this many sweeps.
STALLED_SWEEPS, STALLED_RISE = 5, 0.01


def solve(
    products: InnerProducts,
    y: Array,
    C: Array,
    loss: Loss,
    *,
    tol: float = 1e-3,
    rng: np.random.Generator,
    start: Array | None = None,
    offset: float = 0.0,
    max_sweeps: int = MAX_SWEEPS,
    description: str = "Separating classes",
) -> Solution:
    """Solve all tasks to the relative duality gap ``tol``, starting from the dual variables ``start`` (None: zero).

    ``y`` and ``C`` are (n_tasks, n_pictures); ``offset`` is as in :class:`~visterm.margin.dual.Problem`. Tasks that
    stall in single precision, because sums of C times rounding errors are as large as the gap, continue in double
    precision.
    """
    y, C = (np.ascontiguousarray(array, dtype=products.dtype) for array in (y, C))
    problem = Problem(products, y, C, loss, offset)
    with progress.task(description) as bar, one_blas_thread():
        if products.dtype != np.float32:
            state = ascend(problem, bar, tol=tol, rng=rng, start=start, max_sweeps=max_sweeps)
        else:
            stall = _Stall(len(y))
            state = ascend(problem, bar, tol=tol, rng=rng, start=start, max_sweeps=max_sweeps, stop=stall)
            if len(stall.stalled):
                rest = problem.part(stall.stalled).in_double()
                at = state.b[stall.stalled]
                state.to_double()
                state.take(stall.stalled, ascend(rest, bar, tol=tol, rng=rng, start=at, max_sweeps=max_sweeps))
                state.note()
    if max_sweeps >= MAX_SWEEPS and (state.gaps > tol).any():  # callers that want fewer sweeps continue themselves
        warn_unconverged(float(state.gaps.max()), tol)
    return state


class _Stall:
    """Called after every sweep: whether the dual of the unfinished tasks no longer rises; keeps these tasks."""

    def __init__(self, n_tasks: int) -> None:
        self.n_sweeps = 0
        self.dual_before = np.full(n_tasks, -np.inf)
        self.stalled: Array = np.empty(0, np.intp)

    def __call__(self, state: Solution, tasks: Array) -> bool:
        self.n_sweeps += 1
        if self.n_sweeps % STALLED_SWEEPS != 1:
            return False
        rises, gaps = (state.dual - self.dual_before)[tasks], (state.primal - state.dual)[tasks]
        self.dual_before = state.dual.copy()
        if not np.all(rises <= STALLED_RISE * gaps):
            return False
        self.stalled = tasks
        return True
