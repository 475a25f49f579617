"""The whole path on the embedded collection: make, add, train, measure, and look."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from visterm import registry
from visterm.app import adding, answering, finding, training
from visterm.app.describing import describe, ready_recipe
from visterm.app.sheets import contact_sheet, save_sheet
from visterm.app.workspace import Workspace
from visterm.contracts import Task
from visterm.learning import STANDARD_MEASURES, Performance
from visterm.models import Model
from visterm.postcards import make_postcards

#: What the demo looks for, to show a search.
QUERIES = ("boat sea", "snow house", "car road tree")
_N_SHOWN = 18
#: Methods measured first, one of each kind; the others follow while there is time.
_FIRST = ("knn", "knn-tags", "sdca", "ridge-tags", "tagprop", "ccd2", "slda")
_MEASURING_SECONDS = 20.0


@dataclass(slots=True)
class Demo:
    """What the demo made and found."""

    folder: Path
    n_pictures: int
    outcomes: dict[Task, list[Performance]]
    not_measured: tuple[str, ...]
    unlabelled_accuracy: float
    unlabelled_tag_precision: float
    pictures: dict[str, Path] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


def run_demo(folder: Path, *, n_pictures: int = 400) -> Demo:
    """Make the postcards in ``folder`` and do with them what a user does with a collection."""
    clock = _Clock()
    report = make_postcards(folder, n_pictures)
    clock.lap("paint")
    with Workspace.create(folder) as workspace:
        adding.add(workspace, [folder])
        clock.lap("add")
        describe(workspace, *(ready_recipe(workspace, name) for name in sorted({m.recipe for m in registry.methods()})))
        clock.lap("compute features")
        names = [method.name for method in registry.methods() if method.name not in _FIRST]
        comparison = training.compare(workspace, [*_FIRST, *names], max_seconds=_MEASURING_SECONDS)
        outcomes = comparison.performances
        clock.lap("measure methods")
        best = {task: _best_method(task, outcomes[task]) for task in Task}
        trained = {name: training.train(workspace, name) for name in sorted(set(best.values()))}
        clock.lap("train the best of each task")
        models = {task: workspace.model(task, trained[best[task]].name) for task in Task}
        truth = _truth(report.truth)
        accuracy, tag_precision, sheets = _look(workspace, models, truth, folder)
        clock.lap("classify, tag and search")
    return Demo(folder, report.n_pictures, outcomes, comparison.left_out, accuracy, tag_precision, sheets, clock.laps)


def _best_method(task: Task, outcomes: list[Performance]) -> str:
    """The method with the best value of the measure people look at; floors are for comparison only."""
    measure = STANDARD_MEASURES[task][0].name
    able = [outcome for outcome in outcomes if not registry.get(outcome.method).is_floor]
    return max(able, key=lambda outcome: outcome.values[task][measure]).method


def _look(
    workspace: Workspace, models: dict[Task, Model], truth: dict[str, dict[str, Any]], folder: Path
) -> tuple[float, float, dict[str, Path]]:
    """Answer for the unlabelled pictures, compare with what only the generator knows, and draw it all."""
    classified = answering.classify(models[Task.CLASSIFY], (), workspace).answers
    tagged = answering.tag(models[Task.ANNOTATE], (), workspace).answers
    answering.suggest(workspace, models[Task.CLASSIFY], answering.Answers("", classified), Task.CLASSIFY)
    answering.suggest(workspace, models[Task.ANNOTATE], answering.Answers("", tagged), Task.ANNOTATE)
    right = [answer.labels[0][0] == truth[answer.path]["class"] for answer in classified]
    hits = [name in truth[answer.path]["tags"] for answer in tagged for name, _ in answer.labels]
    results = folder / "results"
    results.mkdir(exist_ok=True)
    sheets = {
        "the collection": _sheet(
            results / "contact-sheet.jpg", folder, [(path, "") for path in list(truth)[:48]], "Postcards", columns=8
        ),
        "classes of unlabelled pictures": _sheet(
            results / "classified.jpg",
            folder,
            [(a.path, _verdict(a.labels[0][0], truth[a.path]["class"])) for a in classified[:_N_SHOWN]],
            "Classes of pictures nobody labelled",
        ),
        "tags of unlabelled pictures": _sheet(
            results / "tagged.jpg",
            folder,
            [(a.path, ", ".join(name for name, _ in a.labels)) for a in tagged[:_N_SHOWN]],
            "Tags of pictures nobody tagged",
        ),
    }
    for text in QUERIES:
        found = finding.search(workspace, models[Task.RANK], text, n_best=12, unlikely=True).found
        file = results / f"search-{text.replace(' ', '-')}.jpg"
        sheets[f"search: {text}"] = _sheet(file, folder, [(item.path, "") for item in found], f"Search: {text}")
    return _share(right), _share(hits), sheets


def _sheet(file: Path, folder: Path, items: list[tuple[str, str]], title: str, columns: int = 6) -> Path:
    captions = [caption for _, caption in items]
    save_sheet(contact_sheet([folder / path for path, _ in items], captions, title=title, columns=columns), file)
    return file


def _verdict(predicted: str, true: str) -> str:
    return f"{predicted} (right)" if predicted == true else f"{predicted} (it is {true})"


def _share(outcomes: list[bool]) -> float:
    return sum(outcomes) / max(1, len(outcomes))


def _truth(file: Path) -> dict[str, dict[str, Any]]:
    """What the generator knows of every picture, by path."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return {row["file_name"]: row for row in rows}


class _Clock:
    """Seconds between laps."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = now - self._last
        self._last = now
