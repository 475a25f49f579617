"""Discriminative refinement: topics that predict the labels of a picture from its codewords alone.

Variational EM infers training pictures with their labels in sight, but new pictures come without. Refinement maximises
what is asked in the end, the labels' likelihood given topics inferred from the codewords alone::

    sum_d weight_d log softmax(eta . roots(phibar_d))[c_d] + sum_d sum_m log(phibar_d . beta_{w_m})
        - ridge / 2 |eta|^2 + smoothing sum log beta

phibar_d is a function of the topics pi through the sweeps of inference, whose derivative is propagated back through the
last few of them (as Chen et al., NIPS 2015, do for a MAP estimate). Topics move by Adam; eta and beta follow them.
Classes are told apart by square roots of proportions, between which Euclidean distance is Hellinger's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np
from scipy import sparse
from scipy.special import log_softmax, softmax

from visterm.compute import progress
from visterm.compute.parallel import Shard
from visterm.topics.class_response import softmax_regression
from visterm.topics.inference import infer_topics, over_shards, rows_of
from visterm.topics.joint import JointTopics, Labelled, mean_assignments
from visterm.topics.statistics import Array, normalised

#: Sweeps through which derivatives are propagated; pictures start from where the last step left them.
SWEEPS = 5
_RATE, _MOMENTUM, _SCALE_MEMORY = 0.03, 0.9, 0.99
_REGRESSION_STEPS = 5
_STEPS_PER_LOOK, _PATIENCE = 10, 2
_TINY = 1e-12
#: Proportions well below this are as good as none: the square root's slope stays finite.
_LEAST = 1e-6


def roots(proportions: Array) -> Array:
    """Square roots, linear near 0.

    >>> roots(np.array([0.0, 0.25, 1.0])).round(4)
    array([0. , 0.5, 1. ])
    """
    return proportions / np.sqrt(proportions + _LEAST)


def _slopes_of_roots(proportions: Array) -> Array:
    return (proportions / 2 + _LEAST) / (proportions + _LEAST) ** 1.5


def refine(
    data: Labelled,
    model: JointTopics,
    *,
    n_steps: int,
    ridge: float,
    smoothing: float,
    look: Callable[[JointTopics], float] | None = None,
) -> tuple[JointTopics, Array]:
    """``n_steps`` steps up the labels' likelihood; the model reached and the objective at every step.

    With ``look``, a score on held-out pictures, the best model seen is returned.
    """
    gamma = infer_topics(data.bags, model.codewords, model.alpha).gamma
    model = replace(model, coefficients=np.zeros(model.coefficients.shape))
    model = _follow(data, gamma, model, ridge, smoothing, thoroughly=True)
    logits = np.log(model.codewords)
    mean, scale = np.zeros(logits.shape), np.zeros(logits.shape)
    objective: list[float] = []
    best, best_score, looks = model, -np.inf if look is None else look(model), 0
    with progress.task("Refining the topics", total=n_steps) as bar:
        for step in range(1, n_steps + 1):
            start = gamma
            gamma = infer_topics(
                data.bags, model.codewords, model.alpha, start=start, max_sweeps=SWEEPS, tolerance=0
            ).gamma
            model = _follow(data, gamma, model, ridge, smoothing)
            value, upstream = label_value(data, gamma, model, ridge, smoothing)
            objective.append(value)
            bar.advance()
            bar.report(objective=value)
            by_topic = topic_gradient(data, model, start, upstream)
            by_logit = model.codewords * (by_topic - (model.codewords * by_topic).sum(axis=1, keepdims=True))
            mean = _MOMENTUM * mean + (1 - _MOMENTUM) * by_logit
            scale = _SCALE_MEMORY * scale + (1 - _SCALE_MEMORY) * by_logit**2
            unbiased = np.sqrt(scale / (1 - _SCALE_MEMORY**step)) + _TINY
            logits += _RATE * mean / (1 - _MOMENTUM**step) / unbiased
            model = replace(model, codewords=softmax(logits, axis=1))
            if look is not None and step % _STEPS_PER_LOOK == 0:
                score = look(model)
                looks = 0 if score > best_score else looks + 1
                if score > best_score:
                    best, best_score = model, score
                if looks == _PATIENCE:
                    break
    if look is not None:
        return best, np.array(objective)
    gamma = infer_topics(data.bags, model.codewords, model.alpha, start=gamma).gamma
    return _follow(data, gamma, model, ridge, smoothing, thoroughly=True), np.array(objective)


def label_value(
    data: Labelled, gamma: Array, model: JointTopics, ridge: float, smoothing: float
) -> tuple[float, Array]:
    """The objective at topics inferred from codewords alone, and its derivative with respect to ``gamma``."""
    phibar = mean_assignments(gamma, data.bags, model.alpha)
    by_phibar = np.zeros(phibar.shape)
    value = -ridge / 2 * float((model.coefficients**2).sum()) + smoothing * float(np.log(model.tags).sum())
    known = np.flatnonzero(data.classes >= 0)
    if len(known) and len(model.coefficients):
        log_odds = log_softmax(roots(phibar[known]) @ model.coefficients.T, axis=1)
        target = np.eye(len(model.coefficients))[data.classes[known]]
        weights = data.class_weights[known, None]
        value += float((weights * target * log_odds).sum())
        by_roots = (weights * (target - np.exp(log_odds))) @ model.coefficients
        by_phibar[known] += by_roots * _slopes_of_roots(phibar[known])
    if data.tags.nnz:
        ratios = _tag_ratios(data, phibar, model.tags)
        value -= float(np.log(ratios.data).sum())
        by_phibar += ratios @ model.tags.T
    sizes = np.asarray(data.bags.sum(axis=1)).reshape(-1, 1)
    return value, np.divide(by_phibar, sizes, out=np.zeros(phibar.shape), where=sizes > 0)


def topic_gradient(data: Labelled, model: JointTopics, start: Array, upstream: Array) -> Array:
    """The derivative of sum(upstream * gamma) with respect to the topics (n_topics, n_codewords)."""
    from visterm.topics._kernels_refine import propagate_back

    likelihood = np.ascontiguousarray(model.codewords.T)

    def of_shard(shard: Shard) -> Array:
        gradient = np.zeros(likelihood.shape)
        indptr, indices, counts = rows_of(data.bags, shard)
        rows = shard.rows
        propagate_back(indptr, indices, counts, likelihood, model.alpha, SWEEPS, start[rows], upstream[rows], gradient)
        return gradient

    return reduce(add, over_shards(of_shard, len(data))).T


def _follow(
    data: Labelled, gamma: Array, model: JointTopics, ridge: float, smoothing: float, *, thoroughly: bool = False
) -> JointTopics:
    """Let eta and beta follow the topics: a few iterations each, or as many as it takes."""
    phibar = mean_assignments(gamma, data.bags, model.alpha)
    if len(model.coefficients):
        coefficients = softmax_regression(
            roots(phibar),
            data.classes,
            data.class_weights,
            ridge,
            model.coefficients,
            max_iter=200 if thoroughly else _REGRESSION_STEPS,
        )
        model = replace(model, coefficients=coefficients)
    if data.tags.nnz:
        for _ in range(20 if thoroughly else 1):
            # An EM step of the mixture p(tag) = phibar . beta: it never lowers the objective.
            counts = model.tags * (_tag_ratios(data, phibar, model.tags).T @ phibar).T
            model = replace(model, tags=normalised(counts, smoothing))
    return model


def _tag_ratios(data: Labelled, phibar: Array, tags: Array) -> sparse.csr_array:
    """1 / p(tag | picture) at the tags the pictures have."""
    owners = np.repeat(np.arange(len(data)), np.diff(data.tags.indptr))
    ratios = data.tags.astype(np.float64)
    ratios.data = 1 / (np.einsum("ik,ik->i", phibar[owners], tags.T[data.tags.indices]) + _TINY)
    return ratios
