"""Separate tasks over the same pictures, most of the work in BLAS.

For every task t, with labels y of -1 and 1 and weights C (0 if a picture does not take part),

    minimise over w_t   ||w_t||^2 / 2 + sum_i C_ti loss(y_ti <w_t, x_i>)

in the dual variables b_ti, with w_t = sum_i theta_ti x_i and theta_ti = C_ti b_ti y_ti. A task separates the pictures
that have a label, a class or a tag, from those that do not.

Pictures are visited in random blocks, the same for all tasks. The scores of a block are one matrix product, and the
coordinate steps inside it need only the block's own Gram matrix. So the result is the same as visiting the coordinates
one by one. Then each task is solved on the coordinates that are not settled at a bound (``_kernels.refine``).
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from visterm.compute.threads import in_threads
from visterm.margin.solver.arrays import Block, Coordinates
from visterm.margin.solver.ascent import REFINE_FALL, REFINE_SHARE, Objective, Solution, random_blocks
from visterm.margin.solver.inner_products import PIECE_TASKS, InnerProducts
from visterm.margin.solver.losses import Loss

Array = NDArray[Any]

#: Passes over a block before the next one (if a step is a formula): computing its scores costs more than steps.
BLOCK_PASSES = 3
#: With fewer pictures, the tasks are refined one by one: starting threads would take as long.
THREADED_PICTURES = 1000
#: A task is refined on at most this many coordinates at once: their Gram matrix should stay in the cache.
REFINE_ROWS = 2048
#: With more pictures than this, tasks with the logistic loss are only swept.
LOGISTIC_REFINE_ROWS = 128
#: Seeds of the random orders are below this number.
SEEDS = 2**31


@dataclass(frozen=True, slots=True, eq=False)
class Problem(Objective[Solution]):
    """Inner products of the pictures, labels and weights (n_tasks, n_pictures) in their precision, and the loss."""

    products: InnerProducts
    y: Array
    C: Array
    loss: Loss
    #: The rest of a larger objective of which each task is a part. The gap is relative to the sum.
    offset: float = 0.0
    has_tasks: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("y", "C"):
            given = np.ascontiguousarray(getattr(self, name), dtype=self.products.dtype)
            object.__setattr__(self, name, given)

    def part(self, tasks: Array) -> "Problem":
        """Some of the tasks."""
        return Problem(self.products, self.y[tasks], self.C[tasks], self.loss, self.offset)

    def in_double(self, parts: Array) -> "Problem | None":
        """Some of the tasks in double precision; None if they are."""
        if self.products.dtype != np.float32:
            return None
        return Problem(self.products.astype(np.float64), self.y[parts], self.C[parts], self.loss, self.offset)

    def start(self, b: Array | None) -> Array:
        """Dual variables to start from: ``b`` within their range, or zero."""
        code = self.loss.code
        return np.zeros_like(self.y) if b is None else np.clip(b, code.low, code.high).astype(self.y.dtype)

    def evaluate(self, b: Array) -> Solution:
        """The objectives at ``b``, with newly computed scores."""
        # mutants: * -> / (2): a label is -1 or 1
        theta = self.C * b * self.y
        scores = self.products.scores(theta) if b.any() else np.zeros_like(theta)
        return self.solution(b, theta, scores, scores, task_sums(scores, Coordinates(b, self.y, self.C), self.loss))

    def solution(self, b: Array, theta: Array, _base: Array, scores: Array, sums: Array) -> Solution:
        """The solution with these numbers, and the ``sums`` of each task as :func:`task_sums` gives them."""
        norms, losses, conjugates = sums.T
        return Solution(b, theta, scores, 0.5 * norms + losses, -conjugates - 0.5 * norms, self.offset)

    def sweep(self, state: Solution, parts: Array, rng: np.random.Generator) -> None:
        """Step every coordinate of the given tasks, in random blocks of pictures."""
        from visterm.margin.solver._kernels import ascend_block

        products, code = self.products, self.loss.code
        part, b, theta = self.part(parts), state.b[parts], state.theta[parts]
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

        in_threads(sweep_piece, range(0, len(parts), PIECE_TASKS))
        state.take(parts, part.evaluate(b))

    def refine(self, state: Solution, parts: Array, tol: float, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Solve each task on the coordinates that are not settled at a bound, in threads."""
        from visterm.margin.solver import _kernels

        products, y, C, code = self.products, self.y, self.C, self.loss.code
        # No coordinate of the logistic loss settles at a bound: to refine many would be a sweep without BLAS.
        if code.is_logistic and products.n_pictures > LOGISTIC_REFINE_ROWS:
            return np.zeros(len(parts), np.bool_)
        seeds = rng.integers(SEEDS, size=len(parts))
        targets = np.maximum(REFINE_SHARE * tol * state.scales, REFINE_FALL * (state.primal - state.dual))

        def refine_task(task: tuple[int, int]) -> bool:
            t, seed = task
            rows = unsettled(state.scores[t], Coordinates(state.b[t], y[t], C[t]), code, REFINE_ROWS)
            at = Coordinates(state.b[t, rows], y[t, rows], C[t, rows])
            _kernels.refine(products.block(rows), state.scores[t, rows], at, code, targets[t], seed)
            state.b[t, rows] = at.b
            return len(rows) < REFINE_ROWS

        # mutants: 1 -> 2, not, 1 -> 2 (2): the number of threads; a test shows that the solution does not depend on it
        n_jobs = 1 if products.n_pictures < THREADED_PICTURES else -1
        complete = np.array(in_threads(refine_task, zip(parts, seeds, strict=True), n_jobs))
        state.take(parts, self.part(parts).evaluate(state.b[parts]))
        return complete


def task_sums(scores: Array, at: Coordinates, loss: Loss) -> Array:
    """(n_tasks, 3): ``sum theta f``, the weighted losses and conjugates of each task."""
    from visterm.margin.solver._kernels import task_values

    sums = np.empty((len(scores), 3))
    task_values(scores, at, loss.code, sums)
    return sums


def unsettled(f: Array, at: Coordinates, loss: Any, limit: int) -> Array:
    """The coordinates of one task that are not settled at a bound, in order; at most the ``limit`` with largest gap."""
    from visterm.margin.solver import _kernels

    rows, gaps = _kernels.unsettled(f, at, loss)
    # mutants: > -> >=: as many rows as the limit are all chosen, in the same order
    if len(rows) > limit:
        rows = np.sort(rows[np.argsort(-gaps, kind="stable")[:limit]])
    return rows
