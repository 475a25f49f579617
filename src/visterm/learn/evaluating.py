"""Compares methods on the labelled pictures of a collection."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from visterm import registry
from visterm.catalogue.records import Skipped
from visterm.collection.features import ready_recipe
from visterm.contracts import Task
from visterm.documents.document import Document
from visterm.learn import Comparison, Dataset, Performance, compare
from visterm.learn.data import labelled, labelled_but_unreadable, labels_only, require_labels

if TYPE_CHECKING:
    from visterm.collection.holdings import Holdings


@dataclass(frozen=True)
class MethodResult:
    """How well a method did a task on some features: its measures by name, and the seconds to fit and to answer.

    ``name`` is that of the method, with the recipe where several are compared. ``error`` is the standard error of the
    first measure. ``letter`` stands for the result; ``beats`` has the letters of significantly worse results.
    """

    name: str
    method: str
    recipe: str
    values: dict[str, float]
    error: float | None
    fit_seconds: float
    answer_seconds: float
    letter: str
    beats: str


@dataclass(frozen=True)
class Evaluation(Document):
    """How methods did on the same held-out pictures, the baseline first.

    Figures are means over ``n_splits`` splits; ``held_out`` has the number of pictures by task. ``best`` names for each
    task the best result, then those that are not significantly worse. ``not_measured`` lists the methods for which the
    time was too short; ``skipped`` says why others could not be measured. ``left_out`` pictures could not be used, with
    the reason.
    """

    classify: list[MethodResult]
    tag: list[MethodResult]
    search: list[MethodResult]
    best: dict[str, list[str]]
    held_out: dict[str, int]
    n_splits: int
    not_measured: list[str]
    skipped: dict[str, str]
    left_out: list[Skipped] = field(default_factory=list)

    @property
    def baselines(self) -> list[str]:
        """The methods that never look at the picture."""
        return list(dict.fromkeys(results[0].name for results in self.tasks().values()))

    def tasks(self) -> dict[str, list[MethodResult]]:
        """The results by task, for tasks that were measured."""
        named = {Task.CLASSIFY: self.classify, Task.ANNOTATE: self.tag, Task.RANK: self.search}
        return {task.value: results for task, results in named.items() if results}


def evaluate(
    holdings: Holdings, methods: Sequence[str] = (), *, recipes: Sequence[str] = (), max_seconds: float | None = None
) -> Evaluation:
    """Measure methods (default: all) and the baselines; after ``max_seconds`` no further method is started.

    With ``recipes``, every method is measured on each of them.
    """
    collection = holdings.collection()
    chosen = [registry.get(name) for name in methods]
    require_labels(labels_only(holdings, collection), chosen or registry.methods())
    left_out = {skipped.where: skipped for skipped in labelled_but_unreadable(holdings)}

    def data_of(wanted: str) -> Dataset:
        data, failed = labelled(holdings, collection, ready_recipe(holdings, wanted))
        left_out.update({skipped.where: skipped for skipped in failed})
        return data

    found = compare(chosen, data_of, recipes=recipes, max_seconds=math.inf if max_seconds is None else max_seconds)
    results = {task: [_result(found, task, each) for each in found.performances.get(task, [])] for task in Task}
    return Evaluation(
        classify=results[Task.CLASSIFY],
        tag=results[Task.ANNOTATE],
        search=results[Task.RANK],
        best={task.value: found.best(task) for task in found.performances},
        held_out={task.value: number for task, number in found.n_held_out.items()},
        n_splits=found.n_splits,
        not_measured=list(found.left_out),
        skipped=found.skipped,
        left_out=list(left_out.values()),
    )


def _result(found: Comparison, task: Task, performance: Performance) -> MethodResult:
    name = performance.method
    attempt = found.attempts[name]
    error = attempt.error(task)
    return MethodResult(
        name=name,
        method=attempt.candidate.method.name,
        recipe=attempt.candidate.recipe,
        values=performance.values[task],
        error=error if math.isfinite(error) else None,
        fit_seconds=performance.fit_seconds,
        answer_seconds=performance.answer_seconds,
        letter=found.letter(task, name),
        beats=found.beats[task].get(name, ""),
    )
