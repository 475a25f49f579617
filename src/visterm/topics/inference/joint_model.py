"""Topic models of codewords and labels: the E step with labels, the M step of eta, and the base of the models.

The equations are those of Wang, Blei and Fei-Fei (CVPR 2009). The E step is :func:`infer_labelled`, (3), (4) and (8);
the M step is ``_maximise``, (10) and (11), and for classes :func:`improve_coefficients`, (12). A new picture is
inferred without labels, by :func:`visterm.topics.inference.em.infer_topics`.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from functools import reduce
from operator import add
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import digamma, log_softmax
from sklearn.utils import check_random_state

from visterm.compute import progress
from visterm.compute.parallel import Shard
from visterm.compute.threads import one_blas_thread
from visterm.contracts import UNKNOWN_CLASS, AnnotatorMixin, Features, Scores, declared
from visterm.errors import InputError
from visterm.topics.inference import em
from visterm.topics.inference.em import Array, TopicStatistics, over_shards, rows_of
from visterm.topics.inference.topic_model import DirichletTopicModel, JointTopics

_MAX_HALVINGS = 30
#: Iterations of plain LDA before labels are used. They cost little, and supervision needs topics to start from.
_WARM_UP_ITERATIONS, _LAST_SWEEPS = 80, 5
#: The largest probability of a tag per draw.
_ALMOST_CERTAIN = 1 - 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """Bags with their labels: a class number or -1, the weight of the class, and tags or an empty row."""

    bags: sparse.csr_array
    classes: NDArray[np.int64]
    class_weights: Array
    tags: sparse.csr_array

    @classmethod
    def without_classes(cls, bags: sparse.csr_array, tags: sparse.csr_array) -> "Labelled":
        """Pictures with tags alone."""
        return cls(bags, np.full(bags.shape[0], UNKNOWN_CLASS), np.ones(bags.shape[0]), tags)

    def __getitem__(self, rows: Any) -> "Labelled":
        return Labelled(self.bags[rows], self.classes[rows], self.class_weights[rows], self.tags[rows])

    def __len__(self) -> int:
        return int(self.bags.shape[0])


def responsibilities(gamma: Array, bags: sparse.csr_array, codewords: Array) -> Array:
    """phi (n_counts, n_topics): the share of each topic in each count of the bags. Rows sum to one."""
    weights = digamma(gamma)
    weights = np.exp(weights - weights.max(axis=1, keepdims=True, initial=-np.inf))
    phi = np.repeat(weights, np.diff(bags.indptr), axis=0)
    phi *= codewords.T[bags.indices]
    phi /= phi.sum(axis=1, keepdims=True) + np.finfo(np.float64).tiny
    return phi


def mean_assignments(gamma: Array, bags: sparse.csr_array, alpha: Array) -> Array:
    """phibar (n_pictures, n_topics): the share of each topic in a picture; for an empty picture, that of the prior."""
    sizes = bags.sum(axis=1)[:, None]
    prior = np.broadcast_to(alpha / alpha.sum(), gamma.shape)
    return np.divide(gamma - alpha, sizes, out=prior.copy(), where=sizes > 0)


@dataclass(frozen=True, slots=True, eq=False)
class LabelledInference:
    """The result of an E step with labels.

    ``statistics`` include the bound; ``class_part`` is the class part of the bound, ``class_gradient`` (n_classes,
    n_topics) its gradient by eta. ``phibar`` (n_pictures, n_topics) are the means of the phi. The phi themselves are
    not kept: :meth:`class_value` finds them again from ``start``, the gamma before the step.
    """

    statistics: TopicStatistics
    class_part: float
    class_gradient: Array
    phibar: Array
    data: Labelled
    model: JointTopics
    start: Array
    max_sweeps: int
    tolerance: float

    def class_value(self, coefficients: Array) -> tuple[float, Array]:
        """The class part of the bound at other coefficients with the same phi, and its gradient, equation (12)."""
        from visterm.topics.inference._kernels_slda import class_value_of

        if coefficients is self.model.coefficients:
            return self.class_part, self.class_gradient
        data, tables = self.data, _tables(self.model)

        def of_shard(shard: Shard) -> tuple[float, Array]:
            bags, labels, gradient = rows_of(data.bags, shard), _labels(data, shard), np.zeros(coefficients.shape)
            start, sweeps = self.start[shard.rows], self.max_sweeps
            value = class_value_of(
                bags=bags,
                labels=labels,
                tables=tables,
                gammas=start,
                max_sweeps=sweeps,
                tolerance=self.tolerance,
                coefficients=coefficients,
                gradient=gradient,
            )
            return value, gradient

        parts = over_shards(of_shard, len(data))
        return sum(value for value, _ in parts), reduce(add, (gradient for _, gradient in parts))


def infer_labelled(
    data: Labelled, model: JointTopics, gamma: Array, *, max_sweeps: int, tolerance: float = 1e-3
) -> LabelledInference:
    """Improve ``gamma`` in place by coordinate ascent with each picture's class and tags.

    The phi start as the best for ``gamma``, the class and the tags. ``max_sweeps`` sweeps over the codewords follow,
    each with a new gamma. The bound includes the class term with its Jensen bound, ``eta_c . phibar - log sum_l
    exp(S_l)``, and the tags.
    """
    from visterm.topics.inference._kernels_slda import ExpectedCounts, infer_joint

    tables, start = _tables(model), gamma.copy()

    def of_shard(shard: Shard) -> tuple[TopicStatistics, float, Array]:
        expected = ExpectedCounts(
            np.zeros(tables.likelihood.shape),
            np.zeros(tables.log_tags.shape),
            np.zeros(len(tables.alpha)),
            np.zeros(tables.coefficients.shape),
        )
        bags, labels = rows_of(data.bags, shard), _labels(data, shard)
        bound, class_part = infer_joint(bags, labels, tables, gamma[shard.rows], max_sweeps, float(tolerance), expected)
        statistics = TopicStatistics(len(shard), bound, expected.codewords.T, expected.log_proportions, expected.tags.T)
        return statistics, class_part, expected.by_coefficients

    statistics, class_parts, gradients = zip(*over_shards(of_shard, len(data)), strict=True)
    phibar, value = mean_assignments(gamma, data.bags, model.alpha), float(sum(class_parts))
    found = reduce(add, statistics), value, reduce(add, gradients), phibar
    return LabelledInference(*found, data, model, start, max_sweeps, tolerance)


def _tables(model: JointTopics) -> Any:
    from visterm.topics.inference._kernels_slda import TopicTables

    return TopicTables(
        np.ascontiguousarray(model.codewords.T),
        np.ascontiguousarray(np.log(model.tags).T),
        np.ascontiguousarray(model.coefficients),
        model.alpha,
    )


def _labels(data: Labelled, shard: Shard) -> Any:
    from visterm.topics.inference._kernels_slda import Labels

    tags = rows_of(data.tags, shard)
    return Labels(data.classes[shard.rows], data.class_weights[shard.rows], tags.indptr, tags.indices)


def softmax_regression(
    features: Array,
    classes: NDArray[np.int64],
    weights: Array,
    ridge: float,
    start: Array,
    *,
    slope: Array | None = None,
    max_iter: int = 200,
) -> Array:
    """Coefficients (n_classes, n_topics) that maximise the weighted log-likelihood of the classes given ``features``.

    ``sum_d weight_d log softmax(coefficients @ feature_d)[class_d] - ridge / 2 |coefficients|^2 + slope .
    coefficients``, which is concave, from ``start``; pictures of class -1 are left out.
    """
    known = np.flatnonzero(classes >= 0)
    features, classes, weights = features[known], classes[known], weights[known, None]
    target = np.eye(len(start))[classes]
    slope = np.zeros(start.shape) if slope is None else slope

    def loss(flat: Array) -> tuple[float, Array]:
        coefficients = flat.reshape(start.shape)
        log_odds = log_softmax(features @ coefficients.T, axis=1)
        value = (weights * target * log_odds).sum() - ridge / 2 * (flat @ flat) + (slope * coefficients).sum()
        gradient = (weights * (target - np.exp(log_odds))).T @ features - ridge * coefficients + slope
        return -value, -gradient.ravel()

    found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": max_iter})
    return found.x.reshape(start.shape)


def improve_coefficients(
    inferred: LabelledInference, coefficients: Array, ridge: float, *, max_iter: int = 20
) -> Array:
    """The M step of eta: coefficients at which the bound, minus ``ridge`` / 2 |eta|^2, is not lower.

    The exact class term needs every phi. Softmax regression on phibar is its limit for large pictures and costs very
    little. Corrected to have the exact gradient at the old coefficients, it gives a direction uphill; the exact value
    decides how far to go. If this changes nothing, the exact term is stationary.
    """
    data, phibar = inferred.data, inferred.phibar
    value, gradient = inferred.class_value(coefficients)
    value -= ridge / 2 * float((coefficients**2).sum())
    known = np.flatnonzero((data.classes >= 0) & (np.diff(data.bags.indptr) > 0))
    odds = np.exp(log_softmax(phibar[known] @ coefficients.T, axis=1))
    residual = data.class_weights[known, None] * (np.eye(len(coefficients))[data.classes[known]] - odds)
    slope = gradient - residual.T @ phibar[known]
    classes = np.full(len(data), UNKNOWN_CLASS)
    classes[known] = data.classes[known]
    step = -coefficients + softmax_regression(
        phibar, classes, data.class_weights, ridge, coefficients, slope=slope, max_iter=max_iter
    )
    for _ in range(_MAX_HALVINGS):
        moved = coefficients + step
        # mutants: >= -> >: a step that keeps the value to the last bit is none, or within rounding errors of it
        if inferred.class_value(moved)[0] - ridge / 2 * float((moved**2).sum()) >= value:
            return moved
        step *= 0.5
    return coefficients


# --- The base of the models -------------------------------------------------------------------------------------------

#: An E step with labels, such as ``infer_labelled``.
EStep: TypeAlias = Callable[..., LabelledInference]


@declared
class JointTopicModel(AnnotatorMixin, DirichletTopicModel):
    """The base of topic models of codewords and labels; subclasses define which labels.

    Fitted: ``topic_tags_`` (n_topics, n_tags), ``class_coefficients_`` (n_classes, n_topics), ``mean_n_tags_``.
    """

    scores_are_probabilities = True

    _: KW_ONLY
    alpha: float = 1.0
    start: str = "spread"
    n_restarts: int = 1
    max_iter: int = 30
    max_sweeps: int = 2

    def _learn(self, data: Labelled, n_classes: int, infer: EStep = infer_labelled) -> None:
        """Learn from pictures and the labels they have."""
        random = check_random_state(self.random_state)
        random.permutation(len(data))  # refined models draw held-out pictures first: both start from the same topics
        model, self.objective_, _ = self._em(data, n_classes, random, infer)
        self._keep(model)
        self.n_iter_ = len(self.objective_)
        self._count_tags(data.tags)

    def _em(
        self, data: Labelled, n_classes: int, random: Any, infer: EStep, loop: Callable[..., Any] = em.climb
    ) -> tuple[JointTopics, Array, TopicStatistics]:
        """The best of ``n_restarts`` runs of variational EM: the model, the objective, and the last statistics."""
        total = self.n_restarts * self._n_iterations
        with one_blas_thread(), progress.task(f"Learning {self.n_topics} topics", total=total) as bar:
            runs = [
                self._run(data, self._start(data, n_classes, random), bar, infer, loop) for _ in range(self.n_restarts)
            ]
        return max(runs, key=lambda run: run[1][-1])

    def _start(self, data: Labelled, n_classes: int, random: Any) -> tuple[JointTopics, Array]:
        seeds = em.normalised(em.start_topics(data.bags, self.n_topics, random, how=self.start), self.smoothing)
        start = JointTopics.of(seeds, np.zeros((self.n_topics, 0)), self.alpha, n_classes=n_classes)
        codewords, gamma = warm_up(data.bags, seeds, start.alpha, self.smoothing, _WARM_UP_ITERATIONS)
        phibar = mean_assignments(gamma, data.bags, start.alpha)
        tags = em.normalised((data.tags.T @ phibar).T, self.smoothing)
        return replace(start, codewords=codewords, tags=tags), gamma

    def _run(
        self,
        data: Labelled,
        start: tuple[JointTopics, Array],
        bar: progress.Bar,
        infer: EStep,
        loop: Callable[..., Any],
    ) -> tuple[JointTopics, Array, TopicStatistics]:
        model, gamma = start
        inferred: LabelledInference

        def e_step(model: JointTopics) -> tuple[LabelledInference, float]:  # gamma, lambda and phi: (3), (4), (8)
            nonlocal inferred
            inferred = infer(data, model, gamma, max_sweeps=self.max_sweeps)
            return inferred, inferred.statistics.bound + self._log_prior(model)

        model, objective = loop(model, e_step, self._m_step, max_iter=self._n_iterations, tol=self.tol, bar=bar)
        return model, objective, inferred.statistics

    @property
    def _n_iterations(self) -> int:
        return self.max_iter

    def _m_step(self, model: JointTopics, inferred: LabelledInference) -> JointTopics:
        return self._maximise(model, inferred.statistics)

    def _keep(self, model: JointTopics) -> None:
        super()._keep(model)
        self.class_coefficients_ = np.ascontiguousarray(model.coefficients)

    def transform(self, X: Features) -> Array:
        """The topic proportions of every picture, (n_pictures, n_topics): the mean share of its codewords."""
        return self._proportions(self._bags(X))

    def _proportions(self, bags: sparse.csr_array) -> Array:
        return mean_assignments(em.infer_topics(bags, self.topic_codewords_, self.alpha_).gamma, bags, self.alpha_)

    def score_tags(self, X: Features) -> Scores:
        """The probability that a picture carries each tag.

        A tag drawn for the picture is w with probability p = phibar . beta_w, equation (14). The number of draws is the
        average number of tags of a training picture. At least one draw is w with probability 1 - (1 - p)^draws.
        """
        chances = self.transform(X) @ self._tags()
        return -np.expm1(self.mean_n_tags_ * np.log1p(-np.minimum(chances, _ALMOST_CERTAIN)))

    def _tags(self) -> Array:
        if not self.topic_tags_.shape[1]:
            raise InputError("the model has learned no tags: fit it with tags")
        return self.topic_tags_


def warm_up(
    bags: sparse.csr_array, topics: Array, alpha: Array, smoothing: float, n_iterations: int
) -> tuple[Array, Array]:
    """Iterations of plain LDA, of one sweep each, before labels are used; returns topics and gamma."""
    gamma = None
    for _ in range(n_iterations):
        inferred = em.infer_topics(bags, topics, alpha, start=gamma, max_sweeps=1)
        gamma, topics = inferred.gamma, em.normalised(inferred.statistics.codewords, smoothing)
    return topics, em.infer_topics(bags, topics, alpha, start=gamma, max_sweeps=_LAST_SWEEPS).gamma
