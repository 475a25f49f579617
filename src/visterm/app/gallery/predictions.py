"""What the models in use say of every picture: suggested tags above their thresholds, the likeliest class, doubt."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.app.collection import Frame
from visterm.app.indexing import Reading, class_index, edition, is_same, word_index
from visterm.contracts import Task
from visterm.errors import VistermError
from visterm.learning import PRECISION
from visterm.models import Model

if TYPE_CHECKING:
    from visterm.app.workspace import Workspace

#: Pictures read from an index at a time.
_BLOCK = 4096
#: The threshold of every tag if the model's probabilities were never measured.
_UNMEASURED = 0.5

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class TagPredictions:
    """Suggested tags: a (n_pictures, n_tags) matrix with the probabilities at or above their thresholds.

    Rows are those of the frame's ``keys``; ``names`` are the tags as they are called now, empty for dropped ones.
    ``doubt`` is the largest ``4 p (1 - p)`` of a picture's tags; ``looked`` says where the model has looked.
    """

    model: str
    names: list[str]
    likely: sparse.csr_array
    doubt: Floats
    looked: NDArray[np.bool_]
    thresholds: Floats


@dataclass(frozen=True, eq=False)
class ClassPredictions:
    """The likeliest class of every picture that was not dropped, its probability, and the doubt.

    The class is -1 where the model has not ``looked``, and where people dropped all that it knows.
    """

    model: str
    names: list[str]
    best: NDArray[np.int32]
    probability: Floats
    doubt: Floats
    looked: NDArray[np.bool_]


class Predictions:
    """Keeps what the models in use say, until the pictures, their features or the models change."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._guard = threading.Lock()
        self._kept: dict[str, tuple[Frame, Model, tuple[object, ...], Any, Reading]] = {}

    def tags(self, frame: Frame) -> TagPredictions | None:
        """What the model for tags says of the pictures of ``frame``; None if there is no such model."""
        return self._current(frame, Task.ANNOTATE, _tags)

    def classes(self, frame: Frame) -> ClassPredictions | None:
        """What the model for classes says of the pictures of ``frame``; None if there is no such model."""
        return self._current(frame, Task.CLASSIFY, _classes)

    def _current(self, frame: Frame, task: Task, read: Any) -> Any:
        shelf = self._workspace.shelf
        if shelf.best(task) is None:
            return None
        try:
            model = shelf.model(task)
        except VistermError:
            return None
        with self._guard:
            kept = self._kept.get(task.value)
            now = edition(self._workspace, model)
            known = kept is not None and kept[0] is frame and kept[1] is model
            if kept is None or not known or not (is_same(kept[2], now) or kept[4].is_recent()):
                started = time.thread_time()
                found = read(self._workspace, frame, model)
                complete = edition(self._workspace, model) if found.looked.all() else now
                kept = self._kept[task.value] = (frame, model, complete, found, Reading.since(started))
            return kept[3]


def _slots_of(index_keys: list[str], frame: Frame) -> NDArray[np.int64]:
    """The place of each picture in the index; -1 where it is not in it."""
    place = {key: slot for slot, key in enumerate(index_keys)}
    return np.array([place.get(key, -1) for key in frame.keys], np.int64)


def _tags(workspace: Workspace, frame: Frame, model: Model) -> TagPredictions:
    names = frame.current_names("tag", model.info.tags)
    snapshot = word_index(workspace, model, frame.keys).snapshot
    slots = _slots_of(snapshot.keys(), frame)
    likely = model.relevance
    thresholds = np.full(len(names), _UNMEASURED) if likely is None else likely.thresholds(PRECISION)
    usable = np.array([bool(name) for name in names])
    doubt = np.zeros(len(slots), np.float32)
    blocks = []
    for start in range(0, len(slots), _BLOCK):
        some = slots[start : start + _BLOCK]
        inside = np.flatnonzero(some >= 0)
        p = np.zeros((len(some), len(names)), np.float32)
        if len(inside):
            p[inside] = np.exp(snapshot.vectors(some[inside]))
        p[:, ~usable] = 0.0
        doubt[start : start + len(some)] = (4 * p * (1 - p)).max(axis=1, initial=0.0)
        blocks.append(sparse.csr_array(np.where(p >= thresholds, p, 0.0).astype(np.float32)))
    matrix = sparse.vstack(blocks, format="csr") if blocks else sparse.csr_array((0, len(names)), dtype=np.float32)
    return TagPredictions(
        model.info.reference, names, sparse.csr_array(matrix), doubt, slots >= 0, thresholds.astype(np.float32)
    )


def _classes(workspace: Workspace, frame: Frame, model: Model) -> ClassPredictions:
    names = frame.current_names("class", model.info.classes)
    snapshot = class_index(workspace, model, frame.keys).snapshot
    slots = _slots_of(snapshot.keys(), frame)
    best = np.full(len(slots), -1, np.int32)
    probability = np.zeros(len(slots), np.float32)
    doubt = np.zeros(len(slots), np.float32)
    usable = np.array([bool(name) for name in names])
    for start in range(0, len(slots), _BLOCK):
        places = start + np.flatnonzero(slots[start : start + _BLOCK] >= 0)
        if len(places) and usable.any():
            p = np.where(usable, np.exp(snapshot.vectors(slots[places])), -1.0)
            best[places] = p.argmax(axis=1)
            probability[places] = p.max(axis=1)
            doubt[places] = 1 - p.max(axis=1)
    return ClassPredictions(model.info.reference, names, best, probability, doubt, slots >= 0)
