"""Tags of the nearest pictures when each is stored in a few bytes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from visterm.compute.parallel import map_shards, split
from visterm.contracts import Features, check_features
from visterm.neighbours.knn import KnnAnnotator
from visterm.subspace.quantizer import Bytes, ProductQuantizer

#: Queries whose tables are made at a time.
_BLOCK = 256


class QuantizedKnnAnnotator(KnnAnnotator):
    """:class:`~visterm.neighbours.knn.KnnAnnotator` by Euclidean distances to pictures of ``n_bytes`` bytes each.

    For large collections of small codes: 20 dimensions of float32 are 80 bytes a picture, here a few. Queries are
    not quantised.

    >>> X, tags = np.repeat(np.eye(3), 20, axis=0), np.repeat(np.eye(3, dtype=int), 20, axis=0)
    >>> QuantizedKnnAnnotator(5, n_bytes=2).fit(X, tags).score_tags([[0.0, 0.9, 0.1]])
    array([[0., 1., 0.]])
    """

    def __init__(self, n_neighbors: Any = 16, *, n_bytes: int = 8, shrinkage: float = 0.0) -> None:
        super().__init__(n_neighbors, shrinkage=shrinkage)
        self.n_bytes = n_bytes

    def fit(self, X: Features, tags: Any) -> Self:
        """Keep the tagged pictures as bytes."""
        super().fit(X, tags)
        self.quantizer_ = ProductQuantizer(self.n_bytes).fit(self.train_features_)
        self.train_codes_ = self.quantizer_.transform(self.train_features_)
        del self.train_features_
        return self

    def _neighbours(self, X: Features) -> NDArray[np.intp]:
        X = check_features(self, X, fitting=False)
        return nearest_coded(X, self.quantizer_, self.train_codes_, self.n_neighbors_)[0]


def nearest_coded(
    queries: Any, quantizer: ProductQuantizer, codes: Bytes, n_neighbors: int
) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """The ``n_neighbors`` coded rows nearest each query, nearest first, equals by row, and their distances."""
    from visterm.distances import _kernels

    k = min(n_neighbors, len(codes))
    rows, squared = np.empty((len(queries), k), np.intp), np.empty((len(queries), k), np.float32)

    def of_block(block: slice) -> None:
        _kernels.nearest_bytes(quantizer.tables(queries[block]), codes, rows[block], squared[block])

    shards = split(len(queries), size=_BLOCK)
    if len(shards) == 1:
        of_block(shards[0].rows)
    elif shards:
        for _ in map_shards(lambda shard: of_block(shard.rows), shards, description="Finding look-alikes"):
            pass
    return rows, np.sqrt(squared, out=squared)
