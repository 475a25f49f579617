"""The cross-media relevance model."""

from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Self, cast

import numpy as np
from scipy import sparse
from scipy.special import softmax

from visterm.compute.rows import slices
from visterm.contracts import FRACTION, Features, Scores, declared
from visterm.ranking.spaces.multinomials import MultinomialRanker, shares

_BLOCK = 512  # this many pictures are compared with the training pictures at a time


@declared
class CMRM(MultinomialRanker):
    """Scores words by the training pictures that could have produced a picture's visterms (Jeon et al., SIGIR 2003).

    ``P(t, p) = sum_j P(j) P(t | j) prod_v P(v | j)^tf_v`` over the training pictures j, all equally likely. The
    distributions of a training picture are smoothed by those of all (Jelinek-Mercer):

        P(t | j) = (1 - alpha) [j has t] / |j| + alpha n_t / sum_t n_t
        P(v | j) = (1 - beta) tf_vj / |j| + beta cf_v / sum_v cf_v

    - ``n_tokens``: every picture is scaled to this many visterms (None: counts as they are). Histograms need it.

    Rows without tags are left out.

    >>> X, tags = [[4, 0], [3, 1], [0, 5]], [[1, 0], [1, 0], [0, 1]]
    >>> CMRM().fit(X, tags).score_tags([[5, 0], [0, 5]]).argmax(axis=1)
    array([0, 1])
    """

    alpha: Annotated[float, FRACTION] = 0.5
    beta: Annotated[float, FRACTION] = 0.1
    _: KW_ONLY
    n_tokens: float | None = None
    _fitted_constraints: ClassVar[dict[str, str]] = {"evidence_": "n_train n_features", "tag_shares_": "n_train n_tags"}

    #: Models of earlier versions have it in ``tag_shares_``.
    tag_background_ = cast("Any", 0.0)

    def fit(self, X: Features, tags: Any, queries: Any = None) -> Self:  # noqa: ARG002 - the rankers' contract
        """Keep the smoothed training pictures; ``queries`` are not used."""
        self._validate_params()
        counts, tags = self._check_fit(X, tags)
        overall = np.asarray(counts.sum(axis=0)).ravel()
        # log P(v | j) = log(beta background) + log(1 + ...): the first is the same for all j and cancels.
        evidence = shares(counts)
        evidence.data *= (1 - self.beta) * overall.sum() / (self.beta * overall[evidence.indices])
        evidence.data = np.log1p(evidence.data)
        self.evidence_ = evidence
        self.tag_shares_ = (1 - self.alpha) * shares(tags)
        self.tag_background_ = self.alpha * np.asarray(tags.sum(axis=0)).ravel() / tags.sum()
        return self

    def score_tags(self, X: Features) -> Scores:
        """(n_pictures, n_tags): P(t | picture), the words of the training pictures weighed by their likelihood."""
        counts = self._counts(X, fitting=False)
        if self.n_tokens:
            counts = shares(counts) * self.n_tokens
        scores = np.empty((counts.shape[0], self.n_tags_))
        columns = sparse.csr_array(self.evidence_.T)
        for rows in slices(len(scores), _BLOCK):
            log_likelihoods = (counts[rows] @ columns).toarray()
            scores[rows] = softmax(log_likelihoods, axis=1) @ self.tag_shares_ + self.tag_background_
        return scores
