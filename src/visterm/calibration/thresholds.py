"""A threshold for every tag, so that each picture gets its own number of tags instead of a fixed five."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods, Interval

from visterm.contracts import AnnotatorMixin, Features, Scores, check_tags, n_pictures, take
from visterm.contracts.estimator import Estimator
from visterm.errors import InputError


class TagThresholds(Estimator):
    """For every tag, the score from which on a picture gets it.

    The threshold maximises the tag's F on the pictures passed to ``fit``. With ``precision``, it is the lowest score at
    which at least that share of the pictures given the tag carry it.

    ``fit`` takes scores of held-out pictures with known tags. A tag with few pictures says little about its own
    threshold, so the common threshold of all tags is added with the weight of ``shrinkage`` pictures. A tag that no
    picture carries gets the common threshold.

    >>> scores, tags = np.array([[0.9, 0.2], [0.8, 0.1], [0.3, 0.1], [0.1, 0.05]]), [[1, 1], [1, 0], [0, 0], [0, 0]]
    >>> thresholds = TagThresholds(shrinkage=0).fit(scores, tags)
    >>> thresholds.predict(np.array([[0.85, 0.02], [0.2, 0.18]])).toarray()
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "shrinkage": [Interval(Real, 0, None, closed="left")],
        "precision": [Interval(Real, 0, 1, closed="right"), None],
    }

    def __init__(self, shrinkage: float = 1.0, precision: float | None = None) -> None:
        self.shrinkage = shrinkage
        self.precision = precision

    def fit(self, scores: Scores, tags: Any) -> Self:
        """Choose the thresholds."""
        self._validate_params()
        scores = _checked(scores)
        present = check_tags(tags, len(scores), n_tags=scores.shape[1]).toarray() > 0
        if not present.any():
            raise InputError("no picture has a tag: at least one is needed to learn from")
        self.shared_threshold_ = _threshold(scores.ravel(), present.ravel(), self.precision)
        n_present = present.sum(axis=0)
        own = np.array(
            [
                _threshold(scores[:, tag], present[:, tag], self.precision)
                if n_present[tag]
                else self.shared_threshold_
                for tag in range(scores.shape[1])
            ]
        )
        weight = n_present + self.shrinkage
        self.thresholds_ = np.where(
            weight > 0,
            (n_present * own + self.shrinkage * self.shared_threshold_) / np.maximum(weight, 1e-300),
            self.shared_threshold_,
        )
        return self

    def predict(self, scores: Scores) -> sparse.csr_array:
        """The tags whose scores reach their thresholds, (n_pictures, n_tags) 0/1."""
        scores = _checked(scores)
        if scores.shape[1] != len(self.thresholds_):
            raise InputError(f"scores are for {scores.shape[1]} tags, but thresholds for {len(self.thresholds_)}")
        return sparse.csr_array((scores >= self.thresholds_).astype(np.float32))


class ThresholdedAnnotator(AnnotatorMixin, Estimator):
    """Any annotator, with a threshold for every tag found by cross-validation on the training pictures.

    >>> from visterm.neighbours import KnnAnnotator
    >>> X, tags = np.arange(12.0)[:, None], np.repeat([[1, 0], [1, 1]], 6, axis=0)
    >>> ThresholdedAnnotator(KnnAnnotator(3)).fit(X, tags).predict([[0.0], [11.0]]).toarray()
    array([[1., 0.],
           [1., 1.]], dtype=float32)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "annotator": [HasMethods(["fit", "score_tags"])],
        "n_folds": [Interval(Integral, 2, None, closed="left")],
        "shrinkage": [Interval(Real, 0, None, closed="left")],
        "precision": [Interval(Real, 0, 1, closed="right"), None],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        annotator: Any,
        *,
        n_folds: int = 5,
        shrinkage: float = 1.0,
        precision: float | None = None,
        random_state: int = 0,
    ) -> None:
        self.annotator = annotator
        self.n_folds = n_folds
        self.shrinkage = shrinkage
        self.precision = precision
        self.random_state = random_state

    @property
    def scores_are_probabilities(self) -> bool:  # type: ignore[override]
        """Whether the scores of the annotator are probabilities."""
        return bool(self.annotator.scores_are_probabilities)

    def fit(self, X: Features, tags: Any) -> Self:
        """Score every tagged picture with a fit that has not seen it; then fit to all of them."""
        self._validate_params()
        tags = check_tags(tags, n_pictures(X))
        tagged = np.flatnonzero(np.diff(tags.indptr))
        if self.n_folds > max(2, len(tagged)):
            raise InputError(f"{len(tagged)} tagged pictures cannot be split into {self.n_folds} folds")
        scores = np.zeros((len(tagged), tags.shape[1]))
        order = np.random.default_rng(self.random_state).permutation(len(tagged))
        for fold in np.array_split(order, self.n_folds):
            rest = np.sort(np.setdiff1d(order, fold))
            model = clone(self.annotator).fit(take(X, tagged[rest]), tags[tagged[rest]])
            scores[fold] = model.score_tags(take(X, tagged[fold]))
        self.thresholds_ = TagThresholds(self.shrinkage, self.precision).fit(scores, tags[tagged])
        self.annotator_ = clone(self.annotator).fit(X, tags)
        self._count_tags(tags)
        self.n_features_in_ = self.annotator_.n_features_in_
        return self

    def score_tags(self, X: Features) -> Scores:
        """The scores of the annotator."""
        return self.annotator_.score_tags(X)

    def predict(self, X: Features) -> sparse.csr_array:
        """The tags whose scores reach their thresholds, (n_pictures, n_tags) 0/1."""
        return self.thresholds_.predict(self.score_tags(X))


def _threshold(scores: NDArray[Any], present: NDArray[np.bool_], precision: float | None) -> float:
    """The threshold with the largest F, or the lowest with the given precision; midway to the next score.

    If no score reaches the precision, the threshold lies above all scores.
    """
    order = np.argsort(-scores, kind="stable")
    ranked, hits, n_taken = scores[order], np.cumsum(present[order]), np.arange(1, len(scores) + 1)
    together = np.append(ranked[:-1] == ranked[1:], False)  # equal scores are taken together
    if precision is None:
        last = int(np.argmax(np.where(together, -1.0, 2 * hits / (n_taken + present.sum()))))
    else:
        precise = np.flatnonzero(~together & (hits >= precision * n_taken))
        if not len(precise):
            return float(np.nextafter(ranked[0], np.inf))
        last = int(precise[-1])
    return float(ranked[last] if last + 1 == len(ranked) else (ranked[last] + ranked[last + 1]) / 2)


def _checked(scores: Any) -> NDArray[np.float64]:
    checked = np.asarray(scores, np.float64)
    if checked.ndim != 2 or not np.isfinite(checked).all():
        raise InputError("scores must be finite and (n_pictures, n_tags)")
    return checked
