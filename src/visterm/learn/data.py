"""The collection as arrays: what people and imports said of the pictures, with the features of a recipe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from visterm import registry
from visterm.catalogue.labels import Kind
from visterm.catalogue.records import Skipped
from visterm.collection.features import described, stored_features
from visterm.collection.measuring import MeasuringSample, measuring_sample
from visterm.compute import memory, progress
from visterm.contracts import Task
from visterm.copies.together import group_numbers
from visterm.documents.wording import counted
from visterm.errors import InputError
from visterm.learn import Dataset, Origin, encode_classes
from visterm.learn.engine.affordable import affordable_rows, affordable_tags
from visterm.learn.engine.completeness import with_shares
from visterm.vision.recipes.base import Recipe

if TYPE_CHECKING:
    from visterm.collection.holdings import Holdings
    from visterm.collection.moment import Collection


def labels_only(holdings: Holdings, collection: Collection) -> Dataset:
    """The readable pictures and what people and imports said of them, without features.

    Keywords that came inside the files of one or two pictures are left out: a person is asked about them. Rare tags are
    left out if not all tags fit into memory.
    """
    truth = collection.truth
    if not len(truth):
        raise InputError("there are no pictures yet: add some with 'visterm add FOLDER'")
    y, class_names = encode_classes(truth.classes)
    nothing = np.empty((len(truth), 0), np.float32)
    names, denied = tuple(truth.tag_names), truth.rejected if truth.rejected.nnz else None
    classes, tags = (_origin(measuring_sample(holdings, collection, kind)) for kind in get_args(Kind))
    data = Dataset(
        name=holdings.folder.name,
        X=nothing,
        y=y,
        class_names=class_names,
        tags=truth.tags,
        tag_names=names,
        splits=tuple(truth.splits),
        denied=denied,
        extent=truth.extent,
        loose=truth.loose,
        class_origin=classes,
        tag_origin=tags,
        group=group_numbers(holdings, truth.ids),
    )
    stray = holdings.catalogue.stray_keywords()
    if stray:
        data = data.with_tags(np.array([i for i, tag in enumerate(names) if tag not in stray], int))
    return affordable_tags(data, _left_at_first(collection))


#: How much memory was left when the labels of a collection were first read: of one collection, the tags are the same.
_LEFT: WeakKeyDictionary[Collection, int] = WeakKeyDictionary()


def _left_at_first(collection: Collection) -> int:
    return _LEFT.setdefault(collection, memory.left())


def _origin(sample: MeasuringSample) -> Origin:
    """Places in a measuring sample that stands for all, and the acts."""
    place = np.full(len(sample.answered), -1, np.int64)
    if sample.stands_for_all:
        place[sample.rows] = np.arange(len(sample.rows))
    return Origin(place, sample.act)


def labelled(
    holdings: Holdings, collection: Collection, recipe: Recipe, rows: NDArray[Any] | None = None
) -> tuple[Dataset, list[Skipped]]:
    """The readable pictures, what people and imports said of them, and their features; and those without features.

    ``rows`` are those of :func:`labels_only` (default: all); only their features are computed. The caller keeps one
    ``collection`` for all that it compares, whatever others add or label in the meantime.
    """
    labels = labels_only(holdings, collection)
    chosen = affordable_rows(np.arange(len(labels)) if rows is None else np.asarray(rows), recipe)
    keys = collection.truth.sha256
    wanted = [keys[row] for row in chosen]
    places, failed = described(holdings, recipe, wanted, wait=True)
    if failed:
        left_out = f"{counted(len(failed), 'picture')} of {len(wanted)}"
        progress.note(f"{left_out} cannot be used for learning; the first is {failed[0]}")
    X = stored_features(holdings, recipe, [wanted[place] for place in places])
    data = replace(labels.select(chosen[places]), X=X)
    return with_shares(data), failed


def labelled_but_unreadable(holdings: Holdings) -> list[Skipped]:
    """The pictures that have a label but cannot be read, and why."""
    return [
        Skipped(next(iter(picture.paths), picture.sha256), picture.reason or "it cannot be read")
        for picture in holdings.catalogue.pictures(state="unreadable")
        if picture.class_label is not None or any(label.state == "accepted" for label in picture.tags)
    ]


def only_test_pictures(labels: Dataset, task: Task) -> str:
    """Why nothing can be learned for a task if all pictures with its labels are test pictures; empty if it can."""
    has, what = labels.labelled(task), "a class" if task is Task.CLASSIFY else "tags"
    n_labelled = int(has.sum())
    if not n_labelled or (has & ~labels.is_test).any():
        return ""
    all_of_them = f"all {n_labelled} pictures" if n_labelled > 1 else "the only picture"
    are = "are test pictures" if n_labelled > 1 else "is a test picture"
    return f"{all_of_them} with {what} {are} (split 'test'), which are never used for learning: label others, too"


def require_labels(labels: Dataset, methods: Sequence[registry.Method]) -> None:
    """Refuse to learn or compare where every picture that has the labels is a test picture."""
    tasks = [Task.CLASSIFY if Task.CLASSIFY in method.tasks else Task.ANNOTATE for method in methods]
    found = [only_test_pictures(labels, task) for task in tasks]
    if found and all(found):
        raise InputError("; ".join(dict.fromkeys(found)))
