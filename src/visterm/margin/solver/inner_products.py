"""Inner products between the training pictures for the dual solvers.

There are two forms with the same methods and the same results: a Gram matrix, or features, if there are fewer of them
than pictures. ``shift`` is added to every inner product: the square of the constant feature that carries the intercept.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute.threads import in_threads

Array = NDArray[Any]
#: ``step(Gram matrix of the block, its scores, its rows)`` gives the change of theta at these rows.
Step = Callable[[Array, Array, Array], Array]

#: Threads compute products of this many tasks or pictures: enough for BLAS, and the number of cores does not matter.
PIECE_TASKS = 64
PIECE_PICTURES = 2048
#: If fewer coefficients than this share are non-zero, skipping zeros is faster than BLAS.
SPARSE_SHARE = 0.25


@dataclass(frozen=True, slots=True, eq=False)
class GramInnerProducts:
    """Pictures given by their Gram matrix."""

    G: Array
    shift: float = 0.0

    @property
    def n_pictures(self) -> int:
        """The number of pictures."""
        return len(self.G)

    @property
    def dtype(self) -> Any:
        """The precision to compute in."""
        return self.G.dtype

    def astype(self, dtype: Any) -> "GramInnerProducts":
        """The same in another precision."""
        return GramInnerProducts(self.G.astype(dtype, copy=False), self.shift)

    def mean_square(self) -> float:
        """The mean inner product of a picture with itself, without the shift; 1 if all are 0."""
        return float(np.diagonal(self.G).mean(dtype=np.float64)) or 1.0

    def block(self, rows: Array) -> Array:
        """The Gram matrix of some pictures."""
        from visterm.margin.solver._kernels import gather

        return gather(self.G, rows, self.G.dtype.type(self.shift))

    def scores(self, theta: Array) -> Array:
        """``theta G`` of all pictures (n_tasks, n_pictures), piece by piece in threads."""
        from visterm.margin.solver._kernels import add_rows

        scores = np.empty(theta.shape, theta.dtype)
        shift = self.G.dtype.type(self.shift) * theta.sum(axis=1, keepdims=True)
        # mutants: * -> /: it chooses the faster of two ways to the same scores
        few = len(theta) <= PIECE_TASKS and np.count_nonzero(theta) < SPARSE_SHARE * theta.size

        def score(start: int) -> None:
            piece = slice(start, min(start + PIECE_PICTURES, len(self.G)))
            # mutants: not: it chooses the faster of two ways to the same scores
            if few:
                scores[:, piece] = shift
                add_rows(theta, self.G, piece.start, piece.stop, scores)
            else:
                np.add(theta @ self.G[:, piece], shift, out=scores[:, piece])

        in_threads(score, range(0, len(self.G), PIECE_PICTURES))
        return scores

    def scores_of(self, theta: Array, rows: Array) -> Array:
        """``theta G[rows]``: scores at all pictures of an expansion over some."""
        return theta @ self.G[rows] + self.G.dtype.type(self.shift) * theta.sum(axis=1, keepdims=True)

    def sweep(self, theta: Array, blocks: list[Array], step: Step) -> None:
        """One block after the other; scores are computed from all of ``theta``, so rounding does not accumulate."""
        shift = self.G.dtype.type(self.shift)
        for rows in blocks:
            across = self.G[rows]
            scores = theta @ across.T + shift * theta.sum(axis=1, keepdims=True)
            theta[:, rows] += step(across[:, rows] + shift, scores, rows)

    def subset(self, rows: Array) -> "GramInnerProducts":
        """Those of some pictures, on their own."""
        return GramInnerProducts(np.ascontiguousarray(self.G[np.ix_(rows, rows)]), self.shift)

    def held_out_scores(self, theta: Array, train: Array, held_out: Array) -> Array:
        """(n_tasks, len(held_out)): functions learned from the rows ``train``, at other rows."""
        return theta @ self.G[np.ix_(train, held_out)] + self.shift * theta.sum(axis=1, keepdims=True)


@dataclass(frozen=True, slots=True, eq=False)
class FeatureInnerProducts:
    """Pictures given by fewer features than pictures: the weights themselves are kept during a sweep."""

    X: Array
    shift: float = 0.0

    @property
    def n_pictures(self) -> int:
        """The number of pictures."""
        return len(self.X)

    @property
    def dtype(self) -> Any:
        """The precision to compute in."""
        return self.X.dtype

    def astype(self, dtype: Any) -> "FeatureInnerProducts":
        """The same in another precision."""
        return FeatureInnerProducts(self.X.astype(dtype, copy=False), self.shift)

    def mean_square(self) -> float:
        """The mean inner product of a picture with itself, without the shift; 1 if all are 0."""
        return float(np.einsum("id,id->", self.X, self.X, dtype=np.float64) / self.n_pictures) or 1.0

    def block(self, rows: Array) -> Array:
        """The Gram matrix of some pictures."""
        return self.X[rows] @ self.X[rows].T + self.X.dtype.type(self.shift)

    def scores(self, theta: Array) -> Array:
        """``theta G`` of all pictures (n_tasks, n_pictures)."""
        return (theta @ self.X) @ self.X.T + self.X.dtype.type(self.shift) * theta.sum(axis=1, keepdims=True)

    def scores_of(self, theta: Array, rows: Array) -> Array:
        """``theta G[rows]``: scores at all pictures of an expansion over some."""
        return (theta @ self.X[rows]) @ self.X.T + self.X.dtype.type(self.shift) * theta.sum(axis=1, keepdims=True)

    def sweep(self, theta: Array, blocks: list[Array], step: Step) -> None:
        """One block after the other; each changes the weights that score the next."""
        shift = self.X.dtype.type(self.shift)
        weights, bias = theta @ self.X, shift * theta.sum(axis=1, keepdims=True)
        for rows in blocks:
            features = self.X[rows]
            delta = step(features @ features.T + shift, weights @ features.T + bias, rows)
            weights += delta @ features
            bias += shift * delta.sum(axis=1, keepdims=True)
            theta[:, rows] += delta

    def subset(self, rows: Array) -> "FeatureInnerProducts":
        """Those of some pictures, on their own."""
        return FeatureInnerProducts(self.X[rows], self.shift)

    def held_out_scores(self, theta: Array, train: Array, held_out: Array) -> Array:
        """(n_tasks, len(held_out)): functions learned from the rows ``train``, at other rows."""
        return (theta @ self.X[train]) @ self.X[held_out].T + self.shift * theta.sum(axis=1, keepdims=True)

    def with_constant(self) -> Array:
        """The features and the constant feature, in double precision; their inner products include the shift."""
        constant = np.full((self.n_pictures, 1), np.sqrt(self.shift))
        return np.hstack([self.X.astype(np.float64), constant])


InnerProducts = GramInnerProducts | FeatureInnerProducts
