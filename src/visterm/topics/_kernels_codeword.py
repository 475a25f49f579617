"""Numba kernels for the step of one codeword in supervised LDA: its new phi, equation (8), and the bound around it.

``room`` is the :class:`visterm.topics._kernels_slda.Room` of the picture.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from visterm.compute.compiled import compiled
from visterm.topics._kernels_class import ClassTerm, log_normaliser_at
from visterm.topics._kernels_lda import FAST, TINY

#: Closer to 0 than this, a short series of the exponential is exact to about 1e-14 and uses vector registers.
_NEAR = 0.06


@compiled(fastmath=FAST)
def exponentials(x: Any, nearest: float, out: Any) -> None:
    """``out`` = exp(x) for x between ``nearest`` and 0; a short series if it is exact enough."""
    if nearest > -2.0 * _NEAR:
        for k in range(len(x)):
            t = x[k]
            series = 1.0 + t / 7.0 * (1.0 + t / 8.0)
            series = 1.0 + t / 4.0 * (1.0 + t / 5.0 * (1.0 + t / 6.0 * series))
            out[k] = 1.0 + t * (1.0 + t / 2.0 * (1.0 + t / 3.0 * series))
    else:
        for k in range(len(x)):
            out[k] = math.exp(x[k])


@compiled(fastmath=FAST)
def best_topics(weights: Any, likelihood: Any, evidence: Any, prior: Any, updated: Any) -> float:
    """The phi of one codeword, equation (8); returns -sum_k phi_k log(phi_k / prior_k).

    The same as::

        prior = weights * likelihood
        updated = prior * np.exp(evidence)
        updated /= updated.sum()
    """
    largest, least = -np.inf, np.inf
    for k in range(len(prior)):
        largest, least = max(largest, evidence[k]), min(least, evidence[k])
    for k in range(len(prior)):
        updated[k] = evidence[k] - largest
    exponentials(updated, least - largest, updated)
    total = TINY
    for k in range(len(prior)):
        prior[k] = weights[k] * likelihood[k]
        updated[k] *= prior[k]
        total += updated[k]
    entropy = math.log(total) + largest
    for k in range(len(prior)):
        updated[k] /= total
        entropy -= updated[k] * evidence[k]
    return entropy


@compiled(fastmath=FAST)
def relative_entropy(phi: Any, prior: Any) -> float:
    """-sum_k phi_k log(phi_k / prior_k)."""
    total = 0.0
    for k in range(len(phi)):
        if phi[k] > 0.0:
            total -= phi[k] * math.log(phi[k] / (prior[k] + TINY))
    return total


@compiled(fastmath=FAST)
def local_bound(phi: Any, count: float, j: int, term: ClassTerm, room: Any) -> float:
    """The terms of the bound that depend on the phi of codeword ``j``."""
    value = relative_entropy(phi, room.prior)
    for k in range(len(phi)):
        value += phi[k] * room.linear[k]
    return count * value - term.weight * log_normaliser_at(term, j, count, phi)


@compiled(fastmath=FAST)
def step_back(phi: Any, count: float, j: int, term: ClassTerm, room: Any) -> None:
    """Halve the step from ``phi`` to ``room.updated`` until the bound does not fall.

    This is for a codeword with ``count`` > limit. A step of 2 / (1 + count / limit) never lets the bound fall.
    """
    before = local_bound(phi, count, j, term, room)
    safe, step = 2.0 / (1.0 + count / term.limit), 1.0
    while step > safe:
        if local_bound(room.updated, count, j, term, room) >= before:
            break
        step *= 0.5
        for k in range(len(phi)):
            room.updated[k] = 0.5 * (room.updated[k] + phi[k])
