"""From labelled pictures to a model that is measured before it is kept."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm import registry
from visterm.app.describing import describe, described, ready_recipe
from visterm.app.workspace import Workspace
from visterm.compute import progress
from visterm.contracts import Task
from visterm.errors import InputError
from visterm.learning.dataset import Dataset, encode_classes
from visterm.learning.protocol import (
    MAX_QUERY_WORDS,
    STANDARD_MEASURES,
    Outcome,
    fit_method,
    run,
    tag_counts,
    validation_split,
)
from visterm.measures import evaluate
from visterm.models import Model, ModelInfo, save_model
from visterm.ranking import queries
from visterm.registry import Method
from visterm.search.pairs import log_pairs_of, pairs_of
from visterm.search.relevance import Relevance, word_scores
from visterm.vision.recipes.base import Recipe

#: What is learned only to measure is learned from so many queries.
_FEW_QUERIES = 200


def labelled(workspace: Workspace, recipe: Recipe) -> Dataset:
    """The collection as arrays: all readable pictures, what people and imports said of them, their features."""
    describe(workspace, recipe)
    truth = workspace.catalogue.truth()
    if not len(truth):
        raise InputError("there are no pictures yet: add some with 'visterm add FOLDER'")
    X, rows = described(workspace, recipe, truth)
    y, class_names = encode_classes([truth.classes[row] for row in rows])
    splits = tuple(truth.splits[row] for row in rows)
    return Dataset(workspace.folder.name, X, y, class_names, truth.tags[rows], tuple(truth.tag_names), splits)


def train(
    workspace: Workspace,
    method_name: str,
    *,
    name: str | None = None,
    recipe_name: str | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> ModelInfo:
    """Train a method on everything labelled, measure it on pictures held out, and keep it as a new version.

    It is measured first, by training on a part only; the model that is kept has learned from all labelled pictures
    except those that came marked as test pictures.
    """
    method = registry.get(method_name)
    name = name or method.name
    version = workspace.next_version(name)
    recipe = ready_recipe(workspace, recipe_name or method.recipe)
    data = labelled(workspace, recipe)
    _require_labels(method, data)
    metrics, floor_metrics = _measure(method, data, parameters)
    own = data.select(np.flatnonzero(~data.is_test))
    started = time.perf_counter()
    with progress.task(f"Training {method.name}"):
        estimator = fit_method(method, own, parameters)
    seconds = time.perf_counter() - started
    relevance, found = _learn_relevance(method, own, parameters)
    if relevance is not None and data.is_test.any():
        test = data.select(np.flatnonzero(data.is_test & data.has_tags))
        _, pairs = pairs_of(estimator)
        log_pairs = log_pairs_of(estimator, test.X) if pairs else None
        log_p = relevance.log_probabilities(word_scores(estimator, test.X))
        found = _measure_search(log_p, log_pairs, pairs, test, relevance)
    if found and metrics:
        own_name, (first, *_) = "AvgP by own scores", STANDARD_MEASURES[Task.RANK]
        metrics = metrics | found | {own_name: metrics[first.name]}
    learns_class, learns_tags = Task.CLASSIFY in method.tasks, method.does(Task.RANK)
    info = ModelInfo(
        name=name,
        version=version,
        method=method.name,
        tasks=tuple(sorted(method.tasks)),
        classes=data.class_names if learns_class else (),
        tags=data.tag_names if learns_tags else (),
        tag_counts=tuple(tag_counts(own).tolist()) if learns_tags else (),
        n_tagged=int(own.has_tags.sum()) if learns_tags else 0,
        recipe=recipe.name,
        recipe_hash=recipe.hash,
        training={
            "pictures": len(own),
            "pictures_with_class": int(own.has_class.sum()),
            "pictures_with_tags": int(own.has_tags.sum()),
            "parameters": {key: str(value) for key, value in estimator.get_params(deep=False).items()},
            "seconds": round(seconds, 3),
            **({} if relevance is None else {"search_finds_nothing_below": round(relevance.nothing_below_, 2)}),
        },
        metrics=metrics,
        floor_metrics=floor_metrics,
    )
    save_model(Model(info, estimator, recipe, relevance), workspace.model_folder(name, version))
    return info


@dataclass(frozen=True, slots=True)
class Comparison:
    """How methods did on the same held-out pictures, by task, the floor first; and those there was no time for."""

    outcomes: dict[Task, list[Outcome]]
    left_out: tuple[str, ...]


def compare(
    workspace: Workspace,
    method_names: Sequence[str] = (),
    *,
    recipe_name: str | None = None,
    max_seconds: float = math.inf,
) -> Comparison:
    """Measure methods (by default all) and the floor; after ``max_seconds`` no further method is begun."""
    started = time.perf_counter()
    chosen = [registry.get(name) for name in method_names] or registry.methods()
    floors = [registry.floor(task) for task in Task if any(method.does(task) for method in chosen)]
    ordered = list(dict.fromkeys([*floors, *chosen]))
    outcomes = []
    left_out = []
    datasets: dict[str, Dataset] = {}
    for method in ordered:
        if not method.is_floor and time.perf_counter() - started > max_seconds:
            left_out.append(method.name)
            continue
        wanted = recipe_name or method.recipe
        if wanted not in datasets:
            datasets[wanted] = labelled(workspace, ready_recipe(workspace, wanted))
        data = datasets[wanted]
        if _has_labels(method, data):
            outcomes.append(run(method, data, validation_split(data), transductive=_is_transductive(method)))
    if not outcomes:
        raise InputError("nothing can be measured: no picture has a class or tags; add labels first")
    by_task = {task: [outcome for outcome in outcomes if task in outcome.values] for task in Task}
    return Comparison({task: listed for task, listed in by_task.items() if listed}, tuple(left_out))


def _measure(
    method: Method, data: Dataset, parameters: Mapping[str, Any] | None
) -> tuple[dict[str, float], dict[str, float]]:
    """The method's measures on held-out pictures and the floor's; empty where too few pictures are labelled."""
    try:
        split = validation_split(data)
        outcome = run(method, data, split, parameters=parameters, transductive=_is_transductive(method))
    except InputError:
        # One labelled picture, or one class only, can be learned from but not measured on.
        return {}, {}
    floor_values: dict[str, float] = {}
    for task in outcome.values:
        floor = registry.floor(task)
        floor_values |= run(floor, data, split).values[task]
    return outcome.flat(), floor_values


def _is_transductive(method: Method) -> bool:
    """Whether the method learns from the pictures it is to tag: measured as it is used, it sees those held out, too."""
    return getattr(method.load(), "learns_from_untagged", False)


def _learn_relevance(
    method: Method, own: Dataset, parameters: Mapping[str, Any] | None
) -> tuple[Relevance | None, dict[str, float]]:
    """How sure the method may be when it searches, and how well it does, from pictures held out of a fit of its own.

    Pictures that came marked as test pictures take no part in it. None where too few pictures are tagged.
    """
    if not method.does(Task.RANK):
        return None, {}
    try:
        split = validation_split(own)
        train, held_out = own.select(split.train), own.select(split.test[own.has_tags[split.test]])
        with progress.task(f"Learning how sure {method.name} may be"):
            estimator = fit_method(method, train, parameters)
            scores = word_scores(estimator, held_out.X)

            def learned(rows: NDArray[np.intp], **settings: Any) -> Relevance:
                return Relevance(**settings).fit(
                    scores[rows],
                    held_out.tags[rows],
                    tag_counts=tag_counts(train),
                    n_tagged=int(train.has_tags.sum()),
                    asked=train.tags,
                )

            every = np.arange(len(held_out))
            relevance = learned(every)
            _, pairs = pairs_of(estimator)
            log_pairs = log_pairs_of(estimator, held_out.X) if pairs else None
            if log_pairs is not None:
                relevance.fit_pairs(relevance.log_probabilities(scores), log_pairs, pairs, held_out.tags)
            log_p = np.empty(scores.shape, np.float32)
            try:
                for half in (every % 2 == 0, every % 2 == 1):  # each half by what was learned from the other
                    log_p[half] = learned(every[~half], n_queries=_FEW_QUERIES).log_probabilities(scores[half])
            except InputError:
                return relevance, {}
            return relevance, _measure_search(log_p, log_pairs, pairs, held_out, relevance)
    except InputError:
        # Too few to hold some out: the model can search, but nobody knows how sure it may be.
        return None, {}


def _measure_search(
    log_p: NDArray[np.floating[Any]],
    log_pairs: NDArray[np.float32] | None,
    pairs: Sequence[tuple[int, int]],
    held_out: Dataset,
    relevance: Relevance,
) -> dict[str, float]:
    """The measures of a search among pictures held out, ranked by the probability that they fit all words."""
    column = {pair: i for i, pair in enumerate(pairs)}
    asked = queries.from_tags(held_out.tags, max_words=MAX_QUERY_WORDS)
    scores = [relevance.joint(log_p, words, log_pairs, column) for words in asked.columns()]
    return evaluate(STANDARD_MEASURES[Task.RANK], asked.relevance, np.stack(scores))


def _has_labels(method: Method, data: Dataset) -> bool:
    classes, tags = bool(data.has_class.any()), bool(data.has_tags.any())
    return (Task.CLASSIFY in method.tasks and classes) or (method.does(Task.RANK) and tags)


def _require_labels(method: Method, data: Dataset) -> None:
    if not _has_labels(method, data):
        wanted = "a class" if Task.CLASSIFY in method.tasks else "tags"
        raise InputError(f"{method.name} learns from pictures with {wanted}, and none has any: import or add labels")
