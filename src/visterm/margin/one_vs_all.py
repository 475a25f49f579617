"""One function for each class against all others, and predictions from their scores."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import Interval, Options
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if

from visterm.calibration import class_probabilities
from visterm.contracts import Features, Scores, has_class
from visterm.errors import InputError
from visterm.margin.inner_products import InnerProducts

Array = NDArray[Any]

#: What the number of folds may be: a single fold would leave no pictures to learn from.
CALIBRATION_FOLDS = [Options(Integral, {0}), Interval(Integral, 2, None, closed="left")]
#: Seeds of random generators are below this number.
_SEEDS = 2**31 - 1


class OneVsAll(ClassifierMixin):
    """Classification from ``_class_scores``: one column per class, or one column for the second of two classes."""

    classes_: Array
    temperature_: float
    calibration_folds: int

    def _class_scores(self, X: Features) -> Scores:
        raise NotImplementedError

    def decision_function(self, X: Features) -> Scores:
        """(n_pictures, n_classes) scores, larger for likelier classes; (n_pictures,) for the second of two classes."""
        scores = self._class_scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Features) -> NDArray[Any]:
        """The class with the largest score."""
        best = np.argmax(both_sides(self._class_scores(X)), axis=1)
        return self.classes_[best]

    def predict_top(self, X: Features, k: int) -> NDArray[Any]:
        """(n_pictures, k) classes, likeliest first."""
        scores = both_sides(self._class_scores(X))  # an error if there are no classes
        if not 1 <= k <= len(self.classes_):
            raise InputError(f"k must lie between 1 and the {len(self.classes_)} classes, not {k}")
        best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return self.classes_[best]

    @available_if(lambda self: self.calibration_folds > 0)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Features) -> Scores:
        """(n_pictures, n_classes) probabilities, calibrated on held-out folds of the training pictures."""
        scores = both_sides(self._class_scores(X))
        return class_probabilities(scores, self.temperature_)


def known_rows(y: Array) -> Array:
    """The pictures whose class is known."""
    rows = np.flatnonzero(has_class(y))
    if not len(rows):
        raise InputError("no picture has a class: at least two of different classes are needed to learn from")
    return rows


def class_labels(y: Array) -> tuple[Array, Array, Array]:
    """The classes, the number of each picture's class, and the labels (n_tasks, n_pictures) of -1 and 1.

    >>> class_labels(np.array(["sea", "wood", "sea"]))[2]
    array([[-1., 1., -1.]])
    """
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise InputError(f"there is only one class, {classes[0]}: give some pictures another class to learn from")
    tasks = np.arange(len(classes)) if len(classes) > 2 else np.array([1])
    return classes, codes, np.where(codes == tasks[:, None], 1.0, -1.0)


def both_sides(scores: Array) -> Array:
    """One column per class; if a single function separates two classes, the first class scores 0.

    >>> both_sides(np.array([[0.5], [-0.5]]))
    array([[ 0. ,  0.5],
           [ 0. , -0.5]])
    """
    return np.hstack([np.zeros_like(scores), scores]) if scores.shape[1] == 1 else scores


def cross_scores(
    products: InnerProducts,
    parts: list[Array],
    n_tasks: int,
    learn: Callable[[InnerProducts, Array], Array],
) -> Array:
    """(n_tasks, n_pictures) scores of every picture by functions learned without its fold.

    ``learn(products, rows)`` gives the coefficients learned from some rows; the Gram matrix is computed only once.
    """
    scores = np.zeros((n_tasks, products.n_pictures), products.dtype)
    for part in parts:
        rest = np.setdiff1d(np.arange(products.n_pictures), part)
        if len(rest):  # functions learned from nothing score 0
            scores[:, part] = products.held_out_scores(learn(products.subset(rest), rest), rest, part)
    return scores


def check_picture_weight(picture_weight: ArrayLike | None, n_pictures: int) -> Array:
    """The weight of each picture; 1 if none are given."""
    if picture_weight is None:
        return np.ones(n_pictures)
    given = np.asarray(picture_weight, dtype=np.float64)
    if given.shape != (n_pictures,) or not np.isfinite(given).all() or (given < 0).any():
        raise InputError(f"picture_weight must be {n_pictures} finite numbers, none negative, one per picture")
    return given


def picture_weights(
    class_weight: Any, classes: Array, codes: Array, rows: Array, n_pictures: int, picture_weight: ArrayLike | None
) -> Array:
    """The weight of each of ``rows``: that of its class times its own. For ``balanced`` classes the mean is 1."""
    try:
        weights = compute_class_weight(class_weight, classes=classes, y=classes[codes])[codes]
    except ValueError as error:
        raise InputError(f"class_weight: {error}") from error
    weights = weights * check_picture_weight(picture_weight, n_pictures)[rows]
    if not (weights > 0).any():
        raise InputError("every picture has weight 0: nothing is left to learn from")
    return weights


def generator(random_state: Any) -> np.random.Generator:
    """The random generator of a fit, the same for the same ``random_state`` of any kind that scikit-learn accepts."""
    from sklearn.utils import check_random_state

    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_random_state(random_state).randint(_SEEDS))
