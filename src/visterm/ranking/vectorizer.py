"""Queries given by the columns of their words, as vectors of normalised idf weights (Grangier & Bengio 2008)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from visterm.ranking import queries as vectors
from visterm.ranking.queries import idf

__all__ = ["idf", "query_vectors"]


def query_vectors(queries: Iterable[Sequence[int]], tag_counts: ArrayLike, n_pictures: int) -> sparse.csr_array:
    """One row a query: the idf of its words, scaled to length one: (n_queries, n_tags).

    A query whose words all have idf 0 weighs them equally, so that it still asks for them.

    >>> query_vectors([[0, 1]], [1, 1, 4], 4).toarray().round(3)
    array([[0.707, 0.707, 0. ]], dtype=float32)
    """
    weights = idf(tag_counts, n_pictures)
    columns = [np.unique(np.asarray(list(words), dtype=np.intp)) for words in queries]
    indices = np.concatenate([np.empty(0, np.intp), *columns])
    if len(indices) and not 0 <= indices.min() <= indices.max() < len(weights):
        raise IndexError(f"a query names a word outside the {len(weights)} known ones")
    indptr = np.cumsum([0, *map(len, columns)])
    wanted = sparse.csr_array((np.ones(len(indices)), indices, indptr), shape=(len(columns), len(weights)))
    return vectors.query_vectors(wanted, weights).astype(np.float32)
