"""Any annotator becomes a ranker."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from visterm.contracts import Features, Scores, check_queries, check_tags, n_pictures
from visterm.contracts.estimator import Estimator
from visterm.errors import InputError

#: Probabilities below this are not told apart: one missing word makes a picture unlikely, not impossible.
FLOOR = 1e-3


class TagRanker(Estimator):
    """Rank pictures for a query by what an annotator says of the query's words.

    With probabilities the score is the weighted log-probability that the picture carries all the words,
    ``sum_t q_t log max(p(t | picture), FLOOR)``; with other scores it is the weighted sum ``sum_t q_t s_t``, each tag's
    scores brought to mean 0 and deviation 1 on the training pictures so that words are comparable.
    Words of negative weight are words the user does not want.

    >>> from visterm.baselines.floor import TagFrequency
    >>> ranker = TagRanker(TagFrequency()).fit([[0.0], [0.0]], [[1, 0], [1, 1]])
    >>> ranker.score_queries([[0.0]], [[0.0, 1.0]]).round(2)
    array([[-0.69]])
    """

    def __init__(self, annotator: Any) -> None:
        self.annotator = annotator

    def fit(self, X: Features, tags: Any, queries: Any = None) -> Self:  # noqa: ARG002 - the rankers' contract
        """Fit a copy of the annotator; ``queries`` are not needed."""
        tags = check_tags(tags, n_pictures(X))
        self.annotator_ = clone(self.annotator).fit(X, tags=tags)
        return self._describe(X, tags.shape[1])

    @classmethod
    def of_fitted(cls, annotator: Any, X: Features, n_tags: int) -> TagRanker:
        """A ranker over an annotator that is fitted already; ``X`` are pictures to normalise its scores on."""
        check_is_fitted(annotator)
        ranker = cls(annotator)
        ranker.annotator_ = annotator
        return ranker._describe(X, n_tags)

    def _describe(self, X: Features, n_tags: int) -> Self:
        self.n_tags_ = n_tags
        if not _gives_probabilities(self.annotator_):
            scores = self.annotator_.score_tags(X)
            self.score_means_ = scores.mean(axis=0)
            self.score_deviations_ = np.maximum(scores.std(axis=0), np.finfo(np.float32).eps)
        if hasattr(self.annotator_, "n_features_in_"):
            self.n_features_in_ = self.annotator_.n_features_in_
        return self

    def score_tags(self, X: Features) -> Scores:
        """The annotator's own scores."""
        check_is_fitted(self)
        return self.annotator_.score_tags(X)

    def score_queries(self, X: Features, Q: Any) -> Scores:
        """(n_queries, n_pictures), larger is better."""
        scores = self.score_tags(X)
        Q = check_queries(Q, self.n_tags_)
        if _gives_probabilities(self.annotator_):
            if scores.size and (scores.min() < 0 or scores.max() > 1 + 1e-6):
                raise InputError(
                    f"{type(self.annotator_).__name__} says its scores are probabilities, but they are not"
                )
            scores = np.log(np.maximum(scores, FLOOR))
        else:
            scores = (scores - self.score_means_) / self.score_deviations_
        return np.asarray(Q @ scores.T)


def _gives_probabilities(annotator: Any) -> bool:
    return bool(getattr(annotator, "scores_are_probabilities", False))
