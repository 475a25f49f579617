"""Beliefs about pictures, spread along the links between similar pictures: of classes, of tags, of anything."""

from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.compute.rows import slices
from visterm.compute.threads import in_threads
from visterm.contracts import Features, declared, n_pictures
from visterm.contracts.estimator import FROM_1, Estimator
from visterm.graph.label_propagation import normalised, spread
from visterm.graph.picture_graph import PictureGraph
from visterm.margin import prints_of
from visterm.subspace import Directions, checksum

Floats = NDArray[np.floating[Any]]

#: This many beliefs spread at a time, so that they stay in the cache.
_BLOCK = 2**18
#: Up to this many beliefs are spread in double precision.
_DOUBLE_UP_TO = 2**20
#: The last neighbourhood, by a checksum of the features: while methods are compared, the pictures are the same.
_LAST: dict[str, "Neighbourhood"] = {}


@declared
class Neighbourhood(Estimator):
    """The graph of all pictures by their leading directions, along which beliefs are spread.

    What is believed of a picture becomes a weighted mean of what is believed of all, ``B -> K B / K 1`` with
    ``K = (1 - alpha) inv(I - alpha N)`` (see :func:`~visterm.graph.spread`): beliefs of look-alikes agree more, the
    more the larger ``alpha`` is. 0 leaves them as they are.

    >>> X = [[2.0, 0.1], [1.9, -0.2], [-2.0, 0.2], [-1.8, 0.0]]
    >>> near = Neighbourhood(1).fit(X)
    >>> near.spread(np.array([[1.0], [0.0], [0.0], [0.0]]), 0.5).round(2).ravel().tolist()
    [0.67, 0.33, 0.0, 0.0]
    """

    n_neighbors: Annotated[int, FROM_1] = 10
    _: KW_ONLY
    n_dims: Annotated[int, FROM_1] = 256
    _fitted_constraints: ClassVar[dict[str, str]] = {"prints_": "n_pictures int", "order_": "n_pictures int >=0"}

    @classmethod
    def of(cls, X: Features) -> "Neighbourhood":
        """The neighbourhood of pictures; of those that were asked for last, it is known already."""
        key = checksum(X)
        found = _LAST.get(key)
        if found is None:
            found = cls().fit(X)
            _LAST.clear()
            _LAST[key] = found
        return found

    def fit(self, X: Features, y: Any = None) -> Self:  # noqa: ARG002 - scikit-learn's estimators take a y
        """Link the pictures."""
        self._validate_params()
        self.directions_ = Directions.of(X, self.n_dims)
        self.n_features_in_ = self.directions_.n_features_in_
        self.graph_ = PictureGraph(self.n_neighbors, weights="heat").fit(self._codes(X))
        prints = prints_of(X, np.arange(n_pictures(X)))
        self.order_ = np.argsort(prints, kind="stable")
        self.prints_ = prints[self.order_]
        return self

    def spread(self, beliefs: Floats, alpha: float) -> Floats:
        """(n_pictures, n_beliefs) numbers from 0 on, spread."""
        if alpha == 0:
            return beliefs
        dtype = np.float64 if beliefs.size <= _DOUBLE_UP_TO else np.float32
        links = self.graph_.links_
        total = np.maximum(spread(links, np.ones((len(beliefs), 1), dtype), alpha), np.finfo(dtype).tiny)
        found = np.empty(beliefs.shape, dtype)

        def of_columns(columns: slice) -> None:
            found[:, columns] = np.maximum(spread(links, beliefs[:, columns].astype(dtype), alpha) / total, 0)

        in_threads(of_columns, slices(beliefs.shape[1], max(1, _BLOCK // len(beliefs))))
        return found

    def returning(self, alpha: float) -> NDArray[np.float64]:
        """(n_pictures,) about the share of its own belief that each picture keeps after spreading.

        That is the diagonal of K / K 1, from walks of up to four steps.
        """
        normal = normalised(self.graph_.links_)
        twice = sparse.csr_array(normal @ normal)
        steps = [np.ones(normal.shape[0]), twice.diagonal(), (twice.multiply(normal)).sum(axis=1)]
        steps.append(twice.power(2).sum(axis=1))
        around = sum((1 - alpha) * alpha**n * step for n, step in zip((0, 2, 3, 4), steps, strict=True))
        total = spread(self.graph_.links_, np.ones((len(around), 1)), alpha)[:, 0]
        return np.asarray(around / np.maximum(total, 1e-12), np.float64)

    def places(self, X: Features) -> NDArray[np.intp]:
        """Which picture of the graph each is, by its features; -1 for new ones."""
        n = n_pictures(X)
        prints = prints_of(X, np.arange(n))
        at = np.searchsorted(self.prints_, prints).clip(max=len(self.prints_) - 1)
        return np.where(self.prints_[at] == prints, self.order_[at], -1).astype(np.intp)

    def of_new(self, X: Features, own: Floats, spread_: Floats, alpha: float) -> Floats:
        """What is believed of new pictures: their ``own`` beliefs, and those ``spread_`` to their neighbours."""
        if alpha == 0 or not len(own):
            return own
        links, _ = self.graph_.neighbours_of(self._codes(X))
        total = np.asarray(links.sum(axis=1)).reshape(-1, 1)
        return np.where(total > 0, (1 - alpha) * own + alpha * (links @ spread_) / np.maximum(total, 1e-12), own)

    def _codes(self, X: Features) -> NDArray[np.float32]:
        return self.directions_.transform(X).astype(np.float32)
