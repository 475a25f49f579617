"""Counts of classes, tags and so on, to narrow a list of pictures down."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from visterm.collection.facts import Facts
from visterm.collection.filters import By, State, in_state, said_by
from visterm.collection.view import View
from visterm.documents.document import Document
from visterm.geography import Gazetteer

#: Tags, folders and places shown; there may be thousands.
_MOST = 100


@dataclass(frozen=True)
class Count:
    """A value to narrow a list down to, and the number of pictures in the list that have it."""

    value: str
    pictures: int


@dataclass(frozen=True)
class Facets(Document):
    """Counts over the pictures of a list, the most frequent first. A folder counts with all folders below it.

    ``months`` are a timeline, the newest first, with all months that have pictures. ``countries`` and ``towns`` are
    those in which pictures were taken. Each value of these is that of a field of the query language: ``date:2019-07``,
    ``place:Norway``, ``camera:``, ``rating:``.
    ``unreadable`` counts all files of the collection that are not usable pictures, for any list.
    """

    total: int
    classes: list[Count]
    tags: list[Count]
    suggested: list[Count]
    by: list[Count]
    states: list[Count]
    folders: list[Count]
    months: list[Count]
    countries: list[Count]
    towns: list[Count]
    cameras: list[Count]
    ratings: list[Count]
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
        **_of_facts(view.collection.facts, rows),
        unreadable=view.unreadable,
    )


def _of_facts(facts: Facts, rows: NDArray[np.intp]) -> dict[str, list[Count]]:
    """What the files of the pictures say."""
    map_of, places = Gazetteer.open(), facts.places

    def counted(names: list[str], codes: NDArray[np.int32]) -> list[Count]:
        own = codes[rows]
        return _most(names, np.bincount(own[own >= 0], minlength=len(names)))

    months, cameras = facts.months, facts.texts("camera")
    of_month = np.bincount(months.codes[rows] + 1, minlength=len(months.names) + 1)[1:].tolist()
    ratings = facts.numbers("rating")[rows]
    values, numbers = np.unique(ratings[~np.isnan(ratings)], return_counts=True)
    return {
        "months": [Count(*each) for each in sorted(zip(months.names, of_month, strict=True), reverse=True) if each[1]],
        "countries": counted(map_of.countries, places.countries),
        "towns": counted(map_of.towns, places.towns),
        "cameras": counted(cameras.names, cameras.codes),
        "ratings": [Count(f"{value:g}", int(n)) for value, n in zip(values[::-1], numbers[::-1], strict=True)],
    }


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
