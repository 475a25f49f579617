"""Judges suggested tags as people get them: by calibrated probability, with thresholds, or favouring rare tags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from visterm.calibration import PRECISION, Denials, TagProbabilities, Written
from visterm.contracts import Features, rare_order, word_scores
from visterm.errors import InputError
from visterm.learn import Dataset
from visterm.measures import NPlus, PictureF, TagAccuracy, WordF

Floats = NDArray[np.floating[Any]]

#: The share of suggestions that are right, and the share of the pictures' tags that are suggested.
SUGGESTIONS_RIGHT, TAGS_FOUND = "suggestions right", "tags found"
#: By probability; the first is the main one.
BY_PROBABILITY = (TagAccuracy(), PictureF(5))
#: In the order that favours rare tags.
BY_RARITY = (WordF(5), NPlus(5))


@dataclass(frozen=True, slots=True, eq=False)
class JudgedTags:
    """For every picture and tag: the log-odds, the order that favours rare tags, and whether the tag is suggested."""

    log_odds: NDArray[np.float32]
    rare: Floats
    suggested: NDArray[np.bool_]


def denials_of(estimator: Any, data: Dataset, rows: NDArray[Any]) -> Denials | None:
    """Those of ``rows`` of which only some denied tags are known, scored by an estimator that has not seen them."""
    if data.denied is None:
        return None
    known = rows[(np.diff(data.denied.indptr) > 0)[rows] & ~data.measurable[rows]]
    if not len(known):
        return None
    chosen = data.select(known)
    return Denials(word_scores(estimator, chosen.X), chosen.denied)


def judge(probabilities: TagProbabilities, scores: Floats, estimator: Any, X: Features) -> JudgedTags:
    """Judge pictures by probabilities learned from other pictures; ``scores`` are their :func:`word_scores`."""
    log_odds = probabilities.log_odds(scores)
    suggested = expit(log_odds) >= probabilities.thresholds(PRECISION)
    return JudgedTags(log_odds, rare_order(estimator, X, probabilities.lifts(log_odds)), suggested)


def judge_by_halves(
    scores: Floats, pictures: Dataset, train_tags: sparse.csr_array, estimator: Any, denials: Denials | None = None
) -> JudgedTags:
    """Judge each half of held-out ``pictures`` by probabilities learned from the other half, and from ``denials``."""
    log_odds, lifts = np.empty(scores.shape, np.float32), np.empty(scores.shape, np.float32)
    suggested = np.empty(scores.shape, np.bool_)
    even = np.arange(len(scores)) % 2 == 0
    for half in (even, ~even):
        learned = tag_probabilities(
            scores[~half],
            pictures.tags[~half],
            train_tags,
            all_scores=scores,
            denials=denials,
            written=pictures.written(~half),
        )
        log_odds[half] = learned.log_odds(scores[half])
        lifts[half] = learned.lifts(log_odds[half])
        suggested[half] = expit(log_odds[half]) >= learned.thresholds(PRECISION)
    return JudgedTags(log_odds, rare_order(estimator, pictures.X, lifts), suggested)


def tag_probabilities(
    scores: Floats,
    tags: sparse.csr_array,
    train_tags: sparse.csr_array,
    *,
    all_scores: Floats | None = None,
    denials: Denials | None = None,
    written: Written | None = None,
) -> TagProbabilities:
    """Learned from scores of held-out pictures with ``tags``; if these are too few, a guess from ``all_scores``."""
    counts = np.bincount(train_tags.indices, minlength=train_tags.shape[1])
    n_tagged = int((np.diff(train_tags.indptr) > 0).sum())
    try:
        return TagProbabilities().fit(
            scores, tags, tag_counts=counts, n_tagged=n_tagged, denials=denials, written=written
        )
    except InputError:
        return TagProbabilities.unmeasured(scores if all_scores is None else all_scores, counts, n_tagged)


def measure_suggestions(
    judged: JudgedTags, tags: sparse.csr_array, tag_counts: NDArray[Any]
) -> tuple[dict[str, float], Floats]:
    """The measures by name, and the main one picture by picture; a share of no suggestions is left out."""
    by_probability = TagAccuracy.read(tags, judged.log_odds, frequencies=tag_counts)
    by_rarity = TagAccuracy.read(tags, judged.rare, frequencies=tag_counts)
    values = {measure.name: measure.value(by_probability) for measure in BY_PROBABILITY}
    right = int(judged.suggested[tags.nonzero()].sum())
    if n_suggested := int(judged.suggested.sum()):
        values[SUGGESTIONS_RIGHT] = right / n_suggested
    values[TAGS_FOUND] = right / max(1, tags.nnz)
    values |= {measure.name: measure.value(by_rarity) for measure in BY_RARITY}
    return values, BY_PROBABILITY[0].values(by_probability)
