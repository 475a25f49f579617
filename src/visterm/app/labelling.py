"""What a person says of pictures, and the words they say it with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from visterm.app.document import Document
from visterm.catalogue.labels import Kind, LabelRow
from visterm.catalogue.records import PERSON
from visterm.catalogue.vocabulary import TermUse
from visterm.errors import InputError

if TYPE_CHECKING:
    from visterm.app.workspace import Workspace


@dataclass(frozen=True)
class Labelled(Document):
    """How many labels were noted."""

    labels: int


@dataclass(frozen=True)
class Terms:
    """The names of one kind: those in use, those dropped, and old names with what they stand for."""

    terms: list[TermUse]
    dropped: list[str]
    aliases: dict[str, str]


@dataclass(frozen=True)
class Vocabulary(Document):
    """The classes and tags of a collection."""

    class_: Terms
    tag: Terms


@dataclass(frozen=True)
class Edit(Document):
    """What an edit of the vocabulary did, in words."""

    done: str


def label(
    workspace: Workspace,
    pictures: Sequence[str | Path],
    *,
    class_name: str | None = None,
    tags: Sequence[str] = (),
    no_tags: Sequence[str] = (),
) -> Labelled:
    """Note what a person says of pictures: their class, tags they have, tags they do not have."""
    if class_name is None and not tags and not no_tags:
        raise InputError("say what the picture is: --class, --tag or --no-tag")
    rows: list[LabelRow] = []
    for reference in pictures:
        known = workspace.picture(reference)
        if known is None:
            raise InputError(f"{reference} is not in the collection: add it first")
        rows += [(known.id, "tag", name, "accepted", None) for name in tags]
        rows += [(known.id, "tag", name, "rejected", None) for name in no_tags]
        if class_name is not None:
            rows.append((known.id, "class", class_name, "accepted", None))
    return Labelled(workspace.catalogue.write_labels(rows, source=PERSON))


def vocabulary(workspace: Workspace) -> Vocabulary:
    """The classes and tags in use, the most used first."""
    catalogue = workspace.catalogue

    def terms(kind: Kind) -> Terms:
        return Terms(catalogue.vocabulary(kind), catalogue.dropped(kind), catalogue.aliases(kind))

    return Vocabulary(terms("class"), terms("tag"))


def rename(workspace: Workspace, old: str, new: str, *, kind: Kind = "tag") -> Edit:
    """Give a tag or class another name."""
    workspace.catalogue.rename(kind, old, new)
    return Edit(f"{old} is called {new} now")


def merge(workspace: Workspace, names: Sequence[str], *, into: str, kind: Kind = "tag") -> Edit:
    """Make several tags or classes one."""
    workspace.catalogue.merge(kind, names, into)
    return Edit(f"{', '.join(names)} are {into} now")


def drop(workspace: Workspace, name: str, *, kind: Kind = "tag") -> Edit:
    """Leave a tag or class out, also of later imports."""
    workspace.catalogue.drop(kind, name)
    return Edit(f"{name} is dropped")


def restore(workspace: Workspace, name: str, *, kind: Kind = "tag") -> Edit:
    """Bring a dropped, renamed or merged name back."""
    workspace.catalogue.restore(kind, name)
    return Edit(f"{name} is back")
