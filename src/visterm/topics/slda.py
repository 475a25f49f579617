"""Supervised LDA: one set of topics predicts the class and the tags of a picture.

This module has the parameters, the labels, the M step of the classes and the predictions. What it shares with CorrLDA,
the EM algorithm and the tags, is in :mod:`visterm.topics.inference.joint_model`.
"""

from dataclasses import KW_ONLY, replace
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import softmax

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
from visterm.contracts.estimator import POSITIVE, declared
from visterm.errors import InputError
from visterm.topics.inference.em import Array
from visterm.topics.inference.joint_model import (
    EStep,
    JointTopicModel,
    Labelled,
    LabelledInference,
    improve_coefficients,
    infer_labelled,
)
from visterm.topics.inference.topic_model import JointTopics


@declared
class SupervisedLDA(JointMixin, JointTopicModel):
    """Learns topics that explain a picture's codewords, class and tags (Wang, Blei and Fei-Fei, CVPR 2009).

    theta ~ Dirichlet(alpha); every codeword draws its topic z from theta, then itself from pi_z; the class c ~
    softmax(eta_c . zbar) of the mean zbar of the z; every tag draws one of the codewords and then itself from beta of
    that codeword's topic. Every step of variational EM raises the sum of the pictures' evidence bounds (the class term
    by Jensen's inequality, the paper's equation (6)) plus ``smoothing`` * sum log pi, the same for beta, minus
    ``ridge`` / 2 |eta|^2. Every picture contributes the labels it has: class -1 is unknown, an empty row of tags is
    untagged. Without tags, the model is the paper's multi-class sLDA; without classes, it is CorrLDA.

    This is the paper's model; only its start differs: topics begin with 80 iterations of plain LDA, from pictures that
    are far apart. :class:`~visterm.topics.slda_refined.RefinedSupervisedLDA` continues where it ends.

    Parameters
    ----------
    n_topics
        K.
    alpha, learn_alpha
        The Dirichlet parameter of every topic, and whether Newton's method improves it.
    smoothing
        Counts added to every codeword and every tag of every topic.
    ridge
        Ridge of the class coefficients.
    class_strength
        The weight of the class term relative to the codewords.
    class_weight
        None, or ``"balanced"``: pictures of rare classes count more, so that every class counts the same.
    n_tokens
        Scale every picture to this many codewords; None takes the counts as they are.
    start, n_restarts
        How topics start (``spread`` or ``random``), and the number of starts; the best by the objective is kept.
    max_iter, tol
        Stop after ``max_iter`` iterations, or when the objective rises by less than ``tol``, relatively.
    max_sweeps
        Sweeps over a picture at every iteration, which continue from the last iteration.
    random_state
        Seed.

    >>> X, y = [[4, 0, 1], [3, 1, 1], [0, 5, 1], [1, 4, 0]], [3, 3, 8, 8]
    >>> SupervisedLDA(n_topics=2, random_state=0).fit(X, y).predict([[5, 0, 0], [0, 5, 0]])
    array([3, 8])
    """

    _: KW_ONLY
    ridge: Annotated[float, POSITIVE] = 0.01
    class_strength: Annotated[float, POSITIVE] = 1.0
    class_weight: str | None = None

    def fit(self, X: Features, y: ArrayLike | None = None, tags: Any = None, *, infer: EStep = infer_labelled) -> Self:
        """Learn from pictures with a class, tags, both or neither; a matrix instead of ``y`` means tags.

        ``infer`` is the E step. Another one can be given, such as one over a graph of similar pictures.
        """
        self._validate_params()
        if tags is None and is_tag_matrix(y):
            y, tags = None, y
        bags = self._bags(X, fitting=True)
        known, y = known_classes(y, bags.shape[0])
        no_tags = sparse.csr_array((bags.shape[0], 0), dtype=np.float32)
        tags = no_tags if tags is None else check_tags(tags, bags.shape[0])
        if not (known.any() or tags.nnz):
            raise InputError("no picture has a class or a tag: give at least one picture a label to learn from")
        self.classes_ = np.unique(y[known])
        self._learn(self._labelled(bags, known, y, tags), len(self.classes_), infer)
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

    def _m_step(self, model: JointTopics, inferred: LabelledInference) -> JointTopics:  # pi, beta and eta: (10) to (12)
        coefficients = model.coefficients
        if len(coefficients):
            coefficients = improve_coefficients(inferred, coefficients, self.ridge)
        return replace(self._maximise(model, inferred.statistics), coefficients=coefficients)

    def _log_prior(self, model: JointTopics) -> float:
        return super()._log_prior(model) - self.ridge / 2 * float((model.coefficients**2).sum())

    def decision_function(self, X: Features) -> Scores:
        """eta . phibar for every class, (n_pictures, n_classes)."""
        bags = self._bags(X)
        if not len(self.classes_):
            raise InputError("the model has learned no classes: fit it with y")
        return self._class_scores(self._proportions(bags))

    def _class_scores(self, phibar: Array) -> Array:
        return phibar @ self.class_coefficients_.T

    def predict_proba(self, X: Features) -> Scores:
        """The probability of every class."""
        return softmax(self.decision_function(X), axis=1)

    def _predict_classes(self, X: Features) -> NDArray[Any]:
        """The class of the largest score, the paper's equation (13)."""
        scores = self.decision_function(X)
        return self.classes_[np.argmax(scores, axis=1)]


def known_classes(y: ArrayLike | None, n_pictures: int) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Which pictures have a class, and the classes."""
    if y is None:
        return np.zeros(n_pictures, bool), np.full(n_pictures, UNKNOWN_CLASS)
    classes = check_classes(y, n_pictures)
    return has_class(classes), classes
