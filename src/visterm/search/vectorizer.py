"""Queries as vectors: the normalised idf weights of their words (Grangier & Bengio 2008)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse


def idf(tag_counts: ArrayLike, n_pictures: int) -> NDArray[np.float64]:
    """``-log(share of pictures that carry the tag)``; a tag on every picture, or on none, tells nothing: 0.

    >>> idf([1, 4, 0], 4).round(3)
    array([1.386, 0. , 0. ])
    """
    counts = np.asarray(tag_counts, dtype=np.float64)
    share = np.where(counts > 0, counts / max(1, n_pictures), 1.0)
    return np.abs(np.log(share))


def query_vectors(queries: Iterable[Sequence[int]], tag_counts: ArrayLike, n_pictures: int) -> sparse.csr_array:
    """One row a query: the idf of its words, scaled to length one: (n_queries, n_tags).

    A query whose words all have idf 0 weighs them equally, so that it still asks for them.

    >>> query_vectors([[0, 1]], [1, 1, 4], 4).toarray().round(3)
    array([[0.707, 0.707, 0. ]], dtype=float32)
    """
    weights = idf(tag_counts, n_pictures)
    data: list[NDArray[Any]] = []
    indices: list[NDArray[Any]] = []
    indptr = [0]
    for words in queries:
        columns = np.unique(np.asarray(list(words), dtype=np.intp))
        row = weights[columns]
        if not row.any():
            row = np.ones(len(columns))
        data.append(row / max(np.linalg.norm(row), np.finfo(float).tiny))
        indices.append(columns)
        indptr.append(indptr[-1] + len(columns))
    parts = (np.concatenate(data or [np.empty(0)]), np.concatenate(indices or [np.empty(0, np.intp)]), indptr)
    return sparse.csr_array(parts, shape=(len(indptr) - 1, len(weights)), dtype=np.float32)
