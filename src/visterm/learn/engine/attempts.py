"""One engine for every comparison: fit a candidate on given splits, measure it, and keep what it reached.

:func:`~visterm.learn.choose` and :func:`~visterm.learn.compare` decide which candidates are attempted, on which splits.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.contracts import Task
from visterm.errors import InputError
from visterm.learn import Dataset
from visterm.learn.engine.fitting import learns_from_untagged
from visterm.learn.engine.measuring import Performance, measure
from visterm.learn.engine.splits import Split
from visterm.registry import Method

Floats = NDArray[np.floating[Any]]

#: This many pictures are held out in all, in at most ``_MAX_SPLITS`` splits.
_HELD_OUT, _MAX_SPLITS = 200, 5


@dataclass(frozen=True, slots=True)
class Candidate:
    """A method, the recipe of its features, and those of its parameters that are not the usual ones."""

    method: Method
    recipe: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        settings = "".join(f" {name}={value}" for name, value in self.parameters.items())
        return f"{self.method.name}{settings} on {self.recipe}"


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """What a candidate reached: one performance for each split, and the seconds they took without the features."""

    candidate: Candidate
    performances: tuple[Performance, ...]
    seconds: float

    def each(self, task: Task) -> Floats:
        """The values of the task's main measure: one for each held-out picture or query of every split."""
        return np.concatenate([performance.each[task] for performance in self.performances])

    def value(self, task: Task) -> float:
        """The mean of the defined values of :meth:`each`."""
        each = self._defined(task)
        if not len(each):
            raise InputError(f"{self.candidate.method.name} cannot be compared: no held-out picture gives a figure")
        return float(each.mean())

    def worth(self, task: Task) -> Floats:
        """What candidates are compared by, one number for each held-out picture or query; larger is better.

        For classes it is the logarithm of the probability of the right class, where the method has probabilities: it
        also tells methods apart that answer the same.
        """
        losses = [each.log_loss for each in self.performances]
        if task is not Task.CLASSIFY or any(loss is None for loss in losses):
            return self.each(task)
        return -np.concatenate([loss for loss in losses if loss is not None])

    def error(self, task: Task) -> float:
        """The standard error of :meth:`value`; splits share pictures, so repeating them does not make it smaller."""
        each = self._defined(task)
        return float(each.std() / math.sqrt(max(1.0, len(each) / len(self.performances)))) if len(each) else math.nan

    def mean(self, name: str) -> Performance:
        """The mean of the figures over splits, under ``name``.

        Single pictures and queries are those of the first split: a test needs independent ones.
        """
        first, found = self.performances[0], self.performances
        values = {
            task: {
                measure: float(np.mean([each.values[task][measure] for each in found if measure in each.values[task]]))
                for measure in of_task
            }
            for task, of_task in first.values.items()
        }
        fit_seconds, answer_seconds = np.mean([(each.fit_seconds, each.answer_seconds) for each in found], axis=0)
        return replace(
            first, method=name, values=values, fit_seconds=float(fit_seconds), answer_seconds=float(answer_seconds)
        )

    def _defined(self, task: Task) -> Floats:
        each = self.each(task)
        return each[np.isfinite(each)]


#: Fits a candidate to the training part of a split, and measures it on the other part.
Measuring = Callable[[Candidate, Dataset, Split, Collection[Task]], Performance]


def by_measures(candidate: Candidate, data: Dataset, split: Split, tasks: Collection[Task]) -> Performance:
    """Measure as :func:`~visterm.learn.measure` does; methods that learn from untagged pictures see all."""
    method = candidate.method
    transductive = learns_from_untagged(method)
    found = measure(method, data, split, parameters=candidate.parameters, transductive=transductive, tasks=tasks)
    return found.performance


def attempt(
    candidate: Candidate,
    data: Dataset,
    splits: Sequence[Split],
    *,
    tasks: Collection[Task] = tuple(Task),
    measuring: Measuring = by_measures,
) -> Attempt:
    """Fit and measure a candidate on every split of ``data``, at those of ``tasks`` that it can do."""
    started = time.perf_counter()
    found = tuple(measuring(candidate, data, split, tasks) for split in splits)
    return Attempt(candidate, found, time.perf_counter() - started)


def repeated(draw: Callable[[int], Split], n_held_out: float) -> list[Split]:
    """Splits that ``draw`` makes of seeds 0, 1, ...; the fewer pictures each holds out, the more splits, up to five."""
    n_splits = min(_MAX_SPLITS, math.ceil(_HELD_OUT / max(1.0, n_held_out)))
    return [draw(seed) for seed in range(n_splits)]
