"""How likely each picture can be at most, in whole steps: so the few that must be looked at closely are found quickly.

What is improbable is surprising: ``-log p``. Small whole numbers that the surprise of a picture is not below are added
for all pictures within a tenth of the time that it takes to evaluate a query.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from visterm.search.beliefs import Asked, Every, Floats, Leaf, Some, Without, together
from visterm.search.evidence import Rows

Steps = NDArray[np.uint16]

#: Surprises of words have so many steps; the last one stands for all above, the infinite too.
_MOST = 2**13 - 1
#: What one step is worth; the least that a model believes, doubted because people left it unsaid, is 10.8.
_STEP = 11.0 / _MOST
#: Sums of steps are kept below.
_LARGEST = 2**16 - 1
#: Weights that differ are told apart to this share of the largest; those of one to four by whole numbers exactly.
_PARTS_OF_WEIGHT = 12
#: For the best few, the least of so many times as many groups of rows are compared.
_GROUPS = 4
#: Words asked for are remembered up to this size, the latest ones.
MAX_BYTES = 128 * 2**20


@dataclass(frozen=True, slots=True)
class _Bound:
    """Of every row, what its surprise is not below: ``unit * steps``; no step is above ``most``."""

    steps: Steps
    unit: float
    most: int = _MOST


class Surprises:
    """The surprise of every row at words that were asked for, in whole steps, of as many words as fit in ``max_bytes``.

    A word takes two bytes a row, and as many again where it is excluded or an alternative.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes, self._n_bytes = max_bytes, 0
        self._columns: OrderedDict[tuple[Leaf, str], Steps] = OrderedDict()
        self._guard = threading.Lock()

    def at(self, leaf: Leaf) -> Steps:
        """What the surprise that a row fits ``leaf`` is not below."""
        return self._remembered(leaf, "fits", lambda: _in_steps(leaf.everywhere().log_p))

    def without(self, leaf: Leaf) -> Steps:
        """What the surprise that a row does not fit ``leaf`` is not below."""
        return self._remembered(leaf, "not below", lambda: _opposites_below().take(self.at(leaf)))

    def against(self, leaf: Leaf) -> Steps:
        """What the surprise that a row does not fit ``leaf`` is not above, but for the last step."""
        return self._remembered(leaf, "not above", lambda: _opposites_above(_STEP).take(self.at(leaf)))

    def _remembered(self, leaf: Leaf, kind: str, make: Callable[[], Steps]) -> Steps:
        with self._guard:
            found = self._columns.get((leaf, kind))
            if found is not None:
                self._columns.move_to_end((leaf, kind))
                return found
        made = make()
        if leaf.likeness is not None:  # made for one query
            return made
        with self._guard:
            if (leaf, kind) not in self._columns:
                self._columns[leaf, kind] = made
                self._n_bytes += made.nbytes
            while self._n_bytes > self._max_bytes and len(self._columns) > 1:
                self._n_bytes -= self._columns.popitem(last=False)[1].nbytes
        return made


class Scan:
    """All rows at once: which of them can be among the best of a query, and which of at least some probability.

    With the surprises ``c_i = -log P_i`` of the parts of a query, what is asked for together has ``d max_i c_i +
    (1 - d) sum_i c_i``, which is at least ``(1 - d + d / n) sum_i c_i``; of alternatives it is ``g(sum_i g(c_i))`` with
    the falling ``g(c) = -log(1 - exp(-c))``. Whole steps that these are not below follow from those of the words.
    """

    def __init__(self, asked: Asked, dependence: float, surprises: Surprises) -> None:
        self._dependence, self._surprises = dependence, surprises
        self._parts: list[tuple[_Bound, float]] = []
        if isinstance(asked, Every):
            self._parts = self._bounds_of(asked.parts, asked.weights)
            self._whole = self._together(self._parts)
        else:
            self._whole = self._bound(asked)

    def first(self, n: int) -> Rows | None:
        """At least ``n`` rows that are likely to be among the best; None where nothing is known of any."""
        if self._whole is None:
            return None
        steps = self._whole.steps
        n_groups = _GROUPS * n
        if n_groups >= len(steps):
            return np.arange(len(steps))
        # As each is in another group, n rows have at most the n-th of the least of each group.
        least = np.minimum.reduce(steps[: len(steps) // n_groups * n_groups].reshape(-1, n_groups), axis=0)
        rows = np.flatnonzero(steps <= np.partition(least, n - 1)[n - 1])
        return rows[: 2 * n_groups]

    def at_least(self, log_p: float) -> Rows | None:
        """Rows among which are all of at least this log-probability; None where all may be."""
        if self._whole is None or log_p == -math.inf:
            return None
        most = -log_p * (1 + 1e-5) + 2 * _STEP  # what was computed on the way here is not exact
        rows = np.flatnonzero(self._whole.steps <= min(int(most / self._whole.unit), _LARGEST))
        if len(self._parts) > 1:  # among them the least likely part, too, is worth a look
            logs = [np.float32(-w * bound.unit) * bound.steps[rows] for bound, w in self._parts]
            rows = rows[together(logs, self._dependence) >= -most]
        return rows

    def _bound(self, asked: Asked) -> _Bound | None:
        match asked:
            case Leaf():
                return _Bound(self._surprises.at(asked), _STEP)
            case Without(Leaf() as leaf):
                return _Bound(self._surprises.without(leaf), _STEP)
            case Without(Without(part)):
                return self._bound(part)
            case Without(Some(parts, weights)):  # none of them: the surprises of their opposites add up
                return _sum(self._bounds_of(tuple(map(Without, parts)), weights))
            case Without():
                return None
            case Every():
                return self._together(self._bounds_of(asked.parts, asked.weights))
            case Some():
                return self._alternatives(asked)

    def _bounds_of(self, parts: Sequence[Asked], weights: Sequence[float]) -> list[tuple[_Bound, float]]:
        """The bounds and weights of those parts of which something is known: others may be no surprise at all."""
        pairs = [(self._bound(part), w) for part, w in zip(parts, weights, strict=True)]
        return [(bound, w) for bound, w in pairs if bound is not None]

    def _together(self, parts: Sequence[tuple[_Bound, float]]) -> _Bound | None:
        total = _sum(parts)
        if total is None:
            return None
        share = 1 - self._dependence + self._dependence / len(parts)
        return _Bound(total.steps, share * total.unit, total.most)

    def _alternatives(self, asked: Some) -> _Bound | None:
        against = []
        for part, w in zip(asked.parts, asked.weights, strict=True):
            if isinstance(part, Leaf):
                steps = self._surprises.against(part)
            elif (bound := self._bound(part)) is not None:
                steps = _opposites_above(bound.unit).take(bound.steps)
            else:
                return None
            against.append((_Bound(steps, _STEP), w))
        total = _sum(against, above=True)
        return None if total is None else _Bound(_opposites_of_sums(total.unit).take(total.steps), _STEP)


def _sum(parts: Sequence[tuple[_Bound, float]], *, above: bool = False) -> _Bound | None:
    """What the sum of the weighted surprises is not below; or, of such as theirs are not above, not above.

    Of these, the last step of a part may be infinite; it makes the sum as large as that step at least.
    """
    if not parts:
        return None
    units = [bound.unit * (max(w, 1.0) if above else w) for bound, w in parts]
    if len(parts) == 1:
        return _Bound(parts[0][0].steps, units[0], parts[0][0].most)
    unit, times = _in_common(units, above=above)
    shift = 0
    while (most := sum(n * (-(-bound.most >> shift)) for n, (bound, _) in zip(times, parts, strict=True))) > _LARGEST:
        shift += 1
    columns = []
    for n, (bound, _) in zip(times, parts, strict=True):
        steps = bound.steps
        if shift:
            steps = (steps + np.uint16(2**shift - 1) if above else steps) >> np.uint16(shift)
        columns.append(steps if n == 1 else steps * np.uint16(n))
    total = np.add(columns[0], columns[1])
    for steps in columns[2:]:
        np.add(total, steps, out=total)
    return _Bound(total, unit * 2**shift, most)


def _in_common(units: Sequence[float], *, above: bool) -> tuple[float, list[int]]:
    """A unit of which the given ones are at least, or at most, so many times.

    >>> _in_common([1.5, 0.5], above=False), _in_common([1.5, 0.4], above=False), _in_common([1.5, 0.4], above=True)
    ((0.5, [3, 1]), (0.375, [4, 1]), (0.5, [3, 1]))
    """
    unit = max(units) / _PARTS_OF_WEIGHT
    times = [math.ceil(u / unit - 1e-6) if above else int(u / unit + 1e-6) for u in units]
    common = math.gcd(*times)
    return unit * common, [n // common for n in times]


def _in_steps(log_p: Floats) -> Steps:
    """The surprises as whole steps, rounded down."""
    steps = np.multiply(log_p, np.float32(-1 / _STEP), dtype=np.float32)
    return np.minimum(steps, np.float32(_MOST), out=steps).astype(np.uint16)


@lru_cache(maxsize=1)
def _opposites_below() -> Steps:
    """Of a surprise of so many steps and up to one more, what that of the opposite is not below."""
    surprise = _opposite(_STEP * np.arange(1, _LARGEST + 2))
    surprise[_MOST:] = 0.0  # so many or more
    return (surprise / _STEP).astype(np.uint16)


@lru_cache(maxsize=16)
def _opposites_above(unit: float) -> Steps:
    """Of a surprise of so many steps or more, what that of the opposite is not above, but for the last step."""
    return np.ceil(np.minimum(_opposite(unit * np.arange(_LARGEST + 1)) / _STEP, _MOST)).astype(np.uint16)


@lru_cache(maxsize=16)
def _opposites_of_sums(unit: float) -> Steps:
    """Of a surprise of up to so many steps, what that of the opposite is not below."""
    return np.minimum(_opposite(unit * np.arange(_LARGEST + 1)) / _STEP, _MOST).astype(np.uint16)


def _opposite(surprise: Floats) -> Floats:
    """g(c) = -log(1 - exp(-c)), which is its own inverse."""
    with np.errstate(divide="ignore"):
        return -np.log(-np.expm1(-surprise.astype(np.float32)))
