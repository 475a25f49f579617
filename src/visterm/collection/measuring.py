"""The measuring sample: pictures in an order that knows nothing of them, and how many at its start are answered.

All pictures that can be asked about have a place in one order, decided by the hash of their content. The pictures at
its start all of which have an answer, whoever gave it and why, are the measuring sample. What queues choose does not
depend on the order, so the sample stands for all pictures. Measuring questions ask about those that follow.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visterm.catalogue.acts import Act, Extent
from visterm.catalogue.labels import Kind
from visterm.catalogue.parts import is_test
from visterm.catalogue.truth import Truth
from visterm.documents.figure import ENOUGH, GOAL
from visterm.errors import VistermError
from visterm.storage import write_text_atomically

if TYPE_CHECKING:
    from visterm.collection.moment import Collection
    from visterm.collection.opened import Opened

#: Pictures of which a person cannot tell the answer, by kind and content hash.
_SKIPPED = "measuring-skipped.json"


def answered_start(order: NDArray[np.intp], answered: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The first rows of ``order`` all of which are answered.

    >>> answered_start(np.array([2, 0, 1]), np.array([True, False, True])).tolist()
    [2, 0]
    """
    open_ = np.flatnonzero(~answered[order])
    return order[: open_[0]] if len(open_) else order


def stands_for_all(rows: NDArray[np.intp], n_pictures: int, asked: NDArray[np.bool_]) -> bool:
    """Whether a sample is large enough and stands for all pictures, also for those that nobody cared to label.

    It ends before a picture without an answer. With m measuring answers it was drawn until one more of the pictures
    came that nobody answers otherwise; without that one, the share m / n is unbiased (Haldane, 1945). But for m = 0 the
    sample says nothing of these pictures. ``asked`` says which of all pictures are measuring answers.
    """
    return len(rows) >= ENOUGH and (len(rows) == n_pictures or bool(asked[rows].any()))


@dataclass(frozen=True, eq=False)
class MeasuringSample:
    """The measuring sample for classes or tags; rows are those of the truth.

    ``order`` has all pictures that can be drawn: not test pictures, nor those without a file or of which a person could
    not tell the answer. ``rows`` is its start, as far as all are answered. ``answered`` and ``act`` say of every
    picture whether it is, and how.
    """

    order: NDArray[np.intp]
    rows: NDArray[np.intp]
    answered: NDArray[np.bool_]
    act: NDArray[np.int8]

    @property
    def stands_for_all(self) -> bool:
        """Whether figures can rest on the sample."""
        return stands_for_all(self.rows, len(self.order), self.act == Act.MEASURED)

    @property
    def to_ask(self) -> int:
        """How many measuring questions are missing until figures rest on about 40 pictures."""
        missing = int((~self.answered[self.order[:GOAL]]).sum())
        return missing if missing or self.stands_for_all else int((~self.answered[self.order]).sum() > 0)

    def next(self) -> Iterator[int]:
        """The rows to ask about, in order."""
        return (row for row in self.order[len(self.rows) :].tolist() if not self.answered[row])

    def chosen_freely(self) -> NDArray[np.bool_]:
        """The answered pictures that no queue chose by doubt."""
        return self.answered & (self.act != Act.ANSWERED)

    @property
    def advice(self) -> str:
        """What to do for a figure that holds for all pictures; empty if there is one."""
        if self.stands_for_all or not len(self.order):
            return ""
        questions = "1 measuring question" if self.to_ask == 1 else f"{self.to_ask} measuring questions"
        return f"answer {questions} in review for a figure of all pictures" if self.to_ask else ""


def measuring_sample(opened: Opened, collection: Collection, kind: Kind) -> MeasuringSample:
    """The measuring sample of the collection as it is now."""
    truth, frame = collection.truth, collection.frame
    answered, act = answers(truth, kind)
    left_out = skipped(opened.state).get(kind, frozenset())
    order = frame.in_measuring_order
    out = [row for row, split in enumerate(truth.splits) if split is not None and is_test(split)]
    out += [row for row, key in enumerate(frame.sha256) if key in left_out] if left_out else []
    order = order[~np.isin(order, out)] if out else order
    return MeasuringSample(order, answered_start(order, answered), answered, act)


def answers(truth: Truth, kind: Kind) -> tuple[NDArray[np.bool_], NDArray[np.int8]]:
    """Which pictures have an answer, a class or a complete description, and by which act."""
    if kind == "class":
        return np.array([name is not None for name in truth.classes], np.bool_), truth.class_acts
    return truth.extent != Extent.PART, truth.tag_acts


def tags_of(truth: Truth, row: int, *, denied: bool = False) -> frozenset[str]:
    """The tags that people and imports gave to the picture of a row, or those that people ``denied``."""
    tags = truth.rejected if denied else truth.tags
    own = tags.indices[tags.indptr[row] : tags.indptr[row + 1]]
    return frozenset(truth.tag_names[column] for column in own.tolist())


def share_right(likeliest: Sequence[str], tags: frozenset[str]) -> float:
    """The tag accuracy of one picture: how many of as many of the ``likeliest`` tags as it has are right.

    >>> share_right(["sea", "boat", "sky"], frozenset({"sea", "sky"}))
    0.5
    """
    return len(tags.intersection(likeliest[: len(tags)])) / len(tags) if tags else float("nan")


def skipped(state: Path) -> dict[str, frozenset[str]]:
    """The pictures of which a person could not tell the answer, by kind."""
    with suppress(OSError, ValueError, TypeError, AttributeError):
        found = json.loads((state / _SKIPPED).read_text(encoding="utf-8"))
        return {str(kind): frozenset(map(str, keys)) for kind, keys in found.items()}
    return {}


def skip(state: Path, kind: Kind, key: str, *, skipping: bool = True) -> None:
    """Remember that a person cannot tell the answer for a picture, or that it can be asked about again."""
    known = skipped(state)
    own = known.get(kind, frozenset())
    known[kind] = own | {key} if skipping else own - {key}
    with suppress(VistermError):  # a disk that cannot be written to must not stop a review
        write_text_atomically(state / _SKIPPED, json.dumps({each: sorted(keys) for each, keys in known.items()}))
