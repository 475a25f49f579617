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
class Why(Document):
    """What counts for a tag: ``shares`` of a grid of cells, rows from top to bottom, empty if no part counts by itself;
    in ``lines``, what the picture reminds the model of.
    """

    word: str
    model: str
    shares: list[list[float]]
    where: str | None
    lines: list[str]


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
    words = [word_key(word)]
    (regions,) = witnesses.regions([(path, words)])
    counts = regions is not None and regions.any_counts
    return Why(
        word,
        model.info.reference,
        [list(row) for row in regions.shares] if regions is not None and counts else [],
        None if regions is None else str(regions),
        list(witnesses.of(key, words)),
    )
