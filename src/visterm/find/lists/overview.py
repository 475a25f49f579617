"""The collection in one document: its size, its models, and the work that waits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from visterm.collection.doubts import doubts_about
from visterm.collection.features import RECIPE, ready_recipe
from visterm.collection.filters import in_state
from visterm.collection.holdings import Holdings
from visterm.collection.view import View
from visterm.contracts import Task
from visterm.documents.document import Document
from visterm.errors import VistermError
from visterm.models import Model


@dataclass(frozen=True)
class Overview(Document):
    """What a person sees first. ``changes`` grows with every change of the catalogue, by any program.

    ``class_doubts`` and ``tag_doubts`` say why to take the suggestions of the models with care. ``unlooked`` counts the
    pictures that still lack features, or that the models in use have not scored yet.
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


def unlooked(holdings: Holdings, view: View) -> NDArray[np.bool_]:
    """Which pictures lack the features that compare pictures, or the scores of a model in use."""
    recipe = ready_recipe(holdings, RECIPE)
    waiting = np.ones(len(view), np.bool_)
    waiting[holdings.library.present(recipe, view.collection.frame.keys)] = False
    if view.class_judgements is not None:
        waiting |= ~view.class_judgements.looked
    if view.tag_judgements is not None:
        waiting |= ~view.tag_judgements.looked
    return waiting


def overview(holdings: Holdings) -> Overview:
    """The collection as it is now."""
    view = holdings.views.newest()
    models = {task: _model(holdings, task) for task in (Task.CLASSIFY, Task.ANNOTATE)}
    names = {task: None if model is None else model.info.reference for task, model in models.items()}
    doubts = {task: [] if model is None else doubts_about(model, task) for task, model in models.items()}
    return Overview(
        name=holdings.folder.name,
        folder=str(holdings.folder),
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
        unlooked=int(unlooked(holdings, view).sum()),
        changes=view.collection.version[1],
    )


def _model(holdings: Holdings, task: Task) -> Model | None:
    """The model in use for ``task``; None if there is none that can be used."""
    try:
        return holdings.shelf.model(task)
    except VistermError:
        return None
