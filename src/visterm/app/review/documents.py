"""What a review answers with: questions, what waits, how good it gets, groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from visterm.app.document import Document
from visterm.catalogue.labels import Kind

Queue = Literal["teach", "errors", "tag"]


@dataclass(frozen=True)
class Option:
    """A possible answer, and its probability."""

    kind: Kind
    name: str
    probability: float


@dataclass(frozen=True)
class Question:
    """A picture to decide about. ``options`` are the likely answers; ``asked`` is the one in question, if it is one.

    For a likely error, ``said`` is what people said.
    """

    id: int
    key: str
    width: int
    height: int
    colours: str
    options: list[Option]
    asked: Option | None = None
    said: str | None = None


@dataclass(frozen=True)
class Questions(Document):
    """The next questions of a queue, the most useful first; ``left`` is how many there are in all."""

    queue: Queue
    questions: list[Question]
    left: int


@dataclass(frozen=True)
class CurvePoint:
    """What was measured with so many labelled pictures: right classes or average tag precision, from 0 to 1."""

    labels: int
    quality: float
    time: float


@dataclass(frozen=True)
class TagWork:
    """A tag, and how many undecided pictures are around its threshold."""

    name: str
    pictures: int


@dataclass(frozen=True)
class ReviewState(Document):
    """What waits to be reviewed, and how good it gets.

    ``cold`` says that nothing is labelled yet: begin with groups. ``curve`` has the measured quality against labels;
    ``expected`` is the estimate after ten more minutes, None if it cannot be told. ``learning`` is true while the heads
    are being fitted again. ``problem`` says why nothing can be reviewed. ``labelled`` and ``unlabelled`` pictures have
    or lack what is asked about, ``kind``; ``alike`` ones have no label at all and can be named in groups.
    """

    ready: bool
    cold: bool
    learning: bool
    kind: Kind
    labelled: int
    unlabelled: int
    teach: int
    errors: int
    tags: list[TagWork]
    curve: list[CurvePoint]
    expected: float | None
    fitted_changes: int
    problem: str | None = None
    alike: int = 0


@dataclass(frozen=True)
class GroupMember:
    """A picture of a group; an outlier looks less like the others."""

    id: int
    key: str
    width: int
    height: int
    colours: str
    outlier: bool


@dataclass(frozen=True)
class PictureGroup:
    """Pictures that look alike, the most typical first; ``tightness`` is their mean likeness, from 0 to 1."""

    number: int
    size: int
    tightness: float
    pictures: list[GroupMember]


@dataclass(frozen=True)
class Groups(Document):
    """Groups of pictures that nobody has labelled; every such picture that has features is in one."""

    groups: list[PictureGroup]
    pictures: int
