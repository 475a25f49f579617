"""Chooses method and features for a task by comparing a few on held-out training pictures, within a time budget."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute import progress
from visterm.contracts import Task
from visterm.errors import InputError
from visterm.learn import Dataset
from visterm.learn.engine import splits
from visterm.learn.engine.attempts import Attempt, Candidate, Measuring, attempt, by_measures, repeated
from visterm.learn.engine.splits import Split

#: The comparison uses at most this many labelled pictures.
MAX_PICTURES = 1500
_TEST_SHARE = 0.25
#: What takes less than this share of the time is tried even if the features took all of it.
_CHEAP = 0.05
#: Features that cost more must be better by this many standard errors of the paired differences.
_WORTH = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The best of what was tried, in the order of trying, and what there was no time for.

    ``half_value`` is what the best reaches with half of the training pictures; None if they are too few.
    """

    best: Attempt
    tried: tuple[Attempt, ...]
    untried: tuple[str, ...]
    half_value: float | None


def sample_rows(data: Dataset, task: Task, *, most: int = MAX_PICTURES, random_state: int = 0) -> NDArray[np.int64]:
    """Rows to compare on: training pictures with the labels of the task, all of them or a sample of many.

    Every class keeps its share of the pictures, and at least two if it has them.
    """
    rows = np.flatnonzero(data.labelled(task) & ~data.is_test)
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
    """Splits of labelled pictures into a part to learn from and a part to measure on."""
    groups = data.y if task is Task.CLASSIFY else np.zeros(len(data), int)
    return repeated(lambda seed: splits.stratified(groups, _TEST_SHARE, random_state=seed), _TEST_SHARE * len(data))


def choose(
    task: Task,
    candidates: Sequence[Candidate],
    recipes: Sequence[str],
    data_of: Callable[[str], Dataset],
    *,
    seconds: float,
    cost_of: Callable[[str], float] = lambda _: 0.0,
    variants: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    measuring: Measuring = by_measures,
) -> Choice:
    """Compare ``candidates``, all on the first of ``recipes``; then the best of them on the others, the cheapest first.

    Then the best method is tried with other parameters on its features: ``variants`` by the name of the method.
    ``data_of`` gives the labelled pictures with the features of a recipe; ``cost_of`` says about how many seconds that
    takes. What would not end within ``seconds`` is left out, but the first candidate is always tried. A recipe that
    costs more is chosen if it is better by more than half a standard error. Methods that take only one feature are not
    tried on joined recipes.

    >>> from scipy.sparse import csr_array
    >>> from visterm import registry
    >>> known, rng = np.repeat([[1, 0], [0, 1]], 20, axis=0), np.random.default_rng(0)
    >>> tags = csr_array(known, dtype=float)
    >>> data = Dataset("pictures", known + rng.random((40, 2)), np.full(40, -1), (), tags, ("sea", "car"))
    >>> features = {"colour": data, "globals": replace(data, X=rng.random((40, 3)))}
    >>> both = [Candidate(registry.get(name), "colour") for name in ("ridge-tags", "knn-tags")]
    >>> choice = choose(Task.ANNOTATE, both, ["colour", "globals"], features.__getitem__, seconds=60)
    >>> choice.best.candidate.recipe, len(choice.tried), len(choice.best.performances)
    ('colour', 3, 5)
    """
    started = time.perf_counter()
    first = data_of(recipes[0])
    parts = comparison_splits(first, task)
    tried: list[Attempt] = []
    untried: list[str] = []

    def attempted(candidate: Candidate) -> None:
        expected = cost_of(candidate.recipe) + (_like(tried[-1], candidate.recipe) if tried else 0.0)
        if tried and expected > _CHEAP * seconds and time.perf_counter() - started + expected > seconds:
            untried.append(str(candidate))
            return
        data = first if candidate.recipe == recipes[0] else data_of(candidate.recipe)
        tried.append(attempt(candidate, data, parts, tasks=(task,), measuring=measuring))

    with progress.task(f"Choosing how to {task}", total=len(candidates) + len(recipes) - 1) as bar:
        for candidate in candidates:
            attempted(candidate)
            bar.advance()
        for recipe in recipes[1:]:
            able = [each for each in tried if each.candidate.method.takes_any_features or "+" not in recipe]
            if able:
                attempted(replace(max(able, key=lambda each: _mean_worth(each, task)).candidate, recipe=recipe))
            bar.advance()
        best = _worth_it(task, tried, recipes).candidate
        for variant in (variants or {}).get(best.method.name, ()):
            attempted(replace(best, parameters=variant))
    chosen = _worth_it(task, tried, recipes)
    # A search is as good as its tags: these tell what more labelled pictures bring.
    half = None if task is Task.RANK else _value_at_half(task, chosen.candidate, data_of, parts[0], measuring)
    return Choice(chosen, tuple(tried), tuple(untried), half)


def _like(last: Attempt, recipe: str) -> float:
    """About how many seconds the next attempt takes: as many as the last, in proportion to the number of features."""
    return last.seconds * (recipe.count("+") + 1) / (last.candidate.recipe.count("+") + 1)


def _worth_it(task: Task, tried: Sequence[Attempt], recipes: Sequence[str]) -> Attempt:
    """The best on the cheapest features; then each costlier one that is better by enough."""
    by_cost = sorted(tried, key=lambda each: (recipes.index(each.candidate.recipe), -_mean_worth(each, task)))
    best = by_cost[0]
    for other in by_cost[1:]:
        if other.candidate.recipe == best.candidate.recipe:
            continue
        gain = other.worth(task) - best.worth(task)
        gain = gain[np.isfinite(gain)]
        if gain.mean() > _WORTH * gain.std() / math.sqrt(len(gain)) and gain.mean() > 0:
            best = other
    return best


def _mean_worth(attempt: Attempt, task: Task) -> float:
    """The mean of what candidates are compared by."""
    return float(np.nanmean(attempt.worth(task)))


def _value_at_half(
    task: Task, best: Candidate, data_of: Callable[[str], Dataset], split: Split, measuring: Measuring
) -> float | None:
    """The value with half of the training pictures, to tell what more labelled pictures would bring."""
    data = data_of(best.recipe)
    try:
        half = splits.stratified(data.y[split.train], 0.5, random_state=0)
        part = Split.of(split.train[half.train], split.test)
        return attempt(best, data, [part], tasks=(task,), measuring=measuring).value(task)
    except InputError:
        return None
