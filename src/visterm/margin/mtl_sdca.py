"""Multitask representation learning: classes and tags share a learned subspace."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from visterm.calibration import fit_platt, fit_temperature, sigmoid, tag_scales
from visterm.compute import progress
from visterm.contracts import (
    UNKNOWN_CLASS,
    Features,
    JointMixin,
    Scores,
    check_classes,
    check_tags,
    has_class,
    is_tag_matrix,
    n_pictures,
)
from visterm.errors import InputError
from visterm.margin.alternation import Alternation, Duals, Learned
from visterm.margin.expansion import (
    EXPANSION_PARAMETERS,
    POSITIVE,
    RANDOM_STATE,
    ExpansionEstimator,
    folds,
)
from visterm.margin.inner_products import InnerProducts
from visterm.margin.kernel_ridge import Ridge, frequent_and_rare, least_squares_machines
from visterm.margin.losses import loss_named
from visterm.margin.one_vs_all import (
    CALIBRATION_FOLDS,
    OneVsAll,
    both_sides,
    check_picture_weight,
    class_labels,
    cross_scores,
    generator,
)

Array = NDArray[Any]


class MultitaskSDCA(JointMixin, OneVsAll, ExpansionEstimator):
    """Learns classes and tags as tasks that share one linear map of the features: MTL-SDCA of Lapin et al. 2014.

    Minimises (1) of the paper over the map U (n_dims columns) and the tasks' predictors w_t,

        1/T sum_t [ 1/n sum_i loss(y_ti <w_t, U^T x_i>) + lam/2 ||w_t||^2 ] + mu/2 ||U||^2

    by Algorithm 1. It starts from the one-vs-all solution (with parameter ``C``) and learns predictors and map in turn,
    each to the duality gap ``tol`` relative to its objective in (1). It uses only inner products of pictures. The
    objective never rises.

    - ``mu``: None for 1 / (n T); ``lam``: None for 1 / n. Then losses weigh as much as the two regularisers.
    - ``n_dims``: columns of U; None for the number of tasks, as in the paper.
    - ``until``: ``settled``, as in the paper: until the dual variables change by less than ``tol``, for at most
      ``max_iter`` rounds. ``one-round``: a single round. From the one-vs-all solution with strongly regularised
      predictors (a large ``lam``) it gives a different classifier, which is better for few pictures per class.
      ``optimum``: the minimum of (1), to the relative duality gap ``tol``. With the hinge loss, Algorithm 1 can settle
      far above it. With as many columns as tasks, the minimum depends only on the product of ``lam`` and ``mu``: it is
      that of the trace norm of the tasks' weights (:mod:`visterm.margin.trace_norm`).
    - ``kernel``, ``loss``, ``intercept_scaling``, ``calibration_folds``: as in :class:`SDCAClassifier`; the folds also
      make tags comparable (see ``tag_power``).
    - ``tag_power``: how strongly tags are scaled by their scores on held-out pictures, from 0 (not at all) to 1; see
      :func:`visterm.tag_scales`.
    - ``warm_start``: start from the dual variables of the last fit, for example along a path of C, lam or mu.

    With ``loss="squared"`` and no unknown labels, a formula solves every step, from one eigendecomposition.

    Also fitted: ``objective_`` after every step, and ``task_similarity_``, which shows which tasks are confused: the
    correlation of their scores on held-out pictures (without folds, the cosine of their predictors).
    :func:`visterm.margin.save_similarity` draws it.

    With very many tags, only the most frequent ones share the representation: as many as make ``MAX_WORK`` tasks times
    pictures squared. ``shared_tags_`` has their columns. Each of the others has few pictures. It is learned alone, by a
    least-squares machine with the same ``C``, in closed form without
    ``picture_weight``.

    A picture without a class is left out of the class tasks, one without tags out of the tag tasks. ``y`` may be a 0/1
    matrix, which means tags.

    >>> X, y = [[0.0, 1.0], [0.1, 0.9], [1.0, 0.0], [0.9, 0.2], [0.5, 0.5], [0.4, 0.5]], [0, 0, 1, 1, 2, 2]
    >>> MultitaskSDCA(C=100.0, random_state=0).fit(X, y).predict([[0.0, 1.2], [1.2, 0.0]])
    array([0, 1])
    """

    scores_are_probabilities = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **EXPANSION_PARAMETERS,
        "C": [POSITIVE],
        "mu": [POSITIVE, None],
        "lam": [POSITIVE, None],
        "n_dims": [Interval(Integral, 1, None, closed="left"), None],
        "loss": [str],
        "tol": [POSITIVE],
        "max_iter": [Integral],
        "until": [StrOptions({"settled", "one-round", "optimum"})],
        "calibration_folds": CALIBRATION_FOLDS,
        "tag_power": [Real],
        "max_work": [POSITIVE, None],
        "warm_start": ["boolean"],
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        mu: float | None = None,
        lam: float | None = None,
        n_dims: int | None = None,
        kernel: str = "linear",
        loss: str = "hinge",
        tol: float = 1e-3,
        max_iter: int = 20,
        until: str = "settled",
        intercept_scaling: float = 1.0,
        calibration_folds: int = 3,
        tag_power: float = 1.0,
        max_work: float | None = None,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.mu = mu
        self.lam = lam
        self.n_dims = n_dims
        self.kernel = kernel
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter
        self.until = until
        self.intercept_scaling = intercept_scaling
        self.calibration_folds = calibration_folds
        self.tag_power = tag_power
        self.max_work = max_work
        self.warm_start = warm_start
        self.random_state = random_state

    def fit(
        self, X: Features, y: ArrayLike | None = None, tags: Any = None, picture_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from the pictures that have a class or tags; ``picture_weight`` multiplies the losses of each."""
        self._validate_params()
        if tags is None and y is not None and (sparse.issparse(y) or is_tag_matrix(y)):
            y, tags = None, y
        X = self._check_fit_features(X)
        loss, rng = loss_named(self.loss), generator(self.random_state)
        self._forget(
            "classes_",
            "temperature_",
            "tag_means_",
            "tag_scales_",
            "tag_platt_",
            "shared_tags_",
            "n_tags_",
            "tag_counts_",
            "mean_n_tags_",
        )
        rows, truth = self._training_labels(y, tags, n_pictures(X))
        truth.labels[:] *= check_picture_weight(picture_weight, n_pictures(X))[rows]
        products = self._inner_products(X, rows, truth.labels)
        settings = Alternation(self.C, self.mu, self.lam, self.n_dims, loss, self.tol, self.max_iter, self.until)
        start = self._start(truth.labels.shape)
        with progress.task("Sharing a representation") as bar:
            learned = settings.learn(products, truth.labels, rng, bar, start)
        left_out = self._keep_tasks(X, rows, products, learned.theta, truth)
        self.objective_ = np.array(learned.objectives)
        self.task_similarity_ = _cosines(learned.M)
        self.n_iter_ = learned.n_rounds
        self._forget("duals_")
        if self.warm_start:
            self.duals_ = learned.duals._asdict()
        if truth.n_tags:
            self.tag_means_, self.tag_scales_ = np.zeros(self.n_tags_), np.ones(self.n_tags_)
        if self.calibration_folds:
            self._calibrate(settings, products, truth, learned, rng)
            if truth.alone is not None:
                self._scale(truth.alone.columns, left_out, truth.alone.tags.astype(np.bool_).toarray())
        return self

    def score_tags(self, X: Features) -> Scores:
        """(n_pictures, n_tags), each tag on the scale of its scores at held-out training pictures."""
        return (self._tag_scores(X) - self.tag_means_) / self.tag_scales_

    @available_if(lambda self: self.calibration_folds > 0)  # type: ignore[untyped-decorator]
    def tag_probabilities(self, X: Features) -> Scores:
        """(n_pictures, n_tags) probabilities, by Platt's sigmoid on held-out training pictures."""
        return sigmoid(self._tag_scores(X), *self.tag_platt_.T)

    def _predict_classes(self, X: Features) -> Array:
        return OneVsAll.predict(self, X)

    def _class_scores(self, X: Features) -> Scores:
        scores = self._task_scores(X)
        if not hasattr(self, "classes_"):
            raise InputError("this MultitaskSDCA was fitted with tags only, so it has no classes: fit it with y")
        return scores[:, : scores.shape[1] - getattr(self, "n_tags_", 0)]

    def _tag_scores(self, X: Features) -> Scores:
        check_is_fitted(self)
        if not hasattr(self, "n_tags_"):
            raise InputError("this MultitaskSDCA was fitted with classes only, so it has no tags: fit it with tags")
        return self._task_scores(X)[:, -self.n_tags_ :]

    def _training_labels(self, y: ArrayLike | None, tags: Any, n_pictures: int) -> tuple[Array, TrainingLabels]:
        """The rows that have any label, and their labels."""
        classes = check_classes(y, n_pictures) if y is not None else np.full(n_pictures, UNKNOWN_CLASS)
        is_known = has_class(classes)
        tags = check_tags(tags, n_pictures) if tags is not None else sparse.csr_array((n_pictures, 0))
        has_tags = np.diff(tags.indptr) > 0
        rows = np.flatnonzero(is_known | has_tags)
        if not len(rows):
            raise InputError("no picture has a class and no picture has a tag: at least one is needed to learn from")
        labels, alone = np.zeros((0, len(rows))), None
        codes = np.full(len(rows), UNKNOWN_CLASS)
        if is_known.any():
            self.classes_, codes[is_known[rows]], of_classes = class_labels(classes[is_known])
            labels = np.zeros((len(of_classes), len(rows)))
            labels[:, is_known[rows]] = of_classes
        if has_tags.any():
            self.n_tags_ = tags.shape[1]
            self._count_tags(tags)
            most = tags.shape[1] if self.max_work is None else int(self.max_work / len(rows) ** 2) - len(labels)
            self.shared_tags_, rest = frequent_and_rare(self.tag_counts_, max(1, most))
            by_tag, tagged = sparse.csc_array(tags[rows]), np.flatnonzero(has_tags[rows])
            of_tags = np.where(by_tag[:, self.shared_tags_].toarray().T > 0, 1.0, -1.0) * has_tags[rows]
            labels = np.vstack([labels, of_tags])
            if len(rest):
                alone = AloneTags(rest, tagged, sparse.csr_array(by_tag[:, rest])[tagged])
        return rows, TrainingLabels(labels, codes, len(getattr(self, "shared_tags_", ())), alone)

    def _start(self, shape: tuple[int, ...]) -> Duals | None:
        """The dual variables of the last fit, if wanted and of the right shape for these pictures and tasks."""
        stored = getattr(self, "duals_", None) if self.warm_start else None
        return Duals(**stored) if stored is not None and stored["map"].shape == shape else None

    def _keep_tasks(
        self, X: Features, rows: Array, products: InnerProducts, theta: Array, truth: TrainingLabels
    ) -> Array:
        """Keep the functions of all tasks; returns the scores of tags learned alone, as if pictures were left out."""
        alone = truth.alone
        if alone is None:
            self._keep(X, rows, theta)
            return np.array([])
        n_class_tasks = len(theta) - truth.n_tags
        every = np.zeros((n_class_tasks + self.n_tags_, len(rows)), theta.dtype)
        every[:n_class_tasks], every[n_class_tasks + self.shared_tags_] = theta[:n_class_tasks], theta[n_class_tasks:]
        left_out = np.empty(alone.tags.shape, np.float32)
        known = products if len(alone.tagged) == len(rows) else products.subset(alone.tagged)
        for columns, of_tags, scores in least_squares_machines(Ridge(1 / self.C).fit(known), alone.tags):
            every[np.ix_(n_class_tasks + alone.columns[columns], alone.tagged)] = of_tags.T
            left_out[:, columns] = scores
        self._keep(X, rows, every)
        return left_out

    def _scale(self, tags: Array, scores: Array, present: Array) -> None:
        """Set the scales and the sigmoids of some tags, from scores of held-out pictures."""
        self.tag_means_[tags], self.tag_scales_[tags] = tag_scales(scores, present, self.tag_power)
        if not hasattr(self, "tag_platt_"):
            self.tag_platt_ = np.zeros((self.n_tags_, 2))
        self.tag_platt_[tags] = fit_platt(scores, present)

    def _calibrate(
        self,
        settings: Alternation,
        products: InnerProducts,
        truth: TrainingLabels,
        learned: Learned,
        rng: np.random.Generator,
    ) -> None:
        """Set the temperature of the classes and the scales of the tags, from scores of held-out folds."""

        def learn(part: InnerProducts, rows: Array) -> Array:
            start = Duals(*(dual[:, rows] for dual in learned.duals))
            with progress.task("Learning without a fold") as bar:
                return settings.learn(part, truth.labels[:, rows], rng, bar, start).theta

        held_out = cross_scores(
            products, folds(truth.codes, self.calibration_folds, rng), len(truth.labels), learn
        ).T.astype(np.float64)
        centred = held_out - held_out.mean(axis=0)
        self.task_similarity_ = _cosines(centred.T @ centred)
        n_class_tasks = held_out.shape[1] - truth.n_tags
        if n_class_tasks:
            known = truth.codes >= 0
            scores = both_sides(held_out[known, :n_class_tasks])
            self.temperature_ = fit_temperature(scores, truth.codes[known])
        if truth.n_tags:
            of_tags = truth.labels[n_class_tasks:].T
            tagged = np.abs(of_tags).any(axis=1)
            scores = held_out[tagged, n_class_tasks:]
            present = of_tags[tagged] > 0
            self._scale(self.shared_tags_, scores, present)


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
    n_tags: int
    alone: AloneTags | None


def _cosines(M: Array) -> Array:
    """Inner products as cosines; a task without a predictor resembles only itself."""
    lengths = np.sqrt(np.diag(M))
    scale = np.outer(lengths, lengths)
    cosines = np.divide(M, scale, out=np.zeros_like(M), where=scale > 0)
    np.fill_diagonal(cosines, 1.0)
    return cosines
