"""What is said of copies: groups with the best picture of each, as documents."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from visterm.collection.rows import PictureRow, rows_of
from visterm.copies import finding
from visterm.copies.grouping import Group, Groups, Level, groups
from visterm.documents.document import Document
from visterm.errors import InputError

if TYPE_CHECKING:
    from visterm.collection.holdings import Holdings

#: Pictures whose numbers of pixels differ less are as large.
_AS_LARGE = 1.1


@dataclass(frozen=True)
class Member:
    """A picture of a group: what a list shows of it, its files, and by what the best one is chosen.

    ``bytes`` is the size of a file; ``sharpness`` compares pictures with each other. ``taken`` is the camera's clock.
    """

    picture: PictureRow
    files: list[str]
    bytes: int
    sharpness: float | None = None
    rating: int | None = None
    taken: str | None = None
    kept: bool = False


@dataclass(frozen=True)
class CopyGroup:
    """Pictures that belong together. ``level`` is ``bytes``, ``picture`` or ``series``.

    With ``bytes``, it is one picture with several files. ``best`` is the id of the picture to keep, and ``why`` says by
    what it was chosen: ``kept`` (by a person), ``rating``, ``size``, ``sharpness``, ``bytes`` or ``first``.
    ``likeness`` is that of the pair that is least sure, None if only people said so. ``waits`` is true until a person
    has decided.
    """

    level: Level
    pictures: list[Member]
    best: int
    why: str
    likeness: float | None
    waits: bool


@dataclass(frozen=True)
class Duplicates(Document):
    """Groups of copies: those of each level in order of their first picture.

    ``n_groups`` counts the groups of each level, ``n_waiting`` those that wait for a decision. ``n_compared`` pictures
    were compared, ``n_new`` were not yet. ``next`` is the ``start`` of the next groups; None at the end.
    """

    groups: list[CopyGroup]
    n_groups: dict[str, int]
    n_waiting: dict[str, int]
    n_compared: int
    n_new: int = 0
    next: int | None = None


def duplicates(
    holdings: Holdings,
    *,
    level: Level | None = None,
    decided: bool = False,
    start: int = 0,
    limit: int | None = None,
    find: bool = True,
) -> Duplicates:
    """The groups of copies that wait for a decision, of one level or all; those that are ``decided``, too, if wanted.

    New pictures are compared first, unless ``find`` is false: then what is known is told.
    """
    if start < 0 or (limit is not None and limit < 1):
        raise InputError("start is at least 0, and limit at least 1")
    known = finding.find(holdings) if find else finding.found(holdings)
    now = groups(holdings, known)
    wanted = [group for group in now.groups if level in (None, group.level)]
    wanted = [group for group in wanted if decided or group.waits or group.level == "bytes"]
    shown = wanted[start:] if limit is None else wanted[start : start + limit]
    after = start + len(shown)
    return Duplicates(
        [_document(holdings, group, now) for group in shown],
        dict(Counter(group.level for group in now.groups)),
        dict(Counter(group.level for group in now.groups if group.waits)),
        n_compared=len(known.keys),
        n_new=now.n_new,
        next=after if after < len(wanted) else None,
    )


def _document(holdings: Holdings, group: Group, now: Groups) -> CopyGroup:
    pictures = holdings.catalogue.pictures_with_ids(group.ids)
    colours = holdings.thumbnails.colours([picture.sha256 for picture in pictures])
    rows = rows_of(holdings, group.ids)
    members = [
        Member(
            PictureRow(**{**vars(row), "colours": own}),
            files=list(picture.paths),
            bytes=picture.size,
            sharpness=now.sharpness.get(picture.id),
            rating=picture.metadata.rating,
            taken=_as_text(now.taken.get(picture.id)),
            kept=picture.id in now.twins.kept,
        )
        for picture, row, own in zip(pictures, rows, colours, strict=True)
    ]
    best, why = best_of(members)
    return CopyGroup(group.level, members, best, why, group.likeness, group.waits)


def _as_text(taken: float | None) -> str | None:
    if taken is None:
        return None
    return datetime.fromtimestamp(taken, UTC).replace(tzinfo=None).isoformat(timespec="milliseconds")


def best_of(members: Sequence[Member]) -> tuple[int, str]:
    """The id of the picture to keep, and by what it was chosen: the first of these by which one leads."""
    leading = list(members)
    measures: dict[str, Callable[[Member], float]] = {
        "kept": lambda member: member.kept,
        "rating": lambda member: member.rating or 0,
        "size": lambda member: _steps((member.picture.width or 1) * (member.picture.height or 1)),
        "sharpness": lambda member: round(member.sharpness or 0.0, 1),
        "bytes": lambda member: member.bytes,
    }
    for why, measure in measures.items():
        most = max(map(measure, leading))
        leading = [member for member in leading if measure(member) == most]
        if len(leading) == 1 and len(members) > 1:
            return leading[0].picture.id or 0, why
    return leading[0].picture.id or 0, "first"


def _steps(n_pixels: int) -> int:
    """The number of pixels in steps of a tenth: an edge less cut off does not make a picture better."""
    return round(math.log(n_pixels) / math.log(_AS_LARGE))
