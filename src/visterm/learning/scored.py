"""What an estimator thinks of pictures: its scores for every word, and its beliefs about two words together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.contracts import Features
from visterm.learning.suggestions import word_scores

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class ScoredPictures:
    """An estimator's scores of pictures for every word, and its log-probabilities for the pairs that it knows."""

    scores: Floats
    log_pairs: Floats | None
    pairs: Sequence[tuple[int, int]]

    @classmethod
    def by(cls, estimator: Any, X: Features, scores: Floats | None = None) -> ScoredPictures:
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
