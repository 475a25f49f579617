"""The cross-media translation table."""

from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.contracts import FROM_1, Features, Scores, declared
from visterm.ranking.spaces.multinomials import MultinomialRanker, shares
from visterm.ranking.spaces.visterms import visterm_idf, weighed

#: Smaller matrices are decomposed fully; for larger ones, only the leading singular values are computed.
_WHOLE = 400


@declared
class CMTT(MultinomialRanker):
    """Translates visterms into words that occur with them in training pictures (Pan et al., ICME 2004).

    Every word and every visterm is a vector of its (idf-weighed) weights in the training pictures. The matrix M of all
    these vectors is smoothed: it keeps its ``n_singular_values`` leading singular values. A visterm means the words
    that occur in the same pictures:

        P(t | v) = cos(t', v') / sum_t cos(t', v'),       P(t | p) = sum_v P(t | v) tf_v / |p|

    Cosines below zero count as zero. Rows without tags are left out.

    >>> X, tags = [[4, 0, 1], [3, 1, 0], [0, 5, 1]], [[1, 0], [1, 0], [0, 1]]
    >>> CMTT(2).fit(X, tags).score_tags([[5, 0, 0], [0, 5, 0]]).argmax(axis=1)
    array([0, 1])
    """

    n_singular_values: Annotated[int, FROM_1] = 50
    _fitted_constraints: ClassVar[dict[str, str]] = {
        "tag_frequencies_": "n_tags >=0",
        "translation_": "n_features n_tags",
    }

    def fit(self, X: Features, tags: Any, queries: Any = None) -> Self:  # noqa: ARG002 - the rankers' contract
        """Learn the translation table; ``queries`` are not used."""
        self._validate_params()
        counts, tags = self._check_fit(X, tags)
        # M: a column for every word and every visterm, a row for every training picture.
        words, visterms = (weighed(matrix, visterm_idf(matrix)) for matrix in (tags, counts))
        vectors = _smoothed(sparse.csr_array(sparse.hstack([words, visterms])), self.n_singular_values)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        directions = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
        cosines = np.maximum(directions[self.n_tags_ :] @ directions[: self.n_tags_].T, 0.0)
        self.tag_frequencies_ = np.asarray(tags.sum(axis=0)).ravel() / tags.sum()
        totals = cosines.sum(axis=1, keepdims=True)
        # A visterm that occurs with no word gives the frequencies of the words.
        unknown = np.tile(self.tag_frequencies_, (len(cosines), 1))
        self.translation_ = np.divide(cosines, totals, out=unknown, where=totals > 0)
        return self

    def score_tags(self, X: Features) -> Scores:
        """(n_pictures, n_tags): P(t | picture), the mean translation of the picture's visterms."""
        tf = shares(self._counts(X, fitting=False))
        scores = np.asarray(tf @ self.translation_)
        return np.where(np.diff(tf.indptr)[:, None] > 0, scores, self.tag_frequencies_)


def _smoothed(M: sparse.csr_array, n_singular_values: int) -> NDArray[np.float64]:
    """The columns of the best approximation of ``M`` with the given rank, as rows, in the basis of its left vectors."""
    smaller = min(M.shape)
    if smaller <= _WHOLE or n_singular_values >= smaller:
        _, values, right = np.linalg.svd(M.toarray(), full_matrices=False)
    else:
        from scipy.sparse.linalg import svds

        # mutants: 0 -> 1: the singular vectors are the same from any random start
        start = np.random.default_rng(0).normal(size=smaller)
        _, values, right = svds(M, n_singular_values, v0=start)
        order = np.argsort(-values)
        values, right = values[order], right[order]
    return (values[:n_singular_values, None] * right[:n_singular_values]).T
