"""A graph of similar pictures: every picture is linked to its nearest pictures."""

from dataclasses import KW_ONLY
from numbers import Real
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.contracts import Features, Matrix, check_features, declared
from visterm.contracts.estimator import FROM_1, Estimator, StrOptions
from visterm.distances import metric_named, nearest
from visterm.errors import InputError
from visterm.graph.nearest.approximate import nearest_of_all

WEIGHTS = {"binary", "cosine", "heat"}
#: Distances that are Euclidean between prepared rows. Only for these, neighbours can be found approximately.
_EUCLIDEAN = ("euclidean", "cosine", "hellinger")
#: A picture with equal features is at most this many times as far as the nearest, and this much: for rounding errors.
_ABOUT, _ALMOST = 1.001, 1e-6
#: Distances are rounded by dropping this many bits, after this has been added, half of their range.
_DROPPED, _HALF = 4, 8


@declared
class PictureGraph(Estimator):
    """Links every picture to its most similar pictures, as a symmetric matrix of weights.

    i and j are linked when one is among the ``n_neighbors`` nearest of the other.

    Parameters
    ----------
    n_neighbors
        How many pictures a picture chooses.
    metric
        One of :mod:`visterm.distances.metrics`.
    weights
        ``binary``: 1; ``cosine``: the cosine of the angle between the two pictures (metrics ``cosine`` and
        ``hellinger``); ``heat``: exp(-(distance / width)^2), where the width is the mean distance of neighbours.
    exact_up_to
        With more pictures, neighbours are found approximately (:mod:`visterm.graph.nearest.approximate`), if the
        metric is ``euclidean``, ``cosine`` or ``hellinger``.
    random_state
        Seed of the approximate search.

    After ``fit``: ``links_`` (n_pictures, n_pictures) CSR, ``component_of_`` the connected component of every picture,
    ``n_components_``. :meth:`add` adds pictures without comparing the others again.

    >>> graph = PictureGraph(1, metric="euclidean").fit([[0.0], [1.0], [8.0], [9.5]])
    >>> graph.links_.toarray()
    array([[0., 1., 0., 0.],
           [1., 0., 0., 0.],
           [0., 0., 0., 1.],
           [0., 0., 1., 0.]])
    >>> graph.n_components_, graph.add([[4.0]]).links_[[4]].toarray()
    (2, array([[0., 1., 0., 0., 0.]]))
    """

    n_neighbors: Annotated[int, FROM_1] = 10
    _: KW_ONLY
    metric: str = "cosine"
    weights: Annotated[str, StrOptions(WEIGHTS)] = "binary"
    exact_up_to: Annotated[int, Real] = 20_000
    random_state: int = 0

    def fit(self, X: Features, y: Any = None) -> Self:  # noqa: ARG002 - scikit-learn's estimators take a y
        """Link the pictures of ``X``."""
        self._validate_params()
        metric = metric_named(self.metric)
        if self.weights == "cosine" and self.metric not in ("cosine", "hellinger"):
            raise InputError(f"the metric {self.metric!r} has no cosine: use binary or heat weights, or another metric")
        self.features_ = check_features(self, X, fitting=True, non_negative=metric.needs_counts)
        # The neighbours that each picture chose: row i holds their distances, zeros included.
        self.chosen_ = self._choose_all()
        return self._link()

    def add(self, X: Features) -> Self:
        """Add pictures after the last one; the graph is the same as if all pictures were linked together.

        The new pictures are compared with all. The old pictures choose only between the new ones and their former
        neighbours.
        """
        new = check_features(self, X, fitting=False)
        n_old, n_new = self.features_.shape[0], new.shape[0]
        if not n_new:
            return self
        self.features_ = _stacked(self.features_, new)
        rows = self._choose(np.arange(n_old, n_old + n_new))
        both = _triples(self.chosen_), _triples(rows, n_old), self._chosen_by_old(new, n_old)
        self.chosen_ = self._nearest_of(*both, n_pictures=n_old + n_new)
        return self._link()

    def neighbours_of(self, X: Features) -> tuple[sparse.csr_array, NDArray[np.intp]]:
        """The weights of the links that new pictures would have, (n_new, n_pictures); the graph stays as it is.

        Also, for each of them, the first picture of the graph that has equal features, or -1.
        """
        new = check_features(self, X, fitting=False)
        n_new, n = int(new.shape[0]), int(self.features_.shape[0])
        same = np.full(n_new, -1, np.intp)
        if not n_new:
            return sparse.csr_array((0, n)), same
        lists = self._lists(new, n)
        owners, columns, distances = _triples(lists)
        least = np.full(n_new, np.inf)
        # mutants: pass: then every linked picture is compared, not only the nearest: the same ones are equal
        np.minimum.at(least, owners, distances)
        # Pictures with equal features are among the nearest.
        nearest_first = distances <= _ABOUT * least[owners] + _ALMOST
        owners, columns = owners[nearest_first][::-1], columns[nearest_first][::-1]
        equal = _equal(new[owners], self.features_[columns])
        same[owners[equal]] = columns[equal]  # of several the last assignment counts, which is the nearest
        return self._weighed(lists), same

    @property
    def n_components_(self) -> int:
        """The number of connected components."""
        return int(self.component_of_.max()) + 1

    @property
    def is_approximate(self) -> bool:
        """Whether the nearest neighbours are found approximately."""
        most = max(self.exact_up_to, self.n_neighbors + 1)
        return self.metric in _EUCLIDEAN and self.features_.shape[0] > most

    def _choose_all(self) -> sparse.csr_array:
        n = self.features_.shape[0]
        if not self.is_approximate:
            return self._choose(np.arange(n))
        prepared = metric_named(self.metric).prepare(self.features_)
        columns, distances = nearest_of_all(prepared, self.n_neighbors, random_state=self.random_state)
        if self.metric == "cosine":
            distances *= distances / 2  # for unit rows: one minus the cosine
        return _as_lists(columns, distances, n)

    def _choose(self, rows: NDArray[np.intp]) -> sparse.csr_array:
        """The distances to the pictures that the given ones choose among all others, (len(rows), n_pictures)."""
        n = self.features_.shape[0]
        # mutants: 1 -> 2: one more candidate, which is left out again
        lists = self._lists(self.features_[rows], n, spare=1)
        owners, columns, distances = _triples(lists)
        others = rows[owners] != columns
        triples = owners[others], columns[others], distances[others]
        return self._nearest_of(triples, n_pictures=len(rows), n_columns=n)

    def _lists(self, X: Matrix, n: int, spare: int = 0) -> sparse.csr_array:
        """Distances to the pictures that rows of ``X`` choose, and to ``spare`` more."""
        if not X.shape[0]:
            # mutants: 0 -> 1: an empty row more has no entries
            return sparse.csr_array((0, n))
        columns, distances = nearest(X, self.features_, self.n_neighbors + spare, metric=self.metric)
        return _as_lists(columns, distances, n)

    def _chosen_by_old(self, new: Matrix, n_old: int) -> tuple[NDArray[Any], ...]:
        """The new pictures that the old ones may prefer to their former neighbours, at most ``n_neighbors`` each."""
        found, distances = nearest(self.features_[:n_old], new, self.n_neighbors, metric=self.metric)
        return np.repeat(np.arange(n_old), found.shape[1]), found.ravel() + n_old, distances.ravel()

    def _nearest_of(
        self, *parts: tuple[NDArray[Any], ...], n_pictures: int, n_columns: int | None = None
    ) -> sparse.csr_array:
        """The nearest of every picture's candidates, given as (owner, candidate, distance), ties by number."""
        owners, columns, distances = (np.concatenate(pieces) for pieces in zip(*parts, strict=True))
        distances = _rounded(distances)
        order = np.lexsort((columns, distances, owners))
        owners, columns, distances = owners[order], columns[order], distances[order]
        starts = np.searchsorted(owners, np.arange(n_pictures))
        first = np.arange(len(owners)) - starts[owners] < self.n_neighbors
        shape = (n_pictures, n_columns or n_pictures)
        return _as_csr(owners[first], columns[first], distances[first], shape)

    def _weighed(self, lists: sparse.csr_array) -> sparse.csr_array:
        """Distances as weights."""
        distances = lists.data.astype(np.float64)
        match self.weights:
            case "binary":
                weights = np.ones_like(distances)
            case "cosine":
                cosines = 1 - distances if self.metric == "cosine" else 1 - distances**2 / 2
                weights = np.maximum(cosines, 0)
            case _:
                weights = np.exp(-((distances / (self.width_ or 1.0)) ** 2))
        return sparse.csr_array((weights, lists.indices, lists.indptr), shape=lists.shape)

    def _link(self) -> Self:
        """The links of all choices, in both directions."""
        self.width_ = float(self.chosen_.data.mean()) if self.chosen_.nnz else 1.0
        weighed = self._weighed(self.chosen_)
        self.links_ = sparse.csr_array(weighed.maximum(weighed.T))
        _, self.component_of_ = sparse.csgraph.connected_components(self.links_)
        return self


def _triples(lists: sparse.csr_array, offset: int = 0) -> tuple[NDArray[Any], ...]:
    """(row + offset, column, value) of every stored entry, zeros included."""
    owners = np.repeat(np.arange(lists.shape[0]) + offset, np.diff(lists.indptr))
    return owners, lists.indices.astype(np.intp), lists.data


def _as_lists(columns: NDArray[Any], distances: NDArray[Any], n: int) -> sparse.csr_array:
    """Equally many of ``n`` columns per row, with their distances, as CSR."""
    n_rows, k = columns.shape
    starts = np.arange(n_rows + 1) * k
    return sparse.csr_array((distances.ravel(), columns.ravel().astype(np.int32), starts), shape=(n_rows, n))


def _as_csr(
    owners: NDArray[Any], columns: NDArray[Any], values: NDArray[Any], shape: tuple[int, int]
) -> sparse.csr_array:
    """Entries sorted by owner as CSR, zeros included."""
    starts = np.zeros(shape[0] + 1, np.int64)
    np.cumsum(np.bincount(owners, minlength=shape[0]), out=starts[1:])
    return sparse.csr_array((values, columns.astype(np.int32), starts), shape=shape)


def _stacked(first: Matrix, second: Matrix) -> Matrix:
    if isinstance(first, np.ndarray):
        dense = second if isinstance(second, np.ndarray) else second.toarray()
        return np.concatenate([first, dense.astype(first.dtype)])
    return sparse.csr_array(sparse.vstack([first, sparse.csr_array(second, dtype=first.dtype)]))


def _rounded(distances: NDArray[Any]) -> NDArray[np.float32]:
    """Rounded to a millionth, so that copies of a picture are equally far even if compared at different times."""
    bits = distances.astype(np.float32).view(np.uint32)
    return ((bits + _HALF) >> _DROPPED << _DROPPED).view(np.float32)


def _equal(A: Matrix, B: Matrix) -> NDArray[np.bool_]:
    """Which rows are equal, pair by pair."""
    return abs(A - B).sum(axis=1) == 0
