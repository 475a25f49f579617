"""Multitask representation learning: classes and tags share a learned subspace."""

from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from visterm.calibration import fit_temperature, tag_scales
from visterm.compute import progress
from visterm.contracts import Features, JointMixin, Scores, check_classes, check_tags, is_tag_matrix, n_pictures
from visterm.contracts.estimator import FROM_1, POSITIVE, StrOptions, declared
from visterm.errors import InputError
from visterm.margin.functions.expansion import folds, generator
from visterm.margin.functions.one_vs_all import (
    OneVsAll,
    TrainingLabels,
    both_sides,
    check_picture_weight,
    cross_scores,
    task_labels,
)
from visterm.margin.solver.alternation import Steps, find_optimum
from visterm.margin.solver.ascent import warn_unconverged
from visterm.margin.solver.inner_products import InnerProducts
from visterm.margin.solver.ridge import Ridge, least_squares_machines

Array = NDArray[Any]


#: What the next fit may not set, since pictures may have only classes or only tags.
_OF_CLASSES = ("classes_", "temperature_")
_OF_TAGS = ("tag_means_", "tag_scales_", "shared_tags_", "n_tags_", "tag_counts_", "mean_n_tags_")


class Duals(NamedTuple):
    """Dual variables (n_tasks, n_pictures): of one-vs-all, of the predictors (B), of the map (A)."""

    alone: Array
    predictors: Array
    map: Array


class Learned(NamedTuple):
    """The coefficients of the learned functions, the predictors' inner products, the objective after each step."""

    theta: Array
    M: Array
    objectives: list[float]
    duals: Duals
    n_rounds: int = 0


@declared
class MultitaskSDCA(JointMixin, OneVsAll):
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
      that of the trace norm of the tasks' weights (:mod:`visterm.margin.solver.alternation`).
    - ``kernel``, ``loss``, ``intercept_scaling``, ``calibration_folds``: as in :class:`SDCAClassifier`; the folds also
      make tags comparable (see ``tag_power``).
    - ``tag_power``: how strongly tags are scaled by their scores on held-out pictures, from 0 (not at all) to 1; see
      :func:`visterm.tag_scales`.
    - ``warm_start``: start from the dual variables of the last fit, for example along a path of C, lam or mu.

    With ``loss="squared"`` and no unknown labels, a formula solves every step, from one eigendecomposition.

    Also fitted: ``objective_`` after every step, and ``task_similarity_``, which shows which tasks are confused: the
    correlation of their scores on held-out pictures (without folds, the cosine of their predictors).

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

    C: Annotated[float, POSITIVE] = 1.0
    _: KW_ONLY
    mu: Annotated[float | None, POSITIVE] = None
    lam: Annotated[float | None, POSITIVE] = None
    n_dims: Annotated[int | None, FROM_1] = None
    loss: str = "hinge"
    max_iter: int = 20
    until: Annotated[str, StrOptions({"settled", "one-round", "optimum"})] = "settled"
    tag_power: float = 1.0
    max_work: Annotated[float | None, POSITIVE] = None
    warm_start: bool = False
    _fitted_constraints: ClassVar[dict[str, str]] = {
        "n_tags_": "n_tags=int >=0",
        "n_iter_": "int >=0",
        "tag_means_": "n_tags",
        "tag_scales_": "n_tags",
    }

    def fit(
        self, X: Features, y: ArrayLike | None = None, tags: Any = None, picture_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from the pictures that have a class or tags; ``picture_weight`` multiplies the losses of each."""
        self._validate_params()
        if tags is None and y is not None and (sparse.issparse(y) or is_tag_matrix(y)):
            y, tags = None, y
        X = self._check_fit_features(X)
        rng = generator(self.random_state)
        self._forget(*_OF_CLASSES, *_OF_TAGS)
        classes = None if y is None else check_classes(y, n_pictures(X))
        tags = None if tags is None else check_tags(tags, n_pictures(X))
        rows, names, truth = task_labels(classes, tags, n_pictures(X), self.max_work)
        if names is not None:
            self.classes_ = names
        if truth.shared is not None:
            self.shared_tags_, self.n_tags_ = truth.shared, tags.shape[1]
            self._count_tags(tags)
        truth.labels[:] *= check_picture_weight(picture_weight, n_pictures(X))[rows]
        products = self._inner_products(X, rows, truth.labels)
        with progress.task("Sharing a representation") as bar:
            learned = self._learn(products, truth.labels, rng, bar, self._start(truth.labels.shape))
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
            self._calibrate(products, truth, learned, rng)
            if truth.alone is not None:
                self._scale(truth.alone.columns, left_out, truth.alone.tags.astype(np.bool_).toarray())
        return self

    def _learn(
        self,
        products: InnerProducts,
        labels: Array,
        rng: np.random.Generator,
        bar: progress.Bar,
        start: Duals | None = None,
    ) -> Learned:
        """Algorithm 1 for ``labels`` (n_tasks, n_pictures), from the duals ``start`` of a nearby solution if given.

        The sign of a label says whether it is present; its size is its weight. 0 means unknown.
        """
        steps = Steps(products, labels, rng, loss=self.loss, C=self.C, lam=self.lam, mu=self.mu, tol=self.tol)
        n_tasks, lam, mu = len(labels), steps.lam, steps.mu
        alone = steps.alone(start.alone if start else None)
        Z, squared_norm = steps.first_map(alone, self.n_dims)
        B, A = (start.predictors, start.map) if start else steps.first_duals(alone)
        objectives = [steps.silent() + 0.5 * mu * squared_norm]
        learned = Learned(alone.theta, np.eye(n_tasks), objectives, Duals(alone.b, B, A))
        if self.until == "optimum":
            if self.n_dims not in (None, n_tasks):
                raise InputError(f"the optimum needs as many columns as tasks: n_dims must be None or {n_tasks}")
            optimum, A = find_optimum(steps, alone.theta @ alone.scores.T, A, bar)
            duals = Duals(alone.b, B, A)
            return Learned(optimum.theta, optimum.M, optimum.objectives, duals, optimum.n_rounds)
        gap = 0.0  # of the predictors
        for _ in range(1 if self.until == "one-round" else self.max_iter):
            predictors, W, objective = steps.predictors(Z, B, squared_norm, below=objectives[-1])
            if objective > objectives[-1]:
                break
            objectives.append(objective)
            gap = predictors.gap
            M = W @ W.T
            # The map: it must not undo the progress of the predictors.
            penalty = 0.5 * lam * float(np.vdot(W, W)) / n_tasks
            mapped = steps.map(M, A, (objective - penalty) / mu)
            objective = mu * mapped.objective + penalty
            if objective > objectives[-1]:
                break
            objectives.append(objective)
            changes = [_rms(predictors.b - B), _rms(mapped.b - A)]
            B, A, squared_norm = predictors.b, mapped.b, mapped.squared_norm
            Z = W.T @ mapped.base
            learned = Learned(M @ mapped.theta, M, objectives, Duals(alone.b, B, A), learned.n_rounds + 1)
            bar.report(objective=objective, change=max(changes))
            if max(changes) <= self.tol:
                break
        if gap > self.tol:
            warn_unconverged(gap, self.tol)
        return learned

    def score_tags(self, X: Features) -> Scores:
        """(n_pictures, n_tags), each tag on the scale of its scores at held-out training pictures."""
        return (self._tag_scores(X) - self.tag_means_) / self.tag_scales_

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
        """Set the scales of some tags, from scores of held-out pictures."""
        self.tag_means_[tags], self.tag_scales_[tags] = tag_scales(scores, present, self.tag_power)

    def _calibrate(
        self, products: InnerProducts, truth: TrainingLabels, learned: Learned, rng: np.random.Generator
    ) -> None:
        """Set the temperature of the classes and the scales of the tags, from scores of held-out folds."""

        def learn(part: InnerProducts, rows: Array) -> Array:
            start = Duals(*(dual[:, rows] for dual in learned.duals))
            with progress.task("Learning without a fold") as bar:
                return self._learn(part, truth.labels[:, rows], rng, bar, start).theta

        held_out = cross_scores(
            products, folds(truth.codes, self.calibration_folds, rng), len(truth.labels), learn
        ).T.astype(np.float64)
        centred = held_out - held_out.mean(axis=0)
        self.task_similarity_ = _cosines(centred.T @ centred)
        n_class_tasks = held_out.shape[1] - truth.n_tags
        if n_class_tasks:
            self.temperature_ = fit_temperature(both_sides(held_out[:, :n_class_tasks]), truth.codes)
        if truth.n_tags:
            of_tags = truth.labels[n_class_tasks:].T
            tagged = np.abs(of_tags).any(axis=1)
            scores = held_out[tagged, n_class_tasks:]
            # mutants: > -> >=: labels of pictures that take part are their weights with a sign, never 0
            present = of_tags[tagged] > 0
            self._scale(self.shared_tags_, scores, present)


def _rms(change: Array) -> float:
    return float(np.sqrt(np.mean(np.square(change, dtype=np.float64))))


def _cosines(M: Array) -> Array:
    """Inner products as cosines; a task without a predictor resembles only itself."""
    lengths = np.sqrt(np.diag(M))
    scale = np.outer(lengths, lengths)
    cosines = np.divide(M, scale, out=np.zeros_like(M), where=scale > 0)
    np.fill_diagonal(cosines, 1.0)
    return cosines
