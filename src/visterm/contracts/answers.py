"""What a fitted method says of pictures: scores of classes and of words, beliefs about two words together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.contracts.annotator import scores_multiply
from visterm.contracts.types import Features, Scores

Floats = NDArray[np.floating[Any]]

#: Probabilities of a method below this count as equal.
_LEAST = 1e-5


@dataclass(frozen=True, slots=True, eq=False)
class ScoredPictures:
    """An estimator's scores of pictures for every word, and its log-probabilities for the pairs that it knows."""

    scores: Floats
    log_pairs: Floats | None
    pairs: Sequence[tuple[int, int]]

    @classmethod
    def by(cls, estimator: Any, X: Features, scores: Floats | None = None) -> "ScoredPictures":
        """The pictures ``X``, scored by a fitted estimator; ``scores`` are its word scores, if they are known."""
        _, pairs = pairs_of(estimator)
        found = word_scores(estimator, X) if scores is None else scores
        return cls(found, log_pairs_of(estimator, X) if pairs else None, pairs)


def pairs_of(estimator: Any) -> tuple[list[int], list[tuple[int, int]]]:
    """The sets of two words that the estimator has learned: their numbers, and the columns of their tags."""
    if not hasattr(estimator, "set_log_probabilities") or not estimator.set_words_.shape[0]:
        return [], []
    words = estimator.set_words_
    sets = np.split(words.indices, words.indptr[1:-1])
    numbers = [number for number, columns in enumerate(sets) if len(columns) == 2]
    return numbers, [(int(min(sets[number])), int(max(sets[number]))) for number in numbers]


def log_pairs_of(estimator: Any, X: Features) -> NDArray[np.float32]:
    """(n_pictures, n_pairs): the log-probabilities of the sets of two words, in the order of :func:`pairs_of`."""
    return np.asarray(estimator.set_log_probabilities(X)[:, pairs_of(estimator)[0]], np.float32)


def word_scores(estimator: Any, X: Features) -> Floats:
    """The scores of a fitted ranker or annotator for every tag: (n_pictures, n_tags), larger is better."""
    if hasattr(estimator, "word_scores"):
        return np.asarray(estimator.word_scores(X))
    scores = np.asarray(estimator.score_tags(X))
    return np.log(np.maximum(scores, _LEAST)) if scores_multiply(estimator) else scores


def rare_order(estimator: Any, X: Features, lifts: Floats) -> Floats:
    """Scores that favour rare tags: the method's own if they do, else ``lifts`` (log-odds over those of the tag)."""
    return np.asarray(estimator.score_tags(X)) if getattr(estimator, "favours_rare_tags", False) else lifts


def unseen(estimator: Any) -> Any:
    """The estimator; where it can, it scores pictures that it learned from as if they had been left out."""
    return estimator.as_if_left_out() if leaves_out(estimator) else estimator


def leaves_out(estimator: Any) -> bool:
    """Whether the estimator can score pictures that it learned from as if they had been left out."""
    return getattr(estimator, "can_leave_out", False)


def class_scores(estimator: Any, X: Features) -> Scores:
    """(n_pictures, n_classes) probabilities if the classifier has them, else its decision values.

    Columns are those of ``classes_``. If a single value s separates two classes, their scores are -s and s.

    >>> from visterm.neighbours import MajorityClass
    >>> class_scores(MajorityClass().fit(np.zeros((4, 1)), [0, 0, 0, 1]), np.zeros((1, 1)))
    array([[0.75, 0.25]])
    """
    if hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict_proba(X))
    values = np.asarray(estimator.decision_function(X))
    return np.column_stack([-values, values]) if values.ndim == 1 else values
