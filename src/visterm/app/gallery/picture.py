"""Pictures one by one: what people said of them, what models suggest, where their files are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import numpy as np

from visterm.app.document import Document
from visterm.app.gallery.view import View
from visterm.app.suggesting import LikelyName
from visterm.catalogue.pictures import Label, Picture
from visterm.errors import InputError

if TYPE_CHECKING:
    from visterm.app.workspace import Workspace

#: The most pictures whose labels are asked for at once.
MAX_ASKED = 1000


@dataclass(frozen=True)
class PictureLabels:
    """What is known of a picture in short: people's class and tags, and what models suggest and nobody decided."""

    id: int
    name: str
    class_: str | None
    tags: list[str]
    suggested_class: LikelyName | None
    suggested_tags: list[LikelyName]


@dataclass(frozen=True)
class LabelsOfPictures(Document):
    """What is known of some pictures; ids that there are not are left out."""

    pictures: list[PictureLabels]


@dataclass(frozen=True)
class PictureDetails(Document):
    """All that is known of one picture. ``paths`` are its files, copies included."""

    id: int
    key: str
    name: str
    paths: list[str]
    width: int | None
    height: int | None
    bytes: int
    state: str
    reason: str | None
    split: str | None
    caption: str | None
    class_: Label | None
    classes: list[Label]
    tags: list[Label]
    suggested_class: LikelyName | None
    suggested_tags: list[LikelyName]
    missing: bool


def labels_of(workspace: Workspace, ids: Sequence[int]) -> LabelsOfPictures:
    """What is known of some pictures, in short."""
    if len(ids) > MAX_ASKED:
        raise InputError(f"ask for at most {MAX_ASKED} pictures at once, not {len(ids)}")
    view = workspace.views.newest()
    rows = [view.row_of[number] for number in ids if number in view.row_of]
    return LabelsOfPictures([_labels(view, row) for row in rows])


def details(workspace: Workspace, number: int) -> PictureDetails:
    """All that is known of the picture with this id."""
    picture = picture_with(workspace, number)
    view = workspace.views.newest()
    row = view.row_of.get(number)
    short = None if row is None else _labels(view, row)
    return PictureDetails(
        picture.id,
        picture.sha256,
        PurePosixPath(picture.paths[0]).name if picture.paths else picture.sha256[:12],
        list(picture.paths),
        picture.width,
        picture.height,
        picture.size,
        picture.state,
        picture.reason,
        picture.split,
        picture.caption,
        picture.class_label,
        list(picture.classes),
        list(picture.tags),
        None if short is None else short.suggested_class,
        [] if short is None else short.suggested_tags,
        picture.missing,
    )


def picture_with(workspace: Workspace, number: int) -> Picture:
    """The picture with this id."""
    found = workspace.catalogue.pictures_with_ids([number])
    if not found:
        raise InputError(f"there is no picture number {number}")
    return found[0]


def keys_of(workspace: Workspace, ids: Sequence[int]) -> list[str]:
    """The content hashes of the pictures with these ids, in their order."""
    known = {picture.id: picture.sha256 for picture in workspace.catalogue.pictures_with_ids(list(ids))}
    for number in ids:
        if number not in known:
            raise InputError(f"there is no picture number {number}")
    return [known[number] for number in ids]


def _labels(view: View, row: int) -> PictureLabels:
    truth = view.collection.truth
    at = int(view.rows[row])
    own = truth.tags.indices[truth.tags.indptr[at] : truth.tags.indptr[at + 1]]
    path = PurePosixPath(view.paths[row])
    return PictureLabels(
        int(view.ids[row]),
        path.name,
        truth.classes[at],
        [truth.tag_names[column] for column in own.tolist()],
        _class(view, row),
        _tags(view, row),
    )


def _tags(view: View, row: int) -> list[LikelyName]:
    open_, known = view.open_suggestions, view.tag_predictions
    if known is None:
        return []
    part = slice(open_.indptr[row], open_.indptr[row + 1])
    columns, p = open_.indices[part], open_.data[part]
    return [LikelyName(known.names[columns[i]], round(float(p[i]), 4)) for i in np.argsort(-p, kind="stable").tolist()]


def _class(view: View, row: int) -> LikelyName | None:
    known, number = view.class_predictions, int(view.open_classes[row])
    if known is None or number < 0:
        return None
    return LikelyName(known.names[number], round(float(known.probability[row]), 4))
