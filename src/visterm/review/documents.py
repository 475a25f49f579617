"""The documents of a review: questions, progress, groups."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from visterm.catalogue.labels import Kind
from visterm.collection.judgements import Age
from visterm.collection.rows import Columns, PictureRow
from visterm.documents.document import Document
from visterm.documents.figure import Figure

Queue = Literal["teach", "errors", "tag", "six", "measure"]


@dataclass(frozen=True)
class SixQuestion:
    """Which of these pictures, six at most, have a tag? ``asked`` of each picture is the tag and its probability."""

    tag: str
    pictures: list[PictureRow]


@dataclass(frozen=True)
class Questions(Document):
    """Pictures to decide about, the most useful first; ``left`` counts all questions of the queue.

    The ``labels`` of a picture are the likely answers: classes, tags, or classes and then tags, if both are asked for.
    If the question is about one answer, ``asked`` is that answer. For a likely error, ``said`` is what people said.
    ``ages`` say when the model, and the review, learned. Pictures in ``measuring`` were drawn at random, to measure:
    their answers belong to the queue "measure". The queue "six" has no ``questions`` but ``six``, questions about one
    tag of six pictures each; ``left`` then counts the pairs of a picture and a tag.
    """

    queue: Queue
    questions: list[PictureRow]
    left: int
    ages: list[Age]
    measuring: list[int] = field(default_factory=list)
    six: list[SixQuestion] = field(default_factory=list)


@dataclass(frozen=True)
class CurvePoint:
    """The measured quality (right classes, or tag accuracy; from 0 to 1) with this number of labelled pictures.

    All points of a curve are measured on the same pictures, and a drop is shown only if it is more than chance.
    """

    labels: int
    quality: float
    time: float


@dataclass(frozen=True)
class TagWork:
    """A tag, and the number of undecided pictures around its threshold."""

    name: str
    pictures: int


@dataclass(frozen=True)
class ReviewState(Document):
    """The number of pictures that wait in each queue, and the quality measured so far.

    ``cold`` is true while nothing is labelled: begin with groups. ``curve`` has the quality of what the review learned
    by the number of labels. ``figure`` says how good the model in use is, as everywhere; without a model, how good what
    the review learned is. ``expected`` estimates the quality after ten more minutes; None if there is too little to go
    by. ``measure`` counts the measuring questions that wait. ``learning`` is true while the heads are fitted again.
    ``problem`` says why nothing can be reviewed. ``kind`` is what quality is measured of, classes or tags: ``labelled``
    pictures have it and ``unlabelled`` ones do not. ``asked`` has what *teach* asks for: classes, tags, or both.
    ``alike`` pictures have no label at all and can be named in groups.
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
    measure: int = 0
    figure: Figure | None = None
    asked: list[Kind] = field(default_factory=list)


@dataclass(frozen=True)
class PictureGroup:
    """Pictures that look alike, the most typical first. ``tightness`` is their mean likeness, from 0 to 1.

    A group may have thousands of pictures, so they are columns. ``outliers`` look less like the others.
    """

    number: int
    size: int
    tightness: float
    pictures: Columns
    outliers: list[int]


@dataclass(frozen=True)
class Groups(Document):
    """Groups of pictures without labels. Each picture without labels that has features is in one group."""

    groups: list[PictureGroup]
    pictures: int
