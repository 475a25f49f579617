"""Discriminative refinement: topics that predict the labels of a picture from its codewords alone.

Variational EM infers training pictures with their labels, but new pictures have none. Refinement maximises the
likelihood of the labels given topics inferred from the codewords alone::

    sum_d weight_d log softmax(eta . f_d)[c_d] + sum_d sum_m log(phibar_d . beta_{w_m})
        - ridge / 2 |eta|^2 + smoothing sum log beta

f_d are the square roots of the proportions phibar_d, scaled to mean 0 and deviation 1, and a constant. The Euclidean
distance between roots is the Hellinger distance. phibar_d depends on the topics pi through the sweeps of inference; the
derivative is propagated back through the last few sweeps (as Chen et al., NIPS 2015, do for a MAP estimate). Adam
improves topics, eta and beta together, on small batches of pictures. Each time a picture is used, a random half of its
codewords is left out and the others count twice, so that no label depends on a few codewords (dropout).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import log_softmax

from visterm.compute import progress
from visterm.topics.inference.em import Array, Bags, infer_topics, normalised
from visterm.topics.inference.joint_model import Labelled, mean_assignments, softmax_regression
from visterm.topics.inference.topic_model import JointTopics

#: Derivatives are propagated through this many sweeps. Pictures start from the gamma of the last pass.
SWEEPS = 3
_BATCH_PICTURES = 160
_KEPT_SHARE = 0.5
_TOPIC_RATE, _COEFFICIENT_RATE = 0.05, 0.02
#: Iterations or passes between two scores of held-out pictures, and scores of passes without a rise before the end.
_ITERATIONS_PER_LOOK, _PATIENCE = 5, 2
#: Steps of EM for the tags of the topics.
_TAG_STEPS = 20
_TINY = 1e-12
#: Proportions well below this count as zero, so that the slope of the square root stays finite.
_LEAST = 1e-6
#: The least deviation by which roots are divided, so that roots that hardly vary are not scaled up.
_LEAST_DEVIATION = 1e-3
#: The constant feature of all pictures. It is large, so that the ridge hardly affects the frequencies of classes.
_CONSTANT = 2.5


def roots(proportions: Array) -> Array:
    """Square roots, linear near 0.

    >>> roots(np.array([0.0, 0.25, 1.0])).round(4)
    array([0. , 0.5, 1. ])
    """
    return proportions / np.sqrt(proportions + _LEAST)


def slopes_of_roots(proportions: Array) -> Array:
    """The derivative of :func:`roots`."""
    return (proportions / 2 + _LEAST) / (proportions + _LEAST) ** 1.5


@dataclass(frozen=True, slots=True, eq=False)
class RootScale:
    """Brings the roots of proportions to mean 0 and deviation 1, so that one ridge suits frequent and rare topics.

    >>> scale = RootScale.of(np.array([[0.0, 1.0], [0.25, 0.75], [1.0, 0.0]]))
    >>> scale.features(np.array([[1.0, 0.0]])).round(1)
    array([[ 1.2, -1.4,  2.5]])
    """

    mean: Array
    deviation: Array

    @classmethod
    def of(cls, proportions: Array) -> "RootScale":
        """The scale of these pictures' proportions (n_pictures, n_topics)."""
        if not len(proportions):
            return cls(np.zeros(proportions.shape[1]), np.ones(proportions.shape[1]))
        rooted = roots(proportions)
        return cls(rooted.mean(axis=0), rooted.std(axis=0) + _LEAST_DEVIATION)

    def features(self, proportions: Array) -> Array:
        """Standardised roots and a constant, (n_pictures, n_topics + 1)."""
        scaled = (roots(proportions) - self.mean) / self.deviation
        return np.column_stack([scaled, np.full(len(scaled), _CONSTANT)])

    def unscaled(self, coefficients: Array) -> tuple[Array, Array]:
        """Coefficients of the roots themselves and intercepts, given those of :meth:`features`."""
        by_root = coefficients[:, :-1] / self.deviation
        return by_root, _CONSTANT * coefficients[:, -1] - by_root @ self.mean

    def scaled(self, by_root: Array, intercepts: Array) -> Array:
        """The inverse of :meth:`unscaled`."""
        return np.column_stack([by_root * self.deviation, (intercepts + by_root @ self.mean) / _CONSTANT])


@dataclass(frozen=True, slots=True, eq=False)
class RefinedTopics(JointTopics):
    """A refined joint model: the roots of proportions predict classes, with intercepts."""

    intercepts: Array  # (n_classes,)


class _Adam:
    """A parameter that climbs. A step is the mean gradient over the root of its mean square; steps shrink to zero."""

    _MOMENTUM, _MEMORY = 0.9, 0.99

    def __init__(self, value: Array, rate: float, n_steps: int) -> None:
        self.value = np.array(value, np.float64)
        self._mean, self._square = np.zeros_like(self.value), np.zeros_like(self.value)
        self._rate, self._n_steps, self._step = rate, n_steps, 0

    def climb(self, gradient: Array) -> None:
        self._step += 1
        self._mean += (1 - self._MOMENTUM) * (gradient - self._mean)
        self._square += (1 - self._MEMORY) * (gradient**2 - self._square)
        spread = np.sqrt(self._square / (1 - self._MEMORY**self._step)) + _TINY
        rate = self._rate * (1 + np.cos(np.pi * self._step / self._n_steps)) / 2
        self.value += rate / (1 - self._MOMENTUM**self._step) * self._mean / spread


def refine(
    data: Labelled,
    model: JointTopics,
    *,
    n_passes: int,
    ridge: float,
    smoothing: float,
    random: Any,
    score: Callable[[JointTopics], float] | None = None,
    step: float = 1.0,
) -> tuple[RefinedTopics, Array]:
    """Raise the labels' likelihood in ``n_passes`` over the pictures; the model, and the objective at every pass.

    With ``score``, the score of a model on held-out pictures, the model of the best pass is returned. A ``step`` below
    1 continues the refinement of ``model`` on one more batch of pictures: steps are that much smaller.
    """
    gamma = infer_topics(data.bags, model.codewords, model.alpha).gamma
    scale = RootScale.of(mean_assignments(gamma, data.bags, model.alpha)[data.classes >= 0])
    if step < 1 and isinstance(model, RefinedTopics):
        scaled = scale.scaled(model.coefficients, model.intercepts)
        start = JointTopics(model.codewords, model.tags, scaled, model.alpha)
    else:
        start = _fit_responses(data, gamma, model, scale, ridge, smoothing)
    ascent = _Ascent(data, start, gamma, scale, n_passes, step)
    held_out = None if score is None else HeldOut(score, _PATIENCE, start=_unscaled(start, scale))
    objective: list[float] = []
    with progress.task("Refining the topics", total=n_passes) as bar:
        for _ in range(n_passes):
            objective.append(ascent.over_pictures(ridge, smoothing, random))
            bar.advance()
            bar.report(objective=objective[-1])
            if held_out is not None and held_out.is_done(_unscaled(ascent.found, scale)):
                break
    if held_out is not None:
        return held_out.best, np.array(objective)
    refined = _unscaled(ascent.found, scale)
    if step == 1:
        gamma = infer_topics(data.bags, refined.codewords, refined.alpha).gamma
        found = _fit_responses(data, gamma, refined, scale, ridge, smoothing, start=ascent.found.coefficients)
        refined = _unscaled(found, scale)
    return refined, np.array(objective)


class _Ascent:
    """Topics, coefficients and tags of topics, which climb together in small batches of labelled pictures."""

    def __init__(
        self, data: Labelled, start: JointTopics, gamma: Array, scale: RootScale, n_passes: int, step: float
    ) -> None:
        self.found = start
        self._data, self._gamma, self._scale = data, gamma, scale
        has_label = (data.classes >= 0) | (np.diff(data.tags.indptr) > 0)
        self._labelled = np.flatnonzero(has_label & (np.diff(data.bags.indptr) > 0))
        self._n_batches = max(1, round(len(self._labelled) / _BATCH_PICTURES))
        n_steps = n_passes * self._n_batches
        self._topics = _Adam(np.log(start.codewords), step * _TOPIC_RATE, n_steps)
        self._tags = _Adam(np.log(start.tags), step * _TOPIC_RATE, n_steps)
        self._coefficients = _Adam(start.coefficients, step * _COEFFICIENT_RATE, n_steps)

    def over_pictures(self, ridge: float, smoothing: float, random: Any) -> float:
        """One pass; the objective, batch by batch."""
        if not len(self._labelled):
            return 0.0
        value = 0.0
        for rows in np.array_split(random.permutation(self._labelled), self._n_batches):
            share = len(rows) / len(self._labelled)
            value += self._climb(rows, share * ridge, share * smoothing, random)
        return value

    def _climb(self, rows: Any, ridge: float, smoothing: float, random: Any) -> float:
        at, batch = self.found, _thinned(self._data[rows], random)
        gammas = sweep(batch.bags, at, self._gamma[rows])
        self._gamma[rows] = gammas[:, -1]
        value, by_gamma, slopes = label_value(batch, self._gamma[rows], self._scale, at, ridge, smoothing)
        self._topics.climb(_by_logits(topic_gradient(batch.bags, at, gammas, by_gamma), at.codewords))
        self._tags.climb(_by_logits(slopes.tags, at.tags))
        self._coefficients.climb(slopes.coefficients)
        tags = _probabilities(self._tags.value)
        self.found = JointTopics(_probabilities(self._topics.value), tags, self._coefficients.value, at.alpha)
        return value


class HeldOut:
    """The best model on held-out pictures so far, which are scored every few iterations."""

    def __init__(self, score: Callable[[Any], float], patience: int, *, start: Any = None) -> None:
        self._score, self._patience = score, patience
        self.best, self._best_score = start, -np.inf if start is None else score(start)
        self._n_models, self._in_vain = 0, 0

    def is_done(self, model: Any) -> bool:
        """Look at the model of one more iteration; whether the score has not risen for too long."""
        self._n_models += 1
        if self._n_models % _ITERATIONS_PER_LOOK:
            return False
        self._in_vain += 1
        if (score := self._score(model)) > self._best_score:
            self.best, self._best_score, self._in_vain = model, score, 0
        return self._in_vain == self._patience

    def better_of(self, model: Any) -> Any:
        """``model``, or the best one if it is at least as good."""
        return model if self._score(model) > self._best_score else self.best


def label_likelihood(data: Labelled, model: JointTopics) -> float:
    """The log-likelihood of labels given topics inferred without them: the score on held-out pictures."""
    phibar = mean_assignments(infer_topics(data.bags, model.codewords, model.alpha).gamma, data.bags, model.alpha)
    value = 0.0
    known = np.flatnonzero(data.classes >= 0)
    if len(model.coefficients):
        log_odds = log_softmax(class_scores(phibar[known], model), axis=1)
        value += float((data.class_weights[known] * log_odds[np.arange(len(known)), data.classes[known]]).sum())
    if data.tags.nnz:
        value += float(data.tags.multiply(np.log(phibar @ model.tags + np.finfo(float).tiny)).sum())
    return value


def class_scores(phibar: Array, model: JointTopics) -> Array:
    """The score of every class, (n_pictures, n_classes), from proportions or, after refinement, from their roots."""
    if isinstance(model, RefinedTopics):
        return roots(phibar) @ model.coefficients.T + model.intercepts
    return phibar @ model.coefficients.T


def label_value(
    data: Labelled, gamma: Array, scale: RootScale, at: JointTopics, ridge: float, smoothing: float
) -> tuple[float, Array, JointTopics]:
    """The objective at topics inferred from codewords alone, and its derivatives by ``gamma`` and by all of ``at``.

    The derivatives by the topics and alpha stay zero: they act through gamma (:func:`topic_gradient`).
    """
    phibar = mean_assignments(gamma, data.bags, at.alpha)
    by_phibar = np.zeros(phibar.shape)
    value = -ridge / 2 * float((at.coefficients**2).sum()) + smoothing * float(np.log(at.tags).sum())
    by_coefficients, by_tags = -ridge * at.coefficients, smoothing / at.tags
    known = np.flatnonzero(data.classes >= 0)
    if len(known) and len(at.coefficients):
        features = scale.features(phibar[known])
        log_odds = log_softmax(features @ at.coefficients.T, axis=1)
        target = np.eye(len(at.coefficients))[data.classes[known]]
        weights = data.class_weights[known, None]
        value += float((weights * target * log_odds).sum())
        residual = weights * (target - np.exp(log_odds))
        by_coefficients = by_coefficients + residual.T @ features
        by_phibar[known] += (residual @ at.coefficients[:, :-1]) / scale.deviation * slopes_of_roots(phibar[known])
    if data.tags.nnz:
        ratios = _tag_ratios(data, phibar, at.tags)
        value -= float(np.log(ratios.data).sum())
        by_phibar += ratios @ at.tags.T
        by_tags = by_tags + (ratios.T @ phibar).T
    sizes = data.bags.sum(axis=1)[:, None]
    by_gamma = np.divide(by_phibar, sizes, out=np.zeros(phibar.shape), where=sizes > 0)
    none = np.zeros(at.codewords.shape), np.zeros(at.alpha.shape)
    return value, by_gamma, JointTopics(none[0], by_tags, by_coefficients, none[1])


def sweep(bags: sparse.csr_array, at: JointTopics, start: Array) -> Array:
    """gamma before the first of ``SWEEPS`` sweeps of inference and after each, (n_pictures, SWEEPS + 1, n_topics)."""
    from visterm.topics.inference._kernels_refine import sweep_forward

    gammas = np.empty((bags.shape[0], SWEEPS + 1, len(at.alpha)))
    gammas[:, 0] = start
    pictures = Bags(bags.indptr, bags.indices, bags.data)
    sweep_forward(pictures, np.ascontiguousarray(at.codewords.T), at.alpha, gammas)
    return gammas


def topic_gradient(bags: sparse.csr_array, at: JointTopics, gammas: Array, upstream: Array) -> Array:
    """The derivative of sum(upstream * last gamma) with respect to the topics (n_topics, n_codewords)."""
    from visterm.topics.inference._kernels_refine import propagate_back

    likelihood = np.ascontiguousarray(at.codewords.T)
    gradient = np.zeros(likelihood.shape)
    pictures = Bags(bags.indptr, bags.indices, bags.data)
    propagate_back(pictures, likelihood, at.alpha, gammas, upstream, gradient)
    return gradient.T


def _probabilities(logits: Array) -> Array:
    odds = np.exp(logits - logits.max(axis=1, keepdims=True, initial=-np.inf))
    return odds / odds.sum(axis=1, keepdims=True)


def _by_logits(gradient: Array, probabilities: Array) -> Array:
    """The derivative by the logits of rows of probabilities, given the derivative by the probabilities."""
    return probabilities * (gradient - (probabilities * gradient).sum(axis=1, keepdims=True))


def _thinned(data: Labelled, random: Any) -> Labelled:
    """The pictures without some of their codewords. The others count more, so that the expected bag is the full bag."""
    bags = data.bags
    kept = random.random_sample(bags.nnz) < _KEPT_SHARE
    indptr = np.concatenate([[0], np.cumsum(kept)])[bags.indptr]
    thinned = sparse.csr_array((bags.data[kept] / _KEPT_SHARE, bags.indices[kept], indptr), shape=bags.shape)
    return replace(data, bags=thinned)


def _fit_responses(
    data: Labelled,
    gamma: Array,
    model: JointTopics,
    scale: RootScale,
    ridge: float,
    smoothing: float,
    *,
    start: Array | None = None,
) -> JointTopics:
    """The best eta and beta for the topics."""
    phibar = mean_assignments(gamma, data.bags, model.alpha)
    n_classes, n_topics = model.coefficients.shape
    coefficients = np.zeros((n_classes, n_topics + 1)) if start is None else start
    if n_classes:
        coefficients = softmax_regression(scale.features(phibar), data.classes, data.class_weights, ridge, coefficients)
    tags = model.tags
    for _ in range(_TAG_STEPS if data.tags.nnz else 0):
        # An EM step of the mixture p(tag) = phibar . beta: it never lowers the objective.
        tags = normalised(tags * (_tag_ratios(data, phibar, tags).T @ phibar).T, smoothing)
    return JointTopics(model.codewords, tags, coefficients, model.alpha)


def _unscaled(found: JointTopics, scale: RootScale) -> RefinedTopics:
    coefficients, intercepts = scale.unscaled(found.coefficients)
    return RefinedTopics(found.codewords, found.tags, coefficients, found.alpha, intercepts)


def _tag_ratios(data: Labelled, phibar: Array, tags: Array) -> sparse.csr_array:
    """1 / p(tag | picture) for the tags that the pictures have."""
    owners = np.repeat(np.arange(len(data)), np.diff(data.tags.indptr))
    ratios = data.tags.astype(np.float64)
    ratios.data = 1 / (np.einsum("ik,ik->i", phibar[owners], tags.T[data.tags.indices]) + _TINY)
    return ratios
