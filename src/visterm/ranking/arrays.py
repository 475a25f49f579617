"""Pictures, queries and relevance as groups of arrays, as compiled code takes them."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

Array = NDArray[Any]


class CountArrays(NamedTuple):
    """Pictures as CSR counts with unsigned indices, and room to spread a picture out in for a while: n_dims zeros."""

    indptr: Array
    indices: Array
    data: Array
    room: Array


class GramArrays(NamedTuple):
    """Pictures as their Gram matrix."""

    G: Array


class QueryArrays(NamedTuple):
    """Query vectors in CSR form: the words of query q are ``indices[indptr[q] : indptr[q + 1]]``."""

    indptr: Array
    indices: Array
    data: Array


class RelevanceArrays(NamedTuple):
    """The gains of pictures for queries in CSR form, indices sorted, the largest gain of each query 1."""

    indptr: Array
    indices: Array
    gains: Array
    #: The query of each entry.
    query: Array
    n_pictures: int


class StepRule(NamedTuple):
    """How large a step is, and which triplets are stepped: see ``_kernels.learn``."""

    aggressiveness: float
    every_query_alike: bool
    #: How much a relevant picture at each rank is moved; empty where the rank does not matter.
    top_weights: Array
    n_trials: int
