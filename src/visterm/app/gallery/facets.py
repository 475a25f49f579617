"""Counts by which a list of pictures can be narrowed down."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, get_args

import numpy as np
from numpy.typing import NDArray

from visterm.app.document import Document
from visterm.app.gallery.filters import By, Filters, State, in_state, said_by
from visterm.app.gallery.view import View

if TYPE_CHECKING:
    from visterm.app.workspace import Workspace

#: Tags and folders shown; there may be thousands.
_MOST = 100


@dataclass(frozen=True)
class Count:
    """A value that pictures can be narrowed down to, and how many pictures of the list have it."""

    value: str
    pictures: int


@dataclass(frozen=True)
class Facets(Document):
    """Counts over the pictures of a list, the most frequent first; a folder counts with all below it.

    ``unreadable`` are files of the collection that are no usable pictures, whatever the list.
    """

    total: int
    classes: list[Count]
    tags: list[Count]
    suggested: list[Count]
    by: list[Count]
    states: list[Count]
    folders: list[Count]
    unreadable: int


def facets(workspace: Workspace, query: str = "", filters: Filters = Filters()) -> Facets:  # noqa: B008 - frozen
    """The counts of the pictures that a query finds and ``filters`` keep."""
    view, listed = workspace.gallery.listed(query, filters)
    rows = listed.rows[: listed.n_found]
    truth = view.collection.truth
    tags = np.bincount(truth.tags[view.rows[rows]].indices, minlength=len(truth.tag_names))
    classes = np.bincount(view.classes[rows][view.classes[rows] >= 0], minlength=len(view.class_names))
    suggested, names = np.empty(0, np.int64), list[str]()
    if view.tag_predictions is not None:
        names = view.tag_predictions.names
        suggested = np.bincount(view.open_suggestions[rows].indices, minlength=len(names))
    return Facets(
        total=len(rows),
        classes=_most(view.class_names, classes),
        tags=_most(truth.tag_names, tags),
        suggested=_most(names, suggested),
        by=[Count(by, int(said_by(view, by)[rows].sum())) for by in get_args(By)],
        states=[Count(state, int(in_state(view, state)[rows].sum())) for state in get_args(State)],
        folders=_folders(view, rows),
        unreadable=view.unreadable,
    )


def _folders(view: View, rows: NDArray[np.intp]) -> list[Count]:
    """The folders that hold pictures of the list, each with as many as a filter by it keeps."""
    names, folder_of = view.collection.frame.folders
    held = np.bincount(folder_of[rows], minlength=len(names)).tolist()
    own = {name: number for name, number in zip(names, held, strict=True) if number}
    counts = dict.fromkeys(own, 0)
    for folder, number in own.items():
        above = {folder, "", *(str(parent) for parent in PurePosixPath(folder).parents)}
        for each in above & counts.keys():
            counts[each] += number
    return [Count(name, counts[name]) for name in sorted(counts)[:_MOST]]


def _most(names: list[str], counts: np.ndarray) -> list[Count]:
    order = np.argsort(-counts, kind="stable")[:_MOST]
    return [Count(names[place], int(counts[place])) for place in order.tolist() if counts[place] and names[place]]
