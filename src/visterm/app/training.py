"""From labelled pictures to a model that is measured before it is kept."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from visterm import registry
from visterm.app.document import Document
from visterm.app.features import described, ready_recipe, stored_features
from visterm.app.wording import counted
from visterm.compute import progress
from visterm.contracts import Task
from visterm.errors import InputError
from visterm.evaluate import Comparison, compare
from visterm.learning import Dataset, Performance, Trained, encode_classes, learns_from_untagged, train_method
from visterm.models import Model, ModelInfo, save_model
from visterm.search.learned import learned_search
from visterm.vision.recipes.base import Recipe

if TYPE_CHECKING:
    from visterm.app.collection import Collection
    from visterm.app.workspace import Workspace


@dataclass(frozen=True)
class TrainedModel(ModelInfo, Document):
    """All that is known of a model that was just trained."""

    @classmethod
    def of(cls, info: ModelInfo) -> Self:
        """The same as a document."""
        return cls(**{item.name: getattr(info, item.name) for item in fields(ModelInfo)})


@dataclass(frozen=True)
class Models(Document):
    """The models of a workspace, the newest last, and the reference of the one in use for each task."""

    models: list[ModelInfo]
    in_use: dict[str, str]


@dataclass(frozen=True)
class MethodSummary:
    """A method: its name, what it can do, its default features, what it does, and who proposed it.

    ``preset`` has the parameters that it uses where its class has other defaults.
    """

    name: str
    tasks: list[str]
    recipe: str
    summary: str
    reference: str
    preset: dict[str, Any]


@dataclass(frozen=True)
class Methods(Document):
    """The methods there are, the baselines first."""

    methods: list[MethodSummary]


@dataclass(frozen=True)
class MethodResult:
    """How well a method did a task on some features: its measures by name, and the seconds to fit and to answer.

    ``name`` is that of the method, with the recipe where several are compared. ``error`` is the standard error of the
    first measure. ``letter`` stands for the result; ``beats`` has the letters of those it is significantly better than.
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
    task the best result, then those it is not significantly better than; ``not_measured`` are those there was no time
    for; ``skipped`` says why others could not be measured.
    """

    classify: list[MethodResult]
    tag: list[MethodResult]
    search: list[MethodResult]
    best: dict[str, list[str]]
    held_out: dict[str, int]
    n_splits: int
    not_measured: list[str]
    skipped: dict[str, str]

    def tasks(self) -> dict[str, list[MethodResult]]:
        """The results by task, for tasks that were measured."""
        named = {Task.CLASSIFY: self.classify, Task.ANNOTATE: self.tag, Task.RANK: self.search}
        return {task.value: results for task, results in named.items() if results}


def labelled(workspace: Workspace, collection: Collection, recipe: Recipe, rows: NDArray[Any] | None = None) -> Dataset:
    """The collection as arrays: readable pictures, what people and imports said of them, their features.

    ``rows`` are those of :func:`labels_only` (default: all); only their features are computed. The caller keeps one
    ``collection`` for all that it compares, whatever others add or label in the meantime.
    """
    labels = labels_only(workspace, collection)
    chosen = np.arange(len(labels)) if rows is None else np.asarray(rows)
    keys = collection.truth.sha256
    wanted = [keys[row] for row in chosen]
    places, failed = described(workspace, recipe, wanted, wait=True)
    if failed:
        left_out = f"{counted(len(failed), 'picture')} of {len(wanted)}"
        progress.note(f"{left_out} cannot be learned from; the first is {failed[0]}")
    X = stored_features(workspace, recipe, [wanted[place] for place in places])
    return replace(labels.select(chosen[places]), X=X)


def labels_only(workspace: Workspace, collection: Collection) -> Dataset:
    """The readable pictures and what people and imports said of them, without features."""
    truth = collection.truth
    if not len(truth):
        raise InputError("there are no pictures yet: add some with 'visterm add FOLDER'")
    y, class_names = encode_classes(truth.classes)
    nothing = np.empty((len(truth), 0), np.float32)
    return Dataset(
        workspace.folder.name, nothing, y, class_names, truth.tags, tuple(truth.tag_names), tuple(truth.splits)
    )


def train(
    workspace: Workspace,
    method: str,
    *,
    name: str | None = None,
    recipe: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    choice: Mapping[str, Any] | None = None,
) -> TrainedModel:
    """Train a method on everything labelled, measure it on held-out pictures, and keep it as a new version.

    The model that is kept has learned from all labelled pictures except those that came marked as test pictures.
    ``choice`` is kept with the model: how it came to be chosen.
    """
    chosen = registry.get(method)
    collection = workspace.collection()
    labels = labels_only(workspace, collection)
    name = name or chosen.name
    workspace.shelf.place(name, 1)  # refuses an impossible name before the work
    ready = ready_recipe(workspace, recipe or chosen.recipe)
    # The pictures to learn from: the labelled ones, or all if the method also learns from the others.
    rows = None if learns_from_untagged(chosen) else np.flatnonzero(labels.has_class | labels.has_tags)
    data = labelled(workspace, collection, ready, rows)
    trained = train_method(chosen, data, parameters)
    relevance, found = learned_search(trained)
    own, estimator = trained.own(), trained.estimator
    learns_class, learns_tags = Task.CLASSIFY in chosen.tasks, chosen.does(Task.RANK)
    info = ModelInfo(
        name=name,
        version=0,
        method=chosen.name,
        tasks=tuple(sorted(chosen.tasks)),
        classes=data.class_names if learns_class else (),
        tags=data.tag_names if learns_tags else (),
        tag_counts=tuple(own.tag_counts.tolist()) if learns_tags else (),
        n_tagged=int(own.has_tags.sum()) if learns_tags else 0,
        recipe=ready.name,
        recipe_hash=ready.hash,
        training={
            "pictures": len(collection.truth),
            "pictures_with_class": int(own.has_class.sum()),
            "pictures_with_tags": int(own.has_tags.sum()),
            "parameters": {key: str(value) for key, value in estimator.get_params(deep=False).items()},
            "seconds": round(trained.fit_seconds, 3),
            **_about_labels(trained),
            **({} if choice is None else {"choice": dict(choice)}),
            **({} if relevance is None else {"search_finds_nothing_below": round(relevance.nothing_below_, 2)}),
        },
        metrics=trained.metrics | found,
        baseline_metrics=trained.baseline,
    )
    with workspace.shelf.adding(name) as version:
        info = replace(info, version=version)
        save_model(Model.of(info, estimator, ready, relevance), workspace.shelf.place(name, version))
    return TrainedModel.of(info)


def _about_labels(trained: Trained) -> dict[str, Any]:
    """How many pictures were held out, and how many pictures and what quality each class or tag has."""
    if trained.performance is None:
        return {}
    own = trained.own()
    parts = {
        Task.CLASSIFY: ("class", own.class_names, np.bincount(own.y[own.has_class], minlength=len(own.class_names))),
        Task.ANNOTATE: ("tags", own.tag_names, own.tag_counts),
    }
    about: dict[str, Any] = {"label_quality": {}, "label_counts": {}}
    for task, values in trained.performance.of_labels.items():
        what, names, counts = parts[task]
        about[f"held_out_{what}"] = len(trained.performance.each[task])
        for name, count, value in zip(names, counts.tolist(), values.tolist(), strict=True):
            about["label_counts"][name] = count
            if math.isfinite(value):
                about["label_quality"][name] = round(value, 3)
    return about


def models(workspace: Workspace) -> Models:
    """The trained models, the newest last, and which is in use for what."""
    best = {task.value: workspace.shelf.best(task) for task in Task}
    return Models(workspace.shelf.infos(), {task: info.reference for task, info in best.items() if info is not None})


def methods() -> Methods:
    """The methods that can be trained."""
    return Methods(
        [
            MethodSummary(
                known.name,
                [task.value for task in Task if known.does(task)],
                known.recipe,
                known.summary,
                known.reference,
                known.preset,
            )
            for known in registry.methods()
        ]
    )


def evaluate(
    workspace: Workspace,
    methods: Sequence[str] = (),
    *,
    recipes: Sequence[str] = (),
    max_seconds: float | None = None,
) -> Evaluation:
    """Measure methods (default: all) and the baselines; after ``max_seconds`` no further one is begun.

    With ``recipes``, every method is measured on each of them.
    """
    collection = workspace.collection()
    labels_only(workspace, collection)  # refuses an empty collection before the work
    found = compare(
        [registry.get(name) for name in methods],
        lambda wanted: labelled(workspace, collection, ready_recipe(workspace, wanted)),
        recipes=recipes,
        max_seconds=math.inf if max_seconds is None else max_seconds,
    )
    results = {task: [_result(found, task, each) for each in found.performances.get(task, [])] for task in Task}
    return Evaluation(
        results[Task.CLASSIFY],
        results[Task.ANNOTATE],
        results[Task.RANK],
        {task.value: found.best(task) for task in found.performances},
        {task.value: number for task, number in found.n_held_out.items()},
        found.n_splits,
        list(found.left_out),
        found.skipped,
    )


def _result(found: Comparison, task: Task, performance: Performance) -> MethodResult:
    name = performance.method
    contestant, error = found.contestants[name], found.errors[task][name]
    return MethodResult(
        name,
        contestant.method.name,
        contestant.recipe,
        performance.values[task],
        error if math.isfinite(error) else None,
        performance.fit_seconds,
        performance.answer_seconds,
        found.letter(task, name),
        found.beats[task].get(name, ""),
    )
