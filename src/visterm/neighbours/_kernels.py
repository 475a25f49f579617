"""Compiled loops of the neighbour methods. The tests hold their plain NumPy equivalents."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from visterm.compute.compiled import SUMS, compiled

Array = NDArray[Any]

#: What is the case has at least this probability, so that its logarithm is finite.
_LEAST_LIKELY = 1e-5
#: Keeps the chi2 distance of two zeros from being 0 / 0.
_TINY = 1e-30


@compiled
def propagate(weights: Array, neighbours: Array, ends: Array, tags: Array, out: Array) -> None:
    """``out[i] = sum_k weights[i, k] * Y[neighbours[i, k]]`` for the 0/1 rows ``Y`` of CSR (ends, tags)."""
    out[:] = 0
    for i in range(weights.shape[0]):
        for k in range(weights.shape[1]):
            j = neighbours[i, k]
            for entry in range(ends[j], ends[j + 1]):
                out[i, tags[entry]] += weights[i, k]


@compiled
def gather(gradient: Array, neighbours: Array, ends: Array, tags: Array, out: Array) -> None:
    """``out[i, k] = gradient[i] @ Y[neighbours[i, k]]``, the transpose of ``propagate``."""
    for i in range(neighbours.shape[0]):
        for k in range(neighbours.shape[1]):
            j = neighbours[i, k]
            total = 0.0
            for entry in range(ends[j], ends[j + 1]):
                total += gradient[i, tags[entry]]
            out[i, k] = total


@compiled
def nearest_of_each_tag(distances: Array, starts: Array, pictures: Array, k: int, chosen: Array) -> None:
    """``chosen[i, j]``: whether picture ``j`` is among the ``k`` nearest of ``i`` that carry one of its tags.

    (starts, pictures) list the pictures of every tag.
    """
    values = np.empty(k, distances.dtype)
    places = np.empty(k, np.int64)
    chosen[:] = False
    for i in range(distances.shape[0]):
        for tag in range(len(starts) - 1):
            n_found = 0
            for entry in range(starts[tag], starts[tag + 1]):
                j = pictures[entry]
                value = distances[i, j]
                if n_found == k and value >= values[k - 1]:
                    continue
                place = min(n_found, k - 1)
                while place > 0 and values[place - 1] > value:
                    values[place] = values[place - 1]
                    places[place] = places[place - 1]
                    place -= 1
                values[place] = value
                places[place] = j
                n_found = min(n_found + 1, k)
            for place in range(n_found):
                chosen[i, places[place]] = True


@compiled
def margin_loss(joint: Array, targets: Array, gains: Array, counts: Array) -> float:
    """The large-margin loss over triplets; ``counts`` gets its slope by each distance.

    ``joint[i, k]`` is the distance of picture ``i`` to its ``k``-th candidate. For every target ``k`` and every
    impostor ``l``, the loss is ``gains[i, l] * max(0, 1 + joint[i, k] - joint[i, l])``; ``gains`` of targets are not
    used.
    """
    n, n_candidates = joint.shape
    total = 0.0
    counts[:] = 0.0
    for i in range(n):
        for k in range(n_candidates):
            if not targets[i, k]:
                continue
            for other in range(n_candidates):
                # mutants: <= -> <: a gain of 0 adds nothing to the loss or its slopes
                if targets[i, other] or gains[i, other] <= 0:
                    continue
                slack = 1 + joint[i, k] - joint[i, other]
                if slack > 0:
                    total += gains[i, other] * slack
                    counts[i, k] += gains[i, other]
                    counts[i, other] -= gains[i, other]
    return total


class Pairs(NamedTuple):
    """Rows of ``X`` to compare: ``pictures[i]`` with each of ``near[i]``.

    Dimension ``j`` has the distance ``abs(a - b)``, or ``(a - b)**2 / (a + b) / 2`` where ``is_chi2[j]``.
    """

    X: Array
    pictures: Array
    near: Array
    is_chi2: Array


@compiled(fastmath=SUMS)
def distances_of_pairs(pairs: Pairs, weights: Array, out: Array) -> None:
    """``out[i, k] = weights @ d``, where ``d`` are the distances of the pair by each dimension."""
    kind = pairs.X.dtype.type
    tiny, half, one = kind(_TINY), kind(0.5), kind(1)
    for i in range(len(pairs.pictures)):
        a = pairs.X[pairs.pictures[i]]
        for k in range(pairs.near.shape[1]):
            b = pairs.X[pairs.near[i, k]]
            total = 0.0
            for j in range(len(weights)):
                apart = abs(a[j] - b[j])
                total += weights[j] * (apart * (half * apart / (a[j] + b[j] + tiny) if pairs.is_chi2[j] else one))
            out[i, k] = total


@compiled(fastmath=SUMS)
def slopes_of_pairs(pairs: Pairs, counts: Array, gradient: Array) -> None:
    """``gradient += counts[i, k] * d`` over all pairs, the transpose of ``distances_of_pairs``."""
    kind = pairs.X.dtype.type
    tiny, half, one = kind(_TINY), kind(0.5), kind(1)
    for i in range(len(pairs.pictures)):
        a = pairs.X[pairs.pictures[i]]
        for k in range(pairs.near.shape[1]):
            if counts[i, k] == 0:
                continue
            b = pairs.X[pairs.near[i, k]]
            for j in range(len(gradient)):
                apart = abs(a[j] - b[j])
                share = half * apart / (a[j] + b[j] + tiny) if pairs.is_chi2[j] else one
                gradient[j] += counts[i, k] * (apart * share)


@compiled
def log_likelihood(x: Array, present: Array, gain: float, loss: float, slope: Array, offset: Array, G: Array) -> float:
    """The weighted log-likelihood of 0/1 ``present`` under ``sigmoid(slope * x + offset)``; ``G`` gets d/dx.

    An infinite ``slope[w]`` means no sigmoid: the probability is ``x`` itself, but at least 1e-5 for what is the case.
    ``gain`` weighs present tags and ``loss`` weighs absent tags.
    """
    total = 0.0
    for i in range(x.shape[0]):
        for w in range(x.shape[1]):
            weight = gain if present[i, w] else loss
            if math.isinf(slope[w]):
                side = 1.0 if present[i, w] else -1.0
                p = x[i, w] if present[i, w] else 1 - x[i, w]
                if p < _LEAST_LIKELY:  # a constant, which has no slope
                    total += weight * math.log(_LEAST_LIKELY)
                    G[i, w] = 0.0
                else:
                    total += weight * math.log(p)
                    G[i, w] = side * weight / p
            else:
                score = slope[w] * x[i, w] + offset[w]
                side = 1.0 if present[i, w] else -1.0
                margin = side * score
                small = math.exp(-abs(margin))
                total += weight * (min(margin, 0.0) - math.log1p(small))
                # mutants: > -> >=: without a margin small is 1 and both branches give one half
                miss = small / (1 + small) if margin > 0 else 1 / (1 + small)
                G[i, w] = side * weight * miss * slope[w]
    return total
