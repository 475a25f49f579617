"""Pictures one by one: what people said of them, what models suggest, where their files are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from visterm.catalogue.pictures import Label
from visterm.collection.holdings import Holdings
from visterm.collection.judgements import Age, LikelyName
from visterm.collection.rows import PictureRow, row_of, rows_of, suggested
from visterm.documents.document import Document
from visterm.errors import InputError

#: The most pictures whose labels are asked for at once.
MAX_ASKED = 1000


@dataclass(frozen=True)
class LabelsOfPictures(Document):
    """What is known of some pictures, unknown ids left out; ``ages`` say when the models that suggest learned."""

    pictures: list[PictureRow]
    ages: list[Age]


@dataclass(frozen=True)
class PictureDetails(Document):
    """All that is known of one picture. ``paths`` are its files, copies included.

    ``classes`` and ``tags`` have each label with its source and the act by which it was given. ``described`` says whose
    tags are all that the picture has: ``person``, ``import``, or None. ``ages`` say when the models that suggest
    learned.
    """

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
    described: str | None
    ages: list[Age]


def labels_of(holdings: Holdings, ids: Sequence[int]) -> LabelsOfPictures:
    """What is known of some pictures, in short."""
    if len(ids) > MAX_ASKED:
        raise InputError(f"ask for at most {MAX_ASKED} pictures at once, not {len(ids)}")
    view = holdings.views.newest()
    known = [number for number in ids if number in view.row_of]
    return LabelsOfPictures(rows_of(holdings, known, view), view.ages)


def details(holdings: Holdings, number: int) -> PictureDetails:
    """All that is known of the picture with this id."""
    (picture,) = holdings.numbered([number])
    view = holdings.views.newest()
    row = suggested(view, row_of(picture))
    return PictureDetails(
        id=picture.id,
        key=picture.sha256,
        name=PurePosixPath(picture.paths[0]).name if picture.paths else picture.sha256[:12],
        paths=list(picture.paths),
        width=picture.width,
        height=picture.height,
        bytes=picture.size,
        state=picture.state,
        reason=picture.reason,
        split=picture.split,
        caption=picture.caption,
        class_=picture.class_label,
        classes=list(picture.classes),
        tags=list(picture.tags),
        suggested_class=row.suggested_class,
        suggested_tags=row.suggested_tags,
        missing=picture.missing,
        described=picture.described,
        ages=view.ages,
    )
