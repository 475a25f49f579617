"""The collection in one document: how much there is, what is trained, what waits to be done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from visterm.app.document import Document
from visterm.contracts import Task

if TYPE_CHECKING:
    from visterm.app.workspace import Workspace


@dataclass(frozen=True)
class Overview(Document):
    """What a person sees first. ``changes`` grows with every change of the catalogue, by any program.

    ``unlooked`` pictures have not been looked at by the models in use, because they came later.
    """

    name: str
    folder: str
    pictures: int
    labelled: int
    unreadable: int
    classes: int
    tags: int
    class_model: str | None
    tag_model: str | None
    suggested: int
    unlooked: int
    changes: int


def overview(workspace: Workspace) -> Overview:
    """The collection as it is now."""
    view = workspace.views.newest()
    tags, classes = view.tag_predictions, view.class_predictions
    unlooked = 0
    if classes is not None:
        unlooked = int((classes.best < 0).sum())
    elif tags is not None:
        unlooked = int((tags.doubt <= 0).sum())
    shelf = workspace.shelf
    best = {task: shelf.best(task) for task in (Task.CLASSIFY, Task.ANNOTATE)}
    return Overview(
        name=workspace.folder.name,
        folder=str(workspace.folder),
        pictures=len(view),
        labelled=int((view.said > 0).sum()),
        unreadable=sum(1 for _ in workspace.catalogue.unreadable()),
        classes=len(view.class_names),
        tags=len(view.collection.truth.tag_names),
        class_model=None if (info := best[Task.CLASSIFY]) is None else info.reference,
        tag_model=None if (info := best[Task.ANNOTATE]) is None else info.reference,
        suggested=int(view.has_suggestion.sum()),
        unlooked=unlooked,
        changes=view.collection.version[1],
    )
