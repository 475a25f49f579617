"""Probabilities of tags from the scores of any method, and the thresholds that give a wanted precision."""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import expit, log_expit, logit

from visterm.calibration.likelihood import fit_logistic, fit_own, where_known
from visterm.compute.threads import in_threads
from visterm.contracts import check_tags, declared
from visterm.contracts.estimator import FROM_0, Estimator
from visterm.errors import InputError

Floats = NDArray[np.floating[Any]]

#: Log-odds are clipped to this range, either way.
_SUREST = 9.0
#: The scores at which the log-odds may begin to rise faster.
_KNOTS = (1.0, 2.0, 3.0)
#: A tag with minus these log-odds or less counts as the rarest; a tag with even odds as the most frequent.
_RAREST = 8.0
#: What all tags share is learned from at most this many pairs of a picture and a tag.
_MAX_PAIRS = 1_000_000
#: Thresholds are corrected as if this many more suggestions had kept their promise.
_DOUBT = 20.0
#: This many pairs are treated at a time.
_BLOCK = 2**18
#: The precisions for which thresholds are kept; between two of them, thresholds are interpolated.
_PRECISIONS = np.append(np.arange(0.05, 0.96, 0.05), 0.99)

#: Suggestions are made where this share of them should be right.
PRECISION = 0.8


class Denials(NamedTuple):
    """Held-out pictures that nobody described: their ``scores``, and the tags ``denied`` there, 0/1 (both n_tags wide).

    ``given`` has the tags that they are known to have; of all other tags of theirs nothing is known.
    """

    scores: ArrayLike
    denied: Any
    given: Any = None


class Written(NamedTuple):
    """How much of the truth is written of some pictures.

    ``shares`` (n_pictures, n_tags) has the probability that a tag is written if it is true. It is 1 where somebody
    said whether it is, and 0 where nothing is known.
    """

    shares: NDArray[np.floating[Any]]

    @classmethod
    def by_picture(cls, shares: ArrayLike, n_tags: int) -> "Written":
        """Every tag of a picture is written with the same probability."""
        return cls(np.repeat(np.asarray(shares, np.float64)[:, np.newaxis], n_tags, axis=1))


@declared
class TagProbabilities(Estimator):
    """Turns the scores of a method into probabilities, with a few numbers shared by all tags and two of each tag's own.

    With ``u`` the score of a tag in units of the deviation of all scores, ``z`` in units of the tag's own deviation
    over held-out pictures, and ``f`` the share of training pictures that carry the tag, the shared log-odds are

        l = b + c o(f) + a u + d z + e g(f) u + sum_k h_k max(0, u - k),    a, d, e, h_k >= 0,

    where ``o`` are log-odds and ``g`` rises with them from 0 to 1 (scores say more about frequent tags). The
    coefficients are fitted to the held-out pictures' tags by maximum likelihood. The log-odds of tag t are
    ``s_t l + b_t``: its slope and offset are fitted, too, and shrunk to 1 and 0, so that a rare tag is calibrated by
    what all tags share. A higher score never means a lower probability.

    ``fit`` takes scores of pictures that the method had not seen, and their tags. Tags that a person denied at pictures
    that nobody tagged are known negatives: they help to fit the tag's own slope, offset and threshold.

    >>> rng = np.random.default_rng(0)
    >>> tags = (rng.random((400, 5)) < 0.3).astype(int)
    >>> scores = 2 * tags + rng.standard_normal((400, 5))
    >>> learned = TagProbabilities().fit(scores[:200], tags[:200], tag_counts=[60] * 5, n_tagged=200)
    >>> p = learned.probabilities(scores[200:])
    >>> bool(abs(tags[200:][p > 0.8].mean() - p[p > 0.8].mean()) < 0.05)
    True
    >>> suggested = p >= learned.thresholds(0.8)
    >>> round(float(tags[200:][suggested].mean()), 1)
    0.8
    """

    random_state: Annotated[int, FROM_0] = 0
    _fitted_constraints: ClassVar[dict[str, str]] = {
        "n_tags_": "n_tags=int >=0",
        "mean_": "float",
        "deviation_": "float >0",
        "word_means_": "n_tags",
        "word_deviations_": "n_tags >0",
        "word_odds_": "n_tags",
        "coefficients_": "n_coefficients",
    }

    def fit(
        self,
        scores: ArrayLike,
        tags: Any,
        *,
        tag_counts: ArrayLike,
        n_tagged: int,
        denials: Denials | None = None,
        written: Written | None = None,
    ) -> Self:
        """Learn from the ``scores`` (n_pictures, n_tags) of held-out pictures and their ``tags``.

        ``tag_counts`` of ``n_tagged`` training pictures carry each tag; ``denials`` are known negatives. ``written``
        says how much of the truth the ``tags`` are (None: all): a tag is true with probability ``sigma(l)``, and
        written with ``share sigma(l)``.
        """
        self._validate_params()
        given = np.asarray(scores)
        if given.ndim != 2 or not np.isfinite(given).all():
            raise InputError(f"scores must be a finite (n_pictures, n_tags) array, not one of shape {given.shape}")
        present = check_tags(tags, len(given), n_tags=given.shape[1])
        if len(given) < 2 or not present.nnz:
            raise InputError("calibrating tags needs at least two held-out pictures with tags")
        shares = None if written is None else np.asarray(written.shares, np.float64)
        self._describe(given, np.asarray(tag_counts, np.float64), n_tagged)
        some = _some_rows(len(given), given.shape[1], self.random_state)
        terms = list(self._terms(given[some].astype(np.float64)))
        in_some = None if shares is None else shares[some]
        self.coefficients_ = fit_logistic(terms, present[some].toarray() > 0, n_free=2, shares=in_some)
        self.own_ = np.tile([[1.0], [0.0]], self.n_tags_)
        thresholds = np.empty((len(_PRECISIONS), self.n_tags_), np.float32)
        by_tag = present.tocsc()
        if denials is not None:
            given_to_others = np.asarray(denials.scores)
            n_others = len(given_to_others)
            denied_by_tag = check_tags(denials.denied, n_others, n_tags=self.n_tags_).tocsc()
            nothing = sparse.csr_array((n_others, self.n_tags_))
            of_others = check_tags(nothing if denials.given is None else denials.given, n_others).tocsc()

        def of_tags(tags_of_block: slice) -> NDArray[np.float64]:
            shared, truth = self._shared_odds(given, tags_of_block), by_tag[:, tags_of_block].toarray() > 0
            of_block = None if shares is None else shares[:, tags_of_block]
            # Where only some tags are known, right and wrong suggestions are not as frequent as they are: these
            # pictures do not tell which promises are kept.
            kept = _kept_promises(shared, truth, of_block)
            known = None if of_block is None else of_block > 0
            if denials is not None:
                others = self._shared_odds(given_to_others, tags_of_block)
                no = denied_by_tag[:, tags_of_block].toarray() > 0
                yes = of_others[:, tags_of_block].toarray() > 0
                known = np.vstack([np.ones_like(truth) if known is None else known, no | yes])
                of_block = None if of_block is None else np.vstack([of_block, np.ones(no.shape)])
                shared, truth = np.vstack([shared, others]), np.vstack([truth, yes])
            self.own_[:, tags_of_block] = own = fit_own(shared, truth, known, of_block)
            thresholds[:, tags_of_block] = _precise(where_known(known, expit(own[0] * shared + own[1])))
            return kept

        kept = sum(in_threads(of_tags, blocks(self.n_tags_, len(given))), np.zeros((2, len(_PRECISIONS))))
        self.thresholds_ = _corrected(thresholds, *kept)
        return self

    @classmethod
    def unmeasured(cls, scores: ArrayLike, tag_counts: ArrayLike, n_tagged: int) -> Self:
        """A guess where nothing could be held out: tags are as frequent as in training."""
        guess = cls()
        guess._describe(np.asarray(scores), np.asarray(tag_counts, np.float64), n_tagged)
        guess.coefficients_ = np.array([-0.5, 1.0, 0.0, 1.0, 0.0, *[0.0] * len(_KNOTS)])
        guess.own_ = np.tile([[1.0], [0.0]], guess.n_tags_)
        guess.thresholds_ = np.tile(_PRECISIONS[:, np.newaxis].astype(np.float32), guess.n_tags_)
        return guess

    @classmethod
    def terms(cls, scores: Floats, tag_counts: NDArray[Any], n_tagged: int, rows: NDArray[np.intp]) -> list[Floats]:
        """What the shared coefficients multiply, for some ``rows`` of ``scores``."""
        described = cls()
        described._describe(scores, tag_counts.astype(np.float64), n_tagged)
        return list(described._terms(scores[rows].astype(np.float64)))

    def probabilities(self, scores: ArrayLike) -> NDArray[np.float32]:
        """(n_pictures, n_tags) probabilities."""
        return np.asarray(expit(self.log_odds(scores)), np.float32)

    def log_probabilities(self, scores: ArrayLike) -> NDArray[np.float32]:
        """(n_pictures, n_tags) logarithms of the probabilities."""
        return np.asarray(log_expit(self.log_odds(scores)), np.float32)

    def log_odds(self, scores: ArrayLike) -> NDArray[np.float32]:
        """(n_pictures, n_tags) log-odds, between -9 and 9."""
        given = np.asarray(scores)
        if given.ndim != 2 or given.shape[1] != self.n_tags_:
            raise InputError(f"scores must have one column for each of {self.n_tags_} tags, not shape {given.shape}")
        odds = np.empty(given.shape, np.float32)
        own = getattr(self, "own_", None)  # models of earlier versions have only what all tags share

        def of_rows(rows: slice) -> None:
            shared = self._shared_odds(given[rows], slice(None))
            odds[rows] = shared if own is None else np.clip(own[0] * shared + own[1], -_SUREST, _SUREST)

        in_threads(of_rows, blocks(len(given), self.n_tags_))
        return odds

    def lifts(self, log_odds: Floats) -> Floats:
        """How much the log-odds exceed those of a picture nobody looked at: an order that favours rare tags."""
        return log_odds - self.word_odds_.astype(np.float32)

    def thresholds(self, precision: float) -> NDArray[np.float64]:
        """For each tag, the least probability at which to suggest it, so that all suggestions have this ``precision``.

        A tag's threshold is where its own suggestions would have some precision together. That precision is the same
        for all tags, and is such that all suggestions had the wanted one on pictures that did not help to calibrate.
        """
        if not 0 <= precision <= 1:
            raise InputError(f"the precision must lie between 0 and 1, not {precision}")
        place = float(np.interp(precision, _PRECISIONS, np.arange(len(_PRECISIONS))))
        if not hasattr(self, "thresholds_"):  # a model of an earlier version
            return np.full(self.n_tags_, precision)
        below = min(int(place), len(_PRECISIONS) - 2)
        low, high = self.thresholds_[below : below + 2].astype(np.float64)
        return low + (place - below) * (high - low)

    def _describe(self, scores: Floats, tag_counts: Floats, n_tagged: int) -> None:
        """Set the statistics of scores and tags that need no labels."""
        self.n_tags_ = int(scores.shape[1])
        self.mean_, self.deviation_ = float(scores.mean(dtype=np.float64)), float(scores.std(dtype=np.float64))
        self.deviation_ = max(self.deviation_, 1e-6)
        self.word_means_ = scores.mean(axis=0, dtype=np.float64)
        # Keeps a tag with nearly equal scores everywhere from becoming certain by a tiny difference.
        self.word_deviations_ = scores.std(axis=0, dtype=np.float64) + 0.5 * self.deviation_
        # Scores of a tag that no training picture carries do not tell how a fit scores it that has learned it.
        self.word_means_[tag_counts == 0], self.word_deviations_[tag_counts == 0] = self.mean_, 1.5 * self.deviation_
        self.word_odds_ = logit((tag_counts + 0.5) / (n_tagged + 1.0))

    def _shared_odds(self, scores: Floats, tags: slice) -> Floats:
        """The log-odds of some tags by what all tags share."""
        terms = self._terms(scores[:, tags].astype(np.float64), tags)
        odds: Any = sum(c * term for c, term in zip(self.coefficients_, terms, strict=True))
        return np.clip(odds, -_SUREST, _SUREST)

    def _terms(self, scores: Floats, tags: slice = slice(None)) -> Iterator[Floats]:
        """The terms that the coefficients multiply, one by one, since each takes as much memory as the scores."""
        u = (scores - self.mean_) / self.deviation_
        odds = self.word_odds_[tags]
        yield np.ones_like(scores)
        yield np.broadcast_to(odds, scores.shape)
        yield u
        yield (scores - self.word_means_[tags]) / self.word_deviations_[tags]
        yield np.clip(1 + odds / _RAREST, 0.0, 1.0) * u
        for knot in _KNOTS:
            yield np.maximum(u - knot, 0.0)


def _some_rows(n_rows: int, n_tags: int, seed: int) -> NDArray[np.intp]:
    """Rows to learn from, all of them or a sample with at most ``_MAX_PAIRS`` numbers."""
    most = max(2, _MAX_PAIRS // n_tags)
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(seed).choice(n_rows, most, replace=False))


def blocks(n: int, width: int) -> Iterator[slice]:
    """Slices of ``range(n)`` that hold at most ``_BLOCK`` numbers if each has ``width`` of them."""
    step = max(1, _BLOCK // max(1, width))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def _precise(p: Floats) -> Floats:
    """(n_precisions, n_tags) the lowest probability at which the suggestions of a tag reach each precision.

    The precision of all pictures with a probability of at least t is the mean of their probabilities. No threshold is
    above the precision itself: a single suggestion that is so likely has it. And none is below half the precision,
    so that no unlikely tag hides behind sure ones.
    """
    ordered = -np.sort(-p, axis=0)
    precision = np.cumsum(ordered, axis=0) / np.arange(1, len(p) + 1)[:, np.newaxis]
    # Means of a falling sequence fall: count how many pictures reach each precision.
    n_taken = np.stack([(precision >= wanted).sum(axis=0) for wanted in _PRECISIONS])
    last = np.take_along_axis(ordered, np.maximum(n_taken - 1, 0), axis=0)
    wanted = _PRECISIONS[:, np.newaxis]
    return np.clip(np.where(n_taken > 0, last, wanted), wanted / 2, wanted)


def _kept_promises(shared: Floats, truth: NDArray[np.bool_], shares: Floats | None = None) -> NDArray[np.float64]:
    """(2, n_precisions) how many suggestions are right, and how many there are, by what the other half taught.

    Where only ``shares`` of the truth are written, a suggestion counts as the share that would be seen to be right.
    """
    counts = np.zeros((2, len(_PRECISIONS)))
    even = np.arange(len(shared)) % 2 == 0
    for half in (even, ~even):
        own = fit_own(shared[~half], truth[~half], shares=None if shares is None else shares[~half])
        thresholds = _precise(expit(own[0] * shared[~half] + own[1]))
        p = expit(own[0] * shared[half] + own[1])
        for level, lowest in enumerate(thresholds):
            suggested = p >= lowest
            n_suggested = np.count_nonzero(suggested) if shares is None else (suggested * shares[half]).sum()
            counts[:, level] += np.array([np.count_nonzero(suggested & truth[half]), n_suggested])
    return counts


def _corrected(thresholds: NDArray[np.float32], n_right: Floats, n_suggested: Floats) -> NDArray[np.float32]:
    """For every precision, the thresholds of the precision that was found to give it.

    A tag with few likely pictures has only suggestions that are surer than wanted. So thresholds that keep the promise
    for every tag alone are too cautious for all tags together.
    """
    found = (n_right + _DOUBT * _PRECISIONS) / (n_suggested + _DOUBT)
    levels = np.interp(_PRECISIONS, np.maximum.accumulate(found), np.arange(len(_PRECISIONS)))
    below = np.minimum(levels.astype(np.intp), len(_PRECISIONS) - 2)
    share = (levels - below)[:, np.newaxis].astype(np.float32)
    return np.asarray((1 - share) * thresholds[below] + share * thresholds[below + 1], np.float32)
