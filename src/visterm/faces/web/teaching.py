"""Routes: what people say of pictures, the vocabulary, what was done and its undoing."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from visterm import labels
from visterm.catalogue.acts import AnsweredQueue
from visterm.catalogue.labels import Kind
from visterm.faces.web.answering import OnlyOnce, Photos
from visterm.faces.web.problems import OtherActionProblem, SlipProblem, documented

router = APIRouter(tags=["labels"])

Name = Annotated[str, Field(min_length=1, max_length=1000)]


def _whole(value: object) -> object:
    """JSON knows no integers: 1.0 is 1."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Number = Annotated[int, Field(ge=1, le=2**53, examples=[1]), BeforeValidator(_whole)]
Ids = Annotated[list[Number], Field(min_length=1, max_length=20_000, examples=[[1, 2]])]


class Body(BaseModel):
    """A body that has no unknown members, and in which "1" is not a number."""

    model_config = ConfigDict(extra="forbid", strict=True)


class LabelBody(Body):
    """What a person says about some pictures, in one step."""

    ids: Ids
    class_: Name | None = Field(None, alias="class", examples=["harbour"])
    tags: list[Name] = Field([], max_length=200, examples=[["boat"]])
    no_tags: list[Name] = Field([], max_length=200, examples=[["snow"]])
    caption: str | None = Field(None, min_length=1, max_length=100_000, examples=["A boat at the quay."])
    title: Name | None = Field(None, examples=["The quay"])
    clear: list[Name] = Field(
        [],
        max_length=200,
        description="'class', 'tags', 'caption', 'title', or names to withdraw.",
        examples=[["tag:sea"]],
    )
    complete: bool = Field(
        False, description="True if these tags, with those that the person gave before, are all that fit."
    )
    only: bool = Field(False, description="True if only these tags fit: all others are denied.")
    answering: AnsweredQueue | None = Field(
        None, description="The queue of the review whose question this answers.", examples=["teach"]
    )
    new: bool = Field(False, description="True if names that look like slips are right.", examples=[True])


class DecisionBody(Body):
    """A person's decision about one class or tag of one picture."""

    id: Number
    kind: Kind = "tag"
    name: Name = Field(examples=["boat"])
    state: Literal["accepted", "rejected"] = Field(examples=["accepted"])


class DecisionsBody(Body):
    """Decisions that belong together: one undo takes them all back."""

    decisions: list[DecisionBody] = Field(
        min_length=1, max_length=20_000, examples=[[{"id": 1, "kind": "tag", "name": "boat", "state": "accepted"}]]
    )
    answering: AnsweredQueue | None = Field(
        None, description="The queue of the review whose question this answers.", examples=["tag"]
    )


class RemovalBody(Body):
    """Pictures to forget; no file is touched."""

    ids: Ids


class RenameBody(Body):
    """A class or tag and its new name."""

    kind: Kind = "tag"
    old: Name = Field(examples=["boat"])
    new: Name = Field(examples=["ship"])


class MergeBody(Body):
    """Classes or tags that become one."""

    kind: Kind = "tag"
    names: list[Name] = Field(min_length=1, max_length=1000, examples=[["boat", "car"]])
    into: Name = Field(examples=["vehicle"])


class NamesBody(Body):
    """Classes or tags."""

    kind: Kind = "tag"
    names: list[Name] = Field(min_length=1, max_length=1000, examples=[["sea"]])


class UndoBody(Body):
    """The action to undo."""

    action: Number | None = Field(
        None,
        description="Undo only if this action of the history is the last one; otherwise answer 409.",
        examples=[12],
    )


#: A body that says nothing.
_ANY_ACTION = UndoBody(action=None)


@router.post("/labels", responses=documented(409, form=SlipProblem))
def label(photos: Photos, body: LabelBody) -> labels.Labelled:
    """Label pictures: their class, tags they have or lack, whether these are all. All labels are noted, or none."""
    said = body.model_dump(exclude={"ids", "class_"})
    return photos.label(body.ids, class_name=body.class_, **said)


@router.post("/decisions")
def decisions(photos: Photos, body: DecisionsBody) -> labels.Labelled:
    """Accept or reject any number of suggestions in one step."""
    decided = [labels.deciding.Decision(each.id, each.kind, each.name, each.state) for each in body.decisions]
    return photos.decide(decided, answering=body.answering)


@router.post("/removals")
def remove(photos: Photos, body: RemovalBody) -> labels.Removal:
    """Forget pictures with their labels; the files stay."""
    return photos.remove(body.ids)


@router.get("/history")
def history(
    photos: Photos,
    picture: Annotated[
        int | None, Query(ge=1, le=2**53, description="Only what changed this picture.", examples=[1])
    ] = None,
    before: Annotated[
        int | None, Query(ge=1, le=2**53, description="The `next` of the page before.", examples=[3])
    ] = None,
    limit: Annotated[int, Query(ge=1, le=200, examples=[20])] = 20,
) -> labels.History:
    """What was changed, by whom and when, the newest first."""
    return photos.history(picture, limit=limit, before=before)


@router.post("/undo", responses=documented(409, form=OtherActionProblem))
def undo(photos: Photos, once: OnlyOnce, body: UndoBody = _ANY_ACTION) -> labels.Undoing:
    """Undo the last action, whoever did it; or one action, if it is the last."""
    return once(lambda: photos.undo(only=body.action), body)


@router.post("/redo")
def redo(photos: Photos, once: OnlyOnce) -> labels.Undoing:
    """Redo the action that was undone last."""
    return once(photos.redo)


@router.get("/vocabulary")
def vocabulary(photos: Photos) -> labels.Vocabulary:
    """The classes and tags in use, the most used first, and how well each is recognised."""
    return photos.vocabulary()


@router.get("/vocabulary/merges")
def proposed_merges(photos: Photos, kind: Annotated[Kind, Query(examples=["tag"])] = "tag") -> labels.Merges:
    """Names that look like forms of one word."""
    return photos.propose_merges(kind=kind)


@router.post("/vocabulary/rename")
def rename(photos: Photos, body: RenameBody) -> labels.Edit:
    """Give a class or tag another name."""
    return photos.rename(body.old, body.new, kind=body.kind)


@router.post("/vocabulary/merge")
def merge(photos: Photos, body: MergeBody) -> labels.Edit:
    """Make several classes or tags one."""
    return photos.merge(body.names, into=body.into, kind=body.kind)


@router.post("/vocabulary/drop")
def drop(photos: Photos, body: NamesBody) -> labels.Edit:
    """Leave classes or tags out until they are restored."""
    return photos.drop(body.names, kind=body.kind)


@router.post("/vocabulary/restore")
def restore(photos: Photos, body: NamesBody) -> labels.Edit:
    """Bring dropped, renamed or merged names back."""
    return photos.restore(body.names, kind=body.kind)
