"""One way to fit every method and to get its scores, whatever its tasks."""

from __future__ import annotations

import time
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from visterm.compute import Engine, progress
from visterm.contracts import Task, take
from visterm.documents.wording import counted
from visterm.learn import Dataset
from visterm.learn.engine.completeness import completed
from visterm.ranking.tag_ranker import TagRanker
from visterm.registry import Method

#: Of more pictures, methods learn by sums.
_FEW = 10_000
#: A model with landmarks takes at most this share of its pictures at once; for more, landmarks are chosen again.
_MOST_ADDED = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """An estimator of a method, the pictures that it learned from, and the seconds that fitting took."""

    method: Method
    estimator: Any
    train: Dataset
    seconds: float

    @classmethod
    def to(
        cls, train: Dataset, method: Method, parameters: Mapping[str, Any] | None = None, *, doing: str = "Fitting {}"
    ) -> Fitted:
        """Fit the method to all of ``train``; ``doing`` is what people see meanwhile."""
        started = time.perf_counter()
        with progress.task(doing.format(method.name)):
            estimator = fit_method(method, _reachable(train), parameters)
        return cls(method, estimator, train, time.perf_counter() - started)


def _reachable(train: Dataset) -> Dataset:
    """The same pictures; if they are many, and workers elsewhere learn from them, their features lie in files."""
    if len(train) <= _FEW or not Engine.from_environment().is_elsewhere:
        return train
    from visterm.compute.travelling import laid_out

    return replace(train, X=laid_out(train.X))


def grown(method: Method, data: Dataset, earlier: Any) -> Fitted | None:
    """What ``earlier`` learned, and those pictures of ``data`` that it has not learned from.

    None if it cannot take them, has learned otherwise of the others, or they are too many.
    """
    started, known = time.perf_counter(), completed(data)
    new = earlier.not_learned(known.X, known.tags) if hasattr(earlier, "not_learned") else None
    if new is None or len(new) > _MOST_ADDED * np.count_nonzero(known.has_tags):
        return None
    estimator = copy(earlier)  # others may use the same
    if len(new):
        with progress.task(f"Adding {counted(len(new), 'picture')} to {method.name}"):
            estimator.partial_fit(take(known.X, new), known.tags[new])
    return Fitted(method, estimator, data, time.perf_counter() - started)


def fit_method(method: Method, data: Dataset, parameters: Mapping[str, Any] | None = None) -> Any:
    """Fit the method to all of ``data``, with the labels that its tasks learn from.

    Pictures of which people wrote only a part of the tags first get those that are likelier than not.
    """
    if method.does(Task.RANK):
        data = completed(data)
    estimator = method.create(**(parameters or {}))
    if getattr(method.load(), "learns_from_names", False):
        return estimator.fit(data.X, data.tags, tag_names=data.tag_names)
    if learns_from_denied(method) and data.only_denied.any():
        return estimator.fit(data.X, data.tags, denied=data.denied)
    if method.tasks >= {Task.CLASSIFY, Task.ANNOTATE}:
        return estimator.fit(data.X, y=data.y, tags=data.tags)
    return estimator.fit(data.X, data.y) if Task.CLASSIFY in method.tasks else estimator.fit(data.X, data.tags)


def has_labels(method: Method, data: Dataset) -> bool:
    """Whether any picture has a label that the method learns from."""
    classes, tags = bool(data.has_class.any()), bool(data.has_tags.any())
    return (Task.CLASSIFY in method.tasks and classes) or (method.does(Task.RANK) and tags)


def chosen_by_trial(estimator: Any) -> dict[str, Any]:
    """The parameters that a fit chose by trial: with them, the scores of another fit mean the same."""
    return {name: getattr(estimator, f"{name}_") for name in getattr(estimator, "chosen_by_trial", ())}


def learns_from_untagged(method: Method) -> bool:
    """Whether the method also learns from the pictures it will tag: it then gets the held-out pictures, too."""
    return getattr(method.load(), "learns_from_untagged", False)


def learns_from_denied(method: Method) -> bool:
    """Whether the method also learns from tags that a person denied at pictures that nobody tagged."""
    return getattr(method.load(), "learns_from_denied", False)


def as_ranker(estimator: Any, data: Dataset) -> Any:
    """The fitted estimator itself if it ranks, else a TagRanker over it, normalised on the training pictures."""
    if hasattr(estimator, "score_queries"):
        return estimator
    return TagRanker.of_fitted(estimator, data.X, len(data.tag_names))
