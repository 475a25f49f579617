"""One way to measure a method: fit on the training rows, answer for the test rows, compare."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute import progress
from visterm.contracts import Scores, Task
from visterm.errors import InputError
from visterm.learning import splits
from visterm.learning.dataset import Dataset
from visterm.learning.splits import Split
from visterm.measures import (
    Accuracy,
    AveragePrecision,
    BreakEvenPoint,
    MeanClassAccuracy,
    MeanPrecision,
    MeanRecall,
    Measure,
    NPlus,
    PictureF,
    PrecisionAt,
    TopKAccuracy,
    WordF,
    evaluate,
)
from visterm.ranking import queries
from visterm.ranking.tag_ranker import TagRanker
from visterm.ranking.vectorizer import query_vectors
from visterm.registry import Method

#: What is reported where nothing else was asked for; the first of each task is the one people look at.
STANDARD_MEASURES: Mapping[Task, Sequence[Measure[Any]]] = {
    Task.CLASSIFY: (Accuracy(), MeanClassAccuracy()),
    Task.ANNOTATE: (PictureF(5), WordF(5), MeanPrecision(5), MeanRecall(5), NPlus(5)),
    Task.RANK: (AveragePrecision(), PrecisionAt(10), BreakEvenPoint()),
}
#: Queries of more words than this are not asked unless they are asked for: their number grows as 2 ** n_words.
MAX_QUERY_WORDS = 3
_FAMILIES = {Task.CLASSIFY: {"classes", "class scores"}, Task.ANNOTATE: {"tags"}, Task.RANK: {"rankings"}}


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a method did: its measures by task and name, and the seconds it took."""

    method: str
    values: dict[Task, dict[str, float]]
    fit_seconds: float
    answer_seconds: float

    def flat(self) -> dict[str, float]:
        """All measures by name."""
        return {name: value for values in self.values.values() for name, value in values.items()}


def fit_method(method: Method, data: Dataset, parameters: Mapping[str, Any] | None = None) -> Any:
    """Fit the method to all of ``data``, with whatever its tasks learn from."""
    estimator = method.create(**(parameters or {}))
    if method.tasks >= {Task.CLASSIFY, Task.ANNOTATE}:
        return estimator.fit(data.X, y=data.y, tags=data.tags)
    return estimator.fit(data.X, data.y) if Task.CLASSIFY in method.tasks else estimator.fit(data.X, data.tags)


def as_ranker(estimator: Any, data: Dataset) -> Any:
    """The fitted estimator itself if it ranks, else a TagRanker over it, normalised on the training pictures."""
    if hasattr(estimator, "score_queries"):
        return estimator
    return TagRanker.of_fitted(estimator, data.X, len(data.tag_names))


def run(
    method: Method,
    data: Dataset,
    split: Split,
    *,
    parameters: Mapping[str, Any] | None = None,
    measures: Sequence[Measure[Any]] | None = None,
    max_query_words: int | None = MAX_QUERY_WORDS,
    transductive: bool = False,
) -> Outcome:
    """Measure ``method`` on the tasks it can do; test labels are seen by the measures only.

    With ``transductive`` the test pictures take part in learning, without their labels.
    """
    test = data.select(split.test)
    if transductive:
        rows = np.union1d(split.train, split.test)
        train = data.without_labels(split.test).select(rows)
    else:
        train = data.select(split.train)
    started = time.perf_counter()
    with progress.task(f"Fitting {method.name}"):
        estimator = fit_method(method, train, parameters)
    fitted = time.perf_counter()
    classified = test.select(np.flatnonzero(test.has_class))
    tagged = test.select(np.flatnonzero(test.has_tags))
    values: dict[Task, dict[str, float]] = {}
    for task in Task:
        chosen = _of_task(task, measures)
        if not (chosen and method.does(task)):
            continue
        if task is Task.CLASSIFY and len(classified):
            values[task] = _measure_classes(estimator, classified, chosen)
        elif task is Task.ANNOTATE and len(tagged):
            values[task] = evaluate(chosen, tagged.tags, estimator.score_tags(tagged.X), frequencies=tag_counts(train))
        elif task is Task.RANK and len(tagged):
            asked = queries.from_tags(tagged.tags, max_words=max_query_words)
            Q = query_vectors(asked.columns(), tag_counts(train), int(train.has_tags.sum()))
            values[task] = evaluate(chosen, asked.relevance, as_ranker(estimator, train).score_queries(tagged.X, Q))
    if not values:
        raise InputError(f"{method.name} cannot be measured on {data.name}: no test picture has the labels it predicts")
    return Outcome(method.name, values, fitted - started, time.perf_counter() - fitted)


def validation_split(data: Dataset, *, test_share: float = 0.25, random_state: int = 0) -> Split:
    """The split the pictures came with, else a share of the labelled pictures drawn at random, class by class.

    Training pictures without labels stay in the training part: some methods learn from them.
    """
    test = np.flatnonzero(data.is_test)
    if len(test):
        return Split.of(np.setdiff1d(np.arange(len(data)), test), test)
    labelled = np.flatnonzero(data.has_class | data.has_tags)
    if len(labelled) < 2:
        raise InputError("at least two labelled pictures are needed to measure anything: label more, or import labels")
    drawn = splits.stratified(data.y[labelled], test_share, random_state)
    test = labelled[drawn.test]
    return Split.of(np.setdiff1d(np.arange(len(data)), test), test)


def tag_counts(data: Dataset) -> NDArray[np.intp]:
    """How many pictures carry each tag."""
    return np.bincount(data.tags.indices, minlength=data.tags.shape[1])


def _of_task(task: Task, measures: Sequence[Measure[Any]] | None) -> list[Measure[Any]]:
    chosen = STANDARD_MEASURES[task] if measures is None else measures
    return [measure for measure in chosen if measure.family in _FAMILIES[task]]


def _measure_classes(estimator: Any, test: Dataset, measures: Sequence[Measure[Any]]) -> dict[str, float]:
    values = evaluate([m for m in measures if m.family == "classes"], test.y, estimator.predict(test.X))
    top = [measure for measure in measures if isinstance(measure, TopKAccuracy)]
    if top:
        values |= evaluate(top, test.y, _class_scores(estimator, test), classes=estimator.classes_)
    return values


def _class_scores(estimator: Any, data: Dataset) -> Scores:
    if hasattr(estimator, "predict_proba"):
        return estimator.predict_proba(data.X)
    return estimator.decision_function(data.X)
