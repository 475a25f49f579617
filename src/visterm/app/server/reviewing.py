"""Routes: review. Answers are given with /labels and /decisions; the heads hear of them by themselves."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from visterm.app.review.documents import Groups, Questions, Queue, ReviewState
from visterm.app.server.answering import Photos
from visterm.app.server.teaching import Body, Name
from visterm.catalogue.labels import Kind

router = APIRouter(prefix="/review", tags=["review"])


class KeepBody(Body):
    """A label that looked wrong and is right."""

    id: Annotated[int, Field(ge=1, le=2**62)]
    kind: Kind
    name: Name
    keep: bool = Field(True, description="False takes it back: the label is asked about again.")


@router.get("")
def state(photos: Photos) -> ReviewState:
    """What waits to be reviewed, and how good it gets."""
    return photos.reviewer.state()


@router.get("/questions")
def questions(
    photos: Photos,
    queue: Queue = "teach",
    tag: Annotated[str | None, Query(max_length=1000, description="For the queue `tag`.")] = None,
    without: Annotated[
        str, Query(pattern=r"^(\d{1,18}(,\d{1,18})*)?$", max_length=20_000, description="Pictures to leave out.")
    ] = "",
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> Questions:
    """The next questions of a queue, the most useful first."""
    left_out = {int(number) for number in without.split(",") if number}
    return photos.reviewer.questions(queue, tag=tag, without=left_out, limit=limit)


@router.get("/groups")
def groups(photos: Photos, limit: Annotated[int, Query(ge=1, le=60)] = 30) -> Groups:
    """Groups of pictures that look alike and that nobody has labelled."""
    return photos.reviewer.groups(limit=limit)


@router.post("/keep")
def keep(photos: Photos, body: KeepBody) -> ReviewState:
    """Say that a label that looked wrong is right, so that it is not asked about again."""
    photos.reviewer.keep(body.id, body.kind, body.name, keep=body.keep)
    return photos.reviewer.state()
