"""The paper's U step: all tasks at once, coupled by the inner products of their predictors.

With the predictors ``w_t`` fixed, the representation U minimises

    ||U||^2 / 2 + C sum_ti c_ti loss(y_ti <U, x_i w_t^T>),      C = 1 / (mu n T)

This is an SVM on the features ``x_i w_t^T``, whose kernel is ``M[t, t'] G[i, j]`` with ``M = W W^T``. Coordinate steps
are (7) of the paper. They first go over blocks of pictures for all tasks, then over the coordinates not settled at a
bound: all together if they are few, else task by task. For the squared loss there is a formula: :class:`Spectrum`.
"""

from dataclasses import dataclass, field
from math import inf
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from visterm.margin.solver.arrays import Block, Coordinates
from visterm.margin.solver.ascent import (
    REFINE_FALL,
    REFINE_SHARE,
    Objective,
    Solution,
    random_blocks,
    relative_gap,
)
from visterm.margin.solver.inner_products import FeatureInnerProducts, InnerProducts
from visterm.margin.solver.losses import Loss
from visterm.margin.solver.tasks import REFINE_ROWS, SEEDS, task_sums, unsettled

Array = NDArray[Any]

#: Up to this many coordinates of all tasks are solved together.
TOGETHER_ROWS = 1024
#: Tasks are strongly coupled if a round leaves at least this share of the gap.
STRONGLY_COUPLED = 0.5
#: Eigenvalues below this share of the largest are rounding errors.
_RANK = 1e-12


@dataclass(slots=True, eq=False)
class CoupledSolution(Solution):
    """``theta = C b y``; ``base = theta G``; the score of task t at picture i is ``(M base)[t, i]``."""

    base: Array = field(kw_only=True)
    #: ``||U||^2``.
    squared_norm: float = field(kw_only=True)
    #: The share of each task in the gap.
    task_gaps: Array = field(kw_only=True)


@dataclass(frozen=True, slots=True, eq=False)
class CoupledProblem(Objective[CoupledSolution]):
    """Tasks as in ``Problem``, coupled by ``M``; solved until the primal objective is at most ``primal_below``, too."""

    products: InnerProducts
    y: Array
    C: Array
    loss: Loss
    M: Array
    primal_below: float = inf
    has_tasks: ClassVar[bool] = True

    def start(self, b: Array | None) -> Array:
        """Dual variables to start from: ``b``, or zero."""
        return np.zeros_like(self.y) if b is None else np.array(b)

    def evaluate(self, b: Array) -> CoupledSolution:
        """The objectives at ``b``, with newly computed scores."""
        # mutants: * -> / (2): a label is -1 or 1
        theta = self.C * b * self.y
        base = self.products.scores(theta)
        scores = self.M @ base
        return self.solution(b, theta, base, scores, task_sums(scores, Coordinates(b, self.y, self.C), self.loss))

    def solution(self, b: Array, theta: Array, base: Array, scores: Array, sums: Array) -> CoupledSolution:
        """The solution with these numbers, and the ``sums`` of each task as :func:`task_sums` gives them."""
        norm, losses, conjugates = sums.sum(axis=0)
        return CoupledSolution(
            b,
            theta,
            scores,
            primal=np.array([0.5 * norm + losses]),
            dual=np.array([-conjugates - 0.5 * norm]),
            base=base,
            squared_norm=float(norm),
            task_gaps=sums.sum(axis=1),
        )

    def unfinished(self, state: CoupledSolution, tol: float) -> NDArray[np.bool_]:
        """Whether to go on, unless the gap is already as small as rounding errors."""
        # mutants: > -> >= (2): a gap that equals the rounding of the precision to the last bit is a tie
        too_high = state.objective > self.primal_below and state.gap > np.finfo(self.y.dtype).eps
        return np.array([state.gap > tol or too_high])

    def sweep(self, state: CoupledSolution, _parts: Array, rng: np.random.Generator) -> None:
        """One pass over all coordinates, in random blocks of pictures."""
        from visterm.margin.solver._kernels import ascend_coupled

        at = Coordinates(state.b, self.y, self.C)

        def step(gram: Array, base: Array, rows: Array) -> Array:
            block = Block(gram, rows, self.M @ base, np.zeros_like(base))
            ascend_coupled(block, self.M, at, self.loss.code)
            return block.delta

        self.products.sweep(state.theta, random_blocks(self.products.n_pictures, rng), step)
        state.become(self.evaluate(state.b))

    def refine(self, state: CoupledSolution, _parts: Array, tol: float, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Solve few unsettled coordinates together, many task by task; strongly coupled tasks need both."""
        goal = REFINE_SHARE * min(tol, state.gap) * float(state.scales[0])
        _, rows = self._unsettled(state)
        few = len(rows) < TOGETHER_ROWS
        complete = few or self.refine_each(state, goal / len(self.M), rng)
        if few or _hardly_fell(state):
            self._refine_together(state, goal, rng)
        state.become(self.evaluate(state.b))
        return np.array([complete])

    def refine_each(self, state: CoupledSolution, goal: float, rng: np.random.Generator) -> bool:
        """Solve each task in turn on its unsettled coordinates, with the others fixed; keeps ``base`` up to date.

        Returns whether all unsettled coordinates took part.
        """
        from visterm.margin.solver import _kernels

        products, y, C, code = self.products, self.y, self.C, self.loss.code
        complete = True
        for t in rng.permutation(len(y)):
            scores = self.M[t] @ state.base
            rows = unsettled(scores, Coordinates(state.b[t], y[t], C[t]), code, REFINE_ROWS)
            at, seed = Coordinates(state.b[t, rows], y[t, rows], C[t, rows]), int(rng.integers(SEEDS))
            target = max(goal, REFINE_FALL * state.task_gaps[t])
            _kernels.refine(self.M[t, t] * products.block(rows), scores[rows], at, code, target, seed)
            # mutants: * -> /: a label is -1 or 1
            change = at.C * at.y * (at.b - state.b[t, rows])
            state.b[t, rows] = at.b
            state.base[t] += products.scores_of(change[None], rows)[0]
            complete = complete and len(rows) < REFINE_ROWS
        state.scores = self.M @ state.base
        return complete

    def _refine_together(self, state: CoupledSolution, goal: float, rng: np.random.Generator) -> None:
        """Solve the unsettled coordinates of all tasks as one problem, those with the largest gap first."""
        from visterm.margin.solver import _kernels

        tasks, rows = self._unsettled(state)
        at = Coordinates(state.b[tasks, rows], self.y[tasks, rows], self.C[tasks, rows])
        gram = self.products.block(rows) * self.M[np.ix_(tasks, tasks)]
        target, seed = max(goal, REFINE_FALL * float((state.primal - state.dual)[0])), int(rng.integers(SEEDS))
        _kernels.refine(gram, state.scores[tasks, rows], at, self.loss.code, target, seed)
        state.b[tasks, rows] = at.b

    def _unsettled(self, state: CoupledSolution) -> tuple[Array, Array]:
        """Tasks and rows of the coordinates that are not settled at a bound, at most ``TOGETHER_ROWS``."""
        arrays = (state.scores, state.b, self.y, self.C)
        f, *at = (np.ascontiguousarray(array).ravel() for array in arrays)
        chosen = unsettled(f, Coordinates(*at), self.loss.code, TOGETHER_ROWS)
        tasks, rows = np.divmod(chosen, state.b.shape[1])
        return tasks, rows


def _hardly_fell(state: Solution) -> bool:
    """Whether the last round left most of the gap."""
    if len(state.trace) < 2:
        # mutants: False -> True: the first round then solves a few coordinates together as well, on the way to the same
        #   gap
        return False
    before, now = (relative_gap(*np.array(objectives)[:, None])[0] for objectives in state.trace[-2:])
    return bool(now >= STRONGLY_COUPLED * before)


@dataclass(frozen=True, slots=True, eq=False)
class Spectrum:
    """The squared loss in closed form: all tasks and every pair of regularisers from one eigendecomposition.

    With ``f = M theta G`` (one-vs-all: M is the identity) the solution of ``||.||^2 / 2 + C sum (y - f)^2`` satisfies
    ``theta + 2 C M theta G = 2 C y``. In the eigenvectors of M and G, with eigenvalues s and l, the coefficients are
    independent: ``theta = 2 C y / (1 + 2 C s l)``. ``values`` are the positive l, ``vectors`` theirs as columns.
    """

    values: Array
    vectors: Array

    @classmethod
    def of(cls, products: InnerProducts) -> "Spectrum":
        """The spectrum, from the Gram matrix or the features' scatter matrix, whichever is smaller."""
        if isinstance(products, FeatureInnerProducts):
            X = products.with_constant()
            # mutants: < -> <=, not, 0 -> 1: the smaller matrix is faster; both have the same eigenvalues above 0
            if X.shape[1] < X.shape[0]:
                values, rotation = linalg.eigh(X.T @ X, check_finite=False)
                kept = values > _RANK * max(values[-1], 0.0)
                return cls(values[kept], (X @ rotation[:, kept]) / np.sqrt(values[kept]))
            G = X @ X.T
        else:
            G = products.G.astype(np.float64) + products.shift
        values, vectors = linalg.eigh(G, overwrite_a=True, check_finite=False)
        kept = values > _RANK * max(values[-1], 0.0)
        return cls(values[kept], np.ascontiguousarray(vectors[:, kept]))

    def theta(self, y: Array, C: float, M: Array | None = None) -> Array:
        """The coefficients (n_tasks, n_pictures) for the labels ``y``; ``M`` couples the tasks (None: no coupling)."""
        y = y.astype(np.float64)
        if M is None:
            r = 2.0 * C * self.values
            return 2.0 * C * (y - ((r / (1.0 + r)) * (y @ self.vectors)) @ self.vectors.T)
        s, V = linalg.eigh(M.astype(np.float64), check_finite=False)
        r = 2.0 * C * np.maximum(s, 0.0)[:, None] * self.values
        return 2.0 * C * (y - (V @ ((r / (1.0 + r)) * (V.T @ (y @ self.vectors)))) @ self.vectors.T)

    def solve(self, y: Array, C: float, M: Array | None = None) -> Array:
        """The dual variables, all with the same weight ``C``: the limit of coordinate ascent."""
        # mutants: * -> /: a label is -1 or 1
        return np.asarray((self.theta(y, C, M) * y / C).astype(y.dtype))


def is_closed(loss: Loss, takes_part: Array) -> bool:
    """Whether the loss is squared and all pictures take part in all tasks with weight 1."""
    _, _, low, high = loss.code
    return low == -inf and high == inf and bool((takes_part == 1).all())
