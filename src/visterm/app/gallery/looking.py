"""A picture from outside: what the models say of it and which pictures look like it, without adding it."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from visterm.app.document import Document
from visterm.app.features import ready_recipe
from visterm.app.gallery.picture import PictureLabels, labels_of
from visterm.app.similar import RECIPE
from visterm.app.suggesting import LikelyName, Suggestion
from visterm.contracts import Task
from visterm.errors import PictureError
from visterm.vision.decode import probe

if TYPE_CHECKING:
    from visterm.app.workspace import Workspace

_ALIKE_SHOWN = 24


@dataclass(frozen=True)
class Alike:
    """A picture of the collection, its content hash and size, and how alike it is: 1 for the same."""

    id: int
    key: str
    width: int
    height: int
    score: float


@dataclass(frozen=True)
class LookAlikes(Document):
    """The pictures that look most like one, the most alike first, and what is known of them."""

    pictures: list[Alike]
    labels: list[PictureLabels]


@dataclass(frozen=True)
class Look(Document):
    """What the models say of a picture from outside; empty lists if there is no model."""

    width: int
    height: int
    classes: list[LikelyName]
    tags: list[LikelyName]
    alike: LookAlikes


def look(workspace: Workspace, data: bytes) -> Look:
    """Look at the bytes of a picture. They are kept only as long as that takes."""
    size = probe(data)
    with tempfile.TemporaryDirectory(prefix="visterm-") as folder:
        file = Path(folder) / "picture"
        file.write_bytes(data)
        classes = tags = list[LikelyName]()
        if workspace.shelf.best(Task.CLASSIFY) is not None:
            classes = _labels(workspace.classify(file).answers)
        if workspace.shelf.best(Task.ANNOTATE) is not None:
            tags = _labels(workspace.tag(file).answers)
        alike = lookalikes(workspace, file) if _can_compare(workspace) else LookAlikes([], [])
        return Look(size.width, size.height, classes, tags, alike)


def _can_compare(workspace: Workspace) -> bool:
    """Whether a picture of the collection has been looked at."""
    return bool(len(workspace.library.present(ready_recipe(workspace, RECIPE), workspace.collection().frame.keys)))


def lookalikes(workspace: Workspace, picture: str | Path, limit: int = _ALIKE_SHOWN) -> LookAlikes:
    """The pictures of the collection that look most like one, named by file or content hash."""
    found = workspace.similar(picture, limit=limit).found
    view = workspace.views.newest()
    row_of = {path: row for row, path in enumerate(view.paths)}
    alike = []
    for each in found:
        row = row_of.get(each.path)
        if row is not None:
            at = view.rows[row]
            width, height = int(view.listing.widths[at]), int(view.listing.heights[at])
            alike.append(Alike(int(view.ids[row]), view.collection.frame.keys[row], width, height, each.score))
    return LookAlikes(alike, labels_of(workspace, [each.id for each in alike]).pictures)


def _labels(answers: list[Suggestion]) -> list[LikelyName]:
    if not answers:
        raise PictureError("this file cannot be used as a picture")
    return answers[0].labels
