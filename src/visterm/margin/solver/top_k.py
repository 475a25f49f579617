"""All classes together, so that the right one is among the first k: (5) of Lapin, Hein and Schiele, NIPS 2015.

    minimise over w_1 .. w_m   sum_j ||w_j||^2 / 2 + sum_i C_i loss_k(x_i)

in the dual variables ``b`` (n_classes, n_pictures), the paper's p: zero at a picture's own class y_i, and for each
picture in the top-k simplex. The coefficients are ``theta[j, i] = C_i (1[j = y_i] sum_j b[j, i] - b[j, i])``. A step
finds all dual variables of one picture together. A round goes over all pictures in blocks, then several times over the
pictures with the largest share of the gap.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from visterm.margin.solver.arrays import Block, PictureDuals
from visterm.margin.solver.ascent import REFINE_FALL, REFINE_SHARE, Objective, Solution, random_blocks
from visterm.margin.solver.inner_products import InnerProducts

Array = NDArray[Any]

#: Between two passes over all pictures, at most this many are refined together.
ACTIVE_ROWS = 1024
#: Those whose gap is less than this share of the mean gap that is aimed at are left out.
ACTIVE_SHARE = 0.1
#: The largest number of passes over them.
REFINE_ROUNDS = 100


@dataclass(slots=True, eq=False)
class TopKSolution(Solution):
    """A solution that knows the share of each picture in the gap."""

    picture_gaps: Array = field(kw_only=True)


@dataclass(frozen=True, slots=True, eq=False)
class TopKProblem(Objective[TopKSolution]):
    """Inner products of the pictures, their class numbers and weights, the number of classes, and k."""

    products: InnerProducts
    y: Array
    C: Array
    n_classes: int
    k: int
    one_blas_thread: ClassVar[bool] = False  # the products are large

    def __post_init__(self) -> None:
        object.__setattr__(self, "y", np.ascontiguousarray(self.y, dtype=np.int64))
        object.__setattr__(self, "C", np.ascontiguousarray(self.C, dtype=self.products.dtype))

    def start(self, b: Array | None) -> Array:
        """Dual variables to start from: ``b``, or zero."""
        return np.zeros((self.n_classes, len(self.y)), self.products.dtype) if b is None else np.array(b)

    def evaluate(self, b: Array) -> TopKSolution:
        """The objectives at ``b``, with newly computed scores."""
        theta = -b * self.C
        theta[self.y, np.arange(len(self.y))] += self.C * b.sum(axis=0)
        scores = np.ascontiguousarray(self.products.scores(theta))
        losses, gains = self._values(scores, b, slice(None))
        norms = np.einsum("ji,ji->i", theta, scores, dtype=np.float64)
        primal, dual = 0.5 * norms.sum() + self.C @ losses, self.C @ gains - 0.5 * norms.sum()
        gaps = self.C * (losses - gains) + norms
        return TopKSolution(b, theta, scores, np.array([primal]), np.array([dual]), picture_gaps=gaps)

    def sweep(self, state: TopKSolution, _parts: Array, rng: np.random.Generator) -> None:
        """Step all pictures, in random blocks."""

        def step(gram: Array, scores: Array, rows: Array) -> Array:
            block = Block(gram, rows, np.ascontiguousarray(scores), np.zeros_like(scores))
            self._step(block, np.arange(len(rows)), state.b)
            return block.delta

        self.products.sweep(state.theta, random_blocks(self.products.n_pictures, rng), step)
        state.become(self.evaluate(state.b))

    def refine(self, state: TopKSolution, parts: Array, tol: float, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Passes over only the pictures with the largest gaps, until their gap has fallen."""
        gap, tolerated = (state.primal - state.dual)[0], REFINE_SHARE * tol * abs(state.objective)
        if gap > tolerated:
            target = max(tolerated, REFINE_FALL * gap)
            active = np.argsort(-state.picture_gaps, kind="stable")[:ACTIVE_ROWS]
            active = np.sort(active[state.picture_gaps[active] > ACTIVE_SHARE * target / len(self.y)])
            f, theta = (np.ascontiguousarray(array[:, active]) for array in (state.scores, state.theta))
            block = Block(self.products.block(active), active, f, theta)
            for _ in range(REFINE_ROUNDS):
                self._step(block, rng.permutation(len(active)), state.b)
                losses, gains = self._values(f, state.b[:, active], active)
                # mutants: "ji,ji->i",theta,f)).sum())<= -> 'ji,ji->i',theta,f)).sum())<: an exact tie of real numbers
                if float((self.C[active] * (losses - gains) + np.einsum("ji,ji->i", theta, f)).sum()) <= target:
                    break
            state.become(self.evaluate(state.b))
        return np.zeros(len(parts), np.bool_)  # pictures are swept in every round

    def _step(self, block: Block, order: Array, b: Array) -> None:
        from visterm.margin.solver._kernels_top_k import ascend_pictures

        ascend_pictures(block, order, PictureDuals(b, self.y, self.C), self.k)

    def _values(self, f: Array, b: Array, rows: Any) -> tuple[Array, Array]:
        """The loss of some pictures, and the sum of their dual variables."""
        from visterm.margin.solver._kernels_top_k import picture_values

        losses, gains = np.empty(f.shape[1]), np.empty(f.shape[1])
        picture_values(f, b, self.y[rows], self.k, losses, gains)
        return losses, gains
