"""Pictures and tags as bags of tokens, the form in which topic models count them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.compute.parallel import Shard
from visterm.contracts import Features, check_features, check_tags
from visterm.errors import InputError


class Bags(NamedTuple):
    """The tokens of pictures as CSR arrays for kernels: picture d has ``indices`` and ``counts`` from ``indptr[d]``."""

    indptr: NDArray[Any]
    indices: NDArray[Any]
    counts: NDArray[Any]


def rows_of(bags: sparse.csr_array, shard: Shard) -> Bags:
    """The pictures of a shard; indices and counts are views."""
    counts = counts_of(bags, shard)
    return Bags(bags.indptr[shard.start : shard.stop + 1] - counts.start, bags.indices[counts], bags.data[counts])


def counts_of(bags: sparse.csr_array, shard: Shard) -> slice:
    """The slice of all counts that belongs to a shard's pictures."""
    return slice(bags.indptr[shard.start], bags.indptr[shard.stop])


def check_bags(estimator: Any, X: Features, *, fitting: bool, n_tokens: float | None = None) -> sparse.csr_array:
    """``X`` as float64 CSR counts without zeros; ``n_tokens`` scales every picture to that many tokens.

    A histogram that sums to one counts as a single token; ``n_tokens`` sets how many tokens it stands for. None or 0
    takes the counts as they are.

    >>> from visterm.contracts.estimator import Estimator
    >>> check_bags(Estimator(), [[0.5, 0.0, 0.5]], fitting=True, n_tokens=100).toarray()
    array([[50.,  0., 50.]])
    """
    # A copy, since zeros and duplicates are removed in place.
    counts = sparse.csr_array(check_features(estimator, X, fitting=fitting), dtype=np.float64, copy=True)
    if counts.nnz <= np.iinfo(np.int32).max:  # loops are compiled for each type of indices: one is enough
        counts.indptr = counts.indptr.astype(np.int32, copy=False)
        counts.indices = counts.indices.astype(np.int32, copy=False)
    counts.sum_duplicates()
    counts.eliminate_zeros()
    if counts.nnz and counts.data.min() < 0:
        raise InputError(
            f"Negative values in data passed to {type(estimator).__name__}: it counts codewords, so pass bags or"
            " histograms"
        )
    if not n_tokens:
        return counts
    counts.data *= n_tokens / np.repeat(counts.sum(axis=1), np.diff(counts.indptr))
    return counts


def check_tag_bags(tags: Any, n_rows: int) -> sparse.csr_array:
    """``tags`` as float64 CSR; at least one picture must have one."""
    checked = check_tags(tags, n_rows)
    if not checked.nnz:
        raise InputError("no picture has a tag: at least one is needed to learn from")
    return checked.astype(np.float64)


def distributions(weights: NDArray[Any]) -> NDArray[np.float64]:
    """The rows scaled to sum to one; a row of zeros becomes uniform.

    >>> distributions(np.array([[1.0, 3.0], [0.0, 0.0]]))
    array([[0.25, 0.75], [0.5 , 0.5 ]])
    """
    weights = np.ascontiguousarray(weights, dtype=np.float64)
    totals = weights.sum(axis=-1, keepdims=True)
    return np.divide(weights, totals, out=np.full(weights.shape, 1 / weights.shape[-1]), where=totals > 0)
