"""Ridge regression by sums over shards: what pictures add up to, the small solve, and leave-one-out scores.

Pictures are rows ``phi_i`` of any features. All that the solution needs are sums over pictures, so shards, machines and
late arrivals give the same answer as one pass. With ``A = sum_i phi_i phi_i' + alpha I`` the weights of a target t are
``A^-1 sum_i t_i phi_i``. In the rotated features ``z_i = root' phi_i``, where ``root root' = A^-1``, everything is
short: the weights are ``v = root' sum_i t_i phi_i``, the score is ``f_i = z_i' v``, a picture's leverage is ``h_i =
z_i' z_i``, and its score without itself is ``g_i (f_i - h_i t_i)`` with ``g_i = 1 / (1 - h_i)``.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from visterm.compute.rows import slices
from visterm.errors import InputError

Array = NDArray[Any]

#: A picture that alone decides its score has at least this much left for the others.
LEAST_REST = 1e-6
#: This many numbers are computed at a time.
_BLOCK = 2**21


@dataclass(slots=True, eq=False)
class Sums:
    """Sums over pictures: their number, the Gram matrix of their features, and the cross-products with sparse targets.

    ``cross`` (len(targets), width) has the rows of the ``targets`` that occur: of many tags, a shard has few.

    >>> one, other = (Sums.of(np.array([[x, 1.0]]), sparse.csr_array([[1.0]])) for x in (2.0, 3.0))
    >>> (one + other).gram, (one + other).cross
    (array([[13.,  5.],
           [ 5.,  2.]]), array([[5., 2.]]))
    """

    n_pictures: int
    gram: Array
    targets: Array
    cross: Array

    @classmethod
    def nothing(cls, width: int, n_targets: int, dtype: Any) -> Self:
        """The sums of no picture, to which those of others are added in place."""
        return cls(0, np.zeros((width, width)), np.arange(n_targets), np.zeros((n_targets, width), dtype))

    @classmethod
    def of(cls, features: Array, targets: sparse.csr_array) -> Self:
        """The sums of some pictures: ``features`` (n_pictures, width) and ``targets`` (n_pictures, n_targets)."""
        used, places = np.unique(targets.indices, return_inverse=True)
        few = sparse.csr_array(
            (targets.data.astype(features.dtype), places, targets.indptr), shape=(len(features), len(used))
        )
        return cls(len(features), features.T @ features, used, np.asarray(few.T @ features))

    def __iadd__(self, other: "Sums") -> Self:
        """Add sums whose targets are all among the own ones."""
        self.n_pictures += other.n_pictures
        self.gram += other.gram
        self.cross[np.searchsorted(self.targets, other.targets)] += other.cross
        return self

    def __add__(self, other: "Sums") -> "Sums":
        targets = np.union1d(self.targets, other.targets)
        shape, dtype = (len(targets), len(self.gram)), np.result_type(self.cross, other.cross)
        total = Sums(0, np.zeros_like(self.gram, np.float64), targets, np.zeros(shape, dtype))
        total += self
        total += other
        return total


class Solved(NamedTuple):
    """The rotation ``root`` (width, width), and the weights (n_targets, width) of rotated features."""

    root: Array
    weights: Array

    @classmethod
    def of(cls, sums: Sums, alpha: float) -> Self:
        """Solve for all targets; the cross-products become the weights in place, since they may be large."""
        system = sums.gram.astype(np.float64)
        system[np.diag_indices_from(system)] += alpha
        root = inverse_factor(system, "the kernel is not positive definite: raise alpha")
        return cls(root, multiply_in_place(sums.cross, root))

    def with_negatives(self, target: int, rotated: Array) -> Array:
        """The weights of a 0/1 target that is also known to be 0 at pictures with these ``rotated`` features Z.

        They add ``Z' Z`` to the system, which is I in rotated features: ``v - Z' (I + Z Z')^-1 Z v``.
        """
        v, Z = self.weights[target].astype(np.float64), rotated.astype(np.float64)
        # mutants: > -> >=, not: the smaller of two systems with the same solution
        if len(Z) > len(v):
            return np.linalg.solve(np.eye(len(v)) + Z.T @ Z, v)
        return v - Z.T @ np.linalg.solve(np.eye(len(Z)) + Z @ Z.T, Z @ v)


@dataclass(slots=True, eq=False)
class LeftOut:
    """What is known of pictures without themselves; it adds up, in the order of the pictures.

    ``leverages`` are the ``h_i``; ``own`` are the scores without themselves at the entries of the targets, in the order
    of their CSR matrix. ``first`` is ``sum_i g_i z_i`` and ``second`` is ``sum_i g_i^2 z_i z_i'``: they give the mean
    and the variance of all scores of any target without computing these. ``owed`` and ``owed_squares`` are what the
    targets themselves take from the sums of the scores and of their squares.
    """

    leverages: Array
    own: Array
    first: Array
    second: Array
    owed: Array
    owed_squares: Array

    @classmethod
    def of(cls, rotated: Array, targets: sparse.csr_array, weights: Array) -> Self:
        """Of pictures with ``rotated`` features; ``weights`` as in :class:`Solved`."""
        h = np.minimum(np.einsum("ij,ij->i", rotated, rotated, dtype=np.float64), 1 - LEAST_REST)
        rows = np.repeat(np.arange(len(h)), np.diff(targets.indptr))
        weighed = rotated * (1 / (1 - h))[:, None].astype(rotated.dtype)
        first, second = weighed.sum(axis=0, dtype=np.float64), weighed.T @ weighed
        return cls.of_scores(h, scores_at(rotated, weights, rows, targets.indices), first, second, targets)

    @classmethod
    def of_scores(cls, h: Array, f: Array, first: Array, second: Array, targets: sparse.csr_array) -> Self:
        """By the leverages, the scores ``f`` of pictures at their own targets, and the sums."""
        rows, t = np.repeat(np.arange(len(h)), np.diff(targets.indptr)), targets.data.astype(np.float64)
        g = 1 / (1 - h)
        gh = g * h

        def of_targets(values: Array) -> Array:
            return np.bincount(targets.indices, values, minlength=targets.shape[1])

        return cls(
            h,
            g[rows] * (f - h[rows] * t),
            first,
            second,
            of_targets(gh[rows] * t),
            of_targets(gh[rows] * t * (2 * g[rows] * f - gh[rows] * t)),
        )

    def __add__(self, other: "LeftOut") -> "LeftOut":
        return LeftOut(
            np.concatenate([self.leverages, other.leverages]),
            np.concatenate([self.own, other.own]),
            self.first + other.first,
            self.second.astype(np.float64) + other.second,
            self.owed + other.owed,
            self.owed_squares + other.owed_squares,
        )

    def moments(self, weights: Array) -> tuple[Array, Array]:
        """The mean and the deviation of the scores of every target, over all pictures, each without itself."""
        n, second = len(self.leverages), self.second.astype(weights.dtype)
        squares = np.empty(len(weights))
        for part in target_blocks(len(weights), weights.shape[1]):
            some = weights[part]
            squares[part] = np.einsum("ij,ij->i", some @ second, some, dtype=np.float64)
        means = (weights @ self.first.astype(weights.dtype) - self.owed) / n
        return means, np.sqrt(np.maximum((squares - self.owed_squares) / n - means**2, 0.0))


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Of pictures without themselves: the mean and the deviation of each target's scores, and the mean of its own ones.

    ``n_own`` are the numbers of a target's own pictures. Those of several sets of pictures add up.
    """

    n_pictures: int
    n_own: Array
    means: Array
    deviations: Array
    own_means: Array

    def __add__(self, other: "Moments") -> "Moments":
        n, n_own = self.n_pictures + other.n_pictures, self.n_own + other.n_own
        means = (self.n_pictures * self.means + other.n_pictures * other.means) / n
        squares = sum(part.n_pictures * (part.deviations**2 + (part.means - means) ** 2) for part in (self, other))
        own = (self.n_own * self.own_means + other.n_own * other.own_means) / np.maximum(n_own, 1)
        return Moments(n, n_own, means, np.sqrt(squares / n), own)


def scores_at(rotated: Array, weights: Array, rows: Array, targets: Array) -> Array:
    """The scores of single pairs of a picture and a target, some pairs at a time."""
    scores = np.empty(len(rows))
    for part in target_blocks(len(rows), rotated.shape[1]):
        scores[part] = np.einsum("ij,ij->i", rotated[rows[part]], weights[targets[part]])
    return scores


def inverse_factor(system: Array, problem: str) -> Array:
    """The upper triangular ``root`` with ``root root'`` the inverse of a symmetric matrix; an error if it has none."""
    try:
        factor = linalg.cholesky(system.T, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError as error:
        raise InputError(problem) from error
    inverse, _ = linalg.lapack.dtrtri(factor, lower=1, overwrite_c=1)
    return np.ascontiguousarray(np.tril(inverse).T)


def multiply_in_place(rows: Array, matrix: Array) -> Array:
    """``rows @ matrix`` with a square matrix, in place, some rows at a time."""
    for part in target_blocks(len(rows), rows.shape[1]):
        rows[part] = rows[part].astype(np.float64) @ matrix
    return rows


def target_blocks(n: int, width: int) -> list[slice]:
    """Some of ``n`` rows of the given width after the other."""
    return slices(n, max(1, _BLOCK // max(1, width)))
