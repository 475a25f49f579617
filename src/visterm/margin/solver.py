"""Stochastic dual coordinate ascent for many tasks over the same pictures, most of it in BLAS.

Pictures are visited in random blocks, the same for all tasks. The scores of a block are one matrix product, and the
coordinate steps inside it need only the block's own Gram matrix. So the result is the same as visiting the coordinates
one by one. Then coordinates at their bounds are left out, and the rest of each task is solved separately
(``_kernels.refine``). The duality gap is always computed from new scores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute import progress
from visterm.compute.threads import in_threads
from visterm.margin.dual import Block, Coordinates, Problem, Solution
from visterm.margin.inner_products import PIECE_TASKS

Array = NDArray[Any]

BLOCK_ROWS = 128
#: Passes over a block before the next one (if a step is a formula): computing its scores costs more than steps.
BLOCK_PASSES = 3
#: With fewer pictures, the tasks are refined one by one: starting threads would take as long.
THREADED_PICTURES = 1000
#: A task is refined on at most this many coordinates at once: their Gram matrix should stay in the cache.
REFINE_ROWS = 2048
#: With more pictures than this, tasks with the logistic loss are only swept.
LOGISTIC_REFINE_ROWS = 128
MAX_SWEEPS = 300
#: Refining stops at this share of the gap that the whole task may have.
REFINE_SHARE = 0.25
#: Far from the optimum, it stops when the gap has fallen to this share: settled coordinates will change again.
REFINE_FALL = 0.07
#: Seeds of the random orders are below this number.
SEEDS = 2**31


def ascend(
    problem: Problem,
    bar: progress.Bar,
    *,
    tol: float,
    rng: np.random.Generator,
    start: Array | None = None,
    max_sweeps: int = MAX_SWEEPS,
    stop: Callable[[Solution, Array], bool] = lambda _state, _tasks: False,
) -> Solution:
    """Raise the dual from ``start`` (None: zero) until the relative gap of every task is at most ``tol``.

    A finished task is not touched again. ``stop`` is called after every sweep with the unfinished tasks.
    """
    state = problem.evaluate(problem.start(start))
    state.note()
    live = np.flatnonzero(state.gaps > tol)
    # No coordinate of the logistic loss settles at a bound: to refine many would be a sweep without BLAS.
    settles = not problem.loss.code.is_logistic or problem.products.n_pictures <= LOGISTIC_REFINE_ROWS
    unrefined = live  # tasks with more unsettled coordinates than can be refined at once
    for _ in range(max_sweeps):
        if not len(live):
            break
        if len(unrefined):
            sweep(problem, state, unrefined, rng)
        if settles:
            complete = refine(problem, state, live, tol, rng)
            state.take(live, problem.part(live).evaluate(state.b[live]))
        else:
            complete = np.zeros(len(live), np.bool_)
        unfinished = state.gaps[live] > tol
        unrefined, live = live[unfinished & ~complete], live[unfinished]
        state.note()
        bar.report(objective=state.trace[-1][0], gap=float(state.gaps.max()))
        if stop(state, live):
            break
    return state


def unsettled(f: Array, at: Coordinates, loss: Any, limit: int) -> Array:
    """The coordinates of one task that are not settled at a bound, in order; at most the ``limit`` with largest gap."""
    from visterm.margin import _kernels

    rows, gaps = _kernels.unsettled(f, at, loss)
    if len(rows) > limit:
        rows = np.sort(rows[np.argsort(-gaps, kind="stable")[:limit]])
    return rows


def random_blocks(n_pictures: int, rng: np.random.Generator) -> list[Array]:
    """All pictures in random order, in blocks."""
    order = rng.permutation(n_pictures)
    return [order[start : start + BLOCK_ROWS] for start in range(0, n_pictures, BLOCK_ROWS)]


def sweep(problem: Problem, state: Solution, tasks: Array, rng: np.random.Generator) -> None:
    """Visit the pictures in random blocks and step every coordinate of the given tasks; changes ``state``."""
    from visterm.margin._kernels import ascend_block

    products, code = problem.products, problem.loss.code
    part, b, theta = problem.part(tasks), state.b[tasks], state.theta[tasks]
    blocks = random_blocks(products.n_pictures, rng)
    n_passes = 1 if code.is_logistic else BLOCK_PASSES

    def sweep_piece(start: int) -> None:
        piece = slice(start, start + PIECE_TASKS)
        at = Coordinates(b[piece], part.y[piece], part.C[piece])

        def step(gram: Array, scores: Array, rows: Array) -> Array:
            block = Block(gram, rows, scores, np.zeros_like(scores))
            for _ in range(n_passes):
                ascend_block(block, at, code)
            return block.delta

        products.sweep(theta[piece], blocks, step)

    in_threads(sweep_piece, range(0, len(tasks), PIECE_TASKS))
    state.take(tasks, part.evaluate(b))


def refine(problem: Problem, state: Solution, tasks: Array, tol: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Solve each task on the coordinates that are not settled at a bound, in threads; changes ``state.b``.

    Returns for which tasks all such coordinates took part.
    """
    from visterm.margin import _kernels

    products, y, C, code = problem.products, problem.y, problem.C, problem.loss.code
    seeds = rng.integers(SEEDS, size=len(tasks))
    targets = np.maximum(REFINE_SHARE * tol * state.scales, REFINE_FALL * (state.primal - state.dual))

    def refine_task(task: tuple[int, int]) -> bool:
        t, seed = task
        rows = unsettled(state.scores[t], Coordinates(state.b[t], y[t], C[t]), code, REFINE_ROWS)
        at = Coordinates(state.b[t, rows], y[t, rows], C[t, rows])
        _kernels.refine(products.block(rows), state.scores[t, rows], at, code, targets[t], seed)
        state.b[t, rows] = at.b
        return len(rows) < REFINE_ROWS

    n_jobs = 1 if products.n_pictures < THREADED_PICTURES else -1
    return np.array(in_threads(refine_task, zip(tasks, seeds, strict=True), n_jobs))
