"""The nearest rows: every pair is compared, in blocks, so that memory stays bounded."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute.parallel import map_shards, split
from visterm.contracts import Matrix, in_single
from visterm.distances.metrics import metric_named

#: Distances and the rows compared for them take at most this many bytes at a time.
BLOCK_BYTES = 64 * 2**20
#: From this many distances on, compiled code finds the smallest; for fewer, loading the compiler costs more.
_COMPILED_FROM = 2**20
#: Rows of at most this many float32 are compared as codes.
_CODE_WIDTH = 64
#: For more neighbours than this, rows are sorted.
_FEW = 256
#: Codes are compared for this many queries at a time.
_CODE_BLOCK = 512


def nearest(
    queries: Matrix,
    train: Matrix,
    n_neighbors: int,
    *,
    metric: str = "euclidean",
    own_rows: NDArray[np.intp] | None = None,
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """The ``n_neighbors`` training rows nearest each query, nearest first, and their distances.

    Every pair is compared. Distances are precise to a millionth of the rows' length, and equal distances are ordered by
    row, so that the answer does not depend on the block size. ``own_rows``, if given, holds the training row of each
    query itself: no picture is its own neighbour.

    >>> nearest(np.array([[0.1]]), np.array([[1.0], [0.0], [5.0]]), 2)[0]
    array([[1, 0]])
    """
    if own_rows is not None:
        rows, distances = nearest(queries, train, n_neighbors + 1, metric=metric)
        kept, shape = of_others(rows, own_rows), (len(rows), rows.shape[1] - 1)
        return rows[kept].reshape(shape), distances[kept].reshape(shape)
    named = metric_named(metric)
    n_neighbors = min(n_neighbors, int(train.shape[0]))
    if metric == "euclidean" and _are_codes(queries, train, n_neighbors):
        return _nearest_codes(queries, train, n_neighbors)
    # Euclidean distances are products in float64, to which halves are converted some at a time.
    prepared = named.prepare(train if metric == "euclidean" else in_single(train))

    def of_block(rows: slice) -> tuple[NDArray[np.intp], NDArray[Any]]:
        block = named.between(named.prepare(in_single(queries[rows])), prepared)
        chosen = smallest(block, n_neighbors)
        return chosen, np.take_along_axis(block, chosen, axis=1)

    # Half a block for each of two threads.
    shards = split(int(queries.shape[0]), size=max(1, BLOCK_BYTES // (16 * max(1, int(train.shape[0])))))
    if not shards:
        return np.empty((0, n_neighbors), np.intp), np.empty((0, n_neighbors))
    if len(shards) == 1:
        return of_block(shards[0].rows)
    found = list(map_shards(lambda shard: of_block(shard.rows), shards, description="Finding look-alikes"))
    return np.concatenate([rows for rows, _ in found]), np.concatenate([distances for _, distances in found])


def of_others(near: NDArray[np.intp], own_rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which of ``near`` to keep so that no picture is its own neighbour: all but one in every row.

    If copies of a picture have pushed out its own row, the last neighbour is left out.
    """
    keep = near != own_rows[:, None]
    keep[keep.all(axis=1), -1] = False
    return keep


def _are_codes(queries: Matrix, train: Matrix, n_neighbors: int) -> bool:
    """Whether many short rows of float32 are compared, whose squares neither overflow nor vanish."""
    if not (isinstance(queries, np.ndarray) and isinstance(train, np.ndarray)):
        return False
    if not queries.dtype == train.dtype == np.float32 or train.shape[1] > _CODE_WIDTH or n_neighbors > _FEW:
        return False
    if len(queries) * len(train) < _COMPILED_FROM:
        return False
    largest = max(float(np.abs(queries).max()), float(np.abs(train).max()))
    # mutants: 1e -> 2e: a cautious limit: both ways find the same rows for values far below it
    # mutants: 1e15 -> 2000000000000000.0: a cautious limit: both ways find the same rows for values far above it
    return 1e-12 < largest < 1e15


def _nearest_codes(queries: Any, train: Any, n_neighbors: int) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """The nearest rows without a matrix of distances. Differences are squared, so that nothing cancels in float32."""
    from visterm.distances import _kernels

    columns = np.ascontiguousarray(train.T)
    rows = np.empty((len(queries), n_neighbors), np.intp)
    distances = np.empty((len(queries), n_neighbors), np.float32)

    def of_block(block: slice) -> None:
        _kernels.nearest_codes(np.ascontiguousarray(queries[block]), columns, rows[block], distances[block])

    for _ in map_shards(
        lambda shard: of_block(shard.rows), split(len(queries), size=_CODE_BLOCK), description="Finding look-alikes"
    ):
        pass
    return rows, np.sqrt(distances, out=distances)


def smallest(block: NDArray[Any], k: int) -> NDArray[np.intp]:
    """The columns of the ``k`` smallest values of each row, in order, ties by column.

    >>> smallest(np.array([[3.0, 1.0, 2.0, 1.0]]), 3)
    array([[1, 3, 2]])
    """
    # mutants: // -> /, 2 -> 3: both ways give the same order; which is faster changes at about this number
    if k > min(_FEW, block.shape[1] // 2):
        return np.argsort(block, axis=1, kind="stable")[:, :k]
    chosen = np.empty((len(block), k), np.intp)
    # mutants: not: both ways give the same order; which is faster changes at about this number
    if block.size >= _COMPILED_FROM:
        from visterm.distances import _kernels

        _kernels.smallest(block, chosen)
        return chosen
    # Everything up to the k-th value, ties included, is a candidate; only candidates are sorted.
    # mutants: - -> +: then the limit is a larger value: more candidates are sorted, and the same are first
    last = k - 1
    kth = np.partition(block, last, axis=1)[:, last, None]
    for row, candidates in enumerate(block <= kth):
        columns = np.flatnonzero(candidates)
        chosen[row] = columns[np.argsort(block[row, columns], kind="stable")[:k]]
    return chosen
