"""Calibrates the search of a trained method, and measures how well it searches."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import log_expit

from visterm.calibration import Denials, Written
from visterm.calibration.relevance import Relevance
from visterm.compute import progress
from visterm.contracts import ScoredPictures, Task
from visterm.errors import InputError
from visterm.learn import (
    STANDARD_MEASURES,
    Candidate,
    Dataset,
    Fitted,
    Performance,
    Split,
    Trained,
    judge_by_halves,
    learns_from_untagged,
    measured_queries,
    training_part,
)
from visterm.measures import AveragePrecision, evaluate

Floats = NDArray[np.floating[Any]]

#: The name of the average precision of the method's own ranking, without Relevance.
BY_OWN_SCORES = "AvgP by own scores"


def learned_search(trained: Trained) -> tuple[Relevance | None, dict[str, float]]:
    """The relevance of a trained method, and the measures of a search with it.

    The relevance is learned from pictures held out of a fit; it is None if there are too few. The final estimator is
    measured on the test pictures. Without test pictures, the held-out fit is measured: each half of the held-out
    pictures with probabilities learned from the other half.
    """
    if trained.held_out is None:
        return None, {}
    tags, scored = trained.held_out.tags, trained.held_out.scored
    try:
        with progress.task("Calibrating the search"):
            denials = trained.held_out.denials
            held_out = trained.held_out
            relevance = learn_relevance(scored, tags, held_out.train_tags, denials, held_out.written)
            if trained.held_out.judged is None:
                found = _measure_on_test(trained, relevance)
            else:
                found = measure_search(log_expit(trained.held_out.judged.log_odds), scored, tags, relevance)
    except InputError:  # the model can search, but without calibrated probabilities
        return None, {}
    (first, *_) = STANDARD_MEASURES[Task.RANK]
    if not found or first.name not in trained.metrics:
        return relevance, {}
    return relevance, found | {BY_OWN_SCORES: trained.metrics[first.name]}


def learn_relevance(
    scored: ScoredPictures,
    tags: sparse.csr_array,
    train_tags: sparse.csr_array,
    denials: Denials | None = None,
    written: Written | None = None,
) -> Relevance:
    """Learn from scored pictures with ``tags``, and from ``denials``, that the scoring estimator had not seen.

    ``written`` says how much of the truth the tags are.
    """
    relevance = Relevance().fit(
        scored.scores,
        tags,
        tag_counts=np.bincount(train_tags.indices, minlength=train_tags.shape[1]),
        n_tagged=int((np.diff(train_tags.indptr) > 0).sum()),
        denials=denials,
        written=written,
        asked=train_tags,
    )
    if scored.log_pairs is not None:
        relevance.fit_pairs(relevance.log_probabilities(scored.scores), scored.log_pairs, scored.pairs, tags)
    return relevance


def measure_search(
    log_p: Floats, scored: ScoredPictures, tags: sparse.csr_array, relevance: Relevance
) -> dict[str, float]:
    """The measures of a search that ranks pictures by the probability that they match all words of a query."""
    return evaluate(STANDARD_MEASURES[Task.RANK], *_answers(log_p, scored, tags, relevance))


def _answers(
    log_p: Floats, scored: ScoredPictures, tags: sparse.csr_array, relevance: Relevance
) -> tuple[sparse.csr_array, Floats]:
    """(n_queries, n_pictures) which pictures are relevant to the measured queries, and how likely they seem."""
    column = {pair: i for i, pair in enumerate(scored.pairs)}
    asked = measured_queries(tags)
    scores = [relevance.joint(log_p, words, scored.log_pairs, column) for words in asked.columns()]
    return asked.relevance, np.stack(scores)


def by_search(candidate: Candidate, data: Dataset, split: Split, tasks: Collection[Task]) -> Performance:
    """Measure, for choosing, how well a candidate searches the test pictures of ``split``: by calibrated probability.

    One half of these pictures is judged by probabilities learned from the other half.
    """
    part = training_part(data, split, transductive=learns_from_untagged(candidate.method))
    fitted = Fitted.to(part, candidate.method, candidate.parameters)
    tagged, train_tags = data.select(split.test[data.measurable[split.test]]), data.tags[split.train]
    scored, written = ScoredPictures.by(fitted.estimator, tagged.X), tagged.written(np.arange(len(tagged)))
    relevance = learn_relevance(scored, tagged.tags, train_tags, written=written)
    judged = judge_by_halves(scored.scores, tagged, train_tags, fitted.estimator)
    each = AveragePrecision().per_query(*_answers(log_expit(judged.log_odds), scored, tagged.tags, relevance))
    return Performance(candidate.method.name, {}, dict.fromkeys(tasks, each), fitted.seconds, 0.0)


def _measure_on_test(trained: Trained, relevance: Relevance) -> dict[str, float]:
    rows = trained.test[trained.data.measurable[trained.test]]
    if not len(rows):
        return {}
    test = trained.data.select(rows)
    scored = ScoredPictures.by(trained.estimator, test.X)
    return measure_search(relevance.log_probabilities(scored.scores), scored, test.tags, relevance)
