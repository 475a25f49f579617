"""Numba kernels of clustering: sums of descriptors by their codeword."""

from __future__ import annotations

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
