"""Numba kernels over neighbour graphs (CSR): every picture's distribution, given the distributions of its neighbours.

An update maximises, over the simplex, a picture's own term minus ``strength / 2 * (degree |p|^2 - 2 p . pull)``, where
``pull`` is the weighted sum of the neighbours' distributions. The problem is concave, with a diagonal Hessian and one
Lagrange multiplier. Given the multiplier, each entry has its own solution. The sum of the entries is a convex, falling
function of the multiplier. So Newton's method, started where the sum is at least one, reaches the root without ever
passing it.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from visterm.compute.compiled import compiled


class Links(NamedTuple):
    """A graph as CSR arrays for kernels: picture i is linked to ``indices`` with ``weights`` from ``indptr[i]``."""

    indptr: Any
    indices: Any
    weights: Any

    @classmethod
    def of(cls, links: Any) -> "Links":
        """The arrays of a CSR matrix. Loops are compiled for each type of indices, so all have one type."""
        return cls(links.indptr.astype(np.int64, copy=False), links.indices.astype(np.int64, copy=False), links.data)


_STEPS, _LEAPS = 100, 20
_TOLERANCE = 1e-13
#: Entries whose logarithm is below this are negligible: only their exponential is computed.
_LOG_NOTHING = -40.0
#: The least entry whose logarithm is taken.
_LEAST = 1e-300


@compiled
def tolerance(at: float, relative: float) -> float:
    """The size of a step from ``at`` that is no longer worthwhile: relative, and absolute near 0."""
    return relative * (1.0 + abs(at))


@compiled
def log_share(t: float, c: float) -> float:
    """The u with ``u + c exp(u) = t``, by Newton's method; ``exp(u)`` is ``lambertw(c exp(t)) / c``."""
    if t < _LOG_NOTHING:
        return t
    # mutants: 0.0 -> 1.0: another start of Newton's method, which leads to the same root
    u = min(t, 0.0)  # the root lies below t; from its left the first step goes to its right, then all steps go left
    for _ in range(_STEPS):
        p = c * math.exp(u)
        step = (u + p - t) / (1.0 + p)
        u = min(u - step, t)
        if abs(step) < tolerance(u, _TOLERANCE):
            break
    return u


@compiled
def _descend_discrete(t: Any, c: float, largest: float, p: Any) -> None:
    """Solve ``log p + c p = t - multiplier``, ``sum(p) = 1`` from the left of the multiplier; slow but safe."""
    multiplier = largest - c  # there the largest entry alone is one
    for _ in range(_STEPS):
        total, slope = 0.0, 0.0
        for k in range(len(p)):
            p[k] = math.exp(log_share(t[k] - multiplier, c))
            total += p[k]
            slope += p[k] / (1.0 + c * p[k])
        step = (total - 1.0) / slope
        if step <= tolerance(multiplier, _TOLERANCE):
            break
        multiplier += step
    # mutants: / -> *: the steps end when the sum is one up to rounding errors
    p[:] = p / p.sum()


@compiled
def _leap_discrete(t: Any, c: float, p: Any, logs: Any) -> bool:
    """:func:`_descend_discrete` with joint steps of all entries and the multiplier from ``p``; False if it diverged.

    From the distribution of the last sweep two or three steps suffice, each with one exponential per entry.
    """
    # mutants: 0.0 -> 1.0: the first step does not depend on the start; this only says which entries are negligible
    #   before it
    multiplier = 0.0
    for k in range(len(p)):
        logs[k] = math.log(max(p[k], _LEAST))
        multiplier += p[k] * (t[k] - c * p[k])  # about: the first step does not depend on it
    for _ in range(_LEAPS):
        total, slope, missed = 0.0, 0.0, 0.0
        for k in range(len(p)):
            if t[k] - multiplier < _LOG_NOTHING:
                p[k] = 0.0
                continue
            weight = p[k] / (1.0 + c * p[k])
            total += p[k]
            slope += weight
            missed += weight * (logs[k] + c * p[k] - t[k] + multiplier)
        if not slope > 0.0:
            return False
        multiplier += (total - 1.0 - missed) / slope
        moved = abs(total - 1.0)
        for k in range(len(p)):
            if t[k] - multiplier < _LOG_NOTHING:
                continue
            change = (t[k] - multiplier - logs[k] - c * p[k]) / (1.0 + c * p[k])
            # mutants: 0.0 -> 1.0: a wider bound of the steps, which the solution does not touch
            logs[k] = min(logs[k] + change, min(t[k] - multiplier, 0.0))
            share = math.exp(logs[k])
            moved += abs(share - p[k])
            p[k] = share
        if moved < _TOLERANCE:
            for k in range(len(p)):
                if p[k] == 0.0:
                    p[k] = math.exp(t[k] - multiplier)
            return True
    return False


@compiled
def best_discrete(score: Any, pull: Any, strength: float, degree: float, p: Any, room: Any) -> None:
    """Move ``p`` to the maximum of ``p . (score - log p) - strength / 2 * (degree |p|^2 - 2 p . pull)``.

    The free-form discrete variable; ``score`` is the expected log joint probability of each of its values. Without
    neighbours ``p = softmax(score)``. ``room`` is a scratch array (2, n_topics).
    """
    n_topics = len(score)
    t = room[0]
    largest = -np.inf
    for k in range(n_topics):
        t[k] = score[k] + strength * pull[k]
        largest = max(largest, t[k])
    c = strength * degree
    if c == 0.0:
        for k in range(n_topics):
            p[k] = math.exp(t[k] - largest)
        p /= p.sum()
    elif not _leap_discrete(t, c, p, room[1]):
        _descend_discrete(t, c, largest, p)


@compiled
def best_point(expected: Any, pull: Any, strength: float, degree: float, p: Any) -> None:
    """Write to ``p`` the maximiser of ``expected . log p - strength / 2 * (degree |p|^2 - 2 p . pull)``.

    The point estimate; ``expected`` is the expected count of each value. Without neighbours
    ``p = expected / expected.sum()``, uniform if nothing was counted.
    """
    n_topics = len(expected)
    c = strength * degree
    total = expected.sum()
    if c == 0.0:
        for k in range(n_topics):
            p[k] = expected[k] / total if total > 0.0 else 1.0 / n_topics
        return
    # c p_k^2 + (multiplier - strength pull_k) p_k = expected_k; at the start, the root of the greatest entry is one.
    multiplier = -np.inf
    for k in range(n_topics):
        # mutants: + -> -: another start to the left of the root
        multiplier = max(multiplier, expected[k] - c + strength * pull[k])
    for _ in range(_STEPS):
        total, slope = 0.0, 0.0
        for k in range(n_topics):
            half = 0.5 * (strength * pull[k] - multiplier)
            root = math.sqrt(half * half + c * expected[k])
            # The root has two forms; this is the one in which nothing cancels.
            # mutants: > -> >=: both forms are the same number
            p[k] = (half + root) / c if half > 0.0 else (expected[k] / (root - half) if root > half else 0.0)
            total += p[k]
            if p[k] > 0.0:
                slope += 0.5 * p[k] / root
        step = (total - 1.0) / slope
        if step <= tolerance(multiplier, _TOLERANCE):
            break
        multiplier += step
    # mutants: / -> *: the steps end when the sum is one up to rounding errors
    p[:] = p / p.sum()


@compiled
def gather(links: Links, i: int, neighbours: Any, pull: Any) -> float:
    """Set ``pull`` to ``weights[i] @ neighbours`` of CSR row ``i``; returns the row's sum, the degree."""
    pull[:] = 0.0
    degree = 0.0
    for e in range(links.indptr[i], links.indptr[i + 1]):
        w = links.weights[e]
        degree += w
        row = neighbours[links.indices[e]]
        for k in range(len(pull)):
            pull[k] += w * row[k]
    return degree


@compiled
def sweep_discrete(links: Links, scores: Any, strength: float, order: Any, neighbours: Any, P: Any) -> None:
    """:func:`best_discrete` for the rows of ``P`` in the given order; neighbours are rows of ``neighbours``.

    If both are the same array, later rows use the updates of earlier rows.
    """
    # mutants: 2 -> 3: one more row of scratch, which nothing uses
    pull, room = np.empty(P.shape[1]), np.empty((2, P.shape[1]))
    for i in order:
        degree = gather(links, i, neighbours, pull)
        best_discrete(scores[i], pull, strength, degree, P[i], room)


@compiled
def sweep_point(links: Links, expected: Any, strength: float, order: Any, neighbours: Any, P: Any) -> None:
    """:func:`sweep_discrete` with :func:`best_point`."""
    pull = np.empty(P.shape[1])
    for i in order:
        degree = gather(links, i, neighbours, pull)
        best_point(expected[i], pull, strength, degree, P[i])


@compiled
def roughness(links: Links, P: Any) -> float:
    """``sum_k P[:, k] @ L @ P[:, k]``: half the sum over i and j of ``weight_ij |P_i - P_j|^2``."""
    total = 0.0
    for i in range(len(links.indptr) - 1):
        for e in range(links.indptr[i], links.indptr[i + 1]):
            j = links.indices[e]
            apart = 0.0
            for k in range(P.shape[1]):
                apart += (P[i, k] - P[j, k]) ** 2
            total += links.weights[e] * apart
    return 0.5 * total
