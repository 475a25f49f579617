"""The whole path on the embedded collection: make, add, train, measure, and look."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from visterm.documents.document import Document
from visterm.errors import InputError
from visterm.find.sheets import contact_sheet, save_sheet
from visterm.learn.training import Training, train_all
from visterm.postcards import make_postcards
from visterm.workspace import Workspace

#: What the demo looks for, to show a search.
QUERIES = ("boat sea", "snow house", "car road tree")
_N_SHOWN = 18
#: A file that only demo collections have.
_MARK = "postcards.json"
#: Choosing features and methods for the demo takes about half a minute.
_MINUTES = 0.5


@dataclass(frozen=True)
class Demo(Document):
    """What the demo made and found; ``unlabelled`` pictures had no class."""

    folder: str
    pictures: int
    training: Training
    unlabelled_accuracy: float
    unlabelled_tag_precision: float
    unlabelled: int
    sheets: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


def run_demo(folder: Path, *, n_pictures: int = 400) -> Demo:
    """Make the postcards in ``folder`` and do with them what a user does with a collection."""
    if folder.exists() and any(folder.iterdir()) and not (folder / _MARK).is_file():
        raise InputError(
            f"{folder} is not empty and is not a demo: name a new folder, so that your files stay as they are"
        )
    clock = _Clock()
    report = make_postcards(folder, n_pictures)
    clock.lap("paint")
    with Workspace.create(folder) as photos:
        photos.add()
        clock.lap("add")
        training = train_all(photos, minutes=_MINUTES)
        clock.lap("choose, train and measure")
        n_unlabelled = report.n_pictures - photos.status().n_with_class
        accuracy, tag_precision, sheets = _look(photos, _truth(report.truth))
        clock.lap("classify, tag and search")
    return Demo(
        folder=str(folder),
        pictures=report.n_pictures,
        training=training,
        unlabelled_accuracy=accuracy,
        unlabelled_tag_precision=tag_precision,
        unlabelled=n_unlabelled,
        sheets=sheets,
        seconds=clock.laps,
    )


def _look(photos: Workspace, truth: dict[str, dict[str, Any]]) -> tuple[float, float, dict[str, str]]:
    """Answer for the unlabelled pictures, compare with what only the generator knows, and draw it all."""
    classified = photos.classify(write=True).answers
    tagged = photos.tag(write=True).answers
    right = [answer.labels[0].name == truth[answer.path]["class"] for answer in classified]
    hits = [label.name in truth[answer.path]["tags"] for answer in tagged for label in answer.labels]
    (photos.folder / "results").mkdir(exist_ok=True)

    def drawn(name: str, title: str, captions: dict[str, str], columns: int = 6) -> str:
        file, files = photos.folder / "results" / f"{name}.jpg", [photos.folder / path for path in captions]
        save_sheet(contact_sheet(files, list(captions.values()), title=title, columns=columns), file)
        return str(file)

    classes = {
        answer.path: f"{answer.labels[0].name} ({'right' if is_right else 'it is ' + truth[answer.path]['class']})"
        for answer, is_right in zip(classified[:_N_SHOWN], right, strict=False)
    }
    tags = {a.path: ", ".join(label.name for label in a.labels) for a in tagged[:_N_SHOWN]}
    sheets = {
        "the collection": drawn("contact-sheet", "Postcards", dict.fromkeys(list(truth)[:48], ""), columns=8),
        "classes of unlabelled pictures": drawn("classified", "Classes of pictures nobody labelled", classes),
        "tags of unlabelled pictures": drawn("tagged", "Tags of pictures nobody tagged", tags),
    }
    for text in QUERIES:
        found = dict.fromkeys((row.path for row in photos.search(text, limit=12, unlikely=True).found), "")
        sheets[f"search: {text}"] = drawn(f"search-{text.replace(' ', '-')}", f"Search: {text}", found)
    return sum(right) / max(1, len(right)), sum(hits) / max(1, len(hits)), sheets


def _truth(file: Path) -> dict[str, dict[str, Any]]:
    """What the generator knows of every picture, by path."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return {row["file_name"]: row for row in rows}


class _Clock:
    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = now - self._last
        self._last = now
