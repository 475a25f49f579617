"""Approximate nearest neighbours of all rows, in nearly linear time.

Trees of random cuts (Dasgupta and Freund 2008) put similar rows into the same leaves. Then each row looks at the
neighbours of its neighbours, until hardly any row finds a nearer one (nearest-neighbour descent: Dong, Moses and Li
2011).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.compute.parallel import Engine, Shard, map_shards, split
from visterm.contracts import Matrix

#: Trees, rows of a leaf, and the least number of neighbours that a row keeps: with fewer, the search gets stuck.
_TREES, _LEAF, _MIND = 8, 40, 15
#: The most rounds, and the share of all entries that must have changed for another round.
_ROUNDS, _WORTHWHILE = 8, 0.002
#: The rows are shared out in about this many parts, which may run at the same time.
_PARTS = 16
#: Sparse rows are compared by random projections to _PROJECTED dimensions. They give _CANDIDATES times as many
#: neighbours as wanted, of which the nearest are kept. _PAIRS pairs are compared at a time.
_PROJECTED, _CANDIDATES, _PAIRS = 96, 3, 2**20
#: Features whose largest number lies within this power of two are compared as they are.
_USUAL = 30


def nearest_of_all(
    rows: Matrix, n_neighbors: int, *, random_state: int = 0
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """For every row, the (almost surely) nearest other rows, nearest first, and their Euclidean distances.

    For sparse rows, random projections find candidates; then the best candidates are compared exactly.

    >>> rows = np.arange(500, dtype=np.float32)[:, None]
    >>> nearest_of_all(rows, 2)[0][100].tolist()
    [99, 101]
    """
    unit = _unit(rows)
    if unit != 1:  # squares of very large or small numbers are no numbers
        found, distances = nearest_of_all(rows / unit, n_neighbors, random_state=random_state)
        return found, (distances * np.float64(unit)).astype(np.float32)
    if not isinstance(rows, np.ndarray):
        candidates, _ = _descend(_projected(rows, random_state), _CANDIDATES * n_neighbors, random_state)
        return _best_of(rows, candidates, n_neighbors)
    found, squared = _descend(np.ascontiguousarray(rows, np.float32), n_neighbors, random_state)
    return found, np.sqrt(squared)


def _unit(rows: Matrix) -> float:
    """A power of two, by which dividing is exact: 1, or near the largest number if that is very large or small."""
    largest = float(np.abs(rows if isinstance(rows, np.ndarray) else rows.data).max(initial=0.0))
    exponent = int(np.frexp(largest)[1])
    return 1.0 if not largest or abs(exponent) <= _USUAL else 2.0**exponent


def _descend(
    rows: NDArray[np.float32], n_neighbors: int, random_state: int
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    from visterm.graph.nearest import _kernels_nearest as kernels

    n = len(rows)
    k = min(max(n_neighbors, _MIND), n - 1)
    lists = kernels.Lists(
        np.full((n, k), kernels.EMPTY, np.int32), np.full((n, k), np.inf, np.float32), np.zeros((n, k), np.bool_)
    )
    threads = Engine("threads")  # they share the lists
    order = np.empty(n, np.int32)
    for tree, seed in enumerate(range(random_state, random_state + _TREES)):
        ends = kernels.cut(rows, _LEAF, seed, order)

        def compare(leaves: Shard, order: Any = order, ends: Any = ends) -> None:
            kernels.compare_leaves(rows, order, ends, leaves.start, leaves.stop, lists)

        _all(compare, len(ends), threads, f"Cutting, tree {tree + 1} of {_TREES}")
    backward = kernels.Neighbours(np.empty((n, k), np.int32), np.empty((n, k), np.bool_))
    for _ in range(_ROUNDS):
        forward = kernels.Neighbours(lists.found.copy(), lists.is_new.copy())
        kernels.reverse_lists(forward, backward)

        def ask(shard: Shard, forward: Any = forward) -> int:
            return kernels.compare_neighbours(rows, shard.start, shard.stop, forward, backward, lists)

        n_changed = sum(_all(ask, n, threads, "Asking neighbours"))
        if n_changed < _WORTHWHILE * lists.found.size:
            break
    return lists.found[:, :n_neighbors], lists.squared[:, :n_neighbors]


def _all(task: Any, n: int, engine: Engine, description: str) -> list[Any]:
    # mutants: 1 -> 2: parts of another size, which do not change what is found
    return list(map_shards(task, split(n, size=1 + n // _PARTS), engine=engine, description=description))


def _projected(rows: sparse.csr_array, random_state: int) -> NDArray[np.float32]:
    """Random projections: in one unit of length, distances change by about a tenth (Johnson and Lindenstrauss 1984)."""
    directions = np.random.default_rng(random_state).standard_normal((rows.shape[1], _PROJECTED))
    return np.ascontiguousarray(rows @ directions, np.float32)


def _best_of(
    rows: sparse.csr_array, candidates: NDArray[np.int32], n_neighbors: int
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The nearest of every row's candidates, by exact distances."""
    n, n_candidates = candidates.shape
    n_neighbors = min(n_neighbors, n_candidates)
    squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    found, distances = np.empty((n, n_neighbors), np.int32), np.empty((n, n_neighbors), np.float32)
    for shard in split(n, size=max(1, _PAIRS // n_candidates)):
        columns = candidates[shard.rows]
        owners = np.repeat(np.arange(shard.start, shard.stop), n_candidates)
        products = np.asarray(rows[owners].multiply(rows[columns.ravel()]).sum(axis=1)).ravel()
        squared = squares[owners] + squares[columns.ravel()] - 2 * products
        squared = np.maximum(squared, 0).reshape(columns.shape).astype(np.float32)
        best = np.lexsort((columns, squared), axis=1)[:, :n_neighbors]
        found[shard.rows] = np.take_along_axis(columns, best, axis=1)
        distances[shard.rows] = np.sqrt(np.take_along_axis(squared, best, axis=1))
    return found, distances
