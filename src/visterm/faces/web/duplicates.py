"""Routes: groups of copies, and what a person decides about them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from visterm import copies
from visterm.catalogue import Verdict
from visterm.copies.grouping import Level
from visterm.faces.web.answering import Photos
from visterm.faces.web.teaching import Body, Ids

router = APIRouter(tags=["duplicates"])


class JudgementBody(Body):
    """What some pictures are to each other."""

    ids: Annotated[Ids, Field(min_length=2, max_length=200)]
    said: Verdict = Field(examples=["different"])


class KeepBody(Body):
    """The pictures of one group that are to be kept."""

    ids: Ids


class ShareBody(Body):
    """Whether labels are shared, or only looked at."""

    dry_run: bool = Field(True, description="False gives the labels.", examples=[True])


@router.get("/duplicates")
def duplicates(
    photos: Photos,
    level: Annotated[Level | None, Query(description="Only groups of this kind.", examples=["picture"])] = None,
    decided: Annotated[bool, Query(description="Also groups that were decided.", examples=[False])] = False,
    start: Annotated[int, Query(ge=0, le=2**31, description="The `next` of the page before.", examples=[0])] = 0,
    limit: Annotated[int, Query(ge=1, le=200, examples=[20])] = 20,
) -> copies.Duplicates:
    """The groups of copies that were found; a job of the kind `duplicates` compares new pictures."""
    return photos.duplicates(find=False, level=level, decided=decided, start=start, limit=limit)


@router.post("/duplicates/judge")
def judge(photos: Photos, body: JudgementBody) -> copies.Judged:
    """Say that pictures are the same picture, one series, or different ones, each with each."""
    return photos.judge_copies(body.ids, body.said)


@router.post("/duplicates/keep")
def keep(photos: Photos, body: KeepBody) -> copies.Judged:
    """Say that of their group, exactly these pictures are to be kept. The group is decided then."""
    return photos.keep_copies(body.ids)


@router.post("/duplicates/share")
def share(photos: Photos, body: ShareBody) -> copies.Shared:
    """What labels copies of a picture get from each other; they get them if it is no `dry_run`."""
    return photos.share_labels(dry_run=body.dry_run)
