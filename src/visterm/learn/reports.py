"""What there is: the methods, the trained models, and how good each of these was on held-out pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from visterm import registry
from visterm.catalogue.labels import Kind
from visterm.collection.doubts import doubts_about
from visterm.contracts import Task
from visterm.documents.document import Document
from visterm.documents.figure import Figure as FigureOfTask
from visterm.errors import InputError
from visterm.learn.quality import figure_of
from visterm.models import ModelInfo
from visterm.models.card import model_card

if TYPE_CHECKING:
    from visterm.collection.holdings import Holdings


@dataclass(frozen=True)
class Models(Document):
    """The models of a workspace, the newest last, and the reference of the one in use for each task.

    ``figures`` say how good each model is at each of its tasks.
    """

    models: list[ModelInfo]
    in_use: dict[str, str]
    figures: list[FigureOfTask]


@dataclass(frozen=True)
class MethodSummary:
    """A method: its name, what it can do, its default features, what it does, and who proposed it.

    ``preset`` has the parameters that differ from the defaults of its class.
    """

    name: str
    tasks: list[str]
    recipe: str
    summary: str
    reference: str
    preset: dict[str, Any]


@dataclass(frozen=True)
class Methods(Document):
    """All methods, the baselines first."""

    methods: list[MethodSummary]


@dataclass(frozen=True)
class ReportSummary:
    """A model that has a report: its tasks, those it is in use for, and its main measure for each task.

    A quality of None means that the task was not measured.
    """

    model: str
    method: str
    recipe: str
    made: str
    in_use: list[str]
    quality: dict[str, float | None]


@dataclass(frozen=True)
class Reports(Document):
    """The reports of all models, the newest first."""

    reports: list[ReportSummary]


@dataclass(frozen=True)
class Quality:
    """How good a model is at one task: its ``figure``, in words too.

    ``value`` is its main ``measure`` on all ``held_out`` pictures, by which models are compared, and ``baseline`` that
    of guessing.
    """

    task: str
    measure: str
    value: float | None
    baseline: float | None
    held_out: int
    figure: FigureOfTask
    words: str


@dataclass(frozen=True)
class Figure:
    """A measure on held-out pictures; ``baseline`` is what guessing reaches, None if that was not measured."""

    measure: str
    value: float
    baseline: float | None


@dataclass(frozen=True)
class NameQuality:
    """A class or tag: the number of pictures it was learned from, and how well it is recognised, from 0 to 1."""

    kind: Kind
    name: str
    pictures: int | None
    quality: float | None


@dataclass(frozen=True)
class Report(Document):
    """All that was measured of one model.

    ``doubts`` say why to take it with care. ``names`` are its classes and tags, the best recognised first.
    ``card`` is the model card, in Markdown.
    """

    model: str
    method: str
    recipe: str
    made: str
    in_use: list[str]
    pictures: int
    pictures_with_class: int
    pictures_with_tags: int
    tasks: list[Quality]
    figures: list[Figure]
    names: list[NameQuality]
    doubts: list[str]
    card: str


def models(holdings: Holdings) -> Models:
    """The trained models, the newest last, and the model in use for each task."""
    infos = holdings.shelf.infos()
    figures = [figure_of(holdings, info, task) for info in infos for task in info.abilities]
    return Models(infos, holdings.shelf.in_use(), figures)


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


def reports(holdings: Holdings) -> Reports:
    """The reports of the trained models."""
    in_use = _in_use(holdings)
    return Reports(
        [
            ReportSummary(
                info.reference,
                info.method,
                info.recipe,
                info.created,
                in_use.get(info.reference, []),
                {task.value: info.quality(task) for task in info.abilities},
            )
            for info in reversed(holdings.shelf.infos())
        ]
    )


def report(holdings: Holdings, model: str) -> Report:
    """The report of one model, named as ``NAME@VERSION``."""
    info = next((info for info in holdings.shelf.infos() if info.reference == model), None)
    if info is None:
        known = ", ".join(each.reference for each in holdings.shelf.infos()) or "none"
        raise InputError(f"there is no report of {model!r}; there are reports of: {known}")
    opened = holdings.shelf.load(holdings.shelf.place(info.name, info.version))
    learned = info.training
    return Report(
        model=info.reference,
        method=info.method,
        recipe=info.recipe,
        made=info.created,
        in_use=_in_use(holdings).get(info.reference, []),
        pictures=learned.get("pictures", 0),
        pictures_with_class=learned.get("pictures_with_class", 0),
        pictures_with_tags=learned.get("pictures_with_tags", 0),
        tasks=[_quality(holdings, info, task) for task in info.abilities],
        figures=[Figure(name, value, info.baseline_metrics.get(name)) for name, value in info.metrics.items()],
        names=_names(info),
        doubts=list(dict.fromkeys(doubt for task in info.abilities for doubt in doubts_about(opened, task))),
        card=model_card(info),
    )


def _in_use(holdings: Holdings) -> dict[str, list[str]]:
    """The tasks that each model is in use for."""
    found: dict[str, list[str]] = {}
    for task, reference in holdings.shelf.in_use().items():
        found.setdefault(reference, []).append(task)
    return found


def _quality(holdings: Holdings, info: ModelInfo, task: Task) -> Quality:
    measure, measured = info.main_measure(task), figure_of(holdings, info, task)
    value, baseline = info.quality(task), info.baseline_metrics.get(measure)
    return Quality(task.value, measure, value, baseline, info.held_out(task), measured, measured.words)


def _names(info: ModelInfo) -> list[NameQuality]:
    counts, quality = info.training.get("label_counts", {}), info.training.get("label_quality", {})
    kinds: tuple[tuple[Kind, tuple[str, ...]], ...] = (("class", info.classes), ("tag", info.tags))
    found = [NameQuality(kind, name, counts.get(name), quality.get(name)) for kind, names in kinds for name in names]
    return sorted(found, key=lambda each: -1.0 if each.quality is None else each.quality, reverse=True)
