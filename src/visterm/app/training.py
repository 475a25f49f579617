"""From labelled pictures to a model that is measured before it is kept."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from visterm import registry
from visterm.app.document import Document
from visterm.app.features import described, ready_recipe, stored_features
from visterm.app.wording import counted
from visterm.catalogue.records import Skipped
from visterm.compute import one_blas_thread, progress
from visterm.contracts import Task
from visterm.errors import InputError, UsageError
from visterm.evaluate import Comparison, compare
from visterm.learning import Dataset, Performance, Trained, encode_classes, learns_from_untagged, train_method
from visterm.models import Model, ModelInfo, save_model
from visterm.search.learned import learned_search
from visterm.vision.recipes.base import Recipe

if TYPE_CHECKING:
    from visterm.app.collection import Collection
    from visterm.app.workspace import Workspace

#: Up to this many pictures, a model is the same bit for bit on any number of cores: BLAS, which adds in another order
#: with other numbers of threads, gets one. With more pictures that would take too long.
_SMALL = 3000


@dataclass(frozen=True)
class Replacement:
    """A task that another model is used for than before: that ``model``, and the one ``before`` (None: none)."""

    task: str
    model: str
    before: str | None


@dataclass(frozen=True)
class TrainedModel(ModelInfo, Document):
    """All that is known of a model that was just trained; ``left_out`` are pictures it could not see, and why.

    ``earlier`` counts the suggestions that are kept of its earlier versions and that nobody has decided. ``replaced``
    has the tasks that another model is used for since.
    """

    left_out: list[Skipped] = field(default_factory=list)
    earlier: dict[str, int] = field(default_factory=dict)
    replaced: list[Replacement] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        info: ModelInfo,
        left_out: Sequence[Skipped] = (),
        earlier: Mapping[str, int] | None = None,
        replaced: Sequence[Replacement] = (),
    ) -> Self:
        """The same as a document."""
        known = {item.name: getattr(info, item.name) for item in fields(ModelInfo)}
        return cls(**known, left_out=list(left_out), earlier=dict(earlier or {}), replaced=list(replaced))


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
    for; ``skipped`` says why others could not be measured. ``left_out`` are pictures that no method saw, and why.
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


def labelled(workspace: Workspace, collection: Collection, recipe: Recipe, rows: NDArray[Any] | None = None) -> Dataset:
    """The collection as arrays: readable pictures, what people and imports said of them, their features.

    ``rows`` are those of :func:`labels_only` (default: all); only their features are computed. The caller keeps one
    ``collection`` for all that it compares, whatever others add or label in the meantime.
    """
    return _described_and_left_out(workspace, collection, recipe, rows)[0]


def _described_and_left_out(
    workspace: Workspace, collection: Collection, recipe: Recipe, rows: NDArray[Any] | None = None
) -> tuple[Dataset, list[Skipped]]:
    """As :func:`labelled`, and the pictures without features."""
    labels = labels_only(workspace, collection)
    chosen = np.arange(len(labels)) if rows is None else np.asarray(rows)
    keys = collection.truth.sha256
    wanted = [keys[row] for row in chosen]
    places, failed = described(workspace, recipe, wanted, wait=True)
    if failed:
        left_out = f"{counted(len(failed), 'picture')} of {len(wanted)}"
        progress.note(f"{left_out} cannot be learned from; the first is {failed[0]}")
    X = stored_features(workspace, recipe, [wanted[place] for place in places])
    return replace(labels.select(chosen[places]), X=X), failed


def labelled_but_unreadable(workspace: Workspace) -> list[Skipped]:
    """The pictures that have a label but cannot be read, and why."""
    return [
        Skipped(next(iter(picture.paths), picture.sha256), picture.reason or "it cannot be read")
        for picture in workspace.catalogue.pictures(state="unreadable")
        if picture.class_label is not None or any(label.state == "accepted" for label in picture.tags)
    ]


def labels_only(workspace: Workspace, collection: Collection) -> Dataset:
    """The readable pictures and what people and imports said of them, without features."""
    truth = collection.truth
    if not len(truth):
        raise InputError("there are no pictures yet: add some with 'visterm add FOLDER'")
    y, class_names = encode_classes(truth.classes)
    nothing = np.empty((len(truth), 0), np.float32)
    names, denied = tuple(truth.tag_names), truth.rejected if truth.rejected.nnz else None
    return Dataset(workspace.folder.name, nothing, y, class_names, truth.tags, names, tuple(truth.splits), denied)


def require_method(name: str, *, also: Iterable[str] = ()) -> None:
    """Refuse what is neither a method nor one of the names that may stand in its place, ``also``."""
    known = [*also, *(method.name for method in registry.methods())]
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise UsageError(
            f"unknown method {name!r}: {hint}say {', '.join(also)}, or a method that 'visterm methods' lists"
        )


def only_test_pictures(labels: Dataset, has: NDArray[Any], what: str) -> str:
    """Why nothing can be learned from pictures with ``what`` that are all test pictures; empty if it can."""
    n_labelled = int(has.sum())
    if not n_labelled or (has & ~labels.is_test).any():
        return ""
    all_of_them = f"all {n_labelled} pictures" if n_labelled > 1 else "the only picture"
    are = "are test pictures" if n_labelled > 1 else "is a test picture"
    return f"{all_of_them} with {what} {are} (split 'test'), never learned from: label others, too"


def _require_labels(labels: Dataset, methods: Sequence[registry.Method]) -> None:
    """Refuse to learn or compare where every picture that has the labels is a test picture."""
    found = [
        only_test_pictures(labels, labels.has_class, "a class")
        if Task.CLASSIFY in method.tasks
        else only_test_pictures(labels, labels.has_tags, "tags")
        for method in methods
    ]
    if found and all(found):
        raise InputError("; ".join(dict.fromkeys(found)))


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
    _require_labels(labels, [chosen])
    name = name or chosen.name
    workspace.shelf.place(name, 1)  # refuses an impossible name before the work
    ready = ready_recipe(workspace, recipe or chosen.recipe)
    # The pictures to learn from: the labelled ones, or all if the method also learns from the others.
    learned = labels.has_class | labels.has_tags | labels.only_denied
    rows = None if learns_from_untagged(chosen) else np.flatnonzero(learned)
    data, failed = _described_and_left_out(workspace, collection, ready, rows)
    with one_blas_thread() if len(data) <= _SMALL else nullcontext():
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
        before = workspace.shelf.in_use()
        info = replace(info, version=version, sequence=workspace.shelf.next_sequence())
        save_model(Model.of(info, estimator, ready, relevance), workspace.shelf.place(name, version))
        now = workspace.shelf.in_use()
    left_out = [*labelled_but_unreadable(workspace), *failed]
    replaced = [Replacement(task, used, before.get(task)) for task, used in now.items() if used != before.get(task)]
    return TrainedModel.of(info, left_out, _earlier_suggestions(workspace, info), replaced)


def _earlier_suggestions(workspace: Workspace, info: ModelInfo) -> dict[str, int]:
    """By version: the suggestions that are kept of earlier versions of a model and that nobody has decided."""
    waiting = workspace.catalogue.counts().suggestions
    return {model: number for model, number in waiting.items() if model.rpartition("@")[0] == info.name}


def _about_labels(trained: Trained) -> dict[str, Any]:
    """How many pictures were held out, and how many pictures and what quality each class or tag has."""
    performance = trained.performance
    if performance is None:
        return {}
    own = trained.own()
    parts = {
        Task.CLASSIFY: (own.class_names, np.bincount(own.y[own.has_class], minlength=len(own.class_names))),
        Task.ANNOTATE: (own.tag_names, own.tag_counts),
    }
    about: dict[str, Any] = {"label_quality": {}, "label_counts": {}}
    for task, number in performance.n_held_out.items():  # tags are measured by suggestions, by search, or by both
        about["held_out_class" if task is Task.CLASSIFY else "held_out_tags"] = number
    if Task.ANNOTATE in performance.n_held_out:
        about["held_out_suggestions"] = performance.n_suggested
    for task, values in performance.of_labels.items():
        names, counts = parts[task]
        for name, count, value in zip(names, counts.tolist(), values.tolist(), strict=True):
            about["label_counts"][name] = count
            if math.isfinite(value):
                about["label_quality"][name] = round(value, 3)
    return about


def models(workspace: Workspace) -> Models:
    """The trained models, the newest last, and which is in use for what."""
    return Models(workspace.shelf.infos(), workspace.shelf.in_use())


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
    chosen = [registry.get(name) for name in methods]
    _require_labels(labels_only(workspace, collection), chosen or registry.methods())
    left_out = {skipped.where: skipped for skipped in labelled_but_unreadable(workspace)}

    def data_of(wanted: str) -> Dataset:
        data, failed = _described_and_left_out(workspace, collection, ready_recipe(workspace, wanted))
        left_out.update({skipped.where: skipped for skipped in failed})
        return data

    found = compare(
        chosen,
        data_of,
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
        list(left_out.values()),
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
