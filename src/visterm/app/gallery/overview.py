"""The collection in one document: how much there is, what is trained, what waits to be done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visterm.app.document import Document
from visterm.app.doubts import doubts_about
from visterm.app.features import ready_recipe
from visterm.app.gallery.filters import in_state
from visterm.app.gallery.view import View
from visterm.app.similar import RECIPE
from visterm.contracts import Task
from visterm.errors import VistermError
from visterm.models import Model

if TYPE_CHECKING:
    from visterm.app.workspace import Workspace


@dataclass(frozen=True)
class Overview(Document):
    """What a person sees first. ``changes`` grows with every change of the catalogue, by any program.

    ``class_doubts`` and ``tag_doubts`` say why what the models suggest should be taken with care.
    ``unlooked`` pictures wait to be looked at: the models in use say nothing of them, or nothing compares them yet.
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
    class_doubts: list[str]
    tag_doubts: list[str]
    suggested: int
    unlooked: int
    changes: int


def unlooked(workspace: Workspace, view: View) -> NDArray[np.bool_]:
    """Which pictures lack the features by which pictures are compared, or what a model in use says of them."""
    recipe = ready_recipe(workspace, RECIPE)
    waiting = np.ones(len(view), np.bool_)
    waiting[workspace.library.present(recipe, view.collection.frame.keys)] = False
    if view.class_predictions is not None:
        waiting |= ~view.class_predictions.looked
    if view.tag_predictions is not None:
        waiting |= ~view.tag_predictions.looked
    return waiting


def overview(workspace: Workspace) -> Overview:
    """The collection as it is now."""
    view = workspace.views.newest()
    models = {task: _model(workspace, task) for task in (Task.CLASSIFY, Task.ANNOTATE)}
    names = {task: None if model is None else model.info.reference for task, model in models.items()}
    doubts = {task: [] if model is None else doubts_about(model, task) for task, model in models.items()}
    return Overview(
        name=workspace.folder.name,
        folder=str(workspace.folder),
        pictures=len(view),
        labelled=int(in_state(view, "accepted").sum()),
        unreadable=view.unreadable,
        classes=len(view.class_names),
        tags=len(view.collection.truth.tag_names),
        class_model=names[Task.CLASSIFY],
        tag_model=names[Task.ANNOTATE],
        class_doubts=doubts[Task.CLASSIFY],
        tag_doubts=doubts[Task.ANNOTATE],
        suggested=int(in_state(view, "suggested").sum()),
        unlooked=int(unlooked(workspace, view).sum()),
        changes=view.collection.version[1],
    )


def _model(workspace: Workspace, task: Task) -> Model | None:
    """The model in use for ``task``; None if there is none that can be used."""
    try:
        return workspace.shelf.model(task)
    except VistermError:
        return None
