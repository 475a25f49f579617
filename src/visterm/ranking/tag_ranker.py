"""Any annotator as a ranker."""

from dataclasses import KW_ONLY
from typing import Annotated, Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from visterm.compute.rows import evenly
from visterm.contracts import Features, Scores, check_queries, check_tags, n_pictures, scores_multiply, take
from visterm.contracts.estimator import HasMethods, declared
from visterm.errors import InputError
from visterm.ranking.queries import idf, wanted_words
from visterm.ranking.spaces.word_space import WordSpaceRanker

#: Probabilities below this count as equal: one missing word makes a picture unlikely, not impossible.
FLOOR = 1e-3
#: Scores are scaled on at most this many training pictures.
_SCALED = 2000
#: Probabilities may exceed 1 by this much.
_ROUNDING = 1e-6


@declared
class TagRanker(WordSpaceRanker):
    """Ranks pictures for a query by an annotator's scores for the query's words.

    With probabilities, the score is the weighted log-probability that the picture carries all the words,
    ``sum_t q_t log max(p(t | picture), FLOOR)``. With other scores it is the weighted sum ``sum_t q_t s_t``; each tag's
    scores are scaled to mean 0 and deviation 1 on the training pictures (2,000 of them if they are more), so that words
    are comparable. Words with negative weights are words that the user does not want.

    - ``equal_words``: weigh the words of a query by how much they are wanted, not by their idf. With probabilities, the
      score is then the logarithm of that of all words together, as if they were independent.

    >>> from visterm.neighbours import TagFrequency
    >>> ranker = TagRanker(TagFrequency()).fit([[0.0], [0.0]], [[1, 0], [1, 1]])
    >>> ranker.score_queries([[0.0]], [[0.0, 1.0]]).round(2)
    array([[-0.69]])
    """

    annotator: Annotated[Any, HasMethods(["fit", "score_tags"])]
    _: KW_ONLY
    equal_words: bool = False

    def fit(self, X: Features, tags: Any, queries: Any = None) -> Self:  # noqa: ARG002 - the rankers' contract
        """Fit a copy of the annotator; ``queries`` are not used."""
        self._validate_params()
        tags = check_tags(tags, n_pictures(X))
        self.annotator_ = clone(self.annotator).fit(X, tags=tags)
        counts, n_tagged = np.bincount(tags.indices, minlength=tags.shape[1]), int((np.diff(tags.indptr) > 0).sum())
        self.idf_ = idf(counts, n_tagged)
        return self._describe(X, tags.shape[1])

    @classmethod
    def of_fitted(cls, annotator: Any, X: Features, n_tags: int) -> "TagRanker":
        """A ranker over an already fitted annotator; its scores are normalised on the pictures ``X``."""
        check_is_fitted(annotator)
        ranker = cls(annotator)
        ranker.annotator_ = annotator
        return ranker._describe(X, n_tags)

    def _describe(self, X: Features, n_tags: int) -> Self:
        self.n_tags_ = n_tags
        if not scores_multiply(self.annotator_):
            scores = self.annotator_.score_tags(take(X, evenly(n_pictures(X), _SCALED)))
            self.score_means_ = scores.mean(axis=0)
            self.score_deviations_ = np.maximum(scores.std(axis=0), np.finfo(np.float32).eps)
        if hasattr(self.annotator_, "n_features_in_"):
            self.n_features_in_ = self.annotator_.n_features_in_
        return self

    def score_tags(self, X: Features) -> Scores:
        """The annotator's own scores."""
        check_is_fitted(self)
        return self.annotator_.score_tags(X)

    def word_scores(self, X: Features) -> Scores:
        """(n_pictures, n_tags): logarithms of probabilities, or standard scores."""
        scores = self.score_tags(X)
        if not scores_multiply(self.annotator_):
            return (scores - self.score_means_) / self.score_deviations_
        if scores.size and (scores.min() < 0 or scores.max() > 1 + _ROUNDING):
            raise InputError(f"{type(self.annotator_).__name__} declares its scores as probabilities, but they are not")
        return np.log(np.maximum(scores, FLOOR))

    def query_weights(self, Q: Any) -> sparse.csr_array:
        """(n_queries, n_tags): the words of a query, weighed by their idf or by how much they are wanted."""
        Q = check_queries(Q, self.n_tags_)
        return wanted_words(Q, self.idf_) if self.equal_words else Q
