"""Any annotator, followed by spreading: similar pictures, tagged or not, agree on their tags."""

from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, logit
from sklearn.base import clone

from visterm.calibration import TagProbabilities
from visterm.contracts import (
    AnnotatorMixin,
    Features,
    HasMethods,
    Scores,
    check_tags,
    declared,
    n_pictures,
    rows_with_tags,
    take,
    unseen,
    word_scores,
)
from visterm.contracts.estimator import SHARE, Estimator, StrOptions
from visterm.graph.neighbourhood import Neighbourhood

Floats = NDArray[np.floating[Any]]
Integers = NDArray[np.integer[Any]]

#: How far beliefs spread: the values that are tried.
ALPHAS = (0.0, 0.3, 0.5, 0.7)
#: Fewer held-out pictures tell nothing.
_FEWEST = 5
#: The log loss must fall by more than this share.
_WORTH = 0.002
#: Probabilities before the logarithm is taken.
_LEAST = 1e-4


@declared
class SpreadAnnotator(AnnotatorMixin, Estimator):
    """Spreads the probabilities of an annotator's tags over the graph of all pictures, untagged ones included.

    The ``estimator`` learns from the tagged pictures. The scores of those that were held out of another fit turn its
    scores into probabilities (:class:`~visterm.calibration.TagProbabilities`), and choose how far (``reach``, the
    alpha of the neighbourhood) these are spread along the links of similar pictures, by log loss; if nothing helps, it
    is 0. A tagged picture believes its own tags, and less of others than its neighbours say.

    A tagged picture is scored as if it had been left out.

    >>> from visterm.neighbours import KnnAnnotator
    >>> X = np.array([[2.0, 0.1], [1.9, -0.2], [-2.0, 0.2], [-1.8, 0.0]])
    >>> tags = [[1, 0], [0, 0], [0, 1], [0, 0]]
    >>> SpreadAnnotator(KnnAnnotator(1)).fit(X, tags).score_tags(X).argmax(axis=1).tolist()
    [0, 0, 1, 1]
    """

    learns_from_untagged = True
    learns_from_denied = True
    chosen_by_trial = ("reach",)

    estimator: Annotated[Any, HasMethods(["fit", "score_tags"])]
    _: KW_ONLY
    reach: Annotated[float | str, SHARE, StrOptions({"auto"})] = "auto"
    held_out_share: Annotated[float, SHARE] = 0.25
    random_state: Annotated[Any, "random_state"] = 0
    _fitted_constraints: ClassVar[dict[str, str]] = {
        "beliefs_": "n_pictures n_believed >=0",
        "reach_": "float >=0",
        "unit_": "float",
        "losses_": "n_alphas n_columns",
    }

    def fit(self, X: Features, tags: Any, *, denied: Any = None) -> Self:
        """Learn from the tagged pictures, and spread over all."""
        self._validate_params()
        tags = check_tags(tags, n_pictures(X))
        rows = rows_with_tags(tags)
        self._count_tags(tags)
        self.neighbourhood_ = Neighbourhood.of(X)
        self.n_features_in_ = self.neighbourhood_.n_features_in_
        self.estimator_ = self._fitted(X, tags, denied)
        self._learn_probabilities(X, tags, rows, denied)
        scores = word_scores(unseen(self.estimator_), X)
        p = self.probabilities_.probabilities(scores)
        odds = _odds(p)
        self.unit_ = float(np.cov(scores.ravel(), odds.ravel())[0, 1] / max(float(odds.var()), _LEAST))
        self.beliefs_ = self._spread(p, tags, rows, self.reach_).astype(np.float32) if self.reach_ else np.empty((0, 0))
        return self

    def score_tags(self, X: Features) -> Scores:
        """(n_pictures, n_tags) scores of the estimator, moved by as much as spreading moved the log-odds."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        scores = np.asarray(word_scores(unseen(self.estimator_), X))
        if self.reach_ == 0:
            return scores
        own, places = self.probabilities_.probabilities(scores), self.neighbourhood_.places(X)
        beliefs, new = self.beliefs_[places], np.flatnonzero(places < 0)
        if len(new):
            beliefs[new] = self.neighbourhood_.of_new(take(X, new), own[new], self.beliefs_, self.reach_)
        return scores + self.unit_ * (_odds(beliefs) - _odds(own))

    def _fitted(self, X: Features, tags: sparse.csr_array, denied: Any) -> Any:
        estimator = clone(self.estimator)
        more = {} if denied is None or not getattr(estimator, "learns_from_denied", False) else {"denied": denied}
        if getattr(estimator, "learns_from_untagged", False):
            return estimator.fit(X, tags, **more)
        has = np.diff(tags.indptr) > 0
        if more:
            has |= np.diff(sparse.csr_array(denied).indptr) > 0
            more = {"denied": sparse.csr_array(denied)[np.flatnonzero(has)]}
        rows = np.flatnonzero(has)
        return estimator.fit(take(X, rows), tags[rows], **more)

    def _spread(self, p: Floats, tags: sparse.csr_array, rows: Integers, alpha: float) -> Floats:
        """Beliefs of all pictures; tagged ``rows`` tell their neighbours their tags, and learn from these."""
        if alpha == 0:
            return p
        given = p.copy()
        given[rows] = np.maximum(given[rows], tags[rows].toarray())  # what nobody wrote may be true
        near = self.neighbourhood_
        found = near.spread(given, alpha)
        # What a picture said of itself comes back to it; it is replaced by what the estimator says without it.
        own = near.returning(alpha)[rows, np.newaxis]
        found[rows] = np.clip(found[rows] + own * (p[rows] - given[rows]), 0, 1)
        return found

    def _learn_probabilities(self, X: Features, tags: sparse.csr_array, rows: Integers, denied: Any) -> None:
        """Learn what scores mean, and set how far to spread, by tagged pictures held out of another fit."""
        self.reach_, self.losses_ = 0.0 if self.reach == "auto" else float(self.reach), np.empty((0, 2))
        rng = np.random.default_rng(self.random_state)
        asked = np.sort(rng.choice(rows, round(self.held_out_share * len(rows)), replace=False))
        rest = np.setdiff1d(rows, asked)
        kept = sparse.csr_array(sparse.diags_array(np.isin(np.arange(tags.shape[0]), rest).astype(tags.dtype)) @ tags)
        counts = np.bincount(kept.indices, minlength=tags.shape[1])
        if len(asked) < _FEWEST:
            scores = word_scores(unseen(self.estimator_), X)
            self.probabilities_ = TagProbabilities.unmeasured(scores, self.tag_counts_, len(rows))
            return
        scores, truth = word_scores(unseen(self._fitted(X, kept, denied)), X), tags[asked]
        self.probabilities_ = TagProbabilities().fit(scores[asked], truth, tag_counts=counts, n_tagged=len(rest))
        if self.reach != "auto":
            return
        p, present = self.probabilities_.probabilities(scores), truth.toarray() > 0
        losses = []
        for alpha in ALPHAS:
            again = _sharpened(_odds(self._spread(p, kept, rest, alpha)[asked]), present)
            losses.append((alpha, -float(np.log(np.where(present, again, 1 - again)).mean())))
        self.losses_ = np.array(losses)
        best = self.losses_[self.losses_[:, 1].argmin()]
        if best[1] < (1 - _WORTH) * self.losses_[0, 1]:
            self.reach_ = float(best[0])


def _odds(p: Floats) -> Floats:
    return np.asarray(logit(np.clip(p.astype(np.float64), _LEAST, 1 - _LEAST)))


def _sharpened(odds: Floats, present: NDArray[np.bool_]) -> Floats:
    """Probabilities with one slope and offset for all tags: spreading makes beliefs less sure."""
    from visterm.calibration.likelihood import fit_logistic

    w = fit_logistic([np.ones_like(odds), odds], present, 1)
    return np.clip(expit(w[0] + w[1] * odds), _LEAST, 1 - _LEAST)
