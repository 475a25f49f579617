"""The dual solver of many tasks over the same pictures: stochastic dual coordinate ascent, most of it in BLAS.

For every task t, with labels y of -1 and 1 and weights C (0 where a picture does not take part),

    minimise over w_t   ||w_t||^2 / 2 + sum_i C_ti loss(y_ti <w_t, x_i>)

in the dual variables b_ti, with w_t = sum_i C_ti b_ti y_ti x_i. Pictures are visited in blocks drawn at random, for all
tasks alike: the scores of a block are one matrix product, and the coordinate steps inside it need only the block's own
Gram matrix, so the result is that of visiting the coordinates one by one. Coordinates at their bounds are then left
out and the rest of each task is solved on its own (``_kernels.refine``). The duality gap is always computed afresh.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from visterm.compute import progress
from visterm.compute.threads import in_threads, one_blas_thread
from visterm.margin.losses import Loss

Array = NDArray[Any]

BLOCK_ROWS = 128
#: A block is passed over so often before the next one (where a step is a formula): its scores cost more than the steps.
BLOCK_PASSES = 3
#: Threads share products by so many tasks or pictures: enough for BLAS, and the result does not depend on the cores.
PIECE_TASKS = 64
PIECE_PICTURES = 2048
#: With fewer pictures the tasks are refined one by one: threads would take as long to begin.
THREADED_PICTURES = 1000
#: With fewer coefficients than this share, leaving out zeros is quicker than BLAS.
SPARSE_SHARE = 0.25
#: A task is refined on at most this many coordinates at once: their Gram matrix should stay near the processor.
REFINE_ROWS = 2048
MAX_SWEEPS = 300
REFINE_ROUNDS = 100
#: Where the dual has risen by no more than this share of the gap in so many rounds, single precision is at its end.
STALLED_ROUNDS, STALLED_RISE = 5, 0.01
#: Refining stops at this share of the gap that is allowed to the whole task.
REFINE_SHARE = 0.25
#: Far from the optimum it stops once the gap has fallen to this share: what is settled will change again.
REFINE_FALL = 0.07


class Pictures(Protocol):
    """Inner products between training pictures, however they are stored."""

    @property
    def n_pictures(self) -> int:
        """The number of pictures."""

    @property
    def dtype(self) -> Any:
        """The precision to compute in."""

    def in_double(self) -> Pictures:
        """The same in double precision."""

    def block(self, rows: Array) -> Array:
        """The Gram matrix of some pictures."""

    def scores(self, theta: Array) -> Array:
        """``theta G`` of all pictures: (n_tasks, n_pictures)."""

    def scores_of(self, theta: Array, rows: Array) -> Array:
        """``theta G[rows]``: scores at all pictures of an expansion over some."""

    def sweep(self, theta: Array, blocks: list[Array], step: Callable[[Array, Array, Array], Array]) -> None:
        """Call ``step(block Gram, block scores, rows)`` for each block and add the change it returns to ``theta``."""


@dataclass(frozen=True, slots=True, eq=False)
class GramPictures:
    """Pictures known by their Gram matrix; ``shift`` is added to every entry (a constant feature's square)."""

    G: Array
    shift: float = 0.0

    @property
    def n_pictures(self) -> int:
        """The number of pictures."""
        return len(self.G)

    @property
    def dtype(self) -> Any:
        """The precision to compute in."""
        return self.G.dtype

    def in_double(self) -> GramPictures:
        """The same in double precision."""
        return GramPictures(self.G.astype(np.float64), self.shift)

    def block(self, rows: Array) -> Array:
        """The Gram matrix of some pictures."""
        from visterm.margin._kernels import gather

        return gather(self.G, rows, self.G.dtype.type(self.shift))

    def scores(self, theta: Array) -> Array:
        """``theta G`` of all pictures, piece by piece in threads."""
        from visterm.margin._kernels import add_rows

        scores = np.empty(theta.shape, theta.dtype)
        shift = self.G.dtype.type(self.shift) * theta.sum(axis=1, keepdims=True)
        few = len(theta) <= PIECE_TASKS and np.count_nonzero(theta) < SPARSE_SHARE * theta.size

        def score(start: int) -> None:
            piece = slice(start, min(start + PIECE_PICTURES, len(self.G)))
            if few:
                scores[:, piece] = shift
                add_rows(theta, self.G, piece.start, piece.stop, scores)
            else:
                np.add(theta @ self.G[:, piece], shift, out=scores[:, piece])

        in_threads(score, range(0, len(self.G), PIECE_PICTURES))
        return scores

    def scores_of(self, theta: Array, rows: Array) -> Array:
        """``theta G[rows]``."""
        return theta @ self.G[rows] + self.G.dtype.type(self.shift) * theta.sum(axis=1, keepdims=True)

    def sweep(self, theta: Array, blocks: list[Array], step: Callable[[Array, Array, Array], Array]) -> None:
        """One block after the other; its scores are taken from all of ``theta``, so nothing accumulates."""
        shift = self.G.dtype.type(self.shift)
        for rows in blocks:
            across = self.G[rows]
            scores = theta @ across.T + shift * theta.sum(axis=1, keepdims=True)
            theta[:, rows] += step(across[:, rows] + shift, scores, rows)


@dataclass(frozen=True, slots=True, eq=False)
class FeaturePictures:
    """Pictures known by fewer features than there are pictures: the weights themselves are kept during a sweep."""

    X: Array
    shift: float = 0.0

    @property
    def n_pictures(self) -> int:
        """The number of pictures."""
        return len(self.X)

    @property
    def dtype(self) -> Any:
        """The precision to compute in."""
        return self.X.dtype

    def in_double(self) -> FeaturePictures:
        """The same in double precision."""
        return FeaturePictures(self.X.astype(np.float64), self.shift)

    def block(self, rows: Array) -> Array:
        """The Gram matrix of some pictures."""
        return self.X[rows] @ self.X[rows].T + self.X.dtype.type(self.shift)

    def scores(self, theta: Array) -> Array:
        """``theta G`` of all pictures."""
        return (theta @ self.X) @ self.X.T + self.X.dtype.type(self.shift) * theta.sum(axis=1, keepdims=True)

    def scores_of(self, theta: Array, rows: Array) -> Array:
        """``theta G[rows]``."""
        return (theta @ self.X[rows]) @ self.X.T + self.X.dtype.type(self.shift) * theta.sum(axis=1, keepdims=True)

    def sweep(self, theta: Array, blocks: list[Array], step: Callable[[Array, Array, Array], Array]) -> None:
        """One block after the other, each changing the weights that score the next."""
        shift = self.X.dtype.type(self.shift)
        weights, bias = theta @ self.X, shift * theta.sum(axis=1, keepdims=True)
        for rows in blocks:
            features = self.X[rows]
            delta = step(features @ features.T + shift, weights @ features.T + bias, rows)
            weights += delta @ features
            bias += shift * delta.sum(axis=1, keepdims=True)
            theta[:, rows] += delta


@dataclass(slots=True, eq=False)
class Solution:
    """Dual variables, coefficients and scores of all tasks, and how near the optimum each is known to be."""

    b: Array
    theta: Array
    scores: Array
    primal: Array
    dual: Array
    #: What the objective of each task has besides, and the gap is relative to.
    offset: float = 0.0
    #: The sums of primal and dual objectives after each sweep, over the tasks still worked on and the finished ones.
    trace: list[tuple[float, float]] = field(default_factory=list)

    @property
    def gaps(self) -> Array:
        """The relative duality gap of each task."""
        return relative_gap(self.primal + self.offset, self.dual + self.offset)

    def take(self, tasks: Array, part: Solution) -> None:
        """Replace the given tasks by those of ``part``."""
        for name in ("b", "theta", "scores", "primal", "dual"):
            getattr(self, name)[tasks] = getattr(part, name)

    def in_double(self) -> None:
        """Keep dual variables, coefficients and scores in double precision from here on."""
        for name in ("b", "theta", "scores"):
            setattr(self, name, getattr(self, name).astype(np.float64))

    def note(self, live: Array) -> Array:
        """Add the present objectives to the trace; ``live`` is passed through."""
        self.trace.append((float(self.primal.sum()), float(self.dual.sum())))
        return live


def relative_gap(primal: Array, dual: Array) -> Array:
    """``(P - D) / max(|P|, |D|)``, the paper's stopping criterion; 0 where both vanish."""
    scale = np.maximum(np.abs(primal), np.abs(dual))
    return np.divide(primal - dual, scale, out=np.zeros_like(scale), where=scale > 0)


def solve(
    pictures: Pictures,
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

    ``y`` and ``C`` are (n_tasks, n_pictures). A finished task is not touched again. ``offset`` is what a larger
    objective, of which each task is a part, adds to it: the gap is relative to the sum.
    """
    dtype = pictures.dtype
    y, C = (np.ascontiguousarray(array, dtype=dtype) for array in (y, C))
    b = np.zeros_like(y) if start is None else np.clip(start, loss.code.low, loss.code.high).astype(dtype)
    with progress.task(description) as bar, one_blas_thread():
        state = evaluate(pictures, y, C, b, loss)
        state.offset = offset
        live = state.note(np.flatnonzero(state.gaps > tol))
        partial = live  # tasks of which more coordinates matter than can be refined at once
        before, stalled = np.full(len(y), -np.inf), False
        for n_sweeps in range(max_sweeps):
            if not len(live):
                break
            if len(partial):
                swept = _sweep(pictures, y[partial], C[partial], state.b[partial], state.theta[partial], loss, rng)
                state.take(partial, swept)
            complete = _refine(pictures, y, C, state, live, loss, tol, rng)
            state.take(live, evaluate(pictures, y[live], C[live], state.b[live], loss))
            unfinished = state.gaps[live] > tol
            partial, live = live[unfinished & ~complete], state.note(live[unfinished])
            bar.report(objective=state.trace[-1][0], gap=float(state.gaps.max()))
            if n_sweeps % STALLED_ROUNDS == 0:
                rises, gaps = (state.dual - before)[live], (state.primal - state.dual)[live]
                stalled = dtype == np.float32 and bool(np.all(rises <= STALLED_RISE * gaps))
                if stalled:
                    break
                before = state.dual.copy()
    if len(live) and stalled:
        # Sums of C times rounding errors are as large as the gap: the rest is done in double precision.
        rest = solve(
            pictures.in_double(),
            y[live],
            C[live],
            loss,
            tol=tol,
            rng=rng,
            start=state.b[live],
            offset=offset,
            max_sweeps=max_sweeps,
            description=description,
        )
        state.in_double()
        state.take(live, rest)
        state.note(live)
        return state
    if len(live) and max_sweeps >= MAX_SWEEPS:  # fewer are asked for by callers that go on from there
        warn_unconverged(float(state.gaps.max()), tol)
    return state


def evaluate(pictures: Pictures, y: Array, C: Array, b: Array, loss: Loss) -> Solution:
    """The objectives at ``b``, from scores computed afresh."""
    from visterm.margin._kernels import task_values

    theta = C * b * y
    scores = pictures.scores(theta) if b.any() else np.zeros_like(theta)
    sums = np.empty((len(y), 3))
    task_values(scores, b, y, C, loss.code, sums)
    return Solution(b, theta, scores, 0.5 * sums[:, 0] + sums[:, 1], -sums[:, 2] - 0.5 * sums[:, 0])


def random_blocks(n_pictures: int, rng: np.random.Generator) -> list[Array]:
    """All pictures in random order, cut into blocks."""
    order = rng.permutation(n_pictures)
    return [order[start : start + BLOCK_ROWS] for start in range(0, n_pictures, BLOCK_ROWS)]


def warn_unconverged(gap: float, tol: float) -> None:
    """Warn that the duality gap asked for was not reached."""
    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(
        f"the relative duality gap is still {gap:.2g}, not {tol:.2g}: scale the features, lower C or raise tol",
        ConvergenceWarning,
        stacklevel=3,
    )


def _sweep(
    pictures: Pictures, y: Array, C: Array, b: Array, theta: Array, loss: Loss, rng: np.random.Generator
) -> Solution:
    """Pass over all coordinates of the given tasks; ``b`` and ``theta`` are changed."""
    from visterm.margin._kernels import ascend_block

    blocks = random_blocks(pictures.n_pictures, rng)
    n_passes = 1 if loss.code.is_logistic else BLOCK_PASSES

    def sweep(start: int) -> None:
        tasks = slice(start, start + PIECE_TASKS)

        def step(gram: Array, scores: Array, rows: Array) -> Array:
            delta = np.zeros_like(scores)
            for _ in range(n_passes):
                ascend_block(gram, scores, rows, b[tasks], y[tasks], C[tasks], loss.code, delta)
            return delta

        pictures.sweep(theta[tasks], blocks, step)

    in_threads(sweep, range(0, len(y), PIECE_TASKS))
    return evaluate(pictures, y, C, b, loss)


def _refine(
    pictures: Pictures,
    y: Array,
    C: Array,
    state: Solution,
    live: Array,
    loss: Loss,
    tol: float,
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """Solve each live task on the coordinates that are not settled at a bound, in threads; ``state.b`` is changed.

    Says of which tasks all such coordinates took part.
    """
    from visterm.margin import _kernels

    code = loss.code
    seeds = rng.integers(2**31, size=len(live))
    scale = np.maximum(np.abs(state.primal + state.offset), np.abs(state.dual + state.offset))
    targets = np.maximum(REFINE_SHARE * tol * scale, REFINE_FALL * (state.primal - state.dual))

    def refine(task: tuple[int, int]) -> bool:
        t, seed = task
        rows = _kernels.unsettled(state.scores[t], state.b[t], y[t], C[t], code, REFINE_ROWS)
        f, b = state.scores[t, rows], state.b[t, rows]
        gram = pictures.block(rows)
        _kernels.refine(gram, f, b, y[t, rows], C[t, rows], code, targets[t], REFINE_ROUNDS, seed)
        state.b[t, rows] = b
        return len(rows) < REFINE_ROWS

    n_jobs = 1 if pictures.n_pictures < THREADED_PICTURES else -1
    return np.array(in_threads(refine, zip(live, seeds, strict=True), n_jobs))
