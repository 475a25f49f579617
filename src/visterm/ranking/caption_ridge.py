"""Ranking pictures by regressions of the query's words, and of sets of words that occur together."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import log_expit
from sklearn.utils.validation import check_is_fitted

from visterm.calibration import fit_platt, sigmoid
from visterm.compute.rows import evenly
from visterm.contracts import AnnotatorMixin, Features, Scores, check_queries, check_tags, n_pictures
from visterm.contracts.estimator import FROM_1, NOT_NEGATIVE, POSITIVE, StrOptions, declared
from visterm.margin.functions.by_landmarks import LandmarkFit
from visterm.margin.functions.expansion import precision
from visterm.margin.functions.left_out import LeavesOut
from visterm.margin.solver.ridge import LessonRidge, Lessons
from visterm.ranking.queries import MAX_SUBSETS, from_tags, idf, n_subsets, relevant_pictures, wanted_words

Array = NDArray[Any]

#: ``alpha="auto"``: by the exact kernel, and by landmarks.
_ALPHA, _ALPHA_BY_LANDMARKS = 0.03, 0.3
#: At most this many sets of words are learned, the most frequent ones.
MAX_SETS = 20_000
#: And fewer if they would have more coefficients than this: each set has one for every picture, or landmark.
MAX_COEFFICIENTS = 2**25
#: Sigmoids by landmarks are fitted to at most this many pictures without a word, and with it.
_MOST_JUDGED = 2**14
#: Probabilities of sets far below this count as equal.
_FLOOR = 1e-3


@declared
class CaptionRidge(AnnotatorMixin, LeavesOut):
    """Ranks pictures by regressions of every word, and of the sets of words that captions contain.

    A picture that resembles some pictures with *sea* and others with *horse* need not resemble one with both. So the
    score uses not only the words of a query, but also the sets of its words that occur together:

        score(q, p) = sum_{t in q} log P(t | p) + set_weight sum_{S in q, |S| > 1} log (max(0, P(S | p)) + 0.001)

    Each P is the ridge regression of an indicator, "the caption has t" or "the caption has all of S", on the pictures'
    kernel: all share one factorisation. The P of words are calibrated on the exact leave-one-out scores (Platt); sets
    are too rare for that. A set that no caption contains is left out.

    - ``alpha``: the weight of ``||f||^2`` against the squared errors. ``auto`` is 0.03, and 0.3 with landmarks, which
      tell single pictures apart less well.
    - ``kernel``: as for :class:`~visterm.margin.KernelRidgeAnnotator`.
    - ``set_size``: the largest number of words in a set. With 1 there are no sets: the score is the sum of calibrated
      logarithms.
    - ``set_weight``: the weight of a set relative to a word.
    - ``landmarks``: as for :class:`~visterm.margin.KernelRidgeAnnotator`.

    Rows without tags are left out, except that ``denied`` tags of such rows are known negatives of these words (see
    :class:`~visterm.margin.solver.ridge.LessonRidge`). Sets learn from tagged pictures only.

    >>> X = [[1.0, 0.0, 0.0], [0.9, 0.1, 0.0], [0.0, 1.0, 0.0], [0.4, 0.5, 0.1]]
    >>> model = CaptionRidge(kernel="linear").fit(X, [[1, 0], [1, 0], [0, 1], [1, 1]])
    >>> int(model.score_queries([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]], [[0.7, 0.7]]).argmax())
    0
    """

    scores_are_probabilities = True
    learns_from_denied = True
    _kernel_of_one_feature = "exp-chi2"

    alpha: Annotated[float | str, POSITIVE, StrOptions({"auto"})] = "auto"
    _: KW_ONLY
    kernel: str = "auto"
    set_size: Annotated[int, FROM_1] = 2
    set_weight: Annotated[float, NOT_NEGATIVE] = 1.0
    intercept_scaling: float = 1.0
    landmarks: Annotated[int | str | None, FROM_1, StrOptions({"auto"})] = "auto"
    _fitted_constraints: ClassVar[dict[str, str]] = {
        "n_tags_": "n_tags=int >=0",
        "idf_": "n_tags",
        "set_words_": "n_sets n_tags",
        "tag_platt_": "n_tags 2",
    }

    def fit(self, X: Features, tags: Any, queries: Any = None, *, denied: Any = None) -> Self:  # noqa: ARG002
        """Solve for all words and sets at once; ``queries`` are not used, since captions contain them."""
        self._validate_params()
        checked = self._check_fit_features(X)
        lessons = Lessons.of(check_tags(tags, n_pictures(X)), denied)
        self.n_tags_ = int(lessons.tags.shape[1])
        self._count_tags(lessons.tags)
        self.idf_ = idf(self.tag_counts_, len(lessons.tagged))
        n_landmarks = self.n_landmarks(len(lessons.tagged))
        self.set_words_, having = _sets(lessons.tags, self.set_size, n_landmarks or len(lessons.tagged))
        if n_landmarks is None:
            self._fit_exactly(checked, lessons, having)
        else:
            self._fit_landmarks(checked, lessons, having)
        return self

    def _fit_exactly(self, X: Features, lessons: Lessons, having: sparse.csr_array) -> None:
        rows = lessons.rows
        present = lessons.tags.astype(np.bool_).toarray()
        ridge = LessonRidge(lessons, lambda: self._inner_products(X, rows, lessons.labels), self._alpha(_ALPHA))
        theta = np.empty((self.n_tags_ + having.shape[0], len(rows)), precision(rows))
        platt = []
        for columns, of_words, left_out in ridge.of_tags():
            theta[columns] = of_words.T
            platt.append(fit_platt(left_out, present[:, columns]))
        for columns, of_sets in ridge.of_others(having.T):
            theta[self.n_tags_ + columns.start : self.n_tags_ + columns.stop] = of_sets.T
        own_weights = ridge.own_weights
        del ridge, present  # large
        self.tag_platt_ = np.concatenate(platt)
        self._keep(X, rows, theta)
        self._keep_own(rows, own_weights)

    def _fit_landmarks(self, X: Features, lessons: Lessons, having: sparse.csr_array) -> None:
        fit = self._fit_by_landmarks(X, lessons, self._alpha(_ALPHA_BY_LANDMARKS), sparse.csr_array(having.T))
        self.tag_platt_ = np.concatenate(list(_platt(fit, self.n_tags_)))
        self._keep_weights(fit.features, fit.landmarks, fit.weights)
        self._keep_rotation(fit.features)
        self._keep_own_of(fit)

    def partial_fit(self, X: Features, tags: Any) -> Self:
        """Add tagged pictures that it has not learned from to a model with landmarks; the first call is a fit.

        The functions are those of a fit to all pictures with the same landmarks and sets. The sigmoid of a word is that
        of the pictures before, or of those that are added if more of them have the word.
        """
        if not hasattr(self, "tag_platt_"):
            return self.fit(X, tags)
        lesson = self._more(X, tags, self.n_tags_)
        having = sparse.csr_array(relevant_pictures(self.set_words_, lesson.targets), dtype=np.float32)
        targets = sparse.csr_array(sparse.hstack([lesson.targets, having.T], format="csr"))
        fit = self._fit_more(replace(lesson, targets=targets))
        n_own = fit.n_own[: self.n_tags_]
        platt = np.concatenate(list(_platt(fit, self.n_tags_)))
        self.tag_platt_ = np.where((n_own > self.tag_counts_)[:, None], platt, self.tag_platt_)
        self._keep_more(fit)
        self._keep_own_of(fit, more=True)
        self.tag_counts_ = self.tag_counts_ + n_own
        self.mean_n_tags_ = float(self.tag_counts_.sum() / len(self.own_prints_))
        self.idf_ = idf(self.tag_counts_, len(self.own_prints_))
        return self

    def _alpha(self, usual: float) -> float:
        return usual if self.alpha == "auto" else float(self.alpha)

    def score_tags(self, X: Features) -> Scores:
        """(n_pictures, n_tags): the calibrated probability of every word."""
        check_is_fitted(self)
        return sigmoid(self._task_scores(X, slice(self.n_tags_)), *self.tag_platt_.T)

    def score_queries(self, X: Features, Q: Any) -> Scores:
        """(n_queries, n_pictures), larger is better."""
        scores = self._task_scores(X)
        words = log_expit(scores[:, : self.n_tags_] * self.tag_platt_[:, 0] + self.tag_platt_[:, 1])
        sets = _set_logarithms(scores[:, self.n_tags_ :])
        wanted = wanted_words(check_queries(Q, self.n_tags_), self.idf_)
        held = relevant_pictures(self.set_words_, wanted > 0)  # a query contains a set like a caption does
        return np.asarray(wanted @ words.T + sparse.csr_array(held.T * self.set_weight) @ sets.T)

    def set_log_probabilities(self, X: Features) -> Scores:
        """(n_pictures, n_sets): the logarithms of the probabilities of the sets in ``set_words_``, at most 0."""
        check_is_fitted(self)
        return np.minimum(_set_logarithms(self._task_scores(X, slice(self.n_tags_, None))), 0.0)


def _set_logarithms(scores: Array) -> Array:
    sets = np.maximum(scores, 0.0)
    sets += _FLOOR
    return np.log(sets, out=sets)


def _platt(fit: LandmarkFit, n_tags: int) -> Iterator[Array]:
    """The sigmoids of words: (n, 2) for some after the other.

    They see the pictures of a word and a sample of all pictures, of which those without the word count: each for as
    many as it stands for.
    """
    n_rows, n_own, own = len(fit.lesson.rows), fit.n_own, fit.own_scores()
    for columns, left_out, given in fit.scores_without(evenly(n_rows, _MOST_JUDGED), n_tags):
        present = given > 0
        if len(present) == n_rows:
            yield fit_platt(left_out, present)
            continue
        tags = range(columns.start, columns.stop)
        of_own = np.zeros((min(_MOST_JUDGED, int(n_own[columns].max(initial=0))), len(tags)))
        stands = np.zeros((len(left_out) + len(of_own), len(tags)))
        for place, tag in enumerate(tags):
            scores = own.data[own.indptr[tag] : own.indptr[tag + 1]]
            some = evenly(len(scores), _MOST_JUDGED)
            of_own[: len(some), place] = scores[some]
            stands[len(left_out) : len(left_out) + len(some), place] = len(scores) / max(1, len(some))
        n_absent = (~present).sum(axis=0)
        stands[: len(left_out)] = ~present * ((n_rows - n_own[columns]) / np.maximum(1, n_absent))
        is_own = np.repeat([False, True], [len(left_out), len(of_own)])
        yield fit_platt(np.vstack([left_out, of_own]), np.broadcast_to(is_own[:, None], stands.shape), stands)


def _sets(captions: sparse.csr_array, set_size: int, n_coefficients: int) -> tuple[sparse.csr_array, sparse.csr_array]:
    """The sets of two and more words that captions contain, and which captions contain them, (n_sets, n_pictures).

    Each has this many coefficients.
    """
    found = from_tags(_of_frequent_words(captions, set_size), max_words=set_size).multi_word()
    most = min(MAX_SETS, MAX_COEFFICIENTS // n_coefficients)
    found = found.select(np.sort(np.argsort(-found.n_relevant, kind="stable")[:most]))
    return sparse.csr_array(found.words, dtype=np.float32), sparse.csr_array(found.relevance, dtype=np.float32)


def _of_frequent_words(captions: sparse.csr_array, set_size: int) -> sparse.csr_array:
    """The captions without the rarest words, if they have too many subsets: rare words make only rare sets."""
    if n_subsets(np.diff(captions.indptr), set_size) <= MAX_SUBSETS:
        return captions
    frequent_first = np.argsort(-np.bincount(captions.indices, minlength=captions.shape[1]), kind="stable")

    def of_words(n_words: int) -> sparse.csr_array:
        has = np.zeros(captions.shape[1], np.float32)
        has[frequent_first[:n_words]] = 1
        kept = sparse.csr_array(captions.multiply(has))
        kept.eliminate_zeros()
        return kept

    fits, too_many = 0, captions.shape[1]  # bisection: the largest number of words that is not too many
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        few = n_subsets(np.diff(of_words(middle).indptr), set_size) <= MAX_SUBSETS
        fits, too_many = (middle, too_many) if few else (fits, middle)
    return of_words(fits)
