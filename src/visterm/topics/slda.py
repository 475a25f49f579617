"""Supervised LDA: one set of topics predicts the class and the tags of a picture.

This module has the parameters, the labels and the predictions. :mod:`visterm.topics.joint_model` has the EM algorithm.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import softmax
from sklearn.utils._param_validation import Interval, StrOptions

from visterm.contracts import (
    UNKNOWN_CLASS,
    Features,
    JointMixin,
    Scores,
    check_classes,
    check_tags,
    has_class,
    is_tag_matrix,
)
from visterm.errors import InputError
from visterm.topics.bags import check_bags
from visterm.topics.explain import Reasons, class_reasons
from visterm.topics.joint_inference import Labelled
from visterm.topics.joint_model import JointTopicModel, no_tags


class SupervisedLDA(JointMixin, JointTopicModel):
    """Learns topics that explain a picture's codewords, class and tags (Wang, Blei and Fei-Fei, CVPR 2009).

    theta ~ Dirichlet(alpha); every codeword draws its topic z from theta, then itself from pi_z; the class c ~
    softmax(eta_c . zbar) of the mean zbar of the z; every tag draws one of the codewords and then itself from beta of
    that codeword's topic. Every step of variational EM raises the sum of the pictures' evidence bounds (the class term
    by Jensen's inequality, the paper's equation (6)) plus ``smoothing`` * sum log pi, the same for beta, minus
    ``ridge`` / 2 |eta|^2. Every picture contributes the labels it has: class -1 is unknown, an empty row of tags is
    untagged. Without tags, the model is the paper's multi-class sLDA; without classes, it is CorrLDA.

    This is the paper's model; only its start differs: topics begin with 80 iterations of plain LDA, from pictures that
    are far apart. With ``refine`` it becomes the method ``slda-refined``: after five iterations of EM, refinement
    (:mod:`visterm.topics.refine`) changes topics and coefficients to raise the likelihood of the labels, given topics
    inferred without labels, as for a new picture. It classifies by the square roots of topic proportions.

    Parameters
    ----------
    n_topics
        K.
    alpha, learn_alpha
        The Dirichlet parameter of every topic, and whether Newton's method improves it.
    smoothing
        Counts added to every codeword and every tag of every topic.
    ridge, refine_ridge
        Ridge of the class coefficients in EM, and per topic in refinement, where features have deviation 1.
    class_strength
        The weight of the class term relative to the codewords in EM.
    class_weight
        None, or ``"balanced"``: pictures of rare classes count more, so that every class counts the same.
    refine
        Passes of refinement over the pictures; 0 for none. 25 is a good number.
    n_tokens
        Scale every picture to this many codewords; None takes the counts as they are.
    start, n_restarts
        How topics start (``spread`` or ``random``), and the number of starts; the best by the objective is kept.
    max_iter, tol
        Stop EM after ``max_iter`` iterations, or when the objective rises by less than ``tol``, relatively. Before
        refinement, EM stops after five iterations at the latest.
    max_sweeps
        Sweeps over a picture at every iteration, which continue from the last iteration.
    held_out_share
        Share of the pictures to hold out. Their labels decide when EM and refinement stop, and set the temperature of
        the class probabilities.
    random_state
        Seed.

    >>> X, y = [[4, 0, 1], [3, 1, 1], [0, 5, 1], [1, 4, 0]], [3, 3, 8, 8]
    >>> SupervisedLDA(n_topics=2, random_state=0).fit(X, y).predict([[5, 0, 0], [0, 5, 0]])
    array([3, 8])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **JointTopicModel._parameter_constraints,
        "ridge": [Interval(Real, 0, None, closed="neither")],
        "refine_ridge": [Interval(Real, 0, None, closed="neither")],
        "class_strength": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        n_topics: int = 20,
        *,
        alpha: float = 1.0,
        learn_alpha: bool = False,
        smoothing: float = 0.01,
        ridge: float = 0.01,
        refine_ridge: float = 0.6,
        class_strength: float = 1.0,
        class_weight: str | None = None,
        refine: int = 0,
        n_tokens: float | None = None,
        start: str = "spread",
        n_restarts: int = 1,
        max_iter: int = 30,
        tol: float = 1e-5,
        max_sweeps: int = 2,
        held_out_share: float = 0.0,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_topics,
            alpha=alpha,
            learn_alpha=learn_alpha,
            smoothing=smoothing,
            refine=refine,
            n_tokens=n_tokens,
            start=start,
            n_restarts=n_restarts,
            max_iter=max_iter,
            tol=tol,
            max_sweeps=max_sweeps,
            held_out_share=held_out_share,
            random_state=random_state,
        )
        self.ridge = ridge
        self.refine_ridge = refine_ridge
        self.class_strength = class_strength
        self.class_weight = class_weight

    def fit(self, X: Features, y: ArrayLike | None = None, tags: Any = None) -> Self:
        """Learn from pictures with a class, tags, both or neither; a matrix instead of ``y`` means tags."""
        self._validate_params()
        if tags is None and is_tag_matrix(y):
            y, tags = None, y
        bags = check_bags(self, X, fitting=True, n_tokens=self.n_tokens)
        known, y = _known(y, bags.shape[0])
        tags = no_tags(bags.shape[0]) if tags is None else check_tags(tags, bags.shape[0])
        if not (known.any() or tags.nnz):
            raise InputError("no picture has a class and no picture has a tag: at least one is needed to learn from")
        self.classes_ = np.unique(y[known])
        data = self._labelled(bags, known, y, tags)
        self._fit_labelled(data, n_classes=len(self.classes_))
        return self

    def partial_fit(
        self,
        X: Features,
        y: ArrayLike | None = None,
        tags: Any = None,
        *,
        classes: ArrayLike | None = None,
        n_total: int | None = None,
    ) -> Self:
        """Learn from one more batch of pictures, after ``fit`` or from the start, by stochastic variational inference.

        ``classes`` lists all classes at the first call. Without it, the classes of the first batch are all classes.
        ``n_total`` is the size of the collection, if it is known; otherwise the pictures seen are the collection. With
        ``refine``, every batch also continues the refinement.
        """
        self._validate_params()
        begun = hasattr(self, "topic_codewords_")
        bags = check_bags(self, X, fitting=not begun, n_tokens=self.n_tokens)
        known, y = _known(y, bags.shape[0])
        if not begun:
            self.classes_ = np.unique(y[known] if classes is None else np.asarray(classes))
        strange = ~np.isin(y[known], self.classes_)
        if strange.any():
            raise InputError(
                f"class {y[known][strange][0]!r} was not among the classes of fit or of the first call of partial_fit"
            )
        n_tags = self.topic_tags_.shape[1] if begun else None
        if tags is None:
            tags = sparse.csr_array((bags.shape[0], n_tags or 0), dtype=np.float32)
        data = self._labelled(bags, known, y, check_tags(tags, bags.shape[0], n_tags=n_tags))
        self._learn_batch(data, len(self.classes_), n_total)
        return self

    def _labelled(
        self, bags: sparse.csr_array, known: NDArray[np.bool_], y: NDArray[Any], tags: sparse.csr_array
    ) -> Labelled:
        classes = np.full(bags.shape[0], UNKNOWN_CLASS)
        classes[known] = np.searchsorted(self.classes_, y[known])
        weights = np.full(bags.shape[0], float(self.class_strength))
        if self.class_weight == "balanced" and known.any():
            counts = np.bincount(classes[known], minlength=len(self.classes_))
            weights[known] *= known.sum() / (np.count_nonzero(counts) * counts[classes[known]])
        return Labelled(bags, classes, weights, tags)

    def decision_function(self, X: Features) -> Scores:
        """eta . phibar for every class, (n_pictures, n_classes); after refinement, of its roots plus an intercept."""
        bags = check_bags(self, X, fitting=False, n_tokens=self.n_tokens)
        if not len(self.classes_):
            raise InputError("the model has learned no classes: fit it with y")
        return self._class_scores(bags)

    def predict_proba(self, X: Features) -> Scores:
        """The probability of every class, at the temperature that held-out pictures chose."""
        return softmax(self.decision_function(X) / self.temperature_, axis=1)

    def _predict_classes(self, X: Features) -> NDArray[Any]:
        """The class of the largest score, the paper's equation (13)."""
        scores = self.decision_function(X)
        return self.classes_[np.argmax(scores, axis=1)]

    def explain_class(self, X: Features, label: Any) -> Reasons:
        """How much each topic and each codeword contributed to class ``label``; the sum is the decision score."""
        bags = check_bags(self, X, fitting=False, n_tokens=self.n_tokens)
        number = np.flatnonzero(self.classes_ == label)
        if not len(number):
            raise InputError(f"there is no class {label!r}: the model has {', '.join(map(str, self.classes_))}")
        return class_reasons(bags, self._model(), int(number[0]), rooted=self.is_refined)


def _known(y: ArrayLike | None, n_pictures: int) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Which pictures have a class, and the classes."""
    if y is None:
        return np.zeros(n_pictures, bool), np.full(n_pictures, UNKNOWN_CLASS)
    classes = check_classes(y, n_pictures)
    return has_class(classes), classes
