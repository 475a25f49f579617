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

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import log_softmax

from visterm.compute import progress
from visterm.topics.bags import Bags
from visterm.topics.class_response import RootScale, roots, slopes_of_roots, softmax_regression
from visterm.topics.inference import infer_topics
from visterm.topics.joint_inference import JointTopics, Labelled, mean_assignments
from visterm.topics.statistics import Array, normalised

#: Derivatives are propagated through this many sweeps. Pictures start from the gamma of the last pass.
SWEEPS = 3
_BATCH_PICTURES = 160
_KEPT_SHARE = 0.5
_TOPIC_RATE, _COEFFICIENT_RATE = 0.05, 0.02
_PASSES_PER_LOOK, _PATIENCE = 5, 2
#: Steps of EM for the tags of the topics.
_TAG_STEPS = 20
_TINY = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Refined:
    """The refined parameters: topics, coefficients (of the standardised roots, then the constant), tags of topics."""

    codewords: Array  # pi, (n_topics, n_codewords)
    coefficients: Array  # eta, (n_classes, n_topics + 1)
    tags: Array  # beta, (n_topics, n_tags)


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
    look: Callable[[JointTopics], float] | None = None,
    step: float = 1.0,
) -> tuple[JointTopics, Array]:
    """Raise the labels' likelihood in ``n_passes`` over the pictures; the model, and the objective at every pass.

    ``look`` scores the model on held-out pictures: then the model of the best pass is returned. A ``step`` below 1
    continues the refinement of ``model`` on one more batch of pictures: steps are that much smaller.
    """
    gamma = infer_topics(data.bags, model.codewords, model.alpha).gamma
    scale = RootScale.of(mean_assignments(gamma, data.bags, model.alpha)[data.classes >= 0])
    if step < 1:
        found = Refined(model.codewords, scale.scaled(model.coefficients, model.intercepts), model.tags)
    else:
        found = _fit_responses(data, gamma, model, scale, ridge, smoothing)
    best = found
    labelled = np.flatnonzero(((data.classes >= 0) | (np.diff(data.tags.indptr) > 0)) & (np.diff(data.bags.indptr) > 0))
    n_batches = max(1, round(len(labelled) / _BATCH_PICTURES))
    n_steps = n_passes * n_batches
    topics = _Adam(np.log(found.codewords), step * _TOPIC_RATE, n_steps)
    tags = _Adam(np.log(found.tags), step * _TOPIC_RATE, n_steps)
    coefficients = _Adam(found.coefficients, step * _COEFFICIENT_RATE, n_steps)
    best_score, looks = -np.inf if look is None else look(_unscaled(found, model, scale)), 0
    objective: list[float] = []
    with progress.task("Refining the topics", total=n_passes) as bar:
        for n_pass in range(1, n_passes + 1):
            value = 0.0
            shuffled = random.permutation(labelled)
            for rows in np.array_split(shuffled, n_batches) if len(labelled) else ():
                batch = _thinned(data[rows], random)
                gammas = sweep(batch.bags, found.codewords, model.alpha, gamma[rows])
                gamma[rows] = gammas[:, -1]
                share = len(rows) / len(labelled)
                part, by_gamma, slopes = label_value(
                    batch, gamma[rows], model.alpha, scale, found, share * ridge, share * smoothing
                )
                value += part
                by_topic = topic_gradient(batch.bags, found.codewords, model.alpha, gammas, by_gamma)
                topics.climb(_by_logits(by_topic, found.codewords))
                tags.climb(_by_logits(slopes.tags, found.tags))
                coefficients.climb(slopes.coefficients)
                found = Refined(_probabilities(topics.value), coefficients.value, _probabilities(tags.value))
            objective.append(value)
            bar.advance()
            bar.report(objective=value)
            if look is not None and n_pass % _PASSES_PER_LOOK == 0:
                score = look(_unscaled(found, model, scale))
                looks = 0 if score > best_score else looks + 1
                if score > best_score:
                    best, best_score = replace(found, coefficients=found.coefficients.copy()), score
                if looks == _PATIENCE:
                    break
    if look is not None:
        return _unscaled(best, model, scale), np.array(objective)
    if step < 1:
        return _unscaled(found, model, scale), np.array(objective)
    model = _unscaled(found, model, scale)
    gamma = infer_topics(data.bags, model.codewords, model.alpha).gamma
    found = _fit_responses(data, gamma, model, scale, ridge, smoothing, start=found.coefficients)
    return _unscaled(found, model, scale), np.array(objective)


def label_likelihood(data: Labelled, model: JointTopics, *, rooted: bool) -> float:
    """The log-likelihood of labels given topics inferred without them: the score on held-out pictures.

    ``rooted``: the roots of the proportions predict classes, as after refinement.
    """
    phibar = mean_assignments(infer_topics(data.bags, model.codewords, model.alpha).gamma, data.bags, model.alpha)
    value = 0.0
    known = np.flatnonzero(data.classes >= 0)
    if len(model.coefficients):
        features = roots(phibar[known]) if rooted else phibar[known]
        log_odds = log_softmax(features @ model.coefficients.T + model.intercepts, axis=1)
        value += float((data.class_weights[known] * log_odds[np.arange(len(known)), data.classes[known]]).sum())
    if data.tags.nnz:
        value += float(data.tags.multiply(np.log(phibar @ model.tags + np.finfo(float).tiny)).sum())
    return value


def label_value(
    data: Labelled,
    gamma: Array,
    alpha: Array,
    scale: RootScale,
    at: Refined,
    ridge: float,
    smoothing: float,
) -> tuple[float, Array, Refined]:
    """The objective at topics inferred from codewords alone, and its derivatives by ``gamma`` and by all of ``at``.

    The derivative by the topics stays zero: they act through gamma (:func:`topic_gradient`).
    """
    phibar = mean_assignments(gamma, data.bags, alpha)
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
    return value, by_gamma, Refined(np.zeros(at.codewords.shape), by_coefficients, by_tags)


def sweep(bags: sparse.csr_array, codewords: Array, alpha: Array, start: Array) -> Array:
    """gamma before the first of ``SWEEPS`` sweeps of inference and after each, (n_pictures, SWEEPS + 1, n_topics)."""
    from visterm.topics._kernels_refine import sweep_forward

    gammas = np.empty((bags.shape[0], SWEEPS + 1, len(alpha)))
    gammas[:, 0] = start
    pictures = Bags(bags.indptr, bags.indices, bags.data)
    sweep_forward(pictures, np.ascontiguousarray(codewords.T), alpha, gammas)
    return gammas


def topic_gradient(bags: sparse.csr_array, codewords: Array, alpha: Array, gammas: Array, upstream: Array) -> Array:
    """The derivative of sum(upstream * last gamma) with respect to the topics (n_topics, n_codewords)."""
    from visterm.topics._kernels_refine import propagate_back

    likelihood = np.ascontiguousarray(codewords.T)
    gradient = np.zeros(likelihood.shape)
    pictures = Bags(bags.indptr, bags.indices, bags.data)
    propagate_back(pictures, likelihood, alpha, gammas, upstream, gradient)
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
) -> Refined:
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
    return Refined(model.codewords, coefficients, tags)


def _unscaled(found: Refined, model: JointTopics, scale: RootScale) -> JointTopics:
    coefficients, intercepts = scale.unscaled(found.coefficients)
    return replace(model, codewords=found.codewords, tags=found.tags, coefficients=coefficients, intercepts=intercepts)


def _tag_ratios(data: Labelled, phibar: Array, tags: Array) -> sparse.csr_array:
    """1 / p(tag | picture) for the tags that the pictures have."""
    owners = np.repeat(np.arange(len(data)), np.diff(data.tags.indptr))
    ratios = data.tags.astype(np.float64)
    ratios.data = 1 / (np.einsum("ik,ik->i", phibar[owners], tags.T[data.tags.indices]) + _TINY)
    return ratios
