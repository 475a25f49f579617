"""Compares methods on the same held-out pictures, and says which differences are significant."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from string import ascii_letters

import numpy as np

from visterm import registry
from visterm.contracts import Task
from visterm.errors import InputError
from visterm.evaluate.significance import letters
from visterm.learning import (
    STANDARD_MEASURES,
    Dataset,
    Performance,
    has_labels,
    learns_from_untagged,
    measure,
    validation_split,
)
from visterm.registry import Method


@dataclass(frozen=True, slots=True)
class Comparison:
    """How methods did on the same held-out pictures, by task, the baseline first.

    Within a task the methods have the letters a, b, c, ... in their order. ``beats`` gives for each method the letters
    of the methods it is significantly better than, by the task's first measure per picture or query (see
    :func:`~visterm.evaluate.letters`). A method that saw other pictures than the first one has no entry. ``left_out``
    are the methods that were not run for lack of time.
    """

    performances: dict[Task, list[Performance]]
    beats: dict[Task, dict[str, str]]
    left_out: tuple[str, ...]

    def letter(self, task: Task, method: str) -> str:
        """The letter of a method."""
        names = [performance.method for performance in self.performances[task]]
        return ascii_letters[names.index(method)] if method in self.beats[task] else ""

    def best(self, task: Task) -> list[str]:
        """The method with the best value of the task's first measure, then those it is not significantly better than.

        Baselines are for comparison only.
        """
        name = STANDARD_MEASURES[task][0].name
        able = [each for each in self.performances[task] if not registry.get(each.method).is_baseline]
        ordered = [each.method for each in sorted(able, key=lambda each: -each.values[task][name])]
        beaten = self.beats[task].get(ordered[0], "") if ordered else ""
        return [
            method
            for place, method in enumerate(ordered)
            if place == 0 or (method in self.beats[task] and self.letter(task, method) not in beaten)
        ]


def compare(
    methods: Sequence[Method],
    data_of: Callable[[str], Dataset],
    *,
    recipe: str | None = None,
    max_seconds: float = math.inf,
) -> Comparison:
    """Measure ``methods`` (all, if none are given) and the baselines of their tasks.

    ``data_of`` returns the data set with the features of a recipe; ``recipe`` replaces the methods' own recipes. After
    ``max_seconds`` no further method is started.
    """
    started = time.perf_counter()
    chosen = list(methods) or registry.methods()
    baselines = [registry.baseline(task) for task in Task if any(method.does(task) for method in chosen)]
    measured: list[tuple[Performance, Dataset]] = []
    left_out: list[str] = []
    datasets: dict[str, Dataset] = {}
    for method in dict.fromkeys([*baselines, *chosen]):
        if not method.is_baseline and time.perf_counter() - started > max_seconds:
            left_out.append(method.name)
            continue
        wanted = recipe or method.recipe
        if wanted not in datasets:
            datasets[wanted] = data_of(wanted)
        data = datasets[wanted]
        if has_labels(method, data):
            tried = measure(method, data, validation_split(data), transductive=learns_from_untagged(method))
            measured.append((tried.performance, data))
    if not measured:
        raise InputError("nothing can be measured: no picture has a class or tags; add labels first")
    performances, beats = {}, {}
    for task in Task:
        able = [(performance, data) for performance, data in measured if task in performance.values]
        if able:
            performances[task] = [performance for performance, _ in able]
            beats[task] = _beats(task, able)
    return Comparison(performances, beats, tuple(left_out))


def _beats(task: Task, measured: Sequence[tuple[Performance, Dataset]]) -> dict[str, str]:
    """For each method, the letters of those it is significantly better than."""
    _, first = measured[0]
    paired = {
        performance.method: letter
        for letter, (performance, data) in zip(ascii_letters, measured, strict=False)
        if _same_labels(data, first)
    }
    values = {performance.method: performance.each[task] for performance, _ in measured if performance.method in paired}
    beaten = letters(values, higher_is_better=STANDARD_MEASURES[task][0].higher_is_better)
    # The test numbers only the methods it compares: translate to the letters of all methods.
    own = dict(zip(ascii_letters, paired.values(), strict=False))
    return {method: "".join(own[letter] for letter in found) for method, found in beaten.items()}


def _same_labels(data: Dataset, other: Dataset) -> bool:
    """Whether two data sets have the same labels and splits row by row, so that their pictures can be paired."""
    if data is other:
        return True
    return (
        data.splits == other.splits
        and np.array_equal(data.y, other.y)
        and np.array_equal(data.tags.indptr, other.tags.indptr)
        and np.array_equal(data.tags.indices, other.tags.indices)
    )
