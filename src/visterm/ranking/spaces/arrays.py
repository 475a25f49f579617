"""The arrays that the compiled loops of ranking take."""

from typing import Any, NamedTuple

from numpy.typing import NDArray

Array = NDArray[Any]


class CountArrays(NamedTuple):
    """Pictures as CSR counts with unsigned indices, and a scratch array of n_dims zeros for one dense picture."""

    indptr: Array
    indices: Array
    data: Array
    room: Array


class GramArrays(NamedTuple):
    """Pictures as their Gram matrix."""

    G: Array


class RelevanceArrays(NamedTuple):
    """The gains of pictures for queries in CSR form, with sorted indices. The largest gain of each query is 1."""

    indptr: Array
    indices: Array
    gains: Array
    #: The query of each entry.
    query: Array
    n_pictures: int


class StepRule(NamedTuple):
    """The size of steps and the choice of triplets: see ``_kernels.learn``."""

    aggressiveness: float
    every_query_alike: bool
    #: How much a relevant picture at each rank is moved; empty if the rank does not matter.
    top_weights: Array
    n_trials: int
