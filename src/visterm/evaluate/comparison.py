"""Compares methods and features on the same held-out pictures, and says which differences are significant."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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
    Split,
    has_labels,
    learns_from_untagged,
    measure,
    validation_split,
)
from visterm.registry import Method

#: With fewer held-out pictures than this, splits are repeated, at most ``_MAX_SPLITS`` times.
_HELD_OUT, _MAX_SPLITS = 200, 5


@dataclass(frozen=True, slots=True)
class Contestant:
    """A method on some features; its name is that of the method, with the recipe where several are compared."""

    name: str
    method: Method
    recipe: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """How contestants did on the same held-out pictures, by task, the baseline first.

    Figures are means over ``n_splits`` splits. ``errors`` has the standard errors of the tasks' first measures.
    ``n_held_out`` has the number of different held-out pictures by task. Within a task the contestants have the letters
    a, b, c, ... in their order. ``beats`` gives for each the letters of those it is significantly better than, by the
    task's first measure per picture or query (see :func:`~visterm.evaluate.letters`). One that saw other pictures than
    the first has no entry. ``left_out`` were not run for lack of time; ``skipped`` has the reasons why others could not
    be run.
    """

    contestants: dict[str, Contestant]
    performances: dict[Task, list[Performance]]
    errors: dict[Task, dict[str, float]]
    n_held_out: dict[Task, int]
    n_splits: int
    beats: dict[Task, dict[str, str]]
    left_out: tuple[str, ...]
    skipped: dict[str, str]

    def letter(self, task: Task, name: str) -> str:
        """The letter of a contestant."""
        names = [performance.method for performance in self.performances[task]]
        return ascii_letters[names.index(name)] if name in self.beats[task] else ""

    def best(self, task: Task) -> list[str]:
        """The one with the best value of the task's first measure, then those it is not significantly better than.

        Baselines are for comparison only.
        """
        name = STANDARD_MEASURES[task][0].name
        able = [each for each in self.performances[task] if not self.contestants[each.method].method.is_baseline]
        ordered = [each.method for each in sorted(able, key=lambda each: -each.values[task][name])]
        beaten = self.beats[task].get(ordered[0], "") if ordered else ""
        return [
            contestant
            for place, contestant in enumerate(ordered)
            if place == 0 or (contestant in self.beats[task] and self.letter(task, contestant) not in beaten)
        ]


def compare(
    methods: Sequence[Method],
    data_of: Callable[[str], Dataset],
    *,
    recipes: Sequence[str] = (),
    max_seconds: float = math.inf,
) -> Comparison:
    """Measure ``methods`` (all, if none are given) and the baselines of their tasks, at these tasks.

    ``data_of`` returns the data set with the features of a recipe. With ``recipes``, every method is measured on each
    of them instead of its own. After ``max_seconds`` no further contestant is started. A method that cannot take the
    features, or fails on the data, is skipped.
    """
    started = time.perf_counter()
    chosen = list(methods) or registry.methods()
    baselines = [registry.baseline(task) for task in Task if any(method.does(task) for method in chosen)]
    contestants = _contestants(baselines, chosen, recipes)
    skipped = {name: reason for name, each in contestants.items() if (reason := _cannot_take(each))}
    if skipped and all(name in skipped or each.method.is_baseline for name, each in contestants.items()):
        raise InputError(_nothing_measured(skipped))
    measured: dict[str, tuple[list[Performance], Dataset]] = {}
    left_out: list[str] = []
    datasets: dict[str, tuple[Dataset, list[Split]]] = {}
    for name, each in contestants.items():
        if name in skipped:
            continue
        if not each.method.is_baseline and time.perf_counter() - started > max_seconds:
            left_out.append(name)
            continue
        if each.recipe not in datasets:
            data = data_of(each.recipe)
            datasets[each.recipe] = data, _splits(data)
        data, splits = datasets[each.recipe]
        if not has_labels(each.method, data):
            continue
        transductive = learns_from_untagged(each.method)
        seen = data.without_features() if each.method.is_baseline else data
        try:
            found = [measure(each.method, seen, split, transductive=transductive).performance for split in splits]
        except InputError as error:
            skipped[name] = str(error)
            continue
        measured[name] = (found, data)
    if not measured:
        raise InputError(_nothing_measured(skipped))
    asked = [each.method for name, each in contestants.items() if each.method in chosen and name not in skipped]
    tasks = [task for task in Task if any(method.does(task) for method in asked)]
    if not tasks:
        raise InputError(_nothing_measured(skipped))
    return _comparison(tasks, contestants, measured, tuple(left_out), skipped, next(iter(datasets.values())))


def _contestants(
    baselines: Sequence[Method], chosen: Sequence[Method], recipes: Sequence[str]
) -> dict[str, Contestant]:
    """Baselines, which look at no features, once; every other method on its own recipe or on each of ``recipes``."""
    first = recipes[0] if recipes else None
    entries = [Contestant(method.name, method, first or method.recipe) for method in baselines]
    several = len(recipes) > 1
    entries += [
        Contestant(f"{method.name} {recipe}" if several else method.name, method, recipe)
        for method in chosen
        if not method.is_baseline
        for recipe in recipes or (method.recipe,)
    ]
    return {entry.name: entry for entry in entries}


def _cannot_take(contestant: Contestant) -> str:
    """Why a method cannot take the features of a recipe; empty if it can. Nothing is computed."""
    from visterm.vision.recipes import recipe as recipe_named

    if contestant.method.takes_any_features or contestant.method.is_baseline:
        return ""
    recipe = recipe_named(contestant.recipe)
    if len(recipe.outputs) > 1:
        return f"{contestant.method.name} takes one feature, and {recipe.name} has {len(recipe.outputs)}"
    if recipe.has_negatives:
        return f"{contestant.method.name} takes no negative numbers, and {recipe.name} has some"
    return ""


def _splits(data: Dataset) -> list[Split]:
    """The split that came with the pictures; else random ones, several if few pictures are held out in each.

    There is none if nothing is labelled.
    """
    if not (data.has_class | data.has_tags).any():
        return []
    first = validation_split(data)
    if data.is_test.any():
        return [first]
    n_splits = min(_MAX_SPLITS, math.ceil(_HELD_OUT / len(first.test)))
    return [first, *(validation_split(data, random_state=seed) for seed in range(1, n_splits))]


def _comparison(
    tasks: Sequence[Task],
    contestants: dict[str, Contestant],
    measured: dict[str, tuple[list[Performance], Dataset]],
    left_out: tuple[str, ...],
    skipped: dict[str, str],
    first: tuple[Dataset, list[Split]],
) -> Comparison:
    performances: dict[Task, list[Performance]] = {}
    errors: dict[Task, dict[str, float]] = {}
    beats: dict[Task, dict[str, str]] = {}
    n_held_out: dict[Task, int] = {}
    data, splits = first
    held_out = np.unique(np.concatenate([split.test for split in splits]))
    for task in tasks:
        able = {name: (_mean(name, found), own) for name, (found, own) in measured.items() if task in found[0].values}
        if not able:
            continue
        performances[task] = [performance for performance, _ in able.values()]
        errors[task] = {name: _error(task, measured[name][0]) for name in able}
        beats[task] = _beats(task, list(able.values()))
        labelled = data.has_class if task is Task.CLASSIFY else data.has_tags
        n_held_out[task] = int(labelled[held_out].sum())
    return Comparison(contestants, performances, errors, n_held_out, len(splits), beats, left_out, skipped)


def _mean(name: str, found: Sequence[Performance]) -> Performance:
    """The mean of the figures over splits. Single pictures and queries are those of the first split: a test needs
    independent ones.
    """
    first = found[0]
    values = {
        task: {
            measure: float(np.mean([each.values[task][measure] for each in found if measure in each.values[task]]))
            for measure in of_task
        }
        for task, of_task in first.values.items()
    }
    return replace(
        first,
        method=name,
        values=values,
        fit_seconds=float(np.mean([performance.fit_seconds for performance in found])),
        answer_seconds=float(np.mean([performance.answer_seconds for performance in found])),
    )


def _error(task: Task, found: Sequence[Performance]) -> float:
    """The standard error of the first measure; splits share pictures, so repeating them does not make it smaller."""
    each = np.concatenate([performance.each[task] for performance in found])
    each = each[np.isfinite(each)]
    return float(each.std() / math.sqrt(max(1.0, len(each) / len(found)))) if len(each) else math.nan


def _beats(task: Task, measured: Sequence[tuple[Performance, Dataset]]) -> dict[str, str]:
    """For each contestant, the letters of those it is significantly better than."""
    _, first = measured[0]
    paired = {
        performance.method: letter
        for letter, (performance, data) in zip(ascii_letters, measured, strict=False)
        if _same_labels(data, first)
    }
    values = {performance.method: performance.each[task] for performance, _ in measured if performance.method in paired}
    measure = STANDARD_MEASURES[task][0]
    beaten = letters(values, higher_is_better=measure.higher_is_better, baseline=registry.baseline(task).name)
    sign = 1 if measure.higher_is_better else -1
    worth = {performance.method: sign * performance.values[task][measure.name] for performance, _ in measured}
    # The test numbers only the contestants it compares: translate to the letters of all. It sees the first split, so
    # nobody beats a contestant whose mean over all splits is better.
    own = dict(zip(ascii_letters, paired.items(), strict=False))
    return {
        name: "".join(mark for loser, mark in map(own.__getitem__, found) if worth[name] > worth[loser])
        for name, found in beaten.items()
    }


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


def _nothing_measured(skipped: dict[str, str]) -> str:
    if skipped:
        return "nothing can be measured: " + "; ".join(skipped.values())
    return "nothing can be measured: no picture has a class or tags; add labels first"
