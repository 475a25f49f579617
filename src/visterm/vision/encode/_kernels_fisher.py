"""Numba kernel of Fisher vectors: sums over descriptors with sparse responsibilities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from visterm.compute.compiled import compiled


# The joint is finite, and the compiler may only reorder additions: this lets it use vector registers.
@compiled(fastmath={"reassoc", "contract", "nnan", "nsz"})
def sum_likely(terms: Any, joint: Any, least: Any, sums: Any) -> None:
    """``sums[k] += r[i, k] * terms[i]`` over the components k that are likely for descriptor i.

    ``joint[i, k]`` is log p(descriptor i, component k). Components less than exp(``least``) times as likely as the most
    likely one are left out; the responsibilities r of the others sum to one. The same as::

        gaps = joint - joint.max(axis=1, keepdims=True)
        odds = np.where(gaps >= least, np.exp(gaps), 0.0)
        sums += (odds / odds.sum(axis=1, keepdims=True)).T @ terms
    """
    n_components = joint.shape[1]
    likely = np.empty(n_components + 1, np.int64)  # one extra slot: a value written below is kept only if counted
    odds = np.empty(n_components, joint.dtype)
    for i in range(joint.shape[0]):
        largest = joint[i, 0]
        for k in range(n_components):
            if joint[i, k] > largest:
                largest = joint[i, k]
        n_likely = 0
        for k in range(n_components):
            likely[n_likely] = k
            n_likely += joint[i, k] - largest >= least
        total = 0.0
        for j in range(n_likely):
            odds[j] = math.exp(joint[i, likely[j]] - largest)
            total += odds[j]
        for j in range(n_likely):
            k = likely[j]
            odds[j] /= total
            for d in range(terms.shape[1]):
                sums[k, d] += odds[j] * terms[i, d]
