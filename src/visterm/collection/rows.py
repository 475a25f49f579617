"""A picture in a list: one row for searches, suggestions, look-alikes and questions, made in one place.

Long lists, of thousands of pictures, are columns of the same row: only what a grid draws, without reading any label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visterm.catalogue.pictures import Picture
from visterm.collection.judgements import LikelyName
from visterm.collection.reasons import Reason, Regions
from visterm.collection.view import View

if TYPE_CHECKING:
    from visterm.collection.holdings import Holdings


@dataclass(frozen=True)
class PictureRow:
    """A picture in a list; what a list does not tell is None or empty.

    ``class_`` and ``tags`` are what people and imports gave, with the source of each. ``suggested_class`` and
    ``suggested_tags`` wait for a decision. ``colours`` are the mean colours of the four quarters, as 24 hexadecimal
    digits. A file outside the collection has only a path.

    In a search, ``score`` is the probability that the picture matches; among look-alikes, how alike it is (1 for the
    same). ``told`` is true if people said so, and ``likely`` if the picture counts as found. ``reasons`` say which
    words match and who says so; ``evidence`` says what convinced the model, and ``regions`` where in the picture.
    ``missing`` has the words of the query that were left out to find it.

    ``labels`` are the classes or tags that were asked for, the likeliest first; ``none`` is the probability that
    none of the classes is right, as no labelled picture looks like it. If a question is about one of them, that is
    ``asked``. For a likely error, ``said`` is what people said.
    """

    path: str
    id: int | None = None
    key: str | None = None
    width: int | None = None
    height: int | None = None
    colours: str = ""
    class_: str | None = None
    class_source: str | None = None
    tags: list[str] = field(default_factory=list)
    tag_sources: list[str] = field(default_factory=list)
    suggested_class: LikelyName | None = None
    suggested_tags: list[LikelyName] = field(default_factory=list)
    score: float | None = None
    told: bool = False
    likely: bool = True
    reasons: tuple[Reason, ...] = ()
    evidence: tuple[str, ...] = ()
    regions: Regions | None = None
    missing: tuple[str, ...] = ()
    labels: list[LikelyName] = field(default_factory=list)
    none: float = 0.0
    asked: LikelyName | None = None
    said: str | None = None


@dataclass(frozen=True)
class Columns:
    """Rows of a long list as columns: entry i of every column is one picture, as in :class:`PictureRow`."""

    ids: list[int]
    keys: list[str]
    widths: list[int]
    heights: list[int]
    colours: list[str]


def columns_of(holdings: Holdings, view: View, rows: NDArray[np.intp]) -> Columns:
    """The columns of some rows of a view."""
    keys = [view.collection.frame.keys[row] for row in rows.tolist()]
    at = view.rows[rows]
    widths, heights = view.listing.widths[at].tolist(), view.listing.heights[at].tolist()
    return Columns(view.ids[rows].tolist(), keys, widths, heights, holdings.thumbnails.colours(keys))


def row_of(picture: Picture) -> PictureRow:
    """What the catalogue knows of a picture."""
    given = picture.class_label
    tags = [label for label in picture.tags if label.state == "accepted"]
    return PictureRow(
        path=picture.paths[0] if picture.paths else "",
        id=picture.id,
        key=picture.sha256,
        width=picture.width,
        height=picture.height,
        class_=None if given is None else given.name,
        class_source=None if given is None else given.source,
        tags=[label.name for label in tags],
        tag_sources=[label.source for label in tags],
    )


def rows_of(holdings: Holdings, ids: Sequence[int], view: View | None = None) -> list[PictureRow]:
    """The pictures with these ids, unknown ones left out; with a view also their colours and suggestions.

    A search has no view: to know what models suggest for every picture would cost it more than the search.
    """
    rows = [row_of(picture) for picture in holdings.catalogue.pictures_with_ids(ids)]
    if view is None:
        return rows
    colours = holdings.thumbnails.colours([row.key or "" for row in rows])
    return [replace(suggested(view, row), colours=own) for row, own in zip(rows, colours, strict=True)]


def suggested(view: View, row: PictureRow) -> PictureRow:
    """``row`` with what the models in use suggest, where nobody has decided."""
    at = view.row_of.get(row.id or 0)
    if at is None:  # its file is missing
        return row
    tags, classes = view.tag_judgements, view.class_judgements
    likely: list[LikelyName] = []
    if tags is not None:
        part = slice(*view.open_suggestions.indptr[at : at + 2])
        columns, p = view.open_suggestions.indices[part], view.open_suggestions.data[part]
        order = np.argsort(-p, kind="stable").tolist()
        likely = [LikelyName(tags.names[columns[i]], round(float(p[i]), 4), "tag", tags.age.by) for i in order]
    number, likeliest = int(view.open_classes[at]), None
    if classes is not None and number >= 0:
        p_class = round(float(classes.probability[at]), 4)
        likeliest = LikelyName(classes.names[number], p_class, "class", classes.age.by)
    none = 0.0 if classes is None or view.classes[at] >= 0 else round(float(classes.none[at]), 4)
    return replace(row, suggested_class=likeliest, suggested_tags=likely, none=none)
