"""Compares methods and features on the same held-out pictures, and says which differences are significant."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from string import ascii_letters
from typing import Literal, TypeAlias

import numpy as np

from visterm import registry
from visterm.compute.parallel import Engine, map_shards
from visterm.contracts import Task
from visterm.errors import InputError
from visterm.learn import STANDARD_MEASURES, Dataset, Performance, Split, has_labels, validation_split
from visterm.learn.engine.attempts import Attempt, Candidate, attempt, repeated
from visterm.learn.engine.significance import letters
from visterm.registry import Method

#: There was no time for a candidate.
Late: TypeAlias = Literal["late"]
LATE: Late = "late"


@dataclass(frozen=True, slots=True)
class Comparison:
    """How candidates did on the same held-out pictures, by task, the baseline first.

    ``attempts`` has them by name: that of the method, with the recipe where several are compared. ``performances`` are
    means over ``n_splits`` splits. ``n_held_out`` has the number of different held-out pictures by task. Within a task
    the candidates have the letters a, b, c, ... in their order. ``beats`` gives for each the letters of those it is
    significantly better than, by the task's first measure per picture or query (see :func:`~visterm.learn.letters`).
    One that saw other pictures than the first has no entry. ``left_out`` were not run for lack of time; ``skipped`` has
    the reasons why others could not be run.
    """

    attempts: dict[str, Attempt]
    performances: dict[Task, list[Performance]]
    n_held_out: dict[Task, int]
    n_splits: int
    beats: dict[Task, dict[str, str]]
    left_out: tuple[str, ...]
    skipped: dict[str, str]

    def letter(self, task: Task, name: str) -> str:
        """The letter of a candidate."""
        names = [performance.method for performance in self.performances[task]]
        return ascii_letters[names.index(name)] if name in self.beats[task] else ""

    def best(self, task: Task) -> list[str]:
        """The one with the best value of the task's first measure, then those it is not significantly better than.

        Baselines are for comparison only.
        """
        name = STANDARD_MEASURES[task][0].name
        able = [each for each in self.performances[task] if not self.attempts[each.method].candidate.method.is_baseline]
        ordered = [each.method for each in sorted(able, key=lambda each: -each.values[task][name])]
        beaten = self.beats[task].get(ordered[0], "") if ordered else ""
        return [
            each
            for place, each in enumerate(ordered)
            if place == 0 or (each in self.beats[task] and self.letter(task, each) not in beaten)
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
    of them instead of its own. After ``max_seconds`` no further method is started. A method that cannot take the
    features, or fails on the data, is skipped.

    >>> from scipy.sparse import csr_array
    >>> known = np.repeat([[1, 0], [0, 1]], 20, axis=0)
    >>> X = known + np.random.default_rng(0).random((40, 2))
    >>> data = Dataset("pictures", X, np.full(40, -1), (), csr_array(known, dtype=float), ("sea", "car"))
    >>> comparison = compare([registry.get("knn-tags")], lambda recipe: data, recipes=["colour", "globals"])
    >>> [performance.method for performance in comparison.performances[Task.ANNOTATE]]
    ['tag-frequency', 'knn-tags colour']
    >>> comparison.skipped
    {'knn-tags globals': 'knn-tags takes one feature, and globals has 8'}
    """
    stop = time.time() + max_seconds
    chosen = list(methods) or registry.methods()
    candidates = _candidates(chosen, recipes)
    skipped = {name: reason for name, each in candidates.items() if (reason := _cannot_take(each))}
    if skipped and all(name in skipped or each.method.is_baseline for name, each in candidates.items()):
        raise InputError(_nothing_measured(skipped))
    outcomes: dict[str, Attempt | Late | InputError | None] = {}
    datasets: dict[str, tuple[Dataset, list[Split]]] = {}
    for recipe, group in _by_recipe([name for name in candidates if name not in skipped], candidates):
        if time.time() > stop and not any(candidates[name].method.is_baseline for name in group):
            outcomes |= dict.fromkeys(group, LATE)
            continue
        if recipe not in datasets:
            data = data_of(recipe)
            datasets[recipe] = data, _splits(data)
        found = _outcomes([candidates[name] for name in group], *datasets[recipe], stop)
        outcomes |= dict(zip(group, found, strict=True))
    ordered = {name: outcomes[name] for name in candidates if name in outcomes}
    attempts = {name: found for name, found in ordered.items() if isinstance(found, Attempt)}
    left_out = [name for name, found in ordered.items() if found == LATE]
    skipped |= {name: str(found) for name, found in ordered.items() if isinstance(found, InputError)}
    asked = [each.method for name, each in candidates.items() if each.method in chosen and name not in skipped]
    if not attempts or not asked:
        raise InputError(_nothing_measured(skipped))
    return _comparison(asked, attempts, datasets, tuple(left_out), skipped)


def _by_recipe(names: Sequence[str], candidates: Mapping[str, Candidate]) -> list[tuple[str, list[str]]]:
    """Those with the same recipe that follow each other; all of them, if workers elsewhere take them at a time."""
    if Engine.from_environment().is_elsewhere:
        names = sorted(names, key=lambda name: candidates[name].recipe)
    return [(recipe, list(group)) for recipe, group in groupby(names, key=lambda name: candidates[name].recipe)]


def _outcomes(
    candidates: Sequence[Candidate], data: Dataset, splits: list[Split], stop: float
) -> Iterable[Attempt | Late | InputError | None]:
    """An attempt of each candidate that has labels to learn from, or why there is none.

    Workers elsewhere get the labels, and open the features, which are laid out for them.
    """

    def outcome(each: Candidate) -> Attempt | Late | InputError | None:
        if not each.method.is_baseline and time.time() > stop:
            return LATE
        if not has_labels(each.method, data):
            return None
        try:
            return attempt(each, data.without_features() if each.method.is_baseline else data, splits)
        except InputError as error:
            return error

    engine = Engine.from_environment()
    if not engine.is_elsewhere:
        return map(outcome, candidates)
    from visterm.compute.travelling import laid_out

    data = replace(data, X=laid_out(data.X))
    return map_shards(outcome, candidates, engine=engine, ahead=1, description="Comparing methods")


def _candidates(chosen: Sequence[Method], recipes: Sequence[str]) -> dict[str, Candidate]:
    """Baselines, which look at no features, once; every other method on its own recipe or on each of ``recipes``."""
    baselines = [registry.baseline(task) for task in Task if any(method.does(task) for method in chosen)]
    named = {method.name: Candidate(method, recipes[0] if recipes else method.recipe) for method in baselines}
    for method in chosen:
        for recipe in () if method.is_baseline else recipes or (method.recipe,):
            named[f"{method.name} {recipe}" if len(recipes) > 1 else method.name] = Candidate(method, recipe)
    return named


def _cannot_take(candidate: Candidate) -> str:
    """Why a method cannot take the features of a recipe; empty if it can. Nothing is computed."""
    from visterm.vision.recipes import recipe as recipe_named

    if candidate.method.takes_any_features or candidate.method.is_baseline:
        return ""
    recipe = recipe_named(candidate.recipe)
    if len(recipe.outputs) > 1:
        return f"{candidate.method.name} takes one feature, and {recipe.name} has {len(recipe.outputs)}"
    if recipe.has_negatives:
        return f"{candidate.method.name} takes no negative numbers, and {recipe.name} has some"
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
    return repeated(lambda seed: validation_split(data, random_state=seed), len(first.test))


def _comparison(
    asked: Sequence[Method],
    attempts: dict[str, Attempt],
    datasets: dict[str, tuple[Dataset, list[Split]]],
    left_out: tuple[str, ...],
    skipped: dict[str, str],
) -> Comparison:
    """Compare the attempts at the tasks that a method was asked for."""
    performances: dict[Task, list[Performance]] = {}
    beats: dict[Task, dict[str, str]] = {}
    n_held_out: dict[Task, int] = {}
    data, splits = next(iter(datasets.values()))
    held_out = np.unique(np.concatenate([split.test for split in splits]))
    for task in (task for task in Task if any(method.does(task) for method in asked)):
        able = {name: each for name, each in attempts.items() if task in each.performances[0].values}
        if not able:
            continue
        performances[task] = [each.mean(name) for name, each in able.items()]
        seen = [datasets[each.candidate.recipe][0] for each in able.values()]
        beats[task] = _beats(task, list(zip(performances[task], seen, strict=True)))
        n_held_out[task] = int(data.labelled(task)[held_out].sum())
    return Comparison(attempts, performances, n_held_out, len(splits), beats, left_out, skipped)


def _beats(task: Task, measured: Sequence[tuple[Performance, Dataset]]) -> dict[str, str]:
    """For each candidate, the letters of those it is significantly better than."""
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
    # The test numbers only the candidates it compares: translate to the letters of all. It sees the first split, so
    # nobody beats a candidate whose mean over all splits is better.
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
