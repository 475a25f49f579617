"""Rankers that place pictures in the space of words, where queries are vectors."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.contracts import Features, Scores, check_queries, n_pictures
from visterm.contracts.estimator import Estimator
from visterm.errors import InputError


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a picture has its score for a query: parts of the score, largest first. All parts together sum to the score.

    ``words`` are columns of tags. ``evidence`` is dimensions of the feature (codewords of a bag) if ``evidence_kind``
    is ``"dimension"``, or rows of the training pictures if it is ``"picture"``. It is empty if the ranker has none.
    """

    score: float
    words: list[tuple[int, float]]
    evidence: list[tuple[int, float]]
    evidence_kind: str = ""


class WordSpaceRanker(Estimator):
    """A ranker whose score is linear in the words: ``score(q, p) = sum_t q_t s_t(p)``.

    A picture is its word scores s(p), computed once; a query is then one product with the words it names.
    """

    n_tags_: int
    _fitted_constraints: ClassVar[dict[str, str]] = {"n_tags_": "n_tags=int >=0", "idf_": "n_tags"}

    def word_scores(self, X: Features) -> Scores:
        """(n_pictures, n_tags): the pictures in the space of words."""
        raise NotImplementedError

    def query_weights(self, Q: Any) -> sparse.csr_array:
        """(n_queries, n_tags): how the ranker weighs the words of normalised idf vectors; by default, unchanged."""
        return check_queries(Q, self.n_tags_)

    def score_queries(self, X: Features, Q: Any) -> Scores:
        """(n_queries, n_pictures), larger is better."""
        scores = self.word_scores(X)
        return np.asarray(self.query_weights(Q) @ scores.T)

    def explain(self, X: Features, q: Any, n_best: int = 5) -> Explanation:
        """Why the one picture in ``X`` has its score for the one query ``q``: the largest parts."""
        if n_pictures(X) != 1 or np.shape(q)[0] != 1:
            raise InputError("explain takes one picture and one query at a time: pass a single row of each")
        scores = self.word_scores(X)[0]
        weights = self.query_weights(q)
        parts = weights.toarray()[0] * scores
        evidence, kind = self._evidence(X, weights)
        asked = np.unique(weights.indices)
        words = sorted(((int(t), float(parts[t])) for t in asked), key=lambda part: -abs(part[1]))
        return Explanation(float(parts.sum()), words[:n_best], largest(evidence, n_best), kind)

    def _evidence(self, X: Features, weights: sparse.csr_array) -> tuple[NDArray[Any], str]:  # noqa: ARG002
        """What each dimension or training picture adds to the score, and which of the two it is; empty if unknown."""
        return np.array([]), ""


def largest(parts: NDArray[Any], n_best: int) -> list[tuple[int, float]]:
    """The ``n_best`` largest non-zero parts by size, as (position, part).

    >>> largest(np.array([0.0, -2.0, 1.0]), 5)
    [(1, -2.0), (2, 1.0)]
    """
    order = np.argsort(-np.abs(parts), kind="stable")[:n_best]
    return [(int(i), float(parts[i])) for i in order if parts[i] != 0]
