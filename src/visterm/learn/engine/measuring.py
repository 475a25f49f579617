"""One way to measure a method: fit it on the training rows, predict the test rows, compare."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.calibration import TagProbabilities
from visterm.contracts import Task, class_scores, word_scores
from visterm.errors import InputError
from visterm.learn import Dataset
from visterm.learn.engine.fitting import Fitted, as_ranker
from visterm.learn.engine.splits import Split
from visterm.learn.engine.suggestions import (
    BY_PROBABILITY,
    BY_RARITY,
    JudgedTags,
    denials_of,
    judge,
    judge_by_halves,
    measure_suggestions,
)
from visterm.measures import (
    Accuracy,
    AveragePrecision,
    BreakEvenPoint,
    MeanClassAccuracy,
    MeanMeasure,
    Measure,
    PrecisionAt,
    TopKAccuracy,
    WordAveragePrecision,
)
from visterm.ranking.queries import Queries, sample_from_tags, vectors_of_words
from visterm.registry import Method

Floats = NDArray[np.floating[Any]]

#: The measures reported by default; the first of each task is the main one. Tags are then judged as people get them:
#: see :mod:`visterm.learn.engine.suggestions`.
STANDARD_MEASURES: Mapping[Task, Sequence[Measure[Any]]] = {
    Task.CLASSIFY: (Accuracy(), MeanClassAccuracy()),
    Task.ANNOTATE: (*BY_PROBABILITY, *BY_RARITY),
    Task.RANK: (AveragePrecision(), PrecisionAt(1), PrecisionAt(10), BreakEvenPoint()),
}
#: Queries have at most this many words by default: the number of queries grows as 2 ** n_words.
MAX_QUERY_WORDS = 3
#: A search is measured on at most this many queries, and on fewer if queries times pictures would be more numbers than
#: this. The sample has a fixed seed.
MAX_QUERIES, MAX_SCORES = 20_000, 20_000_000
#: No class is less probable than this.
_LEAST = 1e-3
_FAMILIES = {Task.CLASSIFY: {"classes", "class scores"}, Task.ANNOTATE: {"tags"}, Task.RANK: {"rankings"}}


@dataclass(frozen=True, slots=True)
class Performance:
    """How well a method did: its measures by task and name, and the seconds it took.

    ``each`` has the values of a task's first measure, one per held-out picture or query, for paired tests. A measure
    that is not a mean has none. ``of_labels`` has, for every class, the share of its pictures that were recognised; for
    every tag, the average precision of a search for it (NaN: no held-out picture has it). ``held_out`` has the rows of
    the pictures that a task was measured on; ``n_suggested`` tags were suggested for them. ``log_loss`` has, for every
    held-out picture with a class, minus the logarithm of the probability of that class.
    """

    method: str
    values: dict[Task, dict[str, float]]
    each: dict[Task, Floats]
    fit_seconds: float
    answer_seconds: float
    of_labels: dict[Task, Floats] = field(default_factory=dict)
    held_out: dict[Task, NDArray[np.int64]] = field(default_factory=dict)
    n_suggested: int = 0
    log_loss: Floats | None = None

    @property
    def n_held_out(self) -> dict[Task, int]:
        """The number of pictures that a task was measured on."""
        return {task: len(rows) for task, rows in self.held_out.items()}

    def flat(self) -> dict[str, float]:
        """All measures by name."""
        return {name: value for values in self.values.values() for name, value in values.items()}


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """A fitted estimator, and its performance on pictures that it had not seen.

    ``judged`` holds what the default measures of tags are based on, and ``word_scores`` the scores that were judged.
    """

    performance: Performance
    estimator: Any
    data: Dataset
    judged: JudgedTags | None = None
    word_scores: Floats | None = None

    @property
    def values(self) -> dict[Task, dict[str, float]]:
        """The measures by task and name."""
        return self.performance.values


def measured_queries(tags: Any, *, max_words: int | None = MAX_QUERY_WORDS) -> Queries:
    """The queries that a search among pictures with ``tags`` is measured on: all of them, or a sample of many."""
    n_queries = min(MAX_QUERIES, max(1, MAX_SCORES // max(1, tags.shape[0])))
    return sample_from_tags(tags, n_queries, max_words=max_words)


def measure(
    method: Method,
    data: Dataset,
    split: Split,
    *,
    parameters: Mapping[str, Any] | None = None,
    measures: Sequence[Measure[Any]] | None = None,
    queries: Callable[[Any], Queries] = measured_queries,
    transductive: bool = False,
    tasks: Collection[Task] = tuple(Task),
) -> Measured:
    """Fit ``method`` and measure it on those of ``tasks`` it can do; only the measures see the test labels.

    With ``transductive`` the test pictures take part in learning, without their labels. A search is measured on the
    ``queries`` that are made of the test pictures' tags.
    """
    fitted = Fitted.to(training_part(data, split, transductive=transductive), method, parameters)
    return measure_fitted(fitted, data, split.test, measures=measures, queries=queries, tasks=tasks)


def measure_fitted(
    fitted: Fitted,
    data: Dataset,
    held_out: NDArray[np.int64],
    *,
    measures: Sequence[Measure[Any]] | None = None,
    queries: Callable[[Any], Queries] = measured_queries,
    probabilities: TagProbabilities | None = None,
    tasks: Collection[Task] = tuple(Task),
) -> Measured:
    """Measure a fitted estimator on the ``held_out`` rows of ``data``.

    The default measures of tags rank by probability. ``probabilities`` were learned from other held-out pictures; if
    there are none, each half of these pictures is judged by probabilities learned from the other half.
    """
    started = time.perf_counter()
    method, estimator, train = fitted.method, fitted.estimator, fitted.train
    values: dict[Task, dict[str, float]] = {}
    each: dict[Task, Floats] = {}
    of_labels: dict[Task, Floats] = {}
    judged, of_words, log_loss = None, None, None
    wanted = [task for task in tasks if method.does(task)]  # features of pictures that are not asked are not copied
    rows = {task: held_out[(data.has_class if task is Task.CLASSIFY else data.measurable)[held_out]] for task in wanted}
    classified = data.select(rows.get(Task.CLASSIFY, held_out[:0]))
    tagged = data.select(rows.get(Task.ANNOTATE, rows.get(Task.RANK, held_out[:0])))
    for task in wanted:
        chosen = _of_task(task, measures)
        if not chosen or not len(classified if task is Task.CLASSIFY else tagged):
            continue
        if task is Task.CLASSIFY and len(estimator.classes_):
            values[task], each[task], of_labels[task] = _measure_classes(chosen, estimator, classified)
            log_loss = _log_loss(estimator, classified)
        elif task is Task.ANNOTATE and measures is None:
            of_words = word_scores(estimator, tagged.X)
            if probabilities is not None:
                judged = judge(probabilities, of_words, estimator, tagged.X)
            else:
                denials = denials_of(estimator, data, held_out)
                judged = judge_by_halves(of_words, tagged, train.tags, estimator, denials)
            values[task], each[task] = measure_suggestions(judged, tagged.tags, train.tag_counts)
            of_labels[task] = WordAveragePrecision().per_word(tagged.tags, judged.log_odds)
        elif task is Task.ANNOTATE:
            scores = estimator.score_tags(tagged.X)
            values[task], each[task] = _evaluate(chosen, tagged.tags, scores, frequencies=train.tag_counts)
        elif task is Task.RANK:
            values[task], each[task] = _measure_search(chosen, estimator, train, tagged, queries(tagged.tags))
    if not values:
        raise InputError(f"{method.name} cannot be measured on {data.name}: no test picture has the labels it predicts")
    performance = Performance(
        method.name,
        values,
        each,
        fit_seconds=fitted.seconds,
        answer_seconds=time.perf_counter() - started,
        of_labels=of_labels,
        held_out={task: rows[task] for task in values},
        n_suggested=0 if judged is None else int(judged.suggested.sum()),
        log_loss=log_loss,
    )
    return Measured(performance, estimator, data, judged, of_words)


def _measure_classes(
    measures: Sequence[Measure[Any]], estimator: Any, classified: Dataset
) -> tuple[dict[str, float], Floats, Floats]:
    """The measures of predicted classes by name, the values of the first picture by picture, and of each class."""
    predicted = estimator.predict(classified.X)
    values, each = _evaluate([m for m in measures if m.family == "classes"], classified.y, predicted)
    if top := [m for m in measures if isinstance(m, TopKAccuracy)]:
        scores = class_scores(estimator, classified.X)
        of_top, each_of_top = _evaluate(top, classified.y, scores, classes=estimator.classes_)
        values, each = values | of_top, each if len(each) else each_of_top
    return values, each, _of_classes(classified, predicted)


def _log_loss(estimator: Any, classified: Dataset) -> Floats | None:
    """Minus the logarithm of the probability of each picture's class; None for a method without probabilities."""
    if not hasattr(estimator, "predict_proba"):
        return None
    p, known = estimator.predict_proba(classified.X), np.asarray(estimator.classes_)
    at = np.searchsorted(known, classified.y).clip(max=len(known) - 1)
    chance = np.where(known[at] == classified.y, p[np.arange(len(p)), at], 0.0)
    return np.asarray(-np.log(np.maximum(chance, _LEAST)))


def _measure_search(
    measures: Sequence[Measure[Any]], estimator: Any, train: Dataset, tagged: Dataset, asked: Queries
) -> tuple[dict[str, float], Floats]:
    """The measures of a search by name, and the values of the first one by query."""
    Q = vectors_of_words(asked.columns(), train.tag_counts, int(train.has_tags.sum()))
    scores = as_ranker(estimator, train).score_queries(tagged.X, Q)
    return _evaluate(measures, asked.relevance, scores)


def _of_classes(classified: Dataset, predicted: NDArray[Any]) -> Floats:
    """The share of each class's pictures that were recognised; NaN for a class without held-out pictures."""
    n_classes = len(classified.class_names)
    right = np.bincount(classified.y[classified.y == predicted], minlength=n_classes)
    total = np.bincount(classified.y, minlength=n_classes)
    return np.where(total > 0, right / np.maximum(total, 1), np.nan)


def training_part(data: Dataset, split: Split, *, transductive: bool) -> Dataset:
    """The pictures a method learns from: the training rows; if ``transductive``, also the unlabelled test rows."""
    if not transductive:
        return data.select(split.train)
    return data.without_labels(split.test).select(np.union1d(split.train, split.test))


def _of_task(task: Task, measures: Sequence[Measure[Any]] | None) -> list[Measure[Any]]:
    chosen = STANDARD_MEASURES[task] if measures is None else measures
    return [measure for measure in chosen if measure.family in _FAMILIES[task]]


def _evaluate(
    measures: Sequence[Measure[Any]], truth: Any, prediction: Any, **context: Any
) -> tuple[dict[str, float], Floats]:
    """The values of measures of one family by name, and the first measure's values per picture or query."""
    if not measures:
        return {}, np.empty(0)
    answer = measures[0].read(truth, prediction, **context)
    values = {measure.name: measure.value(answer) for measure in measures}
    return values, measures[0].values(answer) if isinstance(measures[0], MeanMeasure) else np.empty(0)
