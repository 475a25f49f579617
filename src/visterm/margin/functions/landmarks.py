"""Explicit features of any kernel by landmarks: what a picture's kernel with some pictures says of its kernel with all.

With the kernel ``K_mm`` between m landmarks and ``k_x`` between a picture and them, the features ``K_mm^(-1/2) k_x``
have the inner products ``k_x' K_mm^-1 k_y``: the Nyström approximation of the kernel (Williams and Seeger, NIPS 2000).
It is exact if every picture is a landmark. Ridge regression on these features is sums over pictures
(:mod:`visterm.margin.solver.sums`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.compute.parallel import Engine, map_shards, rows_of_task, split
from visterm.compute.rows import slices
from visterm.contracts import Features, take
from visterm.contracts.labelled_rows import LabelledRows, labelled_shards
from visterm.errors import InputError
from visterm.margin.functions import on_device
from visterm.margin.functions.compared import Compared
from visterm.margin.solver.sums import LeftOut, Sums, inverse_factor

Array = NDArray[Any]
T = TypeVar("T")

#: Pictures of a shard: the Gram matrix of their features takes longer than adding it to that of others.
SHARD_ROWS = 2048
#: Added to the diagonal of the landmarks' kernel, as a share of its mean, in double and in single precision: copies of
#: a picture may be landmarks. Tenfold until the kernel has a factor, up to the last.
_JITTER, _JITTER_OF_SINGLES, _LARGEST_JITTER = 1e-9, 1e-5, 1e-2
#: Each worker waits for no more than one result of its own to be added.
_AHEAD = 1


@dataclass(frozen=True, slots=True, eq=False)
class FeatureMap:
    """Features of pictures: raw ones and a constant, multiplied by a ``matrix`` (n_raw + 1, width); None: not at all.

    ``raw`` gives (n_pictures, n_raw) of some pictures: their kernel with the landmarks, or explicit features.
    ``compared`` says how, so that a device can compute it; None if only ``raw`` can.
    """

    raw: Callable[[Features], Array]
    n_raw: int
    constant: float
    dtype: Any
    matrix: Array | None = None
    compared: Compared | None = None

    @classmethod
    def of_landmarks(
        cls,
        raw: Callable[[Features], Array],
        gram: Array,
        constant: float,
        dtype: Any,
        compared: Compared | None = None,
    ) -> "FeatureMap":
        """By the kernel with landmarks, whose kernel between each other is ``gram``."""
        m = len(gram)
        matrix = np.zeros((m + 1, m + 1))
        matrix[:m, :m], matrix[m, m] = _whitening(gram, dtype), 1.0
        return cls(raw, m, constant, dtype, matrix, compared)

    @property
    def width(self) -> int:
        """The number of features."""
        return self.n_raw + 1

    def __call__(self, X: Features) -> Array:
        """(n_pictures, width): the features of some pictures."""
        given = self.raw(X)
        features = np.empty((len(given), self.width), self.dtype)
        features[:, :-1], features[:, -1] = given, self.constant
        return features if self.matrix is None else features @ self.matrix.astype(self.dtype, copy=False)

    def rotated(self, root: Array) -> "FeatureMap":
        """These features times ``root`` (width, width)."""
        return replace(self, matrix=(root if self.matrix is None else self.matrix @ root).astype(self.dtype))

    def on_raw(self, weights: Array) -> tuple[Array, Array]:
        """What ``weights`` (n_targets, width) are on raw features (n_targets, n_raw), and the intercepts."""
        if self.matrix is None:
            return weights[:, :-1], self.constant * weights[:, -1]
        on_raw = np.empty((len(weights), self.n_raw), weights.dtype)
        matrix = self.matrix.astype(weights.dtype, copy=False)
        np.matmul(weights, matrix[:-1].T, out=on_raw)
        return on_raw, self.constant * (weights @ matrix[-1]).astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """Pictures to learn from: the ``rows`` of ``X``, and their sparse ``targets`` (len(rows), n_targets)."""

    X: Features
    rows: Array
    targets: sparse.csr_array

    def sums(self, features: FeatureMap) -> Sums:
        """The sums of all pictures."""
        if (device := on_device.device_for(features)) is not None:
            return on_device.sums(self, features, device)
        total = Sums.nothing(features.width, self.targets.shape[1], features.dtype)
        for part in self._added_up(lambda X, targets: Sums.of(features(X), targets), "Learning"):
            total += part
        return total

    def left_out(self, features: FeatureMap, weights: Array) -> LeftOut:
        """What is known of all pictures without themselves, by rotated features and their weights."""
        if (device := on_device.device_for(features)) is not None:
            return on_device.left_out(self, features, weights, device)
        parts = self._added_up(lambda X, targets: LeftOut.of(features(X), targets, weights), "Leaving out")
        return reduce(add, parts)

    def mapped(self, features: FeatureMap, places: Array) -> Array:
        """(len(places), width): the features of some of the pictures."""
        found = np.empty((len(places), features.width), features.dtype)
        X, rows = self.X, self.rows[places]
        shards = split(len(rows), size=SHARD_ROWS)
        parts = map_shards(
            lambda shard: features(take(X, rows[shard.rows])),
            shards,
            engine=Engine.reaching(X),
            ahead=_AHEAD,
            description="Comparing pictures",
        )
        for shard, part in zip(shards, parts, strict=True):
            found[shard.rows] = part
        return found

    def _added_up(self, of: Callable[[Features, sparse.csr_array], T], description: str) -> Iterator[T]:
        """What some pictures and their targets add up to, for every shard of them, on the engine that reaches them."""
        X, engine = self.X, Engine.reaching(self.X)

        def of_shard(shard: LabelledRows) -> T:
            blocks = (of(take(X, shard.taken[some]), shard.labels[some]) for some in slices(len(shard), SHARD_ROWS))
            merge: Callable[[Any, Any], Any] = add
            return reduce(merge, blocks)

        size = rows_of_task(len(self.rows), SHARD_ROWS, engine)
        shards = labelled_shards(self.rows, self.targets, size=size)
        return map_shards(of_shard, shards, engine=engine, ahead=_AHEAD, description=description)


def near_centres(gram: Array, n: int, rng: np.random.Generator) -> Array:
    """The group of each picture with this kernel: that of the nearest of ``n`` of them, which lie apart.

    The pictures that lie apart are the seeds of k-means++ (Arthur and Vassilvitskii, SODA 2007) in the space of the
    kernel: each is likelier the further it lies from those before it.

    >>> near_centres(np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]]), 2, np.random.default_rng(1))
    array([0, 0, 1])
    """
    squares = np.diag(gram).astype(np.float64)
    found = [int(rng.integers(len(gram)))]
    distances = np.full(len(gram), np.inf)
    while len(found) < n:
        distances = np.minimum(distances, np.maximum(squares + squares[found[-1]] - 2 * gram[found[-1]], 0))
        distances[found] = 0
        sums = np.cumsum(distances)
        if not sums[-1] > 0:  # only copies are left
            found += np.setdiff1d(np.arange(len(gram)), found)[: n - len(found)].tolist()
            break
        found.append(int(np.searchsorted(sums, rng.random() * sums[-1], side="right")))
    centres = np.sort(found)
    groups = (squares[centres] - 2 * gram[:, centres]).argmin(axis=1)
    groups[centres] = np.arange(n)
    return groups


def times_agreement(gram: Array, targets: sparse.csr_array) -> Array:
    """A kernel times one plus the cosine of the pictures' targets, in place: what has the same labels is nearer.

    The mean of pictures that lie near each other, but have other labels, would hide what tells them apart.

    >>> times_agreement(np.ones((2, 2)), sparse.csr_array([[1.0, 1.0], [0.0, 1.0]])).round(2)
    array([[2.  , 1.71],
           [1.71, 2.  ]])
    """
    lengths = np.sqrt(np.asarray(targets.power(2).sum(axis=1), np.float64))
    scaled = sparse.csr_array(targets.multiply(1 / np.maximum(lengths, 1e-12)[:, None]), dtype=gram.dtype)
    for part in slices(len(gram), SHARD_ROWS):
        gram[part] *= 1 + (scaled[part] @ scaled.T).toarray()
    return gram


def _whitening(gram: Array, dtype: Any) -> Array:
    """The matrix whose product with kernels has the inner products of the features above."""
    mean = float(np.diag(gram).mean(dtype=np.float64)) or 1.0
    jitter = _JITTER if dtype == np.float64 else _JITTER_OF_SINGLES
    while True:
        system = gram.astype(np.float64)
        system[np.diag_indices_from(system)] += jitter * mean
        try:
            return inverse_factor(system, "the kernel is not positive definite: choose another, or landmarks=None")
        except InputError:
            if jitter >= _LARGEST_JITTER:
                raise
            jitter *= 10
