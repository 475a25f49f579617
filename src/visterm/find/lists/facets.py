"""Counts of classes, tags and so on, to narrow a list of pictures down."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from visterm.collection.filters import By, State, in_state, said_by
from visterm.collection.view import View
from visterm.documents.document import Document

#: Tags and folders shown; there may be thousands.
_MOST = 100


@dataclass(frozen=True)
class Count:
    """A value to narrow a list down to, and the number of pictures in the list that have it."""

    value: str
    pictures: int


@dataclass(frozen=True)
class Facets(Document):
    """Counts over the pictures of a list, the most frequent first. A folder counts with all folders below it.

    ``unreadable`` counts all files of the collection that are not usable pictures, for any list.
    """

    total: int
    classes: list[Count]
    tags: list[Count]
    suggested: list[Count]
    by: list[Count]
    states: list[Count]
    folders: list[Count]
    unreadable: int


def facets(view: View, rows: NDArray[np.intp]) -> Facets:
    """The counts of some rows of a view."""
    truth = view.collection.truth
    tags = np.bincount(truth.tags[view.rows[rows]].indices, minlength=len(truth.tag_names))
    classes = np.bincount(view.classes[rows][view.classes[rows] >= 0], minlength=len(view.class_names))
    suggested, names = np.empty(0, np.int64), list[str]()
    if view.tag_judgements is not None:
        names = view.tag_judgements.names
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
