"""The vectors of an index in the inverted lists of faiss, for very many pictures and queries (the extra ``ann``)."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from visterm.errors import InputError, MissingExtraError
from visterm.search.index import N_PROBES
from visterm.search.snapshot import Nearest, Snapshot


class FaissLists:
    """What an index held at one moment, searched by faiss through ``n_lists`` lists (by default 2 sqrt(n_pictures)).

    Answers are those of :meth:`~visterm.search.index.Snapshot.nearest` with ``n_probes``, several queries at a time.
    An index that has changed is handed over again; its own lists need no such step.
    """

    def __init__(self, snapshot: Snapshot, n_lists: int | None = None) -> None:
        try:
            faiss: Any = import_module("faiss")
        except ImportError as error:
            raise MissingExtraError("faiss", "ann", "searching through lists of faiss") from error
        self._metric, self._n_dims = snapshot.metric, snapshot.n_dims
        self._slots = np.flatnonzero(snapshot.alive())
        self._keys = snapshot.keys()
        if not len(self._slots):
            raise InputError("the index is empty: add vectors before faiss orders them")
        vectors = snapshot.vectors(self._slots)
        n_lists = min(len(vectors), n_lists or max(1, round(2 * math.sqrt(len(vectors)))))
        kind = faiss.METRIC_L2 if self._metric == "euclidean" else faiss.METRIC_INNER_PRODUCT
        self._lists: Any = faiss.index_factory(self._n_dims, f"IVF{n_lists},Flat", kind)
        # k-means needs some vectors of every list, not all there are.
        sample = np.random.default_rng(0).permutation(len(vectors))[: 64 * n_lists]
        self._lists.cp.min_points_per_centroid = 1
        self._lists.train(vectors[sample])
        self._lists.add(vectors)

    def nearest(self, queries: ArrayLike, n_best: int = 20, *, n_probes: int = N_PROBES) -> list[Nearest]:
        """The pictures nearest each query, best first."""
        wanted = np.ascontiguousarray(queries, dtype=np.float32)
        if wanted.ndim != 2 or wanted.shape[1] != self._n_dims or not np.isfinite(wanted).all():
            raise InputError(f"queries are finite numbers (n_queries, {self._n_dims}), not of shape {wanted.shape}")
        if self._metric == "cosine":
            wanted = wanted / np.maximum(np.linalg.norm(wanted, axis=1, keepdims=True), 1e-12)
        self._lists.nprobe = n_probes
        scores, places = self._lists.search(wanted, min(n_best, len(self._slots)))
        if self._metric == "euclidean":
            scores = np.sqrt(np.maximum(scores, 0.0))
        return [
            Nearest([self._keys[self._slots[i]] for i in row[row >= 0]], values[row >= 0])
            for row, values in zip(places, scores, strict=True)
        ]
