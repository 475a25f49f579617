"""Algorithm 1 of Lapin et al. 2014 in dual variables: it learns predictors and their shared map in turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from visterm.compute import progress
from visterm.errors import InputError
from visterm.margin.closed_form import Spectrum, is_closed, solve_coupled_squared, solve_squared
from visterm.margin.coupled import CoupledSolution, solve_coupled
from visterm.margin.dual import Problem, Solution, warn_unconverged
from visterm.margin.inner_products import FeatureInnerProducts, InnerProducts
from visterm.margin.losses import Loss
from visterm.margin.precision import solve
from visterm.margin.trace_norm import find_optimum

Array = NDArray[Any]

#: Few sweeps suffice: predictors start near those of the last round, and the next round improves them further.
_PREDICTOR_SWEEPS = 30
#: Predictors within the gap that are not better are solved again, to this share of the gap.
_NEARER = 0.1


class Duals(NamedTuple):
    """Dual variables (n_tasks, n_pictures): of one-vs-all, of the predictors (B), of the map (A)."""

    alone: Array
    predictors: Array
    map: Array


class Learned(NamedTuple):
    """The coefficients of the learned functions, the predictors' inner products, the objective after each step."""

    theta: Array
    M: Array
    objectives: list[float]
    duals: Duals
    n_rounds: int = 0


@dataclass(frozen=True, slots=True)
class Alternation:
    """The settings of problem (1); see :class:`visterm.margin.MultitaskSDCA`."""

    C: float
    mu: float | None
    lam: float | None
    n_dims: int | None
    loss: Loss
    tol: float
    max_iter: int
    until: str = "settled"

    def learn(
        self,
        products: InnerProducts,
        labels: Array,
        rng: np.random.Generator,
        bar: progress.Bar,
        start: Duals | None = None,
    ) -> Learned:
        """Learn from ``labels`` (n_tasks, n_pictures), starting from a nearby solution ``start`` if there is one.

        The sign of a label says whether it is present; its size is its weight. 0 means unknown.
        """
        steps = Steps(self, products, labels, rng)
        n_tasks, n = labels.shape
        lam, mu = steps.lam, steps.mu
        alone = steps.alone(start)
        Z, squared_norm = _first_map(alone, self.n_dims)
        low, high = self.loss.code.low, self.loss.code.high
        B, A = (start.predictors, start.map) if start else (np.zeros(labels.shape), np.clip(alone.b, low, high))
        silent = float((steps.takes_part * self.loss.value(np.zeros(labels.shape))).sum())
        objectives = [silent / (n * n_tasks) + 0.5 * mu * squared_norm]
        learned = Learned(alone.theta, np.eye(n_tasks), objectives, Duals(alone.b, B, A))
        if self.until == "optimum":
            if self.n_dims not in (None, n_tasks):
                raise InputError(f"the optimum needs as many columns as tasks: n_dims must be None or {n_tasks}")
            optimum, A = find_optimum(steps, alone.theta @ alone.scores.T, A, bar)
            duals = Duals(alone.b, B, A)
            return Learned(optimum.theta, optimum.M, optimum.objectives, duals, optimum.n_rounds)
        gap = 0.0  # of the predictors
        for _ in range(1 if self.until == "one-round" else self.max_iter):
            represented = FeatureInnerProducts(np.ascontiguousarray(Z.T, dtype=np.float64))
            predictors, objective = self._predictors(steps, represented, B, squared_norm, objectives[-1])
            if objective > objectives[-1]:
                break
            objectives.append(objective)
            gap = float(predictors.gaps.max())
            W = (predictors.theta @ represented.X).astype(steps.y.dtype)
            M = W @ W.T
            # The map: it must not undo the progress of the predictors.
            penalty = 0.5 * lam * float(np.vdot(W, W)) / n_tasks
            mapped = steps.map(M, A, (objective - penalty) / mu)
            objective = mu * mapped.primal + penalty
            if objective > objectives[-1]:
                break
            objectives.append(objective)
            changes = [_rms(predictors.b - B), _rms(mapped.b - A)]
            B, A, squared_norm = predictors.b, mapped.b, mapped.squared_norm
            Z = W.T @ mapped.base
            learned = Learned(M @ mapped.theta, M, objectives, Duals(alone.b, B, A), learned.n_rounds + 1)
            bar.report(objective=objective, change=max(changes))
            if max(changes) <= self.tol:
                break
        if gap > self.tol:
            warn_unconverged(gap, self.tol)
        return learned

    def _predictors(
        self, steps: Steps, represented: FeatureInnerProducts, start: Array, squared_norm: float, below: float
    ) -> tuple[Solution, float]:
        """One-vs-all in the learned representation, in double precision because the losses are small; the objective.

        Predictors within the gap, but with an objective above ``below``, go nearer the optimum.
        """
        n_tasks = len(start)
        of_map = 0.5 * steps.mu * squared_norm  # the share of the map in (1)
        for tol in (self.tol, _NEARER * self.tol):
            predictors = steps.predictors(represented, start, of_map / steps.lam, tol)
            objective = steps.lam * float(predictors.primal.sum()) / n_tasks + of_map
            if objective <= below:
                break
            start = predictors.b
        return predictors, objective


class Steps:
    """The three problems of Algorithm 1 over the same pictures, solved by a formula or else by coordinate ascent.

    Regularisers become weights of losses: 1 / (lam n) for the predictors, 1 / (mu n T) for the map.
    """

    def __init__(self, settings: Alternation, products: InnerProducts, labels: Array, rng: np.random.Generator):
        self.settings, self.products, self.rng = settings, products, rng
        y = labels.astype(products.dtype)
        n_tasks, n = y.shape
        self.takes_part = np.abs(y)
        self.y = np.where(y < 0, products.dtype.type(-1), products.dtype.type(1))
        self.lam = 1 / n if settings.lam is None else settings.lam
        self.mu = 1 / (n * n_tasks) if settings.mu is None else settings.mu
        self.C_predictors, self.C_map = 1 / (self.lam * n), 1 / (self.mu * n * n_tasks)
        self.spectrum = Spectrum.of(products) if is_closed(settings.loss, self.takes_part) else None

    def _weights(self, C: float) -> Array:
        return self.takes_part * self.products.dtype.type(C)

    def alone(self, start: Duals | None) -> Solution:
        """One-vs-all, the start of the algorithm."""
        C, loss, tol = self.settings.C, self.settings.loss, self.settings.tol
        if self.spectrum:
            return solve_squared(self.products, self.spectrum, self.y, C, loss)
        first = start.alone if start else None
        return solve(self.products, self.y, self._weights(C), loss, tol=tol, rng=self.rng, start=first)

    def predictors(self, represented: FeatureInnerProducts, start: Array, offset: float, tol: float) -> Solution:
        """One-vs-all in the current representation."""
        y, loss, C = self.y, self.settings.loss, self.C_predictors
        if self.spectrum:
            return solve_squared(represented, Spectrum.of(represented), y.astype(np.float64), C, loss)
        return solve(
            represented,
            y,
            self._weights(C),
            loss,
            tol=tol,
            rng=self.rng,
            start=start,
            offset=offset,
            max_sweeps=_PREDICTOR_SWEEPS,
        )

    def map(self, M: Array, start: Array, primal_below: float = np.inf, tol: float | None = None) -> CoupledSolution:
        """The map, for predictors with the inner products ``M``; to the gap ``tol``, or that of the settings."""
        y, loss, C = self.y, self.settings.loss, self.C_map
        if self.spectrum:
            return solve_coupled_squared(self.products, self.spectrum, M, y, C, loss)
        problem = Problem(self.products, y, self._weights(C), loss)
        tol = self.settings.tol if tol is None else tol
        return solve_coupled(problem, M, tol=tol, rng=self.rng, start=start, primal_below=primal_below)


def _first_map(alone: Solution, n_dims: int | None) -> tuple[Array, float]:
    """U^T x of all pictures for the first U, the one-vs-all weights or their leading directions; and ||U||^2."""
    n_tasks = len(alone.theta)
    if n_dims is None or n_dims == n_tasks:
        return alone.scores, float(np.vdot(alone.theta, alone.scores))
    if not 1 <= n_dims <= n_tasks:
        raise InputError(f"n_dims must lie between 1 and the {n_tasks} tasks, not {n_dims}")
    values, vectors = np.linalg.eigh(alone.theta @ alone.scores.T)
    leading = vectors[:, -n_dims:].astype(alone.scores.dtype)
    return leading.T @ alone.scores, float(values[-n_dims:].sum())


def _rms(change: Array) -> float:
    return float(np.sqrt(np.mean(np.square(change, dtype=np.float64))))
