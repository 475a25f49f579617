"""Calibrates a model for search: turns its scores into the probability that a picture matches, and a cut-off.

This is learned at training time, from labelled pictures that the scoring model had not seen.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit
from sklearn.utils._param_validation import Interval

from visterm.calibration import Denials, TagProbabilities, Written, optimism, together
from visterm.calibration.combining import DEPENDENCE, pair_weights
from visterm.calibration.nothing_found import drawn_rows, least_found
from visterm.calibration.optimism import SUREST, corrected
from visterm.calibration.tag_probabilities import blocks
from visterm.compute.threads import in_threads
from visterm.contracts import check_tags

Floats = NDArray[np.floating[Any]]

#: Queries are tried, and corrections learned, on about this many pairs of a picture and a word.
_MAX_PAIRS = 1_000_000
_MAX_WORDS = 3
#: The weight of pairs of words is learned from at most this many queries.
_MAX_PAIR_QUERIES = 300
#: Dependence, and the weight of pairs, is at most this.
_HIGHEST = 0.95
#: Twice as many queries as wanted are drawn, since some are the same.
_DRAWS = 2
#: Where people wrote only a part of the tags, those that are at least so probable count as present.
_LIKELY = 0.5
#: The log-probability of what is as good as certain.
_CERTAIN = -1e-9


class Relevance(TagProbabilities):
    """The probabilities of words, how words combine, and when nothing is found.

    The probability that several words hold together lies between the least likely of them and their product;
    ``dependence_`` says where (see :func:`~visterm.calibration.together`). It is the most likely value for queries
    made of the captions of training pictures. Some of these queries have relevant held-out pictures and others have
    none; ``nothing_below_`` is the probability of a query's best picture that best separates the two. ``correction_``
    makes probabilities as sure as they were right where some held-out pictures judged the others (see
    :mod:`visterm.calibration.optimism`).

    >>> rng = np.random.default_rng(0)
    >>> tags = (rng.random((400, 5)) < 0.3).astype(int)
    >>> scores = 2 * tags + rng.standard_normal((400, 5))
    >>> relevance = Relevance().fit(scores[:200], tags[:200], tag_counts=[60] * 5, n_tagged=200, asked=tags[200:])
    >>> p = np.exp(relevance.log_probabilities(scores[200:]))
    >>> bool(abs(tags[200:][p > 0.8].mean() - p[p > 0.8].mean()) < 0.05)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_queries": [Interval(Integral, 1, None, closed="left")],
        **TagProbabilities._parameter_constraints,
    }
    _fitted_constraints: ClassVar[dict[str, str]] = {
        "dependence_": "float",
        "nothing_below_": "float",
        "pair_weight_": "float",
    }

    def __init__(self, n_queries: int = 2000, random_state: int = 0) -> None:
        super().__init__(random_state)
        self.n_queries = n_queries

    def fit(
        self,
        scores: ArrayLike,
        tags: Any,
        *,
        tag_counts: ArrayLike,
        n_tagged: int,
        denials: Denials | None = None,
        written: Written | None = None,
        asked: Any = None,
    ) -> Self:
        """Learn from the ``scores`` (n_pictures, n_tags) of held-out pictures and their ``tags``.

        ``tag_counts`` of ``n_tagged`` training pictures carry each tag; ``denials`` are known negatives. Queries are
        made of ``asked``, the (n_pictures, n_tags) captions of the training pictures (default: ``tags``). If the
        pictures have more true tags than are ``written``, those that are likelier than not count as present.
        """
        super().fit(scores, tags, tag_counts=tag_counts, n_tagged=n_tagged, denials=denials, written=written)
        if written is None:  # else a judgement may be right though nobody wrote the tag
            self.correction_ = self._learned_correction(np.asarray(scores), tags)
        rng = np.random.default_rng(self.random_state)
        given = np.asarray(scores)
        present = check_tags(tags, len(given), n_tags=self.n_tags_)
        if len(given) > (most := max(2, _MAX_PAIRS // self.n_tags_)):
            chosen = rng.choice(len(given), most, replace=False)
            given, present = given[chosen], present[chosen]
        truth, log_p = present.toarray() > 0, self.log_probabilities(given)
        if written is not None:
            truth |= log_p >= np.log(_LIKELY)
        captions = tags if asked is None else asked
        queries = _queries(check_tags(captions, int(np.shape(captions)[0])), self.n_queries, rng)
        self.dependence_ = _fit_dependence(log_p, truth, [words for words in queries if len(words) > 1])
        self.nothing_below_ = _fit_nothing_below(log_p, truth, queries, self.dependence_, rng)
        return self

    def log_odds(self, scores: ArrayLike) -> NDArray[np.float32]:
        """(n_pictures, n_tags) log-odds, between -9 and 9, corrected for optimism."""
        odds = super().log_odds(scores)
        if not hasattr(self, "correction_"):  # never measured, of partial tags, or of an earlier version
            return odds
        for rows in blocks(*odds.shape):
            odds[rows] = np.clip(corrected(odds[rows], self.correction_), -SUREST, SUREST)
        return odds

    def thresholds(self, precision: float) -> NDArray[np.float64]:
        """For each tag, the least probability at which to suggest it; corrected as the probabilities are."""
        least = super().thresholds(precision)
        return expit(corrected(logit(least), self.correction_)) if hasattr(self, "correction_") else least

    def _learned_correction(self, scores: Floats, tags: Any) -> Floats:
        """How much surer than right the probabilities are, by parts of the held-out pictures; of many tags, by some."""
        by_tag = check_tags(tags, len(scores), n_tags=self.n_tags_).tocsc()
        step = 1 + scores.size // _MAX_PAIRS

        def of_tags(block: slice) -> Floats:
            some = slice(block.start, block.stop, step)
            return optimism.count(self._shared_odds(scores, some), by_tag[:, some].toarray() > 0)

        return optimism.fit(np.sum(in_threads(of_tags, blocks(self.n_tags_, len(scores))), axis=0))

    def fit_pairs(self, log_p: Floats, log_pairs: Floats, pairs: Sequence[tuple[int, int]], tags: Any) -> Self:
        """Learn the weight of a model's beliefs about two words together, relative to those about single words.

        ``log_p`` (n_pictures, n_tags) and ``log_pairs`` (n_pictures, n_pairs) are the log-probabilities of held-out
        pictures with ``tags``; each of ``pairs`` holds the columns of two words. ``pair_weight_`` is the weight of
        pairs that makes the tags most likely, for queries made of the pictures' captions.
        """
        from scipy.optimize import minimize_scalar

        present = check_tags(tags, len(log_p), n_tags=self.n_tags_)
        asked = _queries(present, min(self.n_queries, _MAX_PAIR_QUERIES), np.random.default_rng(self.random_state))
        numbers = {pair: number for number, pair in enumerate(pairs)}
        known = [words for words in asked if any(pair in numbers for pair in combinations(words, 2))]
        relevant = [present[:, list(words)].sum(axis=1) == len(words) for words in known]

        def surprise(weight: float) -> float:
            self.pair_weight_ = weight
            joint = np.stack([self.joint(log_p, words, log_pairs, numbers) for words in known])
            return _surprise(joint, np.stack(relevant))

        best = minimize_scalar(surprise, bounds=(0.0, _HIGHEST), method="bounded").x if known else 0.0
        self.pair_weight_ = float(best)
        return self

    def joint(
        self,
        log_p: Floats,
        words: Sequence[int],
        log_pairs: Floats | None = None,
        pairs: Mapping[tuple[int, int], int] | None = None,
    ) -> Floats:
        """The log-probability that a picture matches all ``words``; ``pairs`` has the column of each pair of words."""
        parts = [log_p[:, word] for word in words]
        places = combinations(range(len(words)), 2)
        known = [(a, b) for a, b in places if pairs is not None and (words[a], words[b]) in pairs]
        if log_pairs is not None and pairs is not None and known:
            of_words, of_pair = pair_weights(len(words), known, self.pair_weight_)
            parts = [weight * part for weight, part in zip(of_words, parts, strict=True)]
            parts += [of_pair * log_pairs[:, pairs[words[a], words[b]]] for a, b in known]
        return together(parts, self.dependence_)

    @classmethod
    def unmeasured(cls, scores: ArrayLike, tag_counts: ArrayLike, n_tagged: int) -> Self:
        """A guess for unmeasured models: words are as frequent as in training, and something is always found."""
        relevance = super().unmeasured(scores, tag_counts, n_tagged)
        relevance.dependence_, relevance.nothing_below_ = DEPENDENCE, 0.0
        return relevance


def _queries(captions: Any, n_queries: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Distinct queries that people might ask: up to three words of a caption drawn at random."""
    drawn: dict[tuple[int, ...], None] = {}
    lengths = np.diff(captions.indptr)
    rows = np.flatnonzero(lengths)
    for row in rng.choice(rows, _DRAWS * n_queries) if len(rows) else ():
        n_words = int(rng.integers(1, min(_MAX_WORDS, int(lengths[row])) + 1))
        words = captions.indices[captions.indptr[row] : captions.indptr[row + 1]]
        drawn[tuple(sorted(rng.choice(words, n_words, replace=False).tolist()))] = None
        if len(drawn) == n_queries:
            break
    return list(drawn)


def _fit_dependence(log_p: Floats, present: NDArray[np.bool_], queries: Sequence[tuple[int, ...]]) -> float:
    """The dependence that makes the held-out pictures' tags most likely."""
    from scipy.optimize import minimize_scalar

    pairs = [(log_p[:, list(words)], present[:, list(words)].all(axis=1)) for words in queries]
    if not any(relevant.any() for _, relevant in pairs):
        return DEPENDENCE
    least = np.concatenate([logs.min(axis=1) for logs, _ in pairs]).astype(np.float64)
    total = np.concatenate([logs.sum(axis=1) for logs, _ in pairs]).astype(np.float64)
    relevant = np.concatenate([fits for _, fits in pairs])

    def surprise(dependence: float) -> float:
        return _surprise(dependence * least + (1 - dependence) * total, relevant)

    return float(minimize_scalar(surprise, bounds=(0.0, _HIGHEST), method="bounded").x)


def _surprise(log_p: Floats, relevant: NDArray[np.bool_]) -> float:
    """The mean of -log of the probability of the true outcome."""
    log_p = np.minimum(log_p, _CERTAIN)
    return -float(np.where(relevant, log_p, np.log(-np.expm1(log_p))).mean())


def _fit_nothing_below(
    log_p: Floats,
    present: NDArray[np.bool_],
    queries: Sequence[tuple[int, ...]],
    dependence: float,
    rng: np.random.Generator,
) -> float:
    """The lowest probability of the best picture at which something counts as found, see :func:`least_found`."""

    def trials() -> Iterator[tuple[Floats, NDArray[np.bool_]]]:
        for words in queries:
            rows = drawn_rows(len(log_p), rng)[:, np.newaxis]
            relevant = np.asarray(present[rows, list(words)].all(axis=1))
            yield together(list(log_p[rows, list(words)].T), dependence), relevant

    return least_found(trials())
