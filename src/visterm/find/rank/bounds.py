"""Upper bounds on the probability of every picture, in whole steps, to find quickly the few that need a closer look.

The surprise of a probability p is ``-log p``. Sums of whole numbers give a lower bound on the surprise of a query for
all pictures at once, in a tenth of the time that an exact evaluation takes.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from visterm.calibration import together
from visterm.collection.evidence import Rows
from visterm.find.rank.beliefs import Asked, Every, Floats, Fused, Leaf, Some, Without, complement, leaves
from visterm.find.rank.omission import RATES, doubted

Steps = NDArray[np.uint16]

#: The largest step of a word's surprise; it stands for everything above it, infinity included.
_MOST = 2**14 - 1
#: The surprise of all steps. The largest surprise of a model, including the doubt about missing tags, is 12.92.
_MOST_SURPRISE = 13.0
#: The surprise of one step.
_STEP = _MOST_SURPRISE / _MOST
#: The number of different float16 without their sign, and the bits of the largest finite one.
_N_HALVES, _LARGEST_HALF = 2**15, 0x7BFF
#: The number of different sums of steps, and the largest sum.
_N_SUMS, _LARGEST = 2**16, 2**16 - 1
#: Weights are rounded to the largest weight divided by this; ratios of 1 to 4 are exact.
_PARTS_OF_WEIGHT = 12
#: A weight that misses a whole number of these by less than this only does so by a rounding error.
_ROUNDING = 1e-6
#: To find the n best rows, the best row of each of this many times n groups is compared.
_GROUPS = 4
#: With several parts, the bound by the sum is too low: rows up to this many times as surprising are looked at.
_WIDER = 1.25
#: This share of a step undoes the rounding down, so that hardly any row is looked at for nothing.
_ROUNDED = 0.999
#: Above this surprise, alternatives use another bound: there, sums of opposites are only a few steps.
_UNLIKELY = 3.0
#: The latest words are remembered up to this total size.
MAX_BYTES = 256 * 2**20


@dataclass(frozen=True, slots=True)
class _Bound:
    """A lower bound on the surprise of every row: ``unit * steps``; no step is above ``most``."""

    steps: Steps
    unit: float
    most: int = _MOST


class Surprises:
    """The surprise of every row for words asked before, in whole steps; keeps as many words as fit in ``max_bytes``.

    A word takes two bytes per row, and twice that if it is also used as an excluded word or an alternative.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes, self._n_bytes = max_bytes, 0
        self._columns: OrderedDict[tuple[Leaf, bool], Steps] = OrderedDict()
        self._guard = threading.Lock()

    def at(self, leaf: Leaf, *, opposite: bool = False) -> Steps:
        """The surprise that each row matches ``leaf`` (or does not), rounded down; the last step may be infinite."""
        found = self._find(leaf, opposite)
        return self._keep(leaf, opposite, _steps_of(leaf, opposite)) if found is None else found

    def _find(self, leaf: Leaf, opposite: bool) -> Steps | None:
        with self._guard:
            found = self._columns.get((leaf, opposite))
            if found is not None:
                self._columns.move_to_end((leaf, opposite))
            return found

    def _keep(self, leaf: Leaf, opposite: bool, steps: Steps) -> Steps:
        if leaf.likeness is not None:  # made for one query
            return steps
        with self._guard:
            if (leaf, opposite) not in self._columns:
                self._columns[leaf, opposite] = steps
                self._n_bytes += steps.nbytes
            while self._n_bytes > self._max_bytes:
                self._n_bytes -= self._columns.popitem(last=False)[1].nbytes
        return steps


class Scan:
    """Finds, among all rows at once, those that may be at least this likely.

    Let ``c_i = -log P_i`` be the surprises of the parts of a query. Parts that must all hold have the surprise
    ``d max_i c_i + (1 - d) sum_i c_i``, which is at least ``(1 - d + d / n) sum_i c_i``. Alternatives have
    ``g(sum_i g(c_i))`` with the falling ``g(c) = -log(1 - exp(-c))``, which is at least ``min_i c_i - log n``. Lower
    bounds in whole steps follow from those of the words.
    """

    def __init__(self, asked: Asked, dependence: float, surprises: Surprises) -> None:
        self._asked, self._dependence, self._surprises = asked, dependence, surprises
        self._unlikely = self._has_alternatives = False
        self._weigh()

    def of_best(self, n: int) -> float:
        """A surprise that probably ``n`` rows, and few others, do not exceed."""
        level = self._level(n)
        if self._has_alternatives and level * self._whole.unit > _UNLIKELY:
            self._unlikely = True
            self._weigh()
            level = self._level(n)
        # Each part was rounded down.
        # mutants: > -> >=: of one part, a wider look finds the same best rows, and more that are not needed
        self._look_at(int(_WIDER * level) + len(self._parts) if len(self._parts) > 1 else level)
        one_step = -float(together([np.array(-w * bound.unit) for bound, w in self._parts], self._dependence))
        last = n - 1
        return float(np.partition(self._surprises_seen, last)[last]) + _ROUNDED * one_step

    def within(self, surprise: float) -> Rows:
        """Rows that include every row of at most this surprise, in order."""
        level = min(int(surprise / self._whole.unit), _LARGEST)
        # mutants: > -> >=: to look again at the same level finds the same rows
        if level > self._level_seen:
            self._look_at(level)
        return self._rows_seen[self._surprises_seen <= surprise]

    def _level(self, n: int) -> int:
        """A number of steps that at least ``n`` rows, and hardly more, do not exceed: each is the best of its group."""
        steps = self._whole.steps
        n_groups = min(_GROUPS * n, len(steps))
        n_each = len(steps) // n_groups
        best = steps[: n_each * n_groups].reshape(n_each, n_groups).min(axis=0)
        return int(np.sort(best)[n - 1])

    def _look_at(self, level: int) -> None:
        """Set the rows of at most ``level`` steps, and lower bounds on their surprises."""
        self._level_seen = level
        self._rows_seen = np.flatnonzero(self._whole.steps <= level)
        # Unlike the sum, this counts the least likely part exactly.
        logs = [np.float32(-w * bound.unit) * bound.steps[self._rows_seen] for bound, w in self._parts]
        self._surprises_seen = -together(logs, self._dependence)

    # Bounds

    def _weigh(self) -> None:
        """Compute the bound of the query and of each part that must hold."""
        asked = self._asked
        parts, weights = (asked.parts, asked.weights) if isinstance(asked, Every) else ((asked,), (1.0,))
        first, *_ = leaves(asked)
        self._parts = self._bounds(parts, weights) or [(_Bound(np.zeros(first.n_rows, np.uint16), _STEP), 1.0)]
        self._whole = self._together(self._parts)

    def _bound(self, asked: Asked) -> _Bound | None:
        match asked:
            case Leaf():
                return _Bound(self._surprises.at(asked), _STEP)
            case Without(Leaf() as leaf):
                return _Bound(self._surprises.at(leaf, opposite=True), _STEP)
            case Without(Without(part)):
                return self._bound(part)
            case Without(Some(parts, weights)):  # none of them: the surprises of their opposites add up
                bounds = self._bounds(tuple(map(Without, parts)), weights)
                return _sum(bounds) if bounds else None
            case Without():
                return None
            case Every():
                bounds = self._bounds(asked.parts, asked.weights)
                return self._together(bounds) if bounds else None
            case Fused():
                return None
            case Some():
                self._has_alternatives = True
                return self._any_of(asked) if self._unlikely else self._some_of(asked)

    def _bounds(self, parts: Sequence[Asked], weights: Sequence[float]) -> list[tuple[_Bound, float]]:
        """The bounds and weights of the parts that have a bound; the others may have no surprise at all."""
        pairs = [(self._bound(part), w) for part, w in zip(parts, weights, strict=True)]
        return [(bound, w) for bound, w in pairs if bound is not None]

    def _together(self, parts: Sequence[tuple[_Bound, float]]) -> _Bound:
        total = _sum(parts)
        share = 1 - self._dependence + self._dependence / len(parts)
        return _Bound(total.steps, share * total.unit, total.most)

    def _some_of(self, asked: Some) -> _Bound | None:
        """Bounds alternatives by the sum of their opposites: nearly exact, except where it is only a few steps."""
        against = []
        for part, w in zip(asked.parts, asked.weights, strict=True):
            if isinstance(part, Leaf):
                steps = self._surprises.at(part, opposite=True)  # rounded down; ``rounded`` below makes up for it
            elif (bound := self._bound(part)) is not None:
                steps = _opposites(bound.unit).take(bound.steps)  # a lower bound becomes an upper bound
            else:
                return None
            against.append((_Bound(steps, _STEP), w))
        total = _sum(against, above=True)
        rounded = _STEP * sum(max(w, 1.0) for w in asked.weights)
        return _Bound(_opposites(total.unit, rounded).take(total.steps), _STEP)

    def _any_of(self, asked: Some) -> _Bound | None:
        """Bounds alternatives by the likeliest: all are at most ``sum_i max(w_i, 1)`` times as likely."""
        bounds = [bound for part in asked.parts if (bound := self._bound(part)) is not None]
        if len(bounds) < len(asked.parts):
            return None
        unit = min(bound.unit for bound in bounds)
        # 1 - (1 - p)^w is at most p or w p.
        less = min(math.ceil(math.log(sum(max(w, 1.0) for w in asked.weights)) / unit), _LARGEST)
        least = np.minimum.reduce([bound.steps for bound in bounds])
        return _Bound(np.maximum(least, np.uint16(less)) - np.uint16(less), unit, max(bound.most for bound in bounds))


def _sum(parts: Sequence[tuple[_Bound, float]], *, above: bool = False) -> _Bound:
    """A lower bound on the sum of the weighted surprises; with ``above``, an upper bound from upper bounds.

    With ``above``, the last step of a part may stand for infinity; the sum is then at least that step.
    """
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
    """A common unit, and how many times it fits into each of ``units``, rounded down (rounded up if ``above``).

    >>> _in_common([1.5, 0.5], above=False), _in_common([1.5, 0.4], above=False), _in_common([1.5, 0.4], above=True)
    ((0.5, [3, 1]), (0.375, [4, 1]), (0.5, [3, 1]))
    """
    unit = max(units) / _PARTS_OF_WEIGHT
    times = [math.ceil(u / unit - _ROUNDING) if above else int(u / unit + _ROUNDING) for u in units]
    common = math.gcd(*times)
    return unit * common, [n // common for n in times]


def _steps_of(leaf: Leaf, opposite: bool) -> Steps:
    """The surprise that each row matches ``leaf`` (or does not), as whole steps."""
    halves = leaf.halves()
    if halves is None:
        log_p = leaf.everywhere().log_p
        return _in_steps(-_opposite(-log_p) if opposite else log_p)
    # Without its sign, a float16 has 15 bits.
    bits = np.bitwise_and(halves.view(np.uint16), np.uint16(_N_HALVES - 1))
    table = _steps_of_halves(opposite)
    steps = table[0].take(bits)
    if leaf.doubted is not None:
        rows = leaf.doubted.rows
        steps[rows] = table[leaf.doubted.row_levels, bits[rows]]
    steps[leaf.denied], steps[leaf.told] = (0, _MOST) if opposite else (_MOST, 0)
    return steps


@lru_cache(maxsize=2)
def _steps_of_halves(opposite: bool) -> Steps:
    """(n_levels, n_halves): the steps of all float16 log-probabilities at each level of doubt."""
    bits = np.arange(_N_HALVES, dtype=np.uint16)
    bits[bits > _LARGEST_HALF] = _LARGEST_HALF
    log_p = -bits.view(np.float16).astype(np.float32)
    levels = [doubted(log_p, np.full(len(bits), level, np.uint8)) for level in range(len(RATES))]
    return np.stack([_in_steps(-_opposite(-values) if opposite else values) for values in levels])


def _in_steps(log_p: Floats) -> Steps:
    """The surprises as whole steps, rounded down."""
    steps = np.multiply(log_p, np.float32(-1 / _STEP), dtype=np.float32)
    return np.minimum(steps, np.float32(_MOST), out=steps).astype(np.uint16)


@lru_cache(maxsize=32)
def _opposites(unit: float, rounded: float = 0.0) -> Steps:
    """For a surprise of at most k steps plus ``rounded`` (k is the index): a lower bound on that of the opposite.

    For a surprise of at least k steps, it is an upper bound less one step.
    """
    surprise = _opposite(unit * np.arange(_N_SUMS) + rounded)
    return np.minimum(surprise / _STEP, _MOST).astype(np.uint16)


def _opposite(surprise: Floats) -> Floats:
    """g(c) = -log(1 - exp(-c)), which is its own inverse."""
    return -complement(-surprise.astype(np.float32))
