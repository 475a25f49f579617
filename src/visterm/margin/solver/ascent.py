"""The one loop of stochastic dual coordinate ascent, and what an objective must offer it.

An objective consists of parts that each have their own duality gap: separate tasks (``tasks``), or a single part if all
tasks are coupled (``coupled``) or all classes are learned together (``top_k``). A round sweeps over all pictures, then
refines: coordinates settled at their bounds are left out, and the rest is solved nearly to the end. The gap is always
computed from new scores.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from visterm.compute import progress
from visterm.compute.threads import one_blas_thread
from visterm.margin.solver import on_device
from visterm.margin.solver.inner_products import InnerProducts

Array = NDArray[Any]

BLOCK_ROWS = 128
#: Callers that want fewer sweeps than this continue themselves: only these are told of a gap that was not reached.
MAX_SWEEPS = 300
#: Refining stops at this share of the gap that the whole part may have.
REFINE_SHARE = 0.25
#: Far from the optimum, it stops when the gap has fallen to this share: settled coordinates will change again.
REFINE_FALL = 0.07
#: Single precision does not suffice if the dual rises by at most this share of the gap in this many sweeps.
STALLED_SWEEPS, STALLED_RISE = 5, 0.01


@dataclass(slots=True, eq=False)
class Solution:
    """Dual variables, coefficients and scores (n_tasks, n_pictures); the primal and dual objective of each part."""

    b: Array
    theta: Array
    scores: Array
    primal: Array
    dual: Array
    offset: float = 0.0
    #: The sums of primal and dual objectives after each sweep, over all parts, finished or not.
    trace: list[tuple[float, float]] = field(default_factory=list, kw_only=True)

    @property
    def gaps(self) -> Array:
        """The relative duality gap of each part."""
        return relative_gap(self.primal + self.offset, self.dual + self.offset)

    @property
    def gap(self) -> float:
        """The largest relative duality gap."""
        return float(self.gaps.max())

    @property
    def objective(self) -> float:
        """The primal objective of all parts."""
        return float(self.primal.sum())

    @property
    def scales(self) -> Array:
        """The scale of each part's relative gap."""
        return np.maximum(np.abs(self.primal + self.offset), np.abs(self.dual + self.offset))

    @property
    def squared_length(self) -> float:
        """The sum of ``||w_t||^2`` over separate tasks."""
        return float(np.einsum("ti,ti->", self.theta, self.scores, dtype=np.float64))

    def take(self, tasks: Array, part: "Solution") -> None:
        """Replace the given separate tasks by those of ``part``."""
        for name in ("b", "theta", "scores", "primal", "dual"):
            getattr(self, name)[tasks] = getattr(part, name)

    def become(self, other: "Solution") -> None:
        """Replace everything but the trace."""
        for own in fields(self):
            if own.name != "trace":
                setattr(self, own.name, getattr(other, own.name))

    def to_double(self) -> None:
        """Keep dual variables, coefficients and scores in double precision from now on."""
        for name in ("b", "theta", "scores"):
            setattr(self, name, getattr(self, name).astype(np.float64))

    def note(self) -> None:
        """Add the current objectives to the trace."""
        self.trace.append((self.objective, float(self.dual.sum())))


S = TypeVar("S", bound=Solution)


class Objective(ABC, Generic[S]):
    """A dual objective over pictures with the given inner products. Its methods change the solution in place."""

    products: InnerProducts
    #: Whether its sweeps keep all cores busy by themselves or multiply only small matrices.
    one_blas_thread: ClassVar[bool] = True
    #: Whether it consists of tasks, separate or coupled, which a device can raise all at once.
    has_tasks: ClassVar[bool] = False

    @abstractmethod
    def evaluate(self, b: Array) -> S:
        """The solution at the dual variables ``b``, with newly computed scores."""

    @abstractmethod
    def start(self, b: Array | None) -> Array:
        """Dual variables to start from: ``b``, or zero."""

    @abstractmethod
    def sweep(self, state: S, parts: Array, rng: np.random.Generator) -> None:
        """Step every coordinate of the given parts, in random blocks of pictures."""

    @abstractmethod
    def refine(self, state: S, parts: Array, tol: float, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Step the coordinates that matter most; returns for which parts all unsettled ones took part."""

    def unfinished(self, state: S, tol: float) -> NDArray[np.bool_]:
        """The parts to go on with."""
        return np.asarray(state.gaps > tol)

    def in_double(self, parts: Array) -> "Objective[S] | None":  # noqa: ARG002
        """Some parts in double precision; None if they are, or if the objective stays in its precision."""
        return None


def solve(
    objective: Objective[S],
    *,
    tol: float = 1e-3,
    rng: np.random.Generator,
    start: Array | None = None,
    max_sweeps: int | None = None,
    description: str = "Separating classes",
) -> S:
    """Raise the dual from the variables ``start`` (None: zero) until every relative gap is at most ``tol``.

    Parts that stall in single precision, because sums of C times rounding errors are as large as the gap, continue in
    double precision. On a device (:mod:`visterm.margin.solver.on_device`) all tasks rise at once; coordinate ascent
    goes on with what it leaves.
    """
    if (device := on_device.device_for(objective)) is not None:
        found: S = on_device.ascend(objective, start, tol, device)
        if found.gap <= tol:
            return found
        start = found.b
    most = MAX_SWEEPS if max_sweeps is None else max_sweeps
    with progress.task(description) as bar, one_blas_thread() if objective.one_blas_thread else nullcontext():
        stall = Stall(objective)
        state = ascend(objective, start, bar, tol=tol, rng=rng, max_sweeps=most, stop=stall)
        if stall.rest is not None:
            at = state.b[stall.parts]
            state.to_double()
            state.take(stall.parts, ascend(stall.rest, at, bar, tol=tol, rng=rng, max_sweeps=most))
            state.note()
    if max_sweeps is None and (state.gaps > tol).any():
        warn_unconverged(state.gap, tol)
    return state


def ascend(
    objective: Objective[S],
    start: Array | None,
    bar: progress.Bar,
    *,
    tol: float,
    rng: np.random.Generator,
    max_sweeps: int,
    stop: Callable[[S, Array], bool] = lambda _state, _parts: False,
) -> S:
    """The loop of :func:`solve`. A finished part is not touched again; ``stop`` sees the others after every sweep."""
    state = objective.evaluate(objective.start(start))
    state.note()
    live = unrefined = np.flatnonzero(objective.unfinished(state, tol))
    for _ in range(max_sweeps):
        if not len(live):
            break
        if len(unrefined):  # parts with more unsettled coordinates than can be refined at once
            objective.sweep(state, unrefined, rng)
        complete = objective.refine(state, live, tol, rng)
        unfinished = objective.unfinished(state, tol)[live]
        unrefined, live = live[unfinished & ~complete], live[unfinished]
        state.note()
        bar.report(objective=state.objective, gap=state.gap)
        if stop(state, live):
            break
    return state


class Stall:
    """Whether the dual of the unfinished parts no longer rises in single precision.

    Then ``parts`` are these, and ``rest`` is their objective in double precision.
    """

    def __init__(self, objective: Objective[Any]) -> None:
        self.objective, self.n_sweeps = objective, 0
        self.dual_before: Array | float = -np.inf
        self.parts: Array = np.empty(0, np.intp)
        self.rest: Objective[Any] | None = None

    def __call__(self, state: Solution, parts: Array) -> bool:
        """Called after every sweep."""
        self.n_sweeps += 1
        if self.n_sweeps % STALLED_SWEEPS != 1:
            return False
        rises, gaps = (state.dual - self.dual_before)[parts], (state.primal - state.dual)[parts]
        self.dual_before = state.dual.copy()
        if len(parts) and np.all(rises <= STALLED_RISE * gaps):
            self.parts, self.rest = parts, self.objective.in_double(parts)
        return self.rest is not None


def random_blocks(n_pictures: int, rng: np.random.Generator) -> list[Array]:
    """All pictures in random order, in blocks."""
    order = rng.permutation(n_pictures)
    return [order[start : start + BLOCK_ROWS] for start in range(0, n_pictures, BLOCK_ROWS)]


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
