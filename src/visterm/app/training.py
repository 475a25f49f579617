"""From labelled pictures to a model that is measured before it is kept."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

from visterm import registry
from visterm.app.document import Document
from visterm.app.features import described, ready_recipe, stored_features
from visterm.contracts import Task
from visterm.errors import InputError
from visterm.evaluate import Comparison, compare
from visterm.learning import Dataset, Performance, encode_classes, train_method
from visterm.models import Model, ModelInfo, save_model
from visterm.search.learned import learned_search
from visterm.vision.recipes.base import Recipe

if TYPE_CHECKING:
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
    """The models of a workspace, the newest last."""

    models: list[ModelInfo]


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
    """How well one method did a task: its measures by name, and the seconds it took to fit and to answer.

    ``letter`` stands for the method; ``beats`` has the letters of the methods it is significantly better than.
    """

    method: str
    values: dict[str, float]
    fit_seconds: float
    answer_seconds: float
    letter: str
    beats: str


@dataclass(frozen=True)
class Evaluation(Document):
    """How methods did on the same held-out pictures, the baseline first.

    ``best`` names for each task the best method, then those it is not significantly better than; ``not_measured`` are
    the methods there was no time for.
    """

    classify: list[MethodResult]
    tag: list[MethodResult]
    search: list[MethodResult]
    best: dict[str, list[str]]
    not_measured: list[str]

    def tasks(self) -> dict[str, list[MethodResult]]:
        """The results by task, for tasks that were measured."""
        named = {Task.CLASSIFY: self.classify, Task.ANNOTATE: self.tag, Task.RANK: self.search}
        return {task.value: results for task, results in named.items() if results}


def labelled(workspace: Workspace, recipe: Recipe) -> Dataset:
    """The collection as arrays: all readable pictures, what people and imports said of them, their features."""
    _require_pictures(workspace)
    truth = workspace.collection().truth
    rows, _ = described(workspace, recipe, truth.sha256)
    X = stored_features(workspace, recipe, [truth.sha256[row] for row in rows])
    y, class_names = encode_classes([truth.classes[row] for row in rows])
    splits = tuple(truth.splits[row] for row in rows)
    return Dataset(workspace.folder.name, X, y, class_names, truth.tags[rows], tuple(truth.tag_names), splits)


def _require_pictures(workspace: Workspace) -> None:
    if not len(workspace.collection().truth):
        raise InputError("there are no pictures yet: add some with 'visterm add FOLDER'")


def train(
    workspace: Workspace,
    method: str,
    *,
    name: str | None = None,
    recipe: str | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> TrainedModel:
    """Train a method on everything labelled, measure it on held-out pictures, and keep it as a new version.

    The model that is kept has learned from all labelled pictures except those that came marked as test pictures.
    """
    chosen = registry.get(method)
    _require_pictures(workspace)
    name = name or chosen.name
    version = workspace.shelf.next_version(name)
    ready = ready_recipe(workspace, recipe or chosen.recipe)
    data = labelled(workspace, ready)
    trained = train_method(chosen, data, parameters)
    relevance, found = learned_search(trained)
    own, estimator = trained.own(), trained.estimator
    learns_class, learns_tags = Task.CLASSIFY in chosen.tasks, chosen.does(Task.RANK)
    info = ModelInfo(
        name=name,
        version=version,
        method=chosen.name,
        tasks=tuple(sorted(chosen.tasks)),
        classes=data.class_names if learns_class else (),
        tags=data.tag_names if learns_tags else (),
        tag_counts=tuple(own.tag_counts.tolist()) if learns_tags else (),
        n_tagged=int(own.has_tags.sum()) if learns_tags else 0,
        recipe=ready.name,
        recipe_hash=ready.hash,
        training={
            "pictures": len(own),
            "pictures_with_class": int(own.has_class.sum()),
            "pictures_with_tags": int(own.has_tags.sum()),
            "parameters": {key: str(value) for key, value in estimator.get_params(deep=False).items()},
            "seconds": round(trained.fit_seconds, 3),
            **({} if relevance is None else {"search_finds_nothing_below": round(relevance.nothing_below_, 2)}),
        },
        metrics=trained.metrics | found,
        baseline_metrics=trained.baseline,
    )
    save_model(Model.of(info, estimator, ready, relevance), workspace.shelf.place(name, version))
    return TrainedModel.of(info)


def models(workspace: Workspace) -> Models:
    """The trained models, the newest last."""
    return Models(workspace.shelf.infos())


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
    recipe: str | None = None,
    max_seconds: float | None = None,
) -> Evaluation:
    """Measure methods (default: all) and the baselines; after ``max_seconds`` no further method is begun."""
    _require_pictures(workspace)
    found = compare(
        [registry.get(name) for name in methods],
        lambda wanted: labelled(workspace, ready_recipe(workspace, wanted)),
        recipe=recipe,
        max_seconds=math.inf if max_seconds is None else max_seconds,
    )
    results = {task: [_result(found, task, each) for each in found.performances.get(task, [])] for task in Task}
    best = {task.value: found.best(task) for task in found.performances}
    return Evaluation(results[Task.CLASSIFY], results[Task.ANNOTATE], results[Task.RANK], best, list(found.left_out))


def _result(found: Comparison, task: Task, performance: Performance) -> MethodResult:
    name = performance.method
    return MethodResult(
        name,
        performance.values[task],
        performance.fit_seconds,
        performance.answer_seconds,
        found.letter(task, name),
        found.beats[task].get(name, ""),
    )
