"""What every annotator can do with its scores: give tags, and say how good they are."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from visterm.compute.rows import slices
from visterm.contracts.inputs import check_tags
from visterm.contracts.types import Features, Scores
from visterm.errors import InputError

#: The number of tags that a model of an earlier version gives: it did not count those of its training pictures.
_USUAL_TAGS = 5.0
#: This many scores are sorted at a time.
_BLOCK = 2**21


class AnnotatorMixin:
    """``predict`` and ``score`` for estimators with ``score_tags``, so that they work in searches of scikit-learn.

    ``fit`` calls :meth:`_count_tags`.
    """

    #: Whether scores are calibrated: of all pictures with a score of 0.8, about four in five carry the tag.
    scores_are_probabilities: bool = False
    #: Whether scores lie between 0 and 1 and multiply like probabilities, though they are not calibrated.
    scores_are_chances: bool = False
    #: Whether scores favour rare tags: then they are the order of ``--rare``; else it is how much the odds exceed those
    #: of the tag.
    favours_rare_tags: bool = False
    #: Whether ``fit`` takes ``denied``, the tags that a person said pictures do not have, and learns from them.
    learns_from_denied: bool = False
    #: Whether ``fit`` takes ``tag_names``, and learns from what they mean.
    learns_from_names: bool = False
    #: Parameters that ``fit`` may choose by trial; the choice of NAME is in ``NAME_``. Scores depend on it: what was
    #: learned from the scores of one fit holds for another fit with the same choice.
    chosen_by_trial: tuple[str, ...] = ()
    #: The number of tags of a tagged training picture, on average.
    mean_n_tags_: float = _USUAL_TAGS
    #: The number of training pictures of each tag; None in models of earlier versions.
    tag_counts_: NDArray[Any] = None  # type: ignore[assignment]
    _fitted_constraints: ClassVar[dict[str, str]] = {
        "mean_n_tags_": "float >=0",
        "tag_counts_": "nothing | n_tags int >=0",
    }

    def score_tags(self, X: Features) -> Scores:
        """(n_pictures, n_tags), larger is better."""
        raise NotImplementedError

    def predict(self, X: Features) -> sparse.csr_array:
        """The best tags of every picture, (n_pictures, n_tags) 0/1.

        Every picture gets as many tags as a tagged training picture has on average, rounded, and at least one. Of tags
        with the same score, the one rarer in training comes first.
        """
        scores = self.score_tags(X)
        n_pictures, n_tags = scores.shape
        n_given = min(n_tags, max(1, round(self.mean_n_tags_)))
        by_rarity = np.arange(n_tags) if self.tag_counts_ is None else np.argsort(self.tag_counts_, kind="stable")
        best = np.empty((n_pictures, n_given), np.intp)
        for rows in slices(n_pictures, max(1, _BLOCK // max(1, n_tags))):
            best[rows] = by_rarity[np.argsort(-scores[rows][:, by_rarity], axis=1, kind="stable")[:, :n_given]]
        best.sort(axis=1)
        ends = np.arange(0, best.size + 1, n_given)
        return sparse.csr_array((np.ones(best.size, np.float32), best.ravel(), ends), shape=scores.shape)

    def score(self, X: Features, tags: Any) -> float:
        """How well the tags of pictures are ranked, from 0 to 1: scikit-learn's label ranking average precision.

        For each tag of a picture, it is the share of the picture's own tags among those with at least its score; the
        mean over the tags of a picture, then over pictures. It needs no threshold. Rows without tags are left out.
        """
        from sklearn.metrics import label_ranking_average_precision_score

        scores = self.score_tags(X)
        truth = check_tags(tags, len(scores), n_tags=scores.shape[1])
        tagged = np.flatnonzero(np.diff(truth.indptr))
        if not len(tagged):
            raise InputError("no picture has a tag: at least one is needed to measure")
        return float(label_ranking_average_precision_score(truth[tagged], scores[tagged]))

    def _count_tags(self, tags: sparse.csr_array) -> Self:
        """Keep what :meth:`predict` needs to know of the checked training ``tags``."""
        self.tag_counts_ = np.bincount(tags.indices, minlength=tags.shape[1])
        self.mean_n_tags_ = float(tags.nnz / max(1, np.count_nonzero(np.diff(tags.indptr))))
        return self


class JointMixin(ClassifierMixin, AnnotatorMixin):
    """``predict`` and ``score`` for estimators that learn classes, tags or both.

    ``predict`` gives classes if the estimator has learned classes, else tags. ``score`` compares with what it is given:
    the accuracy for a class for every picture, the ranking of tags for a matrix of tags.
    """

    classes_: NDArray[Any]

    def predict(self, X: Features) -> Any:
        """The class of every picture; or its tags, (n_pictures, n_tags) 0/1, if only tags were learned."""
        check_is_fitted(self)
        return self._predict_classes(X) if len(getattr(self, "classes_", ())) else AnnotatorMixin.predict(self, X)

    def score(self, X: Features, y: Any, sample_weight: Any = None) -> float:
        """The share of right classes; for a matrix of tags, how well they are ranked."""
        if is_tag_matrix(y):
            return AnnotatorMixin.score(self, X, y)
        return float(ClassifierMixin.score(self, X, y, sample_weight))

    def _predict_classes(self, X: Features) -> NDArray[Any]:
        raise NotImplementedError


def scores_multiply(annotator: Any) -> bool:
    """Whether a search for several words may add the logarithms of an annotator's scores."""
    return any(getattr(annotator, name, False) for name in ("scores_are_probabilities", "scores_are_chances"))


def is_tag_matrix(y: Any) -> bool:
    """Whether ``y`` is a matrix of tags, not a class for every picture."""
    shape = np.shape(y)
    return len(shape) == 2 and shape[1] != 1
