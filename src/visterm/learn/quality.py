"""How good the models in use are: one figure for each task, which every command and the page read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from visterm.catalogue.acts import Act
from visterm.catalogue.labels import Kind
from visterm.collection.measuring import MeasuringSample, measuring_sample, share_right, tags_of
from visterm.contracts import Task
from visterm.contracts.tasks import LEARNED
from visterm.documents.document import Document
from visterm.documents.figure import Basis, Figure, Stratum
from visterm.learn import Dataset, Performance
from visterm.models import ModelInfo

if TYPE_CHECKING:
    from visterm.collection.holdings import Holdings
    from visterm.collection.moment import Collection


@dataclass(frozen=True)
class Qualities(Document):
    """How good the models in use are at classes, tags and search, as far as there are models."""

    figures: list[Figure]


def quality(holdings: Holdings) -> Qualities:
    """One figure for each task that a model is in use for."""
    found = [(task, holdings.shelf.best(task)) for task in LEARNED.values()]
    return Qualities([figure_of(holdings, info, task) for task, info in found if info is not None])


def figure_of(holdings: Holdings, info: ModelInfo, task: Task) -> Figure:
    """How good a model is at ``task``: by held-out pictures and, if it is in use, by what was answered since."""
    kind: Kind = "class" if task is Task.CLASSIFY else "tag"
    collection = holdings.collection()
    sample = measuring_sample(holdings, collection, kind)
    if task is not Task.RANK and _is_in_use(holdings, info, task):
        strata = _with_later_answers(holdings, collection, sample, info, task)
        if strata is not None:
            return info.figure(task, strata)
    advice = ""
    if info.right(task).basis == "labelled pictures":
        advice = "train again for a figure of all pictures" if sample.stands_for_all else sample.advice
    return info.figure(task, advice=advice)


def _is_in_use(holdings: Holdings, info: ModelInfo, task: Task) -> bool:
    used = holdings.shelf.best(task)
    return used is not None and used.reference == info.reference


def right_answers(data: Dataset, performance: Performance, task: Task, first: float = 0.0) -> dict[str, Any]:
    """What is kept with a model of its held-out pictures, for :meth:`~visterm.models.ModelInfo.right`.

    ``first`` is the share of queries whose first picture is right.
    """
    rows = performance.held_out[task]
    origin, basis = data.origin(task), _basis(data, rows, task)
    if task is Task.RANK:  # queries have no picture of their own
        return {"basis": basis, "by_doubt": 0, "otherwise": [first * len(rows), len(rows)], "asked": [0.0, 0]}
    each = np.nan_to_num(performance.each[task])
    asked = np.zeros(len(rows), np.bool_) if origin is None else origin.act[rows] == Act.MEASURED
    used = np.ones(len(rows), np.bool_)
    if origin is not None and basis == "measuring sample":
        used = origin.in_sample[rows]
    elif origin is not None and basis == "labelled pictures":
        used = ~origin.by_doubt[rows]
    parts = {"otherwise": used & ~asked, "asked": used & asked}
    counts = {name: [round(float(each[part].sum()), 4), int(part.sum())] for name, part in parts.items()}
    by_doubt = 0 if origin is None else int((origin.by_doubt & data.labelled(task)).sum())
    return {"basis": basis, "by_doubt": by_doubt, **counts}


def _basis(data: Dataset, rows: NDArray[np.int64], task: Task) -> Basis:
    if data.is_test[rows].any():
        return "test pictures"
    origin = data.origin(task)
    drawn = np.zeros(len(rows), np.bool_) if origin is None else origin.in_sample[rows]
    serves = drawn.all() if task is Task.RANK else drawn.any()
    return "measuring sample" if serves and len(rows) else "labelled pictures"


def _with_later_answers(
    holdings: Holdings, collection: Collection, sample: MeasuringSample, info: ModelInfo, task: Task
) -> list[Stratum] | None:
    """What was right of held-out pictures and of pictures that were labelled since, in their shares of the sample.

    The model in use has not learned from the latter. They stand for the pictures that had no label when it learned, as
    the held-out pictures do that were labelled to measure; the other held-out pictures stand for those that had one.
    Held-out pictures from outside the sample do so only if no queue had chosen labels. None if nothing can be added.
    """
    right = info.right(task)
    is_fair = right.basis == "measuring sample" or (right.basis == "labelled pictures" and not right.by_doubt)
    if not (is_fair and sample.stands_for_all):
        return None
    kind: Kind = "class" if task is Task.CLASSIFY else "tag"
    ids = collection.truth.ids[sample.rows]
    learned = holdings.catalogue.labelled_before(ids.tolist(), kind, datetime.fromisoformat(info.created))
    later = ~np.isin(ids, list(learned))
    judged = _judged(holdings, collection, sample.rows[later], task) if later.any() else None
    if judged is None:
        return None
    defined = judged[np.isfinite(judged)]
    share = float((later | (sample.act[sample.rows] == Act.MEASURED)).mean())
    return [
        Stratum(1 - share, *right.otherwise),
        Stratum(share, right.asked[0] + float(defined.sum()), right.asked[1] + len(defined)),
    ]


def _judged(
    holdings: Holdings, collection: Collection, rows: NDArray[np.intp], task: Task
) -> NDArray[np.float64] | None:
    """What share of each picture's answers is right, as the model in use judges it; None if it has not looked at all.

    A picture without tags has no share (NaN).
    """
    truth, frame = collection.truth, collection.frame
    at = np.searchsorted(np.array(frame.rows), rows)
    if task is Task.CLASSIFY:
        classes = holdings.judgements.classes(frame)
        if classes is None or not classes.looked[at].all():
            return None
        said = [classes.names[best] if best >= 0 else None for best in classes.best[at].tolist()]
        return np.array([name == truth.classes[row] for name, row in zip(said, rows.tolist(), strict=True)], float)
    tags = holdings.judgements.tags(frame)
    if tags is None or not tags.looked[at].all():
        return None
    likeliest = [np.argsort(-tags.probabilities(place), kind="stable").tolist() for place in at.tolist()]
    return np.array(
        [
            share_right([tags.names[n] for n in order], tags_of(truth, row))
            for order, row in zip(likeliest, rows.tolist(), strict=True)
        ]
    )
