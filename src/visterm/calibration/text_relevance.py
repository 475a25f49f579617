"""How probably a picture matches a text: from its look, and from what a model says of the words it knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from visterm.calibration.asked import Asked
from visterm.calibration.nothing_found import drawn_rows, least_found
from visterm.calibration.stretches import stretches
from visterm.contracts.estimator import Estimator

Floats = NDArray[np.floating[Any]]


#: Where the slope of standardised nearness may change. Of unknown words only pictures that stand out match; of
#: sentences, some of those that stand out most do not, for they show nearly the same.
_KNOTS = np.array([1.5, 3.0])
#: The coefficients of 1, standardised nearness on each stretch, nearness, what a network sees, and the log-odds of the
#: words, where nothing was measured: the likeliest for queries to pictures that were held out, 250 of flickr1500
#: (validation part) and 500 of Corel5K's training pictures. Unknown words and foreign sentences: 0 to 30 others had
#: labels; the rest: 10 to 400. How near all pictures are depends on how much was said of them, so that counts only
#: where it was measured.
USUAL = np.array(
    [
        [-4.7, 0.65, 0.65, 0.65, 0.0, 0.45, 0.0],
        [-0.9, 0.40, 0.40, 0.40, 0.0, 0.25, 0.7],
        [-5.1, 0.90, 0.90, 0.90, 0.0, 0.45, 0.45],
        [-6.8, 1.45, 1.45, 1.45, 0.0, 0.0, 0.03],
        [-6.7, 1.35, 1.35, 1.35, 0.0, 0.0, 0.0],
    ]
)
#: From which probability of the best picture on something is found, where nothing was measured.
USUALLY_FOUND = np.array([0.5, 0.2, 0.5, 0.8, 0.8])
#: And at least this if only their look answers for a word: held-out queries all ask for something that is there. Of 37
#: sentences about nothing in flickr1500, 9 had a picture of 0.6 or more after learning from it, 4 of 0.7, 2 of 0.8.
_BY_LOOK = {Asked.UNKNOWN: 0.5, Asked.MIXED: 0.5, Asked.SENTENCE: 0.8, Asked.FOREIGN: 0.8}
#: The coefficients stay near the usual ones as if by Gaussian priors of these precisions. Few words of captions are
#: names of classes that a network knows, so that a collection tells little of how far to trust it there.
_PRIOR = np.array([1.0, 10.0, 10.0, 10.0, 1.0, 100.0, 30.0])
#: A query that was drawn from what is said of a picture surely has this picture, which makes it seem frequent where few
#: others are held out. It counts less then: as if one of so many pictures was asked for, as where USUAL is from.
_ONE_OF = 250
#: Log-odds of words are clipped to these, either way. However sure the known words are, the others may not hold.
_SUREST = {kind: 2.0 if kind == Asked.MIXED else 9.0 for kind in Asked}
#: Texts help known words only if they lower the log loss of held-out queries by this share.
_HELPS = 0.005
#: Fewer queries of a kind tell too little: of 4,000 tagged pictures of Corel5K, 4 queries of unknown words.
_ENOUGH = 20


@dataclass(frozen=True, slots=True, eq=False)
class TextQuery:
    """A query, and what is known of (n_pictures,) held-out pictures.

    ``near`` is how near they are in the space of texts, ``stands_out`` the same standardised among all pictures,
    ``seen`` what a network sees, ``words`` the log-odds that they match the words that a model knows (None: it knows
    none), and ``relevant`` whether they match. ``drawn_from`` is the picture of which the query was said.
    """

    kind: Asked
    near: Floats
    stands_out: Floats
    seen: Floats
    words: Floats | None
    relevant: NDArray[np.bool_]
    drawn_from: int

    @property
    def weights(self) -> Floats:
        """(n_pictures,) how much each picture counts."""
        weights = np.ones(len(self.relevant))
        weights[self.drawn_from] = min(1.0, len(weights) / _ONE_OF)
        return weights


class TextRelevance(Estimator):
    """Logistic regressions, one for each kind of query, towards what is usual where little was measured.

    ``log P / (1 - P) = c_0 + c_1 z_1 + c_2 z_2 + c_3 z_3 + c_4 n + c_5 s + c_6 w``: n is the nearness of the picture to
    the text, z the same minus its mean over all pictures and divided by its deviation, in three stretches that add up
    to it; s what a network sees; w the log-odds that the picture matches the known words. Only c_0 may be negative, so
    that more evidence never lowers a probability.

    What is found by its look must be likelier than not, for a sentence much likelier: the nearest of all pictures is
    near to any text.
    """

    _fitted_constraints: ClassVar[dict[str, str]] = {
        "coefficients_": "n_kinds 7",
        "nothing_below_": "n_kinds >=0",
        "helps_known_": "float >=0",
        "n_queries_": "n_kinds int >=0",
    }

    def fit(self, queries: Sequence[TextQuery]) -> Self:
        """Learn from queries to held-out pictures; of none, nothing."""
        self.coefficients_ = USUAL.copy()
        self.nothing_below_ = USUALLY_FOUND.copy()
        self.n_queries_ = np.zeros(len(Asked), np.int64)
        self.helps_known_ = 1.0
        for kind in Asked:
            own = [query for query in queries if query.kind == kind]
            self.n_queries_[kind] = len(own)
            if len(own) >= _ENOUGH:
                self.coefficients_[kind] = _fit(own, USUAL[kind])
                self._measure(kind, own)
        return self

    def _measure(self, kind: Asked, own: Sequence[TextQuery]) -> None:
        log_p = [log_expit(_terms(each) @ self.coefficients_[kind]) for each in own]
        rng = np.random.default_rng(0)
        rows = [drawn_rows(len(each), rng) for each in log_p]
        trials = [(log[few], each.relevant[few]) for log, each, few in zip(log_p, own, rows, strict=True)]
        self.nothing_below_[kind] = max(least_found(trials), _BY_LOOK.get(kind, 0.0))
        if kind == Asked.KNOWN:
            self.helps_known_ = float(_gain(own) >= _HELPS)

    def by_look(self, kind: Asked, near: Floats, seen: Floats) -> Floats:
        """The part of the log-odds that needs no word, for all pictures."""
        c = self.coefficients_[kind]
        return np.asarray(c[:-1] @ _look(near, standardised(near), seen))

    def by_words(self, kind: Asked, words: Floats) -> Floats:
        """What the log-odds of known words add."""
        return np.asarray(self.coefficients_[kind][-1] * clipped(kind, words))


def clipped(kind: Asked, log_odds: Floats) -> Floats:
    """The log-odds of known words, as far as they count in a query of this kind."""
    return np.clip(log_odds, -_SUREST[kind], _SUREST[kind])


def standardised(near: Floats) -> Floats:
    """Nearness in deviations from its mean."""
    deviation = float(near.std())
    return (near - near.mean()) / deviation if deviation > 0 else np.zeros_like(near)


def _fit(queries: Sequence[TextQuery], usual: Floats) -> Floats:
    """The likeliest coefficients near the usual ones; those of evidence are not negative."""
    from scipy.optimize import minimize

    A = np.concatenate([_terms(query) for query in queries])
    y = np.concatenate([query.relevant for query in queries]).astype(float)
    weights = np.concatenate([query.weights for query in queries])

    def surprise(c: Floats) -> tuple[float, Floats]:
        odds = A @ c
        value = weights @ (np.logaddexp(0, odds) - y * odds) + 0.5 * (_PRIOR * (c - usual) ** 2).sum()
        return float(value), A.T @ (weights * (expit(odds) - y)) + _PRIOR * (c - usual)

    bounds = [(None, None), *[(0, None)] * (A.shape[1] - 1)]
    return np.asarray(minimize(surprise, usual, jac=True, method="L-BFGS-B", bounds=bounds).x)


def _terms(query: TextQuery) -> Floats:
    words = np.zeros(len(query.near)) if query.words is None else clipped(query.kind, query.words)
    return np.vstack([_look(query.near, query.stands_out, query.seen), words]).T


def _look(near: Floats, stands_out: Floats, seen: Floats) -> Floats:
    """(6, n_pictures) what the coefficients multiply, without the words."""
    return np.stack([np.ones(len(near)), *stretches(stands_out, _KNOTS), near, seen])


def _gain(queries: Sequence[TextQuery]) -> float:
    """By which share texts lower the log loss of known words: each half of the queries judged by the other half."""
    with_text = alone = 0.0
    for half in (0, 1):
        learned = _fit(queries[half::2], USUAL[Asked.KNOWN])
        for query in queries[1 - half :: 2]:
            if query.words is None:
                continue
            y, words = query.relevant, clipped(query.kind, query.words)
            odds = _terms(query) @ learned
            with_text += float(query.weights @ (np.logaddexp(0, odds) - y * odds))
            alone += float(query.weights @ (np.logaddexp(0, words) - y * words))
    return 1 - with_text / alone if alone > 0 else 0.0
