"""Reports: how good each trained model is, as it was measured on held-out pictures when it was trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from visterm.app.document import Document
from visterm.app.doubts import doubts_about
from visterm.app.wording import how_good
from visterm.catalogue.labels import Kind
from visterm.contracts import Task
from visterm.errors import InputError
from visterm.models import ModelInfo
from visterm.models.card import model_card

if TYPE_CHECKING:
    from visterm.app.workspace import Workspace

#: What people call the tasks, and what a model learns them from.
_WORDS: dict[Task, str] = {Task.CLASSIFY: "classes", Task.ANNOTATE: "tags", Task.RANK: "search"}


@dataclass(frozen=True)
class ReportSummary:
    """A model that has a report: what it does, what it is in use for, and its main measure of each task.

    A task whose quality is None was not measured.
    """

    model: str
    method: str
    recipe: str
    made: str
    in_use: list[str]
    quality: dict[str, float | None]


@dataclass(frozen=True)
class Reports(Document):
    """The reports there are, the newest first."""

    reports: list[ReportSummary]


@dataclass(frozen=True)
class Quality:
    """How good a model is at one task: ``value`` of its main ``measure``, against that of guessing, and in words."""

    task: str
    measure: str
    value: float | None
    baseline: float | None
    held_out: int
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

    ``doubts`` say why it should be taken with care. ``names`` are its classes and tags, the best recognised first.
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


def reports(workspace: Workspace) -> Reports:
    """The reports of the trained models."""
    in_use = _in_use(workspace)
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
            for info in reversed(workspace.shelf.infos())
        ]
    )


def report(workspace: Workspace, model: str) -> Report:
    """The report of one model, named as ``NAME@VERSION``."""
    info = next((info for info in workspace.shelf.infos() if info.reference == model), None)
    if info is None:
        known = ", ".join(each.reference for each in workspace.shelf.infos()) or "none"
        raise InputError(f"there is no report of {model!r}; there are reports of: {known}")
    opened = workspace.shelf.load(workspace.shelf.place(info.name, info.version))
    learned = info.training
    return Report(
        model=info.reference,
        method=info.method,
        recipe=info.recipe,
        made=info.created,
        in_use=_in_use(workspace).get(info.reference, []),
        pictures=learned.get("pictures", 0),
        pictures_with_class=learned.get("pictures_with_class", 0),
        pictures_with_tags=learned.get("pictures_with_tags", 0),
        tasks=[_quality(info, task) for task in info.abilities],
        figures=[Figure(name, value, info.baseline_metrics.get(name)) for name, value in info.metrics.items()],
        names=_names(info),
        doubts=list(dict.fromkeys(doubt for task in info.abilities for doubt in doubts_about(opened, task))),
        card=model_card(info),
    )


def _in_use(workspace: Workspace) -> dict[str, list[str]]:
    """The tasks that each model is in use for."""
    found: dict[str, list[str]] = {}
    for task, reference in workspace.shelf.in_use().items():
        found.setdefault(reference, []).append(task)
    return found


def _quality(info: ModelInfo, task: Task) -> Quality:
    measure, what = info.main_measure(task), _WORDS[task]
    value, baseline = info.quality(task), info.baseline_metrics.get(measure)
    held_out = info.held_out(task)
    words = how_good(what, info.metrics, value, baseline, held_out, info.held_out_suggestions)
    return Quality(task.value, measure, value, baseline, held_out, words)


def _names(info: ModelInfo) -> list[NameQuality]:
    counts, quality = info.training.get("label_counts", {}), info.training.get("label_quality", {})
    kinds: tuple[tuple[Kind, tuple[str, ...]], ...] = (("class", info.classes), ("tag", info.tags))
    found = [NameQuality(kind, name, counts.get(name), quality.get(name)) for kind, names in kinds for name in names]
    return sorted(found, key=lambda each: -1.0 if each.quality is None else each.quality, reverse=True)
