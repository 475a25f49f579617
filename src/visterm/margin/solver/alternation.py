"""The steps of Algorithm 1 of Lapin et al. 2014, and the optimum of its problem (1) for as many columns as tasks.

``MultitaskSDCA`` takes the steps in turn. The optimum is found as follows. The smallest lam/(2T) ||W||^2 + mu/2 ||U||^2
of all factors of V = U W^T is c ||V||_*, the trace norm of the tasks' weights with c = sqrt(lam mu / T). So (1) is
convex in V:

    minimise over V   1/(n T) sum_ti loss(y_ti <v_t, x_i>) + c ||V||_*

Algorithm 1 can stop above this minimum if the loss has a kink: then neither the map alone nor the predictors alone can
improve. Here the predictors are replaced by their inner products M = W W^T. With c ||V||_* as the minimum over M of
mu/2 tr(V M^-1 V^T) + lam/(2T) tr(M), the objective is convex in V and M together, and the loss depends on V alone. So
both steps in turn reach the optimum (Argyriou, Evgeniou and Pontil 2008): V is the paper's U step, and
M = sqrt(mu T / lam) (V^T V)^(1/2). A direction that M has lost would come back slowly, so M also grows at once in all
directions in which the dual solution is not feasible.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from visterm.compute import progress
from visterm.errors import InputError
from visterm.margin.solver.ascent import Solution, solve, warn_unconverged
from visterm.margin.solver.coupled import CoupledProblem, CoupledSolution, Spectrum, is_closed
from visterm.margin.solver.inner_products import FeatureInnerProducts, InnerProducts
from visterm.margin.solver.losses import loss_named
from visterm.margin.solver.tasks import Problem

Array = NDArray[Any]

#: Few sweeps suffice: predictors start near those of the last round, and the next round improves them further.
PREDICTOR_SWEEPS = 30
#: Predictors within the gap that are not better are solved again, to this share of the gap.
NEARER = 0.1
#: The largest number of rounds to the optimum.
MAX_ROUNDS = 500
#: The V step is solved to this share of the gap that is left; to half of it each time that the gap hardly falls.
STEP_SHARE, LEAST_STEP_SHARE, HARDLY = 0.1, 1e-3, 0.8
#: M keeps this share of its largest eigenvalue in all directions.
LEAST_SHARE = 1e-9
#: The growth of M is this many times its mean eigenvalue, times the relative excess; more while the objective falls.
GROWTH, LEAST_GROWTH, MORE, LESS = 1.0, 0.03, 1.5, 0.5
#: The mean of dual solutions moves at least this share of the way to that of each round.
TOWARDS = 0.03


class Steps:
    """The three problems of Algorithm 1 over the same pictures, solved by a formula or else by coordinate ascent.

    Regularisers become weights of losses: 1 / (lam n) for the predictors, 1 / (mu n T) for the map.
    """

    def __init__(
        self,
        products: InnerProducts,
        labels: Array,
        rng: np.random.Generator,
        *,
        loss: str,
        C: float,
        lam: float | None,
        mu: float | None,
        tol: float,
    ) -> None:
        self.products, self.rng, self.loss, self.C, self.tol = products, rng, loss_named(loss), C, tol
        y = labels.astype(products.dtype)
        n_tasks, n = y.shape
        self.takes_part = np.abs(y)
        # mutants: < -> <=: a label of 0 has the weight 0, so its sign does not matter
        self.y = np.where(y < 0, products.dtype.type(-1), products.dtype.type(1))
        self.lam = 1 / n if lam is None else lam
        self.mu = 1 / (n * n_tasks) if mu is None else mu
        self.C_predictors, self.C_map = 1 / (self.lam * n), 1 / (self.mu * n * n_tasks)
        self.spectrum = Spectrum.of(products) if is_closed(self.loss, self.takes_part) else None

    def _weights(self, C: float) -> Array:
        return self.takes_part * self.products.dtype.type(C)

    def alone(self, start: Array | None) -> Solution:
        """One-vs-all, the start of the algorithm; from the dual variables of an earlier one if there are any."""
        problem = Problem(self.products, self.y, self._weights(self.C), self.loss)
        if self.spectrum:
            return problem.evaluate(self.spectrum.solve(self.y, self.C))
        return solve(problem, tol=self.tol, rng=self.rng, start=start)

    def first_map(self, alone: Solution, n_dims: int | None) -> tuple[Array, float]:
        """U^T x of all pictures for the first U, the one-vs-all weights or their leading directions; and ||U||^2."""
        n_tasks = len(alone.theta)
        if n_dims is None or n_dims == n_tasks:
            return alone.scores, float(np.vdot(alone.theta, alone.scores))
        if not 1 <= n_dims <= n_tasks:
            raise InputError(f"n_dims must lie between 1 and the {n_tasks} tasks, not {n_dims}")
        values, vectors = np.linalg.eigh(alone.theta @ alone.scores.T)
        leading = vectors[:, -n_dims:].astype(alone.scores.dtype)
        return leading.T @ alone.scores, float(values[-n_dims:].sum())

    def first_duals(self, alone: Solution) -> tuple[Array, Array]:
        """The dual variables from which predictors and map start: zero, and those of one-vs-all."""
        return np.zeros(self.y.shape), np.clip(alone.b, self.loss.code.low, self.loss.code.high)

    def silent(self) -> float:
        """The loss in (1) of predictors that score 0."""
        losses = self.takes_part * self.loss.value(np.zeros(self.y.shape))
        return float(losses.sum()) / losses.size

    def predictors(self, Z: Array, start: Array, squared_norm: float, below: float) -> tuple[Solution, Array, float]:
        """One-vs-all in the representation ``Z = U^T X``: the solution, the predictors W, and the objective (1).

        They are computed in double precision, because the losses are small. Predictors within the gap, but with an
        objective above ``below``, go nearer the optimum.
        """
        represented = FeatureInnerProducts(np.ascontiguousarray(Z.T, dtype=np.float64))
        of_map = 0.5 * self.mu * squared_norm  # the share of the map in (1)
        weights = self._weights(self.C_predictors)
        problem = Problem(represented, self.y, weights, self.loss, of_map / self.lam)
        for tol in (self.tol, NEARER * self.tol):
            if self.spectrum:
                found = problem.evaluate(Spectrum.of(represented).solve(problem.y, self.C_predictors))
            else:
                found = solve(problem, tol=tol, rng=self.rng, start=start, max_sweeps=PREDICTOR_SWEEPS)
            objective = self.lam * found.objective / len(self.y) + of_map
            if objective <= below:
                break
            start = found.b
        return found, (found.theta @ represented.X).astype(self.y.dtype), objective

    def map(self, M: Array, start: Array, primal_below: float = np.inf, tol: float | None = None) -> CoupledSolution:
        """The map, for predictors with the inner products ``M``; to the gap ``tol`` (None: that of all steps)."""
        weights = self._weights(self.C_map)
        problem = CoupledProblem(self.products, self.y, weights, self.loss, M, primal_below)
        if self.spectrum:
            return problem.evaluate(self.spectrum.solve(self.y, self.C_map, M))
        tol = self.tol if tol is None else tol
        return solve(problem, tol=tol, rng=self.rng, start=start, description="Learning the representation")


class _Point(NamedTuple):
    """Dual variables, and what is linear in them: coefficients ``theta`` and ``base = theta G``."""

    b: Array
    theta: Array
    base: Array

    def towards(self, other: "_Point", share: float) -> "_Point":
        """The point this share of the way to another."""
        return _Point(*((1 - share) * own + share * its for own, its in zip(self, other, strict=True)))


class Optimum:
    """The best V by its coefficients, M, the primal objectives, the best dual objective."""

    def __init__(self, steps: Steps, first: Array) -> None:
        self.steps = steps
        self.n_tasks, self.n = steps.y.shape
        self.c = float(np.sqrt(steps.lam * steps.mu / self.n_tasks))
        self.M = self._inner_products(first)
        self.objectives: list[float] = []
        self.dual, self.n_rounds, self.growth = -np.inf, 0, GROWTH
        self.theta = np.zeros_like(steps.y)
        self.mean: _Point | None = None

    @property
    def gap(self) -> float:
        """The relative duality gap."""
        if not self.objectives:
            return np.inf
        primal = self.objectives[-1]
        return float((primal - self.dual) / max(abs(primal), abs(self.dual), np.finfo(np.float64).tiny))

    def take(self, mapped: CoupledSolution) -> None:
        """Evaluate the V of a step, keep it if it is the best, and choose the next M."""
        theta = self.M @ mapped.theta
        squares = theta.astype(np.float64) @ mapped.scores.T  # V^T V
        lengths = np.sqrt(np.maximum(np.linalg.eigvalsh(squares), 0.0))
        losses = self.steps.mu * (mapped.objective - 0.5 * mapped.squared_norm)
        objective = float(losses + self.c * lengths.sum())
        now = _Point(mapped.b, mapped.theta, mapped.base)
        # V of one round may overshoot what V of the next one corrects: their mean violates the constraint less.
        self.mean = now if self.mean is None else self.mean.towards(now, max(TOWARDS, 2 / (self.n_rounds + 2)))
        excess, directions = self._excess(now)
        self.dual = max(self.dual, self._dual_of(now, excess), self._dual_of(self.mean, self._excess(self.mean)[0]))
        # mutants: < -> <=: an exact tie of real numbers
        is_better = not self.objectives or objective < self.objectives[-1]
        if is_better:
            self.theta = theta
            self.objectives.append(objective)
        self.growth = max(self.growth * (MORE if is_better else LESS), LEAST_GROWTH)
        self.M = self._inner_products(squares)
        scale = self.growth * np.trace(self.M) / self.n_tasks
        self.M += scale * (directions * np.maximum(excess - 1.0, 0.0)) @ directions.T
        self.n_rounds += 1

    def _excess(self, at: _Point) -> tuple[Array, Array]:
        """The eigenvalues of ``Z^T Z / c^2`` and its eigenvectors, where ``Z = X (b y)^T / (n T)``."""
        values, vectors = np.linalg.eigh(at.theta.astype(np.float64) @ at.base.T)
        return values * (self.steps.mu / self.c) ** 2, vectors

    def _dual_of(self, at: _Point, excess: Array) -> float:
        """The dual objective. A dual solution has a Z of spectral norm at most c: ``b`` is shrunk until it has."""
        b = at.b / np.sqrt(max(float(excess[-1]), 1.0))
        losses_below = self.steps.takes_part * self.steps.loss.conjugate(b)
        return -float(losses_below.sum()) / (self.n * self.n_tasks)

    def _inner_products(self, squares: Array) -> Array:
        """M of the best factors of V, for ``squares = V^T V``."""
        values, vectors = np.linalg.eigh(squares.astype(np.float64))
        roots = np.sqrt(np.maximum(values, 0.0))
        roots = np.maximum(roots, LEAST_SHARE * (roots[-1] or 1.0))
        M = (vectors * roots) @ vectors.T * np.sqrt(self.steps.mu * self.n_tasks / self.steps.lam)
        return np.asarray(M.astype(self.steps.y.dtype))


def find_optimum(steps: Steps, first: Array, start: Array, bar: progress.Bar) -> tuple[Optimum, Array]:
    """The optimum to the relative gap ``tol``, and its dual variables; from ``first = V^T V`` and duals ``start``."""
    tol = steps.tol
    found, b, share = Optimum(steps, first), start, STEP_SHARE
    for _ in range(MAX_ROUNDS):
        before = found.gap
        mapped = steps.map(found.M, b, tol=share * min(max(before, tol), 1.0))
        b = mapped.b
        found.take(mapped)
        bar.report(objective=found.objectives[-1], gap=found.gap)
        if found.gap <= tol:
            break
        if found.gap > HARDLY * before:
            share = max(0.5 * share, LEAST_STEP_SHARE)
    if found.gap > tol:
        warn_unconverged(found.gap, tol)
    return found, b
