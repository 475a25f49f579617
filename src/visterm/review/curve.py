"""How good what a review has learned was after each portion of labels, measured on the same pictures for all of them.

For each portion it is kept what the heads said then of a few hundred pictures, labelled or not: the first in the
measuring order, and some that are labelled. So a later answer measures the earlier heads as well. Of a picture with a
label, it is what they said without that label.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr

from visterm.catalogue.labels import Kind
from visterm.collection.measuring import MeasuringSample, share_right, tags_of
from visterm.collection.moment import Collection
from visterm.documents.figure import LEAST, Basis, Figure, Stratum, figure
from visterm.errors import VistermError
from visterm.review.documents import CurvePoint
from visterm.review.heads import Heads
from visterm.storage import write_text_atomically

#: The labels of a portion, and the most portions that are kept.
_PORTION, _MOST_PORTIONS = 10, 60
#: What is said of this many pictures of the measuring order, and of as many labelled ones, is kept.
_WATCHED = 200
#: Decisions that a person makes in ten minutes, about one in four seconds.
_IN_TEN_MINUTES = 150
#: A drop is shown if so large a one is less probable than this by chance.
_BY_CHANCE = 0.1


@dataclass(frozen=True)
class Portion:
    """What the heads said with this number of ``labels``: by picture, the likeliest of ``names``, best first."""

    kind: Kind
    labels: int
    time: float
    names: list[str]
    said: dict[str, list[int]]


def portion(fit: Heads, ids: NDArray[np.int64], sample: MeasuringSample, labels: int, time: float) -> Portion:
    """What ``fit`` says of the pictures that are watched; ``ids`` are those of the truth."""
    watched = [*sample.order[:_WATCHED].tolist(), *sample.order[sample.answered[sample.order]][:_WATCHED].tolist()]
    place = fit.row_in_truth
    said = {str(ids[row]): fit.likeliest[place[row]].tolist() for row in watched if row in place}
    names = fit.class_names if fit.kind == "class" else fit.tag_names
    return Portion(fit.kind, labels, time, list(names), said)


def shares_right(
    collection: Collection, kind: Kind, rows: Sequence[int], said: Sequence[Sequence[str]]
) -> NDArray[np.float64]:
    """What share of what was ``said`` of each picture is right; NaN for a picture without tags."""
    truth = collection.truth
    if kind == "class":
        return np.array([names[0] == truth.classes[row] for row, names in zip(rows, said, strict=True)], np.float64)
    return np.array([share_right(names, tags_of(truth, row)) for row, names in zip(rows, said, strict=True)])


def measured_rows(sample: MeasuringSample) -> NDArray[np.intp]:
    """What figures of a review rest on: the measuring sample, or the labelled pictures that no queue chose by doubt."""
    return sample.rows if sample.stands_for_all else np.flatnonzero(sample.chosen_freely())


def live_figure(fit: Heads, sample: MeasuringSample) -> Figure:
    """How good what the review has learned is: what the heads say of pictures without their own labels."""
    names = fit.class_names if fit.kind == "class" else fit.tag_names
    right = _right(fit, sample, [[names[number] for number in row] for row in fit.likeliest.tolist()])
    basis: Basis = "measuring sample" if sample.stands_for_all else "labelled pictures"
    what = "classes" if fit.kind == "class" else "tags"
    return figure(what, basis, [Stratum(1.0, float(right.sum()), len(right))], advice=sample.advice)


def hoped_for(fit: Heads, sample: MeasuringSample, labels: int) -> float | None:
    """The quality after ten more minutes; None if there is too little to go by."""
    if fit.half is None or fit.classes is None or not labels:
        return None
    now, half = (
        _right(fit, sample, [[fit.class_names[number]] for number in head.likeliest.tolist()])
        for head in (fit.classes, fit.half)
    )
    return expected(float(now.mean()), float(half.mean()), labels) if len(now) >= LEAST else None


def expected(now: float, half: float, labels: int) -> float:
    """The quality after ten more minutes if it was ``half`` with half of the ``labels``.

    Each doubling of the labels halves what it brings.
    """
    gain = max(0.0, now - half)
    return float(min(1.0, now + gain * (1 - 0.5 ** np.log2(1 + _IN_TEN_MINUTES / labels))))


def _right(fit: Heads, sample: MeasuringSample, said: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """The shares that are right of what is ``said`` of each row of the heads, for the pictures that are measured."""
    rows = [row for row in measured_rows(sample).tolist() if row in fit.row_in_truth]
    right = shares_right(fit.collection, fit.kind, rows, [said[fit.row_in_truth[row]] for row in rows])
    return right[np.isfinite(right)]


class Curve:
    """The portions of a review, kept in ``file``."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._known: list[Portion] | None = None

    def add(self, new: Portion) -> None:
        """Note what was learned; it replaces the newest portion until that has ten labels more than the one before."""
        known = [each for each in self.portions if each.kind == new.kind]
        before = [each.labels for each in known[-2:]]
        if known and (before[-1] == new.labels or 0 <= before[-1] - before[0] < _PORTION * (len(before) - 1)):
            known.pop()
        self._known = [*known, new][-_MOST_PORTIONS:]
        with suppress(VistermError):  # a disk that cannot be written to must not stop a review
            write_text_atomically(self._file, json.dumps([asdict(each) for each in self._known]))

    @property
    def portions(self) -> list[Portion]:
        """All portions, the newest last."""
        if self._known is None:
            self._known = []
            with suppress(OSError, ValueError, TypeError, AttributeError):
                self._known = [Portion(**each) for each in json.loads(self._file.read_text(encoding="utf-8"))]
        return self._known

    def points(self, collection: Collection, kind: Kind, rows: NDArray[np.intp]) -> list[CurvePoint]:
        """The quality after each portion, measured on those of ``rows`` that were watched all along.

        A drop is shown only if it is more than chance.
        """
        portions = [each for each in self.portions if each.kind == kind]
        if not portions:
            return []
        keys = [str(number) for number in collection.truth.ids[rows].tolist()]
        common = [at for at, key in enumerate(keys) if all(key in each.said for each in portions)]
        if not common:
            return []
        used = [int(rows[at]) for at in common]
        each_right = []
        for one in portions:
            names = collection.frame.current_names(kind, tuple(one.names))
            said = [[names[number] for number in one.said[keys[at]]] for at in common]
            each_right.append(shares_right(collection, kind, used, said))
        values = _without_chance(each_right)
        return [
            CurvePoint(one.labels, round(value, 4), one.time)
            for one, value in zip(portions, values, strict=True)
            if np.isfinite(value)
        ]


def _without_chance(each_right: Sequence[NDArray[np.float64]]) -> list[float]:
    """The mean of each array, but that of the one before where it is lower by chance."""
    values, shown = [], 0
    for place, right in enumerate(each_right):
        best = each_right[shown]
        if place == 0 or _mean(right) >= _mean(best) or is_drop(best, right):
            shown = place
        values.append(_mean(each_right[shown]))
    return values


def _mean(values: NDArray[np.float64]) -> float:
    defined = values[np.isfinite(values)]
    return float(defined.mean()) if len(defined) else float("nan")


def is_drop(before: NDArray[np.float64], after: NDArray[np.float64]) -> bool:
    """Whether the pictures got worse by more than chance: the sign test of pairs.

    >>> is_drop(np.ones(10), np.r_[np.zeros(3), np.ones(7)]), is_drop(np.ones(10), np.r_[np.zeros(4), np.ones(6)])
    (False, True)
    """
    worse, better = int((after < before).sum()), int((after > before).sum())
    return worse > better and float(bdtr(better, worse + better, 0.5)) < _BY_CHANCE
