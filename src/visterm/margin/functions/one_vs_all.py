"""One function for each class against all others, and predictions from their scores."""

from collections.abc import Callable
from dataclasses import KW_ONLY
from numbers import Integral
from typing import Annotated, Any, ClassVar, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if

from visterm.calibration import class_probabilities, fit_temperature
from visterm.contracts import UNKNOWN_CLASS, Features, Scores, check_classes, has_class, n_pictures
from visterm.contracts.estimator import FROM_2, POSITIVE, Options, declared
from visterm.errors import InputError
from visterm.margin.functions.expansion import ExpansionEstimator, Seed, folds
from visterm.margin.solver.ascent import Solution
from visterm.margin.solver.inner_products import InnerProducts

Array = NDArray[Any]

#: Probabilities are calibrated by one fold of this many pictures if there are more folds of this size.
_ENOUGH_ASKED = 3000
#: Learns the coefficients (n_tasks, n_pictures) of functions from some rows of the training pictures.
Learn = Callable[[InnerProducts, Array], Array]


class Lesson(NamedTuple):
    """The pictures to learn from: the checked features of all, and of those whose class is known the rows and so on.

    ``codes`` are their class numbers, ``labels`` (n_tasks, n_pictures) are -1 and 1.
    """

    X: Features
    rows: Array
    codes: Array
    labels: Array
    weights: Array
    products: InnerProducts


@declared
class OneVsAll(ClassifierMixin, ExpansionEstimator):
    """Classification from ``_class_scores``: one column per class, or one column for the second of two classes.

    All such classifiers have its parameters; :class:`~visterm.margin.SDCAClassifier` explains them.
    """

    _: KW_ONLY
    kernel: str = "linear"
    tol: Annotated[float, POSITIVE] = 1e-3
    intercept_scaling: float = 1.0
    # a single fold would leave no pictures to learn from
    calibration_folds: Annotated[int, Options(Integral, {0}), FROM_2] = 3
    random_state: Seed = None

    class_weight = cast("Any", None)
    _fitted_constraints: ClassVar[dict[str, str]] = {"classes_": "n_classes", "temperature_": "float >0"}

    def _lesson(self, X: Features, y: ArrayLike, picture_weight: ArrayLike | None) -> Lesson:
        """Check what ``fit`` is given, and set ``classes_``."""
        self._validate_params()
        X = self._check_fit_features(X)
        y = check_classes(y, n_pictures(X))
        rows = known_rows(y)
        self.classes_, codes, labels = class_labels(y[rows])
        weights = picture_weights(self.class_weight, self.classes_, codes, rows, len(y), picture_weight)
        return Lesson(X, rows, codes, labels, weights, self._inner_products(X, rows, labels))

    def _keep_trace(self, solution: Solution) -> None:
        """Keep the objectives after each sweep."""
        self.objective_, self.dual_objective_ = (np.array(side) for side in zip(*solution.trace, strict=True))

    def _set_temperature(self, lesson: Lesson, rng: np.random.Generator, learn: Learn) -> None:
        """Set the temperature of the probabilities, from scores of held-out folds, if there are to be any.

        Of many pictures, one fold of some thousands tells enough.
        """
        if self.calibration_folds:
            n_many = len(lesson.codes) // _ENOUGH_ASKED
            parts = folds(lesson.codes, max(self.calibration_folds, n_many), rng)
            asked = np.arange(len(lesson.codes))
            if n_many > self.calibration_folds:
                asked, parts = parts[0], parts[:1]
            scores = cross_scores(lesson.products, parts, len(lesson.labels), learn)[:, asked].T
            self.temperature_ = fit_temperature(both_sides(scores), lesson.codes[asked])

    def _class_scores(self, X: Features) -> Scores:
        return self._task_scores(X)

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


class AloneTags(NamedTuple):
    """Tags that do not share the representation: their columns, the tagged pictures, and who of them has the tags."""

    columns: Array
    tagged: Array
    tags: sparse.csr_array


class TrainingLabels(NamedTuple):
    """Labels (n_tasks, n_pictures) that share the representation, classes first, and class numbers, -1 if unknown.

    The sign of a label says whether it is present; its size is its weight. 0 means unknown. ``alone`` are further tags.
    """

    labels: Array
    codes: Array
    #: The columns of the tags among them; None without tags.
    shared: Array | None
    alone: AloneTags | None

    @property
    def n_tags(self) -> int:
        """The number of tags that share the representation."""
        return 0 if self.shared is None else len(self.shared)


def task_labels(
    classes: Array | None, tags: sparse.csr_array | None, n_rows: int, max_work: float | None
) -> tuple[Array, Array | None, TrainingLabels]:
    """The rows that have any label, the names of the classes (None: no classes), and the labels of these rows.

    ``max_work`` limits the tasks that share the representation, times pictures squared.
    """
    is_known = has_class(classes) if classes is not None else np.zeros(n_rows, np.bool_)
    # mutants: 0 -> 1: the width of a matrix without tags is not used
    tags = sparse.csr_array((n_rows, 0)) if tags is None else tags
    has_tags = np.diff(tags.indptr) > 0
    rows = np.flatnonzero(is_known | has_tags)
    if not len(rows):
        raise InputError("no picture has a class or a tag: give at least one picture a label to learn from")
    labels, names, shared, alone = np.zeros((0, len(rows))), None, None, None
    codes = np.full(len(rows), UNKNOWN_CLASS)
    if classes is not None and is_known.any():
        names, codes[is_known[rows]], of_classes = class_labels(classes[is_known])
        labels = np.zeros((len(of_classes), len(rows)))
        labels[:, is_known[rows]] = of_classes
    if has_tags.any():
        most = tags.shape[1] if max_work is None else int(max_work / len(rows) ** 2) - len(labels)
        counts = np.bincount(tags.indices, minlength=tags.shape[1])
        shared, rest = frequent_and_rare(counts, max(1, most))
        by_tag, tagged = sparse.csc_array(tags[rows]), np.flatnonzero(has_tags[rows])
        of_tags = np.where(by_tag[:, shared].toarray().T > 0, 1.0, -1.0) * has_tags[rows]
        labels = np.vstack([labels, of_tags])
        if len(rest):
            alone = AloneTags(rest, tagged, sparse.csr_array(by_tag[:, rest])[tagged])
    return rows, names, TrainingLabels(labels, codes, shared, alone)


def frequent_and_rare(counts: Array, n_frequent: int) -> tuple[Array, Array]:
    """The columns of the ``n_frequent`` most frequent tags, and those of the others; each in ascending order.

    >>> [columns.tolist() for columns in frequent_and_rare(np.array([1, 3, 2]), 1)]
    [[1], [0, 2]]
    """
    frequent_first = np.argsort(-counts, kind="stable")
    return np.sort(frequent_first[:n_frequent]), np.sort(frequent_first[n_frequent:])


def both_sides(scores: Array) -> Array:
    """One column per class; if a single function separates two classes, the first class scores 0.

    >>> both_sides(np.array([[0.5], [-0.5]]))
    array([[ 0. ,  0.5],
           [ 0. , -0.5]])
    """
    return np.hstack([np.zeros_like(scores), scores]) if scores.shape[1] == 1 else scores


def cross_scores(products: InnerProducts, parts: list[Array], n_tasks: int, learn: Learn) -> Array:
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
        raise InputError(f"picture_weight must be {n_pictures} finite numbers from 0 on, one per picture")
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
