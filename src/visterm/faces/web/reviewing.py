"""Routes: review. Answers are given with /labels and /decisions; the heads hear of them by themselves."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from visterm.catalogue.labels import Kind
from visterm.faces.web.answering import Photos, Without
from visterm.faces.web.teaching import Body, Name, Number
from visterm.review.documents import Groups, Questions, Queue, ReviewState

router = APIRouter(prefix="/review", tags=["review"])


class KeepBody(Body):
    """A label that looked wrong and is right."""

    id: Number
    kind: Kind = Field(examples=["class"])
    name: Name = Field(examples=["harbour"])
    keep: bool = Field(True, description="False takes this back, so that the label is asked about again.")


class SkipBody(Body):
    """A measuring question that nobody can answer."""

    id: Number
    skip: bool = Field(True, description="False takes this back, so that the picture can be asked about again.")


@router.get("")
def state(photos: Photos) -> ReviewState:
    """The number of pictures that wait in each queue, and the quality measured so far."""
    return photos.reviewer.state()


@router.get("/questions")
def questions(
    photos: Photos,
    queue: Annotated[Queue, Query(description="What to ask about.", examples=["teach"])] = "teach",
    tag: Annotated[str | None, Query(max_length=1000, description="For the queue `tag`.", examples=["sky"])] = None,
    without: Without = "",
    limit: Annotated[int, Query(ge=1, le=100, examples=[20])] = 20,
) -> Questions:
    """The next questions of a queue, the most useful first."""
    left_out = {int(number) for number in without.split(",") if number}
    return photos.reviewer.questions(queue, tag=tag, without=left_out, limit=limit)


@router.get("/groups")
def groups(photos: Photos, limit: Annotated[int, Query(ge=1, le=60, examples=[30])] = 30) -> Groups:
    """Groups of pictures that look alike and that nobody has labelled."""
    return photos.reviewer.groups(limit=limit)


@router.post("/keep")
def keep(photos: Photos, body: KeepBody) -> ReviewState:
    """Say that a label that looked wrong is right, so that it is not asked about again."""
    return photos.reviewer.keep(body.id, body.kind, body.name, keep=body.keep)


@router.post("/skip")
def skip(photos: Photos, body: SkipBody) -> ReviewState:
    """Say that nobody can tell the answer to a measuring question, so that the picture is not measured on."""
    return photos.reviewer.skip(body.id, skip=body.skip)
