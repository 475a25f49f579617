"""Numba kernels for the parametric case: Dirichlet posteriors whose means become similar over a graph."""

import math
from typing import Any

import numpy as np

from visterm.compute.compiled import compiled
from visterm.graph.inference._kernels import Links, gather, tolerance
from visterm.topics import digamma, trigamma

_STEPS, _HALVINGS = 30, 40
_TOLERANCE = 1e-10
#: A step uses at most this share of the way to a parameter of zero.
_WAY = 0.9


@compiled
def own_value(target: Any, gamma: Any) -> float:
    """The terms of a picture's bound that depend on ``gamma``; the best is ``target``, alpha plus the expected counts.

    ``((target - gamma) * (digamma(gamma) - digamma(gamma.sum()))).sum() + gammaln(gamma).sum() - gammaln(gamma.sum())``
    """
    total = gamma.sum()
    normaliser = digamma(total)
    value = -math.lgamma(total)
    for k in range(len(gamma)):
        value += (target[k] - gamma[k]) * (digamma(gamma[k]) - normaliser) + math.lgamma(gamma[k])
    return value


@compiled
def value(target: Any, pull: Any, strength: float, degree: float, gamma: Any) -> float:
    """:func:`own_value` minus ``strength / 2 * (degree |mean|^2 - 2 mean . pull)``, mean = gamma / gamma.sum()."""
    total = gamma.sum()
    smooth = 0.0
    for k in range(len(gamma)):
        mean = gamma[k] / total
        smooth += degree * mean * mean - 2.0 * mean * pull[k]
    return own_value(target, gamma) - 0.5 * strength * smooth


@compiled
def gradient(target: Any, pull: Any, strength: float, degree: float, gamma: Any, out: Any) -> None:
    """Write the derivatives of :func:`value` with respect to ``gamma`` to ``out``."""
    total, surplus, common = gamma.sum(), 0.0, 0.0
    for k in range(len(gamma)):
        surplus += target[k] - gamma[k]
        common += gamma[k] / total * (pull[k] - degree * gamma[k] / total)
    shared = trigamma(total) * surplus
    for k in range(len(gamma)):
        drawn = pull[k] - degree * gamma[k] / total - common
        out[k] = (target[k] - gamma[k]) * trigamma(gamma[k]) - shared + strength * drawn / total


@compiled
def newton_direction(slope: Any, strength: float, degree: float, gamma: Any, out: Any) -> None:
    """Write ``inv(A) @ slope`` to ``out``; A is the Fisher information plus the regulariser's curvature in the mean::

        A = diag(trigamma(gamma)) - trigamma(gamma.sum()) 1 1' + a (I - 1 m') (I - m 1')

    with mean m and ``a = strength * degree / gamma.sum() ** 2``: positive definite, so the direction goes uphill. A is
    a diagonal plus a matrix over 1 and m, so Woodbury's identity makes the cost linear in the number of topics.
    """
    total = gamma.sum()
    a = strength * degree / (total * total)
    square = 0.0
    for k in range(len(gamma)):
        square += (gamma[k] / total) ** 2
    # A = D + U C U' with U = [1, m] and C = [[corner, -a], [-a, 0]].
    corner = a * square - trigamma(total)
    ee, em, mm, ev, mv = 0.0, 0.0, 0.0, 0.0, 0.0  # U' inv(D) U and U' inv(D) slope
    for k in range(len(gamma)):
        mean = gamma[k] / total
        inverse = 1.0 / (trigamma(gamma[k]) + a)
        out[k] = inverse
        ee += inverse
        em += inverse * mean
        mm += inverse * mean * mean
        ev += inverse * slope[k]
        mv += inverse * mean * slope[k]
    # Solve (I + C U' inv(D) U) x = C U' inv(D) slope.
    p, q = 1.0 + corner * ee - a * em, corner * em - a * mm
    r, s = -a * ee, 1.0 - a * em
    right, left = corner * ev - a * mv, -a * ev
    determinant = p * s - q * r
    x, y = (right * s - q * left) / determinant, (p * left - r * right) / determinant
    for k in range(len(gamma)):
        out[k] *= slope[k] - x - y * gamma[k] / total


@compiled
def best_dirichlet(target: Any, pull: Any, strength: float, degree: float, gamma: Any, room: Any) -> None:
    """Raise :func:`value` to its maximum by Newton's method with step halving, from ``gamma`` or ``target``.

    Without neighbours ``gamma = target``. ``room`` is a scratch array (3, n_topics). The value never falls.
    """
    if strength * degree == 0.0:
        gamma[:] = target
        return
    slope, direction, trial = room[0], room[1], room[2]
    current = value(target, pull, strength, degree, gamma)
    at_target = value(target, pull, strength, degree, target)
    # mutants: > -> >=: two starts of exactly the same value are as good
    if at_target > current:
        gamma[:] = target
        current = at_target
    for _ in range(_STEPS):
        gradient(target, pull, strength, degree, gamma, slope)
        newton_direction(slope, strength, degree, gamma, direction)
        # mutants: 1.0 -> 2.0: a step that is too long is halved, and the last steps hardly move
        length = 1.0
        for k in range(len(gamma)):
            # mutants: < -> <=: a direction is exactly 0 only at the end, where no step is taken
            if direction[k] < 0.0:
                length = min(length, -_WAY * gamma[k] / direction[k])  # parameters stay positive
        before = current
        for _ in range(_HALVINGS):
            for k in range(len(gamma)):
                trial[k] = gamma[k] + length * direction[k]
            updated = value(target, pull, strength, degree, trial)
            # mutants: > -> >=: a step between two points of exactly the same value is the last
            if updated > current:
                gamma[:] = trial
                current = updated
                break
            length *= 0.5
        if current - before <= tolerance(current, _TOLERANCE):
            break


@compiled
def sweep_dirichlet(
    links: Links, targets: Any, strength: float, order: Any, neighbours: Any, gammas: Any, means: Any
) -> None:
    """:func:`best_dirichlet` for the rows of ``gammas`` in the given order; ``means`` are updated too.

    ``neighbours`` holds the means of the pictures of the graph's columns. If it is ``means`` itself, later rows use the
    updates of earlier rows.
    """
    # mutants: 3 -> 4: one more row of scratch, which nothing uses
    pull, room = np.empty(gammas.shape[1]), np.empty((3, gammas.shape[1]))
    for i in order:
        degree = gather(links, i, neighbours, pull)
        best_dirichlet(targets[i], pull, strength, degree, gammas[i], room)
        means[i] = gammas[i] / gammas[i].sum()


@compiled
def own_values(targets: Any, gammas: Any) -> float:
    """The sum of :func:`own_value` over pictures."""
    total = 0.0
    for i in range(len(targets)):
        total += own_value(targets[i], gammas[i])
    return total
