"""How well classes are predicted: accuracy, mean class accuracy, top-K accuracy, the confusion matrix.

Every given picture counts: leave out those of unknown class first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.errors import InputError
from visterm.measures.base import MeanMeasure, Measure
from visterm.measures.inputs import Floats, Integers, check_depth, check_labels, check_same_shape, check_scores


@dataclass(frozen=True, slots=True, eq=False)
class PredictedClasses:
    """The true and the predicted class of every picture."""

    truth: NDArray[Any]
    predicted: NDArray[Any]

    @classmethod
    def of(cls, y_true: ArrayLike, y_pred: ArrayLike) -> PredictedClasses:
        """Check the two lists of classes."""
        truth, predicted = check_labels(y_true, "y_true"), check_labels(y_pred, "y_pred")
        check_same_shape(truth.shape, predicted.shape, "(n_pictures,)")
        if truth.size and (truth.dtype.kind == "U") != (predicted.dtype.kind == "U"):
            raise InputError("y_true and y_pred must be of the same kind: one is text, the other numbers")
        return cls(truth, predicted)


@dataclass(frozen=True)
class Accuracy(MeanMeasure[PredictedClasses]):
    """The share of pictures whose predicted class is the true one.

    >>> Accuracy()(["coast", "coast", "coast", "forest"], ["coast", "coast", "forest", "forest"])
    0.75
    """

    family: ClassVar[str] = "classes"
    label: ClassVar[str] = "accuracy"
    over: ClassVar[str] = "pictures"

    @classmethod
    def read(cls, truth: ArrayLike, prediction: ArrayLike) -> PredictedClasses:
        """Check the two lists of classes."""
        return PredictedClasses.of(truth, prediction)

    def values(self, answer: PredictedClasses) -> Floats:
        """1 for every picture whose predicted class is right, else 0."""
        return (answer.truth == answer.predicted).astype(np.float64)

    def per_picture(self, y_true: ArrayLike, y_pred: ArrayLike) -> Floats:
        """1 for every picture whose predicted class is right, else 0; for paired tests."""
        return self.values(self.read(y_true, y_pred))


@dataclass(frozen=True)
class MeanClassAccuracy(Measure[PredictedClasses]):
    """The mean of the accuracies of the classes that occur in the truth, each with the same weight.

    >>> MeanClassAccuracy()(["coast", "coast", "coast", "forest"], ["coast", "coast", "forest", "forest"])
    0.833...
    """

    family: ClassVar[str] = "classes"
    label: ClassVar[str] = "mean class accuracy"

    @classmethod
    def read(cls, truth: ArrayLike, prediction: ArrayLike) -> PredictedClasses:
        """Check the two lists of classes."""
        return PredictedClasses.of(truth, prediction)

    def value(self, answer: PredictedClasses) -> float:
        """The mean over classes."""
        accuracies = list(class_accuracies(answer.truth, answer.predicted).values())
        if not accuracies:
            raise InputError(f"{self.name} is a mean over classes, but there are none")
        return float(np.mean(accuracies))


@dataclass(frozen=True, slots=True, eq=False)
class ClassScores:
    """The rank of every picture's true class among the scores of all classes."""

    above: Integers
    """Number of classes with a higher score than the true one."""
    tied: Integers
    """Number of classes with the same score, including the true one; 0 if the true class has no score."""

    @classmethod
    def of(cls, y_true: ArrayLike, scores: ArrayLike, classes: ArrayLike | None = None) -> ClassScores:
        """Find the true classes among the columns of ``scores``; column j is ``classes[j]``, or the class j."""
        truth, scored = check_labels(y_true, "y_true"), check_scores(scores, "(n_pictures, n_classes)")
        n_classes = scored.shape[1]
        check_same_shape((len(truth), n_classes), scored.shape, "(n_pictures, n_classes)")
        column = _columns(truth, n_classes, classes)
        known = np.flatnonzero(column >= 0)
        above, tied = np.zeros_like(column), np.zeros_like(column)
        true_score = scored[known, column[known]][:, np.newaxis]
        above[known] = (scored[known] > true_score).sum(axis=1)
        tied[known] = (scored[known] == true_score).sum(axis=1)
        return cls(above, tied)


@dataclass(frozen=True)
class TopKAccuracy(MeanMeasure[ClassScores]):
    """The share of pictures whose true class is among the ``k`` classes of highest score.

    Called with (y_true, scores); ``classes=`` names the columns unless the classes are 0, 1, ... Tied scores may stand
    in any order, each equally likely, and the value is the expected one: a constant score gives k / n_classes, whatever
    the order of the classes. A true class without a column counts as missed.

    >>> TopKAccuracy(2)([0, 1, 2], [[0.5, 0.3, 0.2], [0.6, 0.1, 0.3], [0.6, 0.1, 0.3]])
    0.666...
    """

    k: int

    family: ClassVar[str] = "class scores"
    label: ClassVar[str] = "top-{k} accuracy"
    over: ClassVar[str] = "pictures"

    def __post_init__(self) -> None:
        check_depth(self.k, "top-K accuracy")

    @classmethod
    def read(cls, truth: ArrayLike, prediction: ArrayLike, *, classes: ArrayLike | None = None) -> ClassScores:
        """Find the true classes among the scores."""
        return ClassScores.of(truth, prediction, classes)

    def values(self, answer: ClassScores) -> Floats:
        """The chance that the true class is among the first ``k``."""
        chance = np.clip((self.k - answer.above) / np.maximum(answer.tied, 1), 0.0, 1.0)
        return np.where(answer.tied > 0, chance, 0.0)

    def per_picture(self, y_true: ArrayLike, scores: ArrayLike, *, classes: ArrayLike | None = None) -> Floats:
        """For every picture, the chance that its true class is among the first ``k``; for paired tests."""
        return self.values(self.read(y_true, scores, classes=classes))


def class_accuracies(y_true: ArrayLike, y_pred: ArrayLike) -> dict[Any, float]:
    """The accuracy of every class that occurs in the truth.

    >>> class_accuracies(["coast", "coast", "forest"], ["coast", "forest", "forest"])
    {'coast': 0.5, 'forest': 1.0}
    """
    pair = PredictedClasses.of(y_true, y_pred)
    classes, code = np.unique(pair.truth, return_inverse=True)
    correct = np.bincount(code, weights=pair.truth == pair.predicted, minlength=len(classes))
    accuracies = correct / np.bincount(code, minlength=len(classes))
    return dict(zip(classes.tolist(), accuracies.tolist(), strict=True))


def confusion(y_true: ArrayLike, y_pred: ArrayLike, classes: ArrayLike | None = None) -> Integers:
    """How many pictures of each true class (row) were predicted as each class (column).

    Rows and columns follow ``classes``, or the sorted classes of truth and prediction.

    >>> confusion(["coast", "coast", "forest"], ["coast", "forest", "forest"], classes=["coast", "forest"])
    array([[1, 1],
           [0, 1]])
    """
    pair = PredictedClasses.of(y_true, y_pred)
    if classes is None:
        classes = np.union1d(pair.truth, pair.predicted)
    n_classes = len(check_labels(classes, "classes"))
    row, column = (_columns(labels, n_classes, classes) for labels in (pair.truth, pair.predicted))
    for labels, code in ((pair.truth, row), (pair.predicted, column)):
        if (code < 0).any():
            raise InputError(f"the class {labels[code < 0][0]!s} is not among the {n_classes} classes to count")
    return np.bincount(row * n_classes + column, minlength=n_classes**2).reshape(n_classes, n_classes)


def _columns(labels: NDArray[Any], n_classes: int, classes: ArrayLike | None) -> Integers:
    """The column of every label; -1 for a label without a column."""
    if classes is None:
        if labels.size and (labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= n_classes):
            raise InputError(f"the true classes must be column numbers 0..{n_classes - 1}, or classes= must name them")
        return labels.astype(np.int64)
    names = check_labels(classes, "classes")
    if len(names) != n_classes:
        raise InputError(f"there are {n_classes} columns of scores but {len(names)} classes")
    order = np.argsort(names)
    ordered = names[order]
    if (ordered[1:] == ordered[:-1]).any():
        raise InputError(f"the class {ordered[1:][ordered[1:] == ordered[:-1]][0]!s} is named twice in classes")
    if labels.size and n_classes and (labels.dtype.kind == "U") != (names.dtype.kind == "U"):
        raise InputError("the true classes and classes= must be of the same kind: one is text, the other numbers")
    if not n_classes:
        return np.full(len(labels), -1)
    nearest = order[np.minimum(np.searchsorted(ordered, labels), n_classes - 1)]
    return np.where(names[nearest] == labels, nearest, -1)
