"""How well classes are predicted: accuracy, mean class accuracy, top-K accuracy.

Every given picture counts: leave out those of unknown class first.
"""

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


class ClassMeasure(Measure[PredictedClasses]):
    """A measure of predicted classes, called with (y_true, y_pred)."""

    family: ClassVar[str] = "classes"

    @classmethod
    def read(cls, truth: ArrayLike, prediction: ArrayLike) -> PredictedClasses:
        """Check the two lists of classes."""
        true, predicted = check_labels(truth, "y_true"), check_labels(prediction, "y_pred")
        check_same_shape(true.shape, predicted.shape, "(n_pictures,)")
        if true.size and (true.dtype.kind == "U") != (predicted.dtype.kind == "U"):
            raise InputError("y_true and y_pred must be of the same kind: one is text, the other numbers")
        return PredictedClasses(true, predicted)


@dataclass(frozen=True)
class Accuracy(ClassMeasure, MeanMeasure[PredictedClasses]):
    """The share of pictures whose predicted class is the true one.

    >>> Accuracy()(["coast", "coast", "coast", "forest"], ["coast", "coast", "forest", "forest"])
    0.75
    """

    label: ClassVar[str] = "accuracy"
    over: ClassVar[str] = "pictures"

    def values(self, answer: PredictedClasses) -> Floats:
        """1 for every picture whose predicted class is right, else 0."""
        return (answer.truth == answer.predicted).astype(np.float64)


@dataclass(frozen=True)
class MeanClassAccuracy(ClassMeasure):
    """The mean of the accuracies of the classes that occur in the truth, each with the same weight.

    >>> MeanClassAccuracy()(["coast", "coast", "coast", "forest"], ["coast", "coast", "forest", "forest"])
    0.833...
    """

    label: ClassVar[str] = "mean class accuracy"

    def value(self, answer: PredictedClasses) -> float:
        """The mean over classes."""
        classes, code = np.unique(answer.truth, return_inverse=True)
        if not len(classes):
            raise InputError(f"{self.name} is a mean over classes, but there are none")
        correct = np.bincount(code, weights=answer.truth == answer.predicted, minlength=len(classes))
        return float(np.mean(correct / np.bincount(code, minlength=len(classes))))


@dataclass(frozen=True, slots=True, eq=False)
class ClassScores:
    """The rank of every picture's true class among the scores of all classes.

    ``above`` is the number of classes with a higher score than the true one. ``tied`` is the number of those with the
    same score, including the true one; 0 if the true class has no score.
    """

    above: Integers
    tied: Integers


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
        """Find the true classes among the columns of the scores; column j is ``classes[j]``, or the class j."""
        true, scores = check_labels(truth, "y_true"), check_scores(prediction, "(n_pictures, n_classes)")
        check_same_shape((len(true), scores.shape[1]), scores.shape, "(n_pictures, n_classes)")
        column = _columns(true, scores.shape[1], classes)
        known = np.flatnonzero(column >= 0)
        above, tied = np.zeros_like(column), np.zeros_like(column)
        of_true = scores[known, column[known]][:, np.newaxis]
        above[known], tied[known] = (scores[known] > of_true).sum(axis=1), (scores[known] == of_true).sum(axis=1)
        return ClassScores(above, tied)

    def values(self, answer: ClassScores) -> Floats:
        """The chance that the true class is among the first ``k``."""
        chance = np.clip((self.k - answer.above) / np.maximum(answer.tied, 1), 0.0, 1.0)
        return np.where(answer.tied > 0, chance, 0.0)


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
        # mutants: 1 -> 2: any negative number means that the class has no column
        return np.full(len(labels), -1)
    nearest = order[np.minimum(np.searchsorted(ordered, labels), n_classes - 1)]
    # mutants: 1 -> 2: any negative number means that the class is not known
    return np.where(names[nearest] == labels, nearest, -1)
