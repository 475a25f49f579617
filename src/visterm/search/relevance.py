"""Calibrates a model for search: turns its scores into the probability that a picture matches, and a cut-off.

This is learned at training time, from labelled pictures that the scoring model had not seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit, logit
from sklearn.utils._param_validation import Interval

from visterm.contracts import Features, check_tags, scores_multiply
from visterm.contracts.estimator import Estimator
from visterm.errors import InputError
from visterm.search.beliefs import DEPENDENCE, together
from visterm.search.pairs import pair_weights
from visterm.search.threshold import NOTHING_BELOW, cut_off

if TYPE_CHECKING:
    from visterm.models import Model

Floats = NDArray[np.floating[Any]]

#: Probabilities of a model below this count as equal.
_LEAST = 1e-5
#: Log-odds are clipped to this range, either way.
_SUREST = 9.0
#: The scores at which the log-odds may begin to rise faster.
_KNOTS = (1.0, 2.0, 3.0)
#: A word with minus these log-odds or less counts as the rarest; a word with even odds as the most frequent.
_RAREST = 8.0
#: Learned from at most this many pairs of a picture and a word.
_MAX_PAIRS = 1_000_000
_MAX_WORDS = 3
#: The weight of pairs of words is learned from at most this many queries.
_MAX_PAIR_QUERIES = 300
#: The values that are tried for ``nothing_below_``.
_LEASTS = np.linspace(0.02, 0.8, 79)
#: Queries are tried on at least this many pictures.
_FEWEST = 8


def word_scores(estimator: Any, X: Features) -> Floats:
    """The scores of a fitted ranker or annotator for every word: (n_pictures, n_tags), larger is better."""
    if hasattr(estimator, "word_scores"):
        return np.asarray(estimator.word_scores(X))
    scores = np.asarray(estimator.score_tags(X))
    return np.log(np.maximum(scores, _LEAST)) if scores_multiply(estimator) else scores


def relevance_of(model: Model, scores: Floats) -> Relevance:
    """The relevance of a model; if it was never measured, a guess from the first ``scores``."""
    known: Relevance | None = model.relevance
    return known or Relevance.unmeasured(scores, model.info.tag_counts, model.info.n_tagged)


class Relevance(Estimator):
    """Turns scores into probabilities with a few numbers shared by all words, so rare words are calibrated too.

    With ``u`` the score of a word in units of the deviation of all scores, ``z`` in units of the word's own deviation
    over held-out pictures, and ``f`` the share of training pictures that carry the word,

        log-odds P(word | picture) = b + c o(f) + a u + d z + e g(f) u + sum_k h_k max(0, u - k),    a, d, e, h_k >= 0,

    where ``o`` are log-odds and ``g`` rises with them from 0 to 1 (scores say more about frequent words). The
    coefficients are fitted to the held-out pictures' tags by maximum likelihood.

    The probability that several words hold together lies between the least likely of them and their product;
    ``dependence_`` says where (see :func:`~visterm.search.beliefs.together`). It is the most likely value for queries
    made of the captions of training pictures. Some of these queries have relevant held-out pictures and others have
    none; ``nothing_below_`` is the probability of a query's best picture that best separates the two.

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
        "random_state": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(self, n_queries: int = 2000, random_state: int = 0) -> None:
        self.n_queries = n_queries
        self.random_state = random_state

    def fit(self, scores: ArrayLike, tags: Any, *, tag_counts: ArrayLike, n_tagged: int, asked: Any) -> Self:
        """Learn from the ``scores`` (n_pictures, n_tags) of held-out pictures and their ``tags``.

        ``tag_counts`` of ``n_tagged`` training pictures carry each tag. Queries are made of ``asked``, the
        (n_pictures, n_tags) captions of the training pictures.
        """
        self._validate_params()
        rng = np.random.default_rng(self.random_state)
        given = np.asarray(scores, dtype=np.float64)
        if given.ndim != 2 or not np.isfinite(given).all():
            raise InputError(f"scores must be a finite (n_pictures, n_tags) array, not one of shape {given.shape}")
        present = check_tags(tags, len(given), n_tags=given.shape[1]).toarray() > 0
        if len(given) < 2 or not present.any():
            raise InputError("calibrating a search needs at least two held-out pictures with tags")
        n_most = max(2, _MAX_PAIRS // given.shape[1])
        if len(given) > n_most:
            chosen = rng.choice(len(given), n_most, replace=False)
            given, present = given[chosen], present[chosen]
        self._describe(given, np.asarray(tag_counts, dtype=np.float64), n_tagged)
        self.coefficients_ = _fit_logistic(list(self._terms(given)), present, n_free=2)
        log_p = self.log_probabilities(given)
        queries = _queries(check_tags(asked, int(np.shape(asked)[0])), self.n_queries, rng)
        self.dependence_ = _fit_dependence(log_p, present, [words for words in queries if len(words) > 1])
        self.nothing_below_ = _fit_nothing_below(log_p, present, queries, self.dependence_, rng)
        return self

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

        self.pair_weight_ = float(minimize_scalar(surprise, bounds=(0.0, 0.95), method="bounded").x) if known else 0.0
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
    def unmeasured(cls, scores: ArrayLike, tag_counts: ArrayLike, n_tagged: int) -> Relevance:
        """A guess for unmeasured models: words are as frequent as in training, and something is always found."""
        relevance = cls()
        relevance._describe(np.asarray(scores, dtype=np.float64), np.asarray(tag_counts, dtype=np.float64), n_tagged)
        relevance.coefficients_ = np.array([-0.5, 1.0, 0.0, 1.0, 0.0, *[0.0] * len(_KNOTS)])
        relevance.dependence_, relevance.nothing_below_ = DEPENDENCE, 0.0
        return relevance

    def log_probabilities(self, scores: ArrayLike) -> NDArray[np.float32]:
        """(n_pictures, n_tags) log-probabilities that a picture matches each word."""
        terms = self._terms(np.asarray(scores, dtype=np.float64))
        odds: Any = sum(c * term for c, term in zip(self.coefficients_, terms, strict=True))
        return np.asarray(log_expit(np.clip(odds, -_SUREST, _SUREST)), dtype=np.float32)

    def _describe(self, scores: Floats, tag_counts: Floats, n_tagged: int) -> None:
        """Set the statistics of scores and words that need no labels."""
        self.n_tags_ = int(scores.shape[1])
        self.mean_, self.deviation_ = float(scores.mean()), max(float(scores.std()), 1e-6)
        self.word_means_ = scores.mean(axis=0)
        # Keeps a word with nearly equal scores everywhere from becoming certain by a tiny difference.
        self.word_deviations_ = scores.std(axis=0) + 0.5 * self.deviation_
        self.word_odds_ = logit((tag_counts + 0.5) / (n_tagged + 1.0))

    def _terms(self, scores: Floats) -> Iterator[Floats]:
        """The terms that the coefficients multiply, one by one, since each takes as much memory as the scores."""
        if scores.ndim != 2 or scores.shape[1] != self.n_tags_:
            raise InputError(f"scores must have one column for each of {self.n_tags_} tags, not shape {scores.shape}")
        u = (scores - self.mean_) / self.deviation_
        yield np.ones_like(scores)
        yield np.broadcast_to(self.word_odds_, scores.shape)
        yield u
        yield (scores - self.word_means_) / self.word_deviations_
        yield np.clip(1 + self.word_odds_ / _RAREST, 0.0, 1.0) * u
        for knot in _KNOTS:
            yield np.maximum(u - knot, 0.0)


def _fit_logistic(terms: Sequence[Floats], present: NDArray[np.bool_], n_free: int) -> NDArray[np.float64]:
    """Maximum-likelihood coefficients; all but the first ``n_free`` are >= 0, so a higher score is never worse."""
    from scipy.optimize import minimize

    A = np.stack([term.ravel() for term in terms], axis=1)
    y = present.ravel()
    sign = np.where(y, 1.0, -1.0)
    ridge = 1.0 / len(y)

    def surprise(w: Floats) -> tuple[float, Floats]:
        odds = A @ w
        value = -float(log_expit(sign * odds).mean()) + ridge * float(w @ w)
        return value, A.T @ (expit(odds) - y) / len(y) + 2 * ridge * w

    bounds = [(None, None)] * n_free + [(0.0, None)] * (A.shape[1] - n_free)
    found = minimize(surprise, np.zeros(A.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(found.x, dtype=np.float64)


def _queries(captions: Any, n_queries: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Distinct queries that people might ask: up to three words of a caption drawn at random."""
    drawn: dict[tuple[int, ...], None] = {}
    lengths = np.diff(captions.indptr)
    rows = np.flatnonzero(lengths)
    for row in rng.choice(rows, 2 * n_queries) if len(rows) else ():
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

    return float(minimize_scalar(surprise, bounds=(0.0, 0.95), method="bounded").x)


def _surprise(log_p: Floats, relevant: NDArray[np.bool_]) -> float:
    """The mean of -log of the probability of the true outcome."""
    log_p = np.minimum(log_p, -1e-9)
    return -float(np.where(relevant, log_p, np.log(-np.expm1(log_p))).mean())


def _fit_nothing_below(
    log_p: Floats,
    present: NDArray[np.bool_],
    queries: Sequence[tuple[int, ...]],
    dependence: float,
    rng: np.random.Generator,
) -> float:
    """The lowest probability of the best picture at which something counts as found.

    It maximises the mean F-measure of queries that have relevant pictures (0 where nothing is found) plus the share of
    the other queries for which nothing is found. Each query is tried on a random subset of the pictures, small or
    large, so that frequent words also sometimes have no relevant picture.
    """
    measures, bests, nones = [], [], []
    for words in queries:
        n_asked = round(math.exp(rng.uniform(math.log(min(_FEWEST, len(log_p))), math.log(len(log_p)))))
        rows = rng.choice(len(log_p), n_asked, replace=False)[:, np.newaxis]
        joint = together(list(log_p[rows, list(words)].T), dependence)
        relevant = present[rows, list(words)].all(axis=1)
        best = math.exp(float(joint.max()))
        if relevant.any():
            found = np.exp(joint) >= cut_off(joint, 0.0)
            measures.append(2 * int((found & relevant).sum()) / int(found.sum() + relevant.sum()))
            bests.append(best)
        else:
            nones.append(best)
    if not measures or not nones:
        return NOTHING_BELOW
    value = [
        np.where(np.array(bests) >= least, measures, 0.0).mean() + (np.array(nones) < least).mean() for least in _LEASTS
    ]
    return float(_LEASTS[int(np.argmax(value))])
