"""What the models in use say of every picture: suggested tags above their thresholds, the likeliest class, doubt."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.catalogue.labels import Kind
from visterm.catalogue.parts import is_test
from visterm.catalogue.truth import Truth
from visterm.collection.judging import ClassJudge, TagJudge, none_of
from visterm.collection.moment import Frame
from visterm.collection.scores import Reading, class_index, edition, is_same, word_index
from visterm.compute.rows import slices
from visterm.contracts import Task
from visterm.errors import VistermError
from visterm.models import Model, ModelInfo

if TYPE_CHECKING:
    from visterm.collection.opened import Opened
    from visterm.index import Snapshot

#: Numbers read from an index at a time: pictures times names.
_BLOCK = 2**22

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Age:
    """Who says how likely classes or tags are, a model or "review", and when and from how many pictures it learned.

    ``since`` more pictures have been labelled by now; None outside of a collection.
    """

    by: str
    kind: Kind
    learned: str
    labelled: int
    since: int | None = None

    @classmethod
    def of(cls, info: ModelInfo, kind: Kind) -> Age:
        """The age of what a model says."""
        counted = info.training.get("pictures_with_class" if kind == "class" else "pictures_with_tags", 0)
        return cls(info.reference, kind, info.created, counted)

    def now(self, truth: Truth) -> Age:
        """The same, with what has been labelled since."""
        return replace(self, since=max(0, n_labelled(truth, self.kind) - self.labelled))


def n_labelled(truth: Truth, kind: Kind) -> int:
    """How many pictures have a class, or tags, to learn from: test pictures do not count."""
    has = np.diff(truth.tags.indptr) > 0
    if kind == "class":
        has = np.array([name is not None for name in truth.classes], np.bool_)
    has[[row for row, split in enumerate(truth.splits) if split is not None and is_test(split)]] = False
    return int(has.sum())


@dataclass(frozen=True)
class LikelyName:
    """A class or tag, the probability that the picture has it, and who says so: a model, or "review"."""

    name: str
    probability: float
    kind: Kind = "tag"
    by: str = ""


@dataclass(frozen=True, eq=False)
class Judged:
    """What a model, or a review, says of the pictures of a frame; rows are those of the frame's ``keys``.

    ``names`` are the classes or tags as they are called now, each once; ``looked`` says where it has looked, and
    ``probabilities`` gives those of all names for the picture of a row.
    """

    age: Age
    names: list[str]
    looked: NDArray[np.bool_]
    probabilities: Callable[[int], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class TagJudgements(Judged):
    """Suggested tags: a (n_pictures, n_names) matrix with the probabilities at or above their ``thresholds``.

    ``doubt`` is the largest ``4 p (1 - p)`` of a picture's tags.
    """

    likely: sparse.csr_array
    doubt: Floats
    thresholds: Floats


@dataclass(frozen=True, eq=False)
class ClassJudgements(Judged):
    """The likeliest class of every picture, its probability, and the doubt.

    ``none`` is the probability that a picture belongs to none of the classes: what their probabilities lack to 1. The
    class is -1 where the model has not ``looked``, where people dropped all that it knows, and where none is likelier.
    """

    best: NDArray[np.int32]
    probability: Floats
    doubt: Floats
    none: Floats


class Judgements:
    """Keeps what the models in use say, until the pictures, their features or the models change."""

    def __init__(self, opened: Opened) -> None:
        self._opened, self._guard = opened, threading.Lock()
        self._kept: dict[str, tuple[Frame, Model, tuple[object, ...], Any, Reading]] = {}

    def tags(self, frame: Frame) -> TagJudgements | None:
        """What the model for tags says of the pictures of ``frame``; None if there is no such model."""
        return self._current(frame, Task.ANNOTATE, _tags)

    def classes(self, frame: Frame) -> ClassJudgements | None:
        """What the model for classes says of the pictures of ``frame``; None if there is no such model."""
        return self._current(frame, Task.CLASSIFY, _classes)

    def _current(self, frame: Frame, task: Task, read: Any) -> Any:
        shelf = self._opened.shelf
        if shelf.best(task) is None:
            return None
        try:
            model = shelf.model(task)
        except VistermError:
            return None
        with self._guard:
            kept = self._kept.get(task.value)
            now = edition(self._opened, model)
            known = kept is not None and kept[0] is frame and kept[1] is model
            if kept is None or not known or not (is_same(kept[2], now) or kept[4].is_recent()):
                started = time.thread_time()
                found = read(self._opened, frame, model)
                complete = edition(self._opened, model) if found.looked.all() else now
                kept = self._kept[task.value] = (frame, model, complete, found, Reading.since(started))
            return kept[3]


def believed(known: Judged | None, learned: Judged, row: int) -> list[LikelyName]:
    """The names that a review has ``learned``, for the picture of a row: one number for each question everywhere.

    Of names that the model in use knows, the number is that of the model, if it has looked at the picture; of others
    it is what the review has learned since.
    """
    p = {name: (value, learned.age.by) for name, value in _said(learned, row)}
    if known is not None and known.looked[row]:
        p.update((name, (value, known.age.by)) for name, value in _said(known, row) if name in p)
    return [LikelyName(name, round(value, 4), learned.age.kind, by) for name, (value, by) in p.items()]


def _said(judged: Judged, row: int) -> Iterator[tuple[str, float]]:
    return zip(judged.names, judged.probabilities(row).tolist(), strict=True)


def _tags(opened: Opened, frame: Frame, model: Model) -> TagJudgements:
    from visterm.calibration import PRECISION  # a search, which needs the rows of pictures only, starts without it

    judge = TagJudge(model, frame)
    snapshot = word_index(opened, model, frame.keys).snapshot
    slots = snapshot.find(frame.keys)
    thresholds = judge.thresholds(PRECISION)
    doubt = np.zeros(len(slots), np.float32)
    blocks = []
    for rows in _parts(len(slots), len(judge.names)):
        some = slots[rows]
        inside = np.flatnonzero(some >= 0)
        p = np.zeros((len(some), len(judge.names)), np.float32)
        if len(inside):
            p[inside] = judge.probabilities(snapshot.vectors(some[inside]))
        doubt[rows] = (4 * p * (1 - p)).max(axis=1, initial=0.0)
        blocks.append(sparse.csr_array(np.where(p >= thresholds, p, 0.0).astype(np.float32)))
    blocks = blocks or [sparse.csr_array((0, len(judge.names)), dtype=np.float32)]
    return TagJudgements(
        Age.of(model.info, "tag"),
        judge.names,
        slots >= 0,
        _reader(judge, snapshot, slots),
        sparse.csr_array(sparse.vstack(blocks, format="csr")),
        doubt,
        thresholds.astype(np.float32),
    )


def _parts(n_pictures: int, n_names: int) -> list[slice]:
    return slices(n_pictures, max(1, _BLOCK // max(1, n_names)))


def _reader(
    judge: TagJudge | ClassJudge, snapshot: Snapshot, slots: NDArray[np.int64]
) -> Callable[[int], NDArray[np.float64]]:
    """What gives the probabilities of all names for the picture of a row; zeros where the model has not looked."""

    def probabilities(row: int) -> NDArray[np.float64]:
        if slots[row] < 0:
            return np.zeros(len(judge.names))
        return np.asarray(judge.probabilities(snapshot.vectors(slots[[row]]))[0], np.float64)

    return probabilities


def _classes(opened: Opened, frame: Frame, model: Model) -> ClassJudgements:
    judge = ClassJudge(model, frame)
    snapshot = class_index(opened, model, frame.keys).snapshot
    slots = snapshot.find(frame.keys)
    n_names = len(judge.names)
    best = np.full(len(slots), -1, np.int32)
    probability, doubt, none = (np.zeros(len(slots), np.float32) for _ in range(3))
    for rows in _parts(len(slots), n_names):
        places = rows.start + np.flatnonzero(slots[rows] >= 0)
        if len(places) and n_names:
            p = judge.probabilities(snapshot.vectors(slots[places]))
            probability[places], none[places] = p.max(axis=1), none_of(p)
            best[places] = np.where(none[places] > probability[places], -1, p.argmax(axis=1))
            doubt[places] = 1 - np.maximum(probability[places], none[places])
    read, age = _reader(judge, snapshot, slots), Age.of(model.info, "class")
    return ClassJudgements(
        age, judge.names, slots >= 0, read, best=best, probability=probability, doubt=doubt, none=none
    )
