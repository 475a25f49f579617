"""The dual problem of many tasks over the same pictures, and its solution at given dual variables.

For every task t, with labels y of -1 and 1 and weights C (0 if a picture does not take part),

    minimise over w_t   ||w_t||^2 / 2 + sum_i C_ti loss(y_ti <w_t, x_i>)

in the dual variables b_ti, with w_t = sum_i theta_ti x_i and theta_ti = C_ti b_ti y_ti. A task separates the pictures
that have a label, a class or a tag, from those that do not.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from visterm.margin.inner_products import InnerProducts
from visterm.margin.losses import Loss

Array = NDArray[Any]


class Coordinates(NamedTuple):
    """The coordinates of all tasks (n_tasks, n_pictures), or of one: dual variables, labels, weights.

    ``C`` is 0 if a coordinate does not exist. Compiled code changes ``b`` in place.
    """

    b: Array
    y: Array
    C: Array


class Block(NamedTuple):
    """Pictures whose steps are taken together: their Gram matrix, their rows, their scores (n_tasks, len(rows)).

    Compiled code changes the scores ``f`` in place and adds the change of theta to ``delta``, of the same shape.
    """

    G: Array
    rows: Array
    f: Array
    delta: Array


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Inner products of the pictures, labels and weights (n_tasks, n_pictures) in the same precision, and the loss."""

    products: InnerProducts
    y: Array
    C: Array
    loss: Loss
    #: The rest of a larger objective of which each task is a part. The gap is relative to the sum.
    offset: float = 0.0

    def part(self, tasks: Array) -> Problem:
        """Some of the tasks."""
        return Problem(self.products, self.y[tasks], self.C[tasks], self.loss, self.offset)

    def in_double(self) -> Problem:
        """The same in double precision."""
        y, C = self.y.astype(np.float64), self.C.astype(np.float64)
        return Problem(self.products.in_double(), y, C, self.loss, self.offset)

    def start(self, b: Array | None) -> Array:
        """Dual variables to start from: ``b`` within their range, or zero."""
        code = self.loss.code
        return np.zeros_like(self.y) if b is None else np.clip(b, code.low, code.high).astype(self.y.dtype)

    def evaluate(self, b: Array) -> Solution:
        """The objectives at ``b``, with newly computed scores."""
        from visterm.margin._kernels import task_values

        theta = self.C * b * self.y
        scores = self.products.scores(theta) if b.any() else np.zeros_like(theta)
        sums = np.empty((len(b), 3))
        task_values(scores, Coordinates(b, self.y, self.C), self.loss.code, sums)
        norms, losses, conjugates = sums.T
        return Solution(b, theta, scores, 0.5 * norms + losses, -conjugates - 0.5 * norms, self.offset)


@dataclass(slots=True, eq=False)
class Solution:
    """Dual variables, coefficients and scores of all tasks, and their primal and dual objectives."""

    b: Array
    theta: Array
    scores: Array
    primal: Array
    dual: Array
    offset: float
    #: The sums of primal and dual objectives after each sweep, over all tasks, finished or not.
    trace: list[tuple[float, float]] = field(default_factory=list)

    @property
    def gaps(self) -> Array:
        """The relative duality gap of each task."""
        return relative_gap(self.primal + self.offset, self.dual + self.offset)

    @property
    def scales(self) -> Array:
        """The scale of each task's relative gap."""
        return np.maximum(np.abs(self.primal + self.offset), np.abs(self.dual + self.offset))

    @property
    def squared_length(self) -> float:
        """The sum of ``||w_t||^2`` over all tasks."""
        return float(np.einsum("ti,ti->", self.theta, self.scores, dtype=np.float64))

    def take(self, tasks: Array, part: Solution) -> None:
        """Replace the given tasks by those of ``part``."""
        for name in ("b", "theta", "scores", "primal", "dual"):
            getattr(self, name)[tasks] = getattr(part, name)

    def to_double(self) -> None:
        """Keep dual variables, coefficients and scores in double precision from now on."""
        for name in ("b", "theta", "scores"):
            setattr(self, name, getattr(self, name).astype(np.float64))

    def note(self) -> None:
        """Add the current objectives to the trace."""
        self.trace.append((float(self.primal.sum()), float(self.dual.sum())))


def relative_gap(primal: Array, dual: Array) -> Array:
    """``(P - D) / max(|P|, |D|)``, the paper's stopping criterion; 0 if both are 0."""
    scale = np.maximum(np.abs(primal), np.abs(dual))
    return np.divide(primal - dual, scale, out=np.zeros_like(scale), where=scale > 0)


def warn_unconverged(gap: float, tol: float) -> None:
    """Warn that the required duality gap was not reached."""
    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(
        f"the relative duality gap is still {gap:.2g}, not {tol:.2g}: scale the features, lower C or raise tol",
        ConvergenceWarning,
        stacklevel=3,
    )
