"""One way to fit every method and to get its scores, whatever its tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from visterm.contracts import Features, Scores, Task
from visterm.learning import Dataset
from visterm.ranking.tag_ranker import TagRanker
from visterm.registry import Method


def fit_method(method: Method, data: Dataset, parameters: Mapping[str, Any] | None = None) -> Any:
    """Fit the method to all of ``data``, with the labels that its tasks learn from."""
    estimator = method.create(**(parameters or {}))
    if learns_from_denied(method) and data.only_denied.any():
        return estimator.fit(data.X, data.tags, denied=data.denied)
    if method.tasks >= {Task.CLASSIFY, Task.ANNOTATE}:
        return estimator.fit(data.X, y=data.y, tags=data.tags)
    return estimator.fit(data.X, data.y) if Task.CLASSIFY in method.tasks else estimator.fit(data.X, data.tags)


def has_labels(method: Method, data: Dataset) -> bool:
    """Whether any picture has a label that the method learns from."""
    classes, tags = bool(data.has_class.any()), bool(data.has_tags.any())
    return (Task.CLASSIFY in method.tasks and classes) or (method.does(Task.RANK) and tags)


def learns_from_untagged(method: Method) -> bool:
    """Whether the method also learns from the pictures it will tag: it then gets the held-out pictures, too."""
    return getattr(method.load(), "learns_from_untagged", False)


def learns_from_denied(method: Method) -> bool:
    """Whether the method also learns from tags that a person denied at pictures that nobody tagged."""
    return getattr(method.load(), "learns_from_denied", False)


def unseen(estimator: Any) -> Any:
    """The estimator; where it can, it scores pictures that it learned from as if they had been left out."""
    return estimator.as_if_left_out() if leaves_out(estimator) else estimator


def leaves_out(estimator: Any) -> bool:
    """Whether the estimator can score pictures that it learned from as if they had been left out."""
    return getattr(estimator, "can_leave_out", False)


def class_scores(estimator: Any, X: Features) -> Scores:
    """(n_pictures, n_classes) probabilities if the classifier has them, else its decision values.

    Columns are those of ``classes_``. If a single value s separates two classes, their scores are -s and s.

    >>> from visterm.baselines import MajorityClass
    >>> class_scores(MajorityClass().fit(np.zeros((4, 1)), [0, 0, 0, 1]), np.zeros((1, 1)))
    array([[0.75, 0.25]])
    """
    if hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict_proba(X))
    values = np.asarray(estimator.decision_function(X))
    return np.column_stack([-values, values]) if values.ndim == 1 else values


def as_ranker(estimator: Any, data: Dataset) -> Any:
    """The fitted estimator itself if it ranks, else a TagRanker over it, normalised on the training pictures."""
    if hasattr(estimator, "score_queries"):
        return estimator
    return TagRanker.of_fitted(estimator, data.X, len(data.tag_names))
