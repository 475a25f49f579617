"""Why the model in use suggests a tag for one picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from visterm.app.document import Document
from visterm.app.why import Witnesses
from visterm.contracts import Task
from visterm.errors import InputError
from visterm.language import word_key

if TYPE_CHECKING:
    from visterm.app.workspace import Workspace


@dataclass(frozen=True)
class Reminder:
    """A picture that people gave the tag, its content hash, and how alike it is: 1 for the same."""

    id: int
    key: str
    path: str
    likeness: float


@dataclass(frozen=True)
class Why(Document):
    """What speaks for a tag: ``shares`` of a grid of cells, rows from top to bottom, empty if no part decides alone.

    ``where`` says it in words. ``reminds_of`` is the picture that this one reminds the model of; None if there is none.
    """

    word: str
    model: str
    shares: list[list[float]]
    where: str | None
    reminds_of: Reminder | None


def why(workspace: Workspace, key: str, word: str) -> Why:
    """Why the model for tags suggests ``word`` for the picture with this content."""
    model = workspace.shelf.model(Task.ANNOTATE)
    collection = workspace.collection()
    path = dict(zip(collection.frame.sha256, collection.frame.paths, strict=True)).get(key)
    if path is None:
        raise InputError("the file of this picture is missing")
    names = collection.frame.current_names("tag", model.info.tags)
    if word not in names:
        raise InputError(f"the model {model.info.reference} does not know the tag {word!r}")
    witnesses = Witnesses(workspace, model, collection.truth, names)
    asked = word_key(word)
    (regions,) = witnesses.regions([(path, [asked])])
    counts = regions is not None and regions.any_counts
    alike = witnesses.lookalike(key, asked)
    key_of = dict(zip(collection.truth.ids.tolist(), collection.truth.sha256, strict=True))
    return Why(
        word,
        model.info.reference,
        [list(row) for row in regions.shares] if regions is not None and counts else [],
        None if regions is None else str(regions),
        None if alike is None else Reminder(alike.id, key_of[alike.id], alike.path, round(alike.likeness, 4)),
    )
