"""Compiled sums of descriptors: by their codeword, and by what components of a mixture are likely."""

import math
from typing import Any

import numpy as np

from visterm.compute.compiled import compiled


@compiled
def sum_by_word(descriptors: Any, ids: Any, sums: Any, counts: Any) -> None:
    """``sums[ids[i]] += descriptors[i]`` and ``counts[ids[i]] += 1`` for every i.

    The same as ``np.add.at(sums, ids, descriptors); np.add.at(counts, ids, 1)``.
    """
    for i in range(descriptors.shape[0]):
        word = ids[i]
        counts[word] += 1
        for d in range(descriptors.shape[1]):
            sums[word, d] += descriptors[i, d]


# The compiler may only reorder additions, so that the sums over dimensions use vector registers.
@compiled(fastmath={"reassoc", "contract"})
def squared_distances(descriptors: Any, words: Any, ids: Any, out: Any) -> None:
    """``out[i]``: the squared distance of ``descriptors[i]`` to ``words[ids[i]]``, by differences in float64.

    The same as ``((descriptors.astype(float) - words[ids]) ** 2).sum(axis=1)``.
    """
    for i in range(descriptors.shape[0]):
        word = ids[i]
        total = 0.0
        for d in range(descriptors.shape[1]):
            difference = np.float64(descriptors[i, d]) - np.float64(words[word, d])
            total += difference * difference
        out[i] = total


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
