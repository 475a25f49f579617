"""Pictures one by one: what people said of them, what models suggest, where their files are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import PurePosixPath

from visterm.catalogue.pictures import Label, PictureFacts
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


@dataclass(frozen=True, kw_only=True)
class PictureDetails(PictureFacts, Document):
    """All that is known of one picture: what the catalogue has, and what models suggest.

    ``classes`` and ``tags`` have each label with its source and the act by which it was given. ``none`` is the
    probability that no class in use is right. ``ages`` say when the models that suggest learned.
    """

    key: str
    name: str
    bytes: int
    class_: Label | None
    suggested_class: LikelyName | None
    suggested_tags: list[LikelyName]
    none: float
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
        **{fact.name: getattr(picture, fact.name) for fact in fields(PictureFacts)},
        key=picture.sha256,
        name=PurePosixPath(picture.paths[0]).name if picture.paths else picture.sha256[:12],
        bytes=picture.size,
        class_=picture.class_label,
        suggested_class=row.suggested_class,
        suggested_tags=row.suggested_tags,
        none=row.none,
        ages=view.ages,
    )
