"""Annotators from text retrieval: they infer a distribution over words for each picture and rank it like a text."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.contracts import AnnotatorMixin, Features, Scores, check_features, check_tags, rows_with_tags
from visterm.ranking.queries import idf
from visterm.ranking.spaces.word_space import WordSpaceRanker


class MultinomialRanker(AnnotatorMixin, WordSpaceRanker):
    """A ranker that infers P(t | picture), its ``score_tags``, and uses it like the word frequencies of a text.

    A text is matched with a query as in text retrieval: ``score(q, p) = q . d``, where d is ``P(t | p) idf_t`` scaled
    to length one.
    """

    scores_are_chances = True
    idf_: NDArray[np.float64]

    def word_scores(self, X: Features) -> Scores:
        """(n_pictures, n_tags): the pictures as weighed texts."""
        texts = self.score_tags(X) * self.idf_
        lengths = np.linalg.norm(texts, axis=1, keepdims=True)
        return np.divide(texts, lengths, out=np.zeros_like(texts), where=lengths > 0)

    def _check_fit(self, X: Features, tags: Any) -> tuple[sparse.csr_array, sparse.csr_array]:
        """Counts and tags of the tagged pictures; sets the attributes that all such rankers derive from tags."""
        counts = self._counts(X, fitting=True)
        tags = check_tags(tags, counts.shape[0])
        rows = rows_with_tags(tags)
        self.n_tags_ = int(tags.shape[1])
        self._count_tags(tags)
        self.idf_ = idf(self.tag_counts_, len(rows))
        return counts[rows], tags[rows].astype(np.float64)

    def _counts(self, X: Features, *, fitting: bool) -> sparse.csr_array:
        """``X`` as float64 CSR counts."""
        return sparse.csr_array(check_features(self, X, fitting=fitting, non_negative=True), dtype=np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


def shares(counts: sparse.csr_array) -> sparse.csr_array:
    """The rows divided by their sums; empty rows stay empty.

    >>> shares(sparse.csr_array([[1.0, 3.0], [0.0, 0.0]])).toarray()
    array([[0.25, 0.75],
           [0.  , 0.  ]])
    """
    totals = np.asarray(counts.sum(axis=1)).ravel()
    scale = np.divide(1.0, totals, out=np.zeros_like(totals), where=totals > 0)
    return sparse.csr_array(sparse.diags_array(scale) @ counts)
