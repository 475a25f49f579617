"""Chooses method and features for a task by comparing a few on held-out training pictures, within a time budget."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute import progress
from visterm.contracts import Task
from visterm.errors import InputError
from visterm.learning import Dataset, splits
from visterm.learning.fitting import learns_from_untagged
from visterm.learning.measuring import STANDARD_MEASURES, measure
from visterm.learning.splits import Split
from visterm.registry import Method

Floats = NDArray[np.floating[Any]]
Parameters = Mapping[str, Any]
#: The values of a task's main measure, one per held-out picture or query, of a method fitted to a part of the data.
MeasureEach = Callable[[Method, Dataset, Split, Parameters], Floats]

#: The comparison uses at most this many labelled pictures.
MAX_PICTURES = 1500
#: This many pictures are held out in all, in at most ``_MAX_SPLITS`` splits.
_HELD_OUT, _MAX_SPLITS = 200, 5
_TEST_SHARE = 0.25
#: What takes less than this share of the time is tried even if the features took all of it.
_CHEAP = 0.05
#: Features that cost more must be better by this many standard errors of the paired differences.
_WORTH = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Tried:
    """A method on some features, and what it reached; ``error`` is the standard error of ``value``.

    ``seconds`` do not include the features.
    """

    method: Method
    recipe: str
    value: float
    error: float
    seconds: float
    each: Floats
    parameters: Parameters = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The best of what was tried, in the order of trying, and what there was no time for.

    ``half_value`` is what the best reaches with half of the training pictures; None if they are too few.
    """

    best: Tried
    tried: tuple[Tried, ...]
    untried: tuple[str, ...]
    n_pictures: int
    n_held_out: int
    n_splits: int
    half_value: float | None


def sample_rows(data: Dataset, task: Task, *, most: int = MAX_PICTURES, random_state: int = 0) -> NDArray[np.int64]:
    """Rows to compare on: training pictures with the labels of the task, all of them or a sample of many.

    Every class keeps its share of the pictures, and at least two if it has them.
    """
    labelled = data.has_class if task is Task.CLASSIFY else data.has_tags
    rows = np.flatnonzero(labelled & ~data.is_test)
    if len(rows) <= most:
        return rows
    rng = np.random.default_rng(random_state)
    if task is not Task.CLASSIFY:
        return np.sort(rng.choice(rows, most, replace=False))
    kept = []
    for label in np.unique(data.y[rows]):
        own = rng.permutation(rows[data.y[rows] == label])
        kept.append(own[: max(2, round(most * len(own) / len(rows)))])
    return np.sort(np.concatenate(kept))


def comparison_splits(data: Dataset, task: Task) -> list[Split]:
    """Splits of labelled pictures into a part to learn from and a part to measure on; more splits where few are held
    out in each.
    """
    n_splits = min(_MAX_SPLITS, math.ceil(_HELD_OUT / max(1.0, _TEST_SHARE * len(data))))
    groups = data.y if task is Task.CLASSIFY else np.zeros(len(data), int)
    return [splits.stratified(groups, _TEST_SHARE, random_state=seed) for seed in range(n_splits)]


def choose(
    task: Task,
    methods: Sequence[Method],
    recipes: Sequence[str],
    data_of: Callable[[str], Dataset],
    *,
    seconds: float,
    cost_of: Callable[[str], float] = lambda _: 0.0,
    measure_each: MeasureEach | None = None,
    variants: Mapping[str, Sequence[Parameters]] | None = None,
    parameters: Mapping[str, Parameters] | None = None,
) -> Choice:
    """Compare ``methods`` on the first of ``recipes``, then the best of them on the others, the cheapest first.

    Then the best method is tried with other parameters on its features: ``variants`` by the name of the method.
    ``parameters`` by the name of a method are those that it is compared with, if not its usual ones.

    ``data_of`` gives the labelled pictures with the features of a recipe; ``cost_of`` says about how many seconds that
    takes. What would not end within ``seconds`` is left out, but the first method on the first recipe is always tried.
    A recipe that costs more is chosen if it is better by more than half a standard error. Methods that take only one
    feature are not tried on joined recipes.
    """
    started = time.perf_counter()
    of_task = measure_each or _main_values(task)
    first = data_of(recipes[0])
    parts = comparison_splits(first, task)
    tried: list[Tried] = []
    untried: list[str] = []

    def attempt(method: Method, recipe: str, variant: Parameters | None = None) -> None:
        used = (parameters or {}).get(method.name, {}) if variant is None else variant
        expected = cost_of(recipe) + (_like(tried, recipe) if tried else 0.0)
        if tried and expected > _CHEAP * seconds and time.perf_counter() - started + expected > seconds:
            untried.append(f"{method.name}{_written(used)} on {recipe}")
            return
        data = first if recipe == recipes[0] else data_of(recipe)
        began = time.perf_counter()
        each = [of_task(method, data, part, used) for part in parts]
        tried.append(_tried(method, recipe, each, time.perf_counter() - began, used))

    with progress.task(f"Choosing how to {task}", total=len(methods) + len(recipes) - 1) as bar:
        for method in methods:
            attempt(method, recipes[0])
            bar.advance()
        for recipe in recipes[1:]:
            able = [each for each in tried if each.method.takes_any_features or "+" not in recipe]
            if able:
                attempt(max(able, key=lambda each: each.value).method, recipe)
            bar.advance()
        best = _worth_it(tried, recipes)
        for variant in (variants or {}).get(best.method.name, ()):
            attempt(best.method, best.recipe, variant)
    best = _worth_it(tried, recipes)
    # A search is as good as its tags: what more labelled pictures bring is told of them.
    half = None if task is Task.RANK else _value_at_half(best, data_of(best.recipe), parts[0], of_task)
    n_held_out = len(np.unique(np.concatenate([part.test for part in parts])))
    return Choice(best, tuple(tried), tuple(untried), len(first), n_held_out, len(parts), half)


def _main_values(task: Task) -> MeasureEach:
    def values(method: Method, data: Dataset, split: Split, parameters: Parameters) -> Floats:
        transductive = learns_from_untagged(method)
        found = measure(method, data, split, parameters=parameters, tasks=(task,), transductive=transductive)
        return found.performance.each[task]

    return values


def _written(parameters: Parameters) -> str:
    """Parameters as a person writes them."""
    return "".join(f" {name}={value}" for name, value in parameters.items())


def _tried(method: Method, recipe: str, each: Sequence[Floats], seconds: float, parameters: Parameters) -> Tried:
    values = np.concatenate(each)
    values = values[np.isfinite(values)]
    if not len(values):
        name = STANDARD_MEASURES[Task.CLASSIFY][0].name
        raise InputError(f"{method.name} cannot be compared: no held-out picture gives a value of {name} or the like")
    error = float(values.std() / math.sqrt(max(1, len(values) / len(each))))
    return Tried(method, recipe, float(values.mean()), error, seconds, np.concatenate(each), parameters)


def _like(tried: Sequence[Tried], recipe: str) -> float:
    """About how many seconds the next attempt takes: as many as the last, in proportion to the number of features."""
    last = tried[-1]
    return last.seconds * (recipe.count("+") + 1) / (last.recipe.count("+") + 1)


def _worth_it(tried: Sequence[Tried], recipes: Sequence[str]) -> Tried:
    """The best on the cheapest features; then each costlier one that is better by enough."""
    by_cost = sorted(tried, key=lambda each: (recipes.index(each.recipe), -each.value))
    best = by_cost[0]
    for other in by_cost[1:]:
        if other.recipe == best.recipe:
            continue
        gain = other.each - best.each
        gain = gain[np.isfinite(gain)]
        if gain.mean() > _WORTH * gain.std() / math.sqrt(len(gain)) and gain.mean() > 0:
            best = other
    return best


def _value_at_half(best: Tried, data: Dataset, split: Split, of_task: MeasureEach) -> float | None:
    """The value with half of the training pictures, to tell what more labelled pictures would bring."""
    try:
        half = splits.stratified(data.y[split.train], 0.5, random_state=0)
        values = of_task(best.method, data, Split.of(split.train[half.train], split.test), best.parameters)
    except InputError:
        return None
    return float(np.nanmean(values))
