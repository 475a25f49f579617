"""Kernels between pictures given by their local descriptors: expected likelihood, and best matches.

A ranker takes both as a ``precomputed`` kernel (Grangier & Bengio 2008, section IV-C). The third kernel of the paper,
that of visterms, needs no matrix: ``kernel="visterm"``.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.compute.parallel import map_shards, split
from visterm.errors import InputError

Array = NDArray[Any]

#: A thread computes this many pictures at a time.
_SHARD = 64


@dataclass(frozen=True, slots=True, eq=False)
class LocalDescriptors:
    """The descriptors of pictures, one below the other: picture i has ``rows[ends[i] : ends[i + 1]]``."""

    rows: Array
    ends: Array

    def __post_init__(self) -> None:
        if self.rows.ndim != 2 or not np.isfinite(self.rows).all():
            raise InputError(f"descriptors must be finite and of shape (n_descriptors, n_dims), not {self.rows.shape}")
        if self.ends[0] != 0 or self.ends[-1] != len(self.rows) or not (np.diff(self.ends) > 0).all():
            raise InputError("every picture needs at least one descriptor, and ends must go from 0 to their number")

    @classmethod
    def of(cls, pictures: list[ArrayLike]) -> "LocalDescriptors":
        """The descriptors of several pictures, (n_descriptors, n_dims) each.

        >>> LocalDescriptors.of([[[0.0, 1.0]], [[1.0, 1.0], [2.0, 0.0]]]).ends
        array([0, 1, 3])
        """
        parts = [np.asarray(part, np.float32) for part in pictures]
        return cls(np.concatenate(parts), np.cumsum([0, *(len(part) for part in parts)]))

    def __len__(self) -> int:
        return len(self.ends) - 1

    def gaussians(self, *, smallest_variance: float = 1e-3) -> "PictureGaussians":
        """One Gaussian per picture, with a diagonal covariance, by maximum likelihood.

        Variances are at least ``smallest_variance`` times those of all descriptors together, since a picture of one
        descriptor, or of equal ones, has no variance.
        """
        counts = np.diff(self.ends)[:, None]
        means = np.add.reduceat(self.rows, self.ends[:-1], axis=0, dtype=np.float64) / counts
        squares = np.add.reduceat(self.rows.astype(np.float64) ** 2, self.ends[:-1], axis=0) / counts
        floor = smallest_variance * np.maximum(self.rows.var(axis=0, dtype=np.float64), np.finfo(np.float32).tiny)
        return PictureGaussians(means, np.maximum(squares - means**2, floor))


@dataclass(frozen=True, slots=True, eq=False)
class PictureGaussians:
    """The distribution of every picture's descriptors, p(v | picture): (n_pictures, n_dims) means and variances."""

    means: Array
    variances: Array

    def __len__(self) -> int:
        return len(self.means)


def expected_likelihood(A: PictureGaussians, B: PictureGaussians | None = None) -> Array:
    """``k(p, p') = integral of p(v | p) p(v | p') dv``, scaled to 1 for a picture with itself.

    For Gaussians the integral is ``N(mean; mean', variance + variance')``. Densities of many dimensions differ by
    hundreds of orders of magnitude, so they are divided by ``sqrt(k(p, p) k(p', p'))``.

    >>> two = PictureGaussians(np.array([[0.0, 0.0], [1.0, 1.0]]), np.ones((2, 2)))
    >>> expected_likelihood(two).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    """
    others = A if B is None else B
    if A.means.shape[1] != others.means.shape[1]:
        raise InputError(f"descriptors of {A.means.shape[1]} and {others.means.shape[1]} dimensions cannot be compared")
    from visterm.ranking.spaces._kernels import log_likelihoods

    kernel = np.empty((len(A), len(others)))

    def of_rows(rows: slice) -> None:
        log_likelihoods(A.means[rows], A.variances[rows], others.means, others.variances, kernel[rows])
        own = _log_self_likelihood(A.variances[rows])[:, None] + _log_self_likelihood(others.variances)
        np.exp(kernel[rows] - own / 2, out=kernel[rows])

    _in_shards(of_rows, len(A))
    return kernel


def best_matches(A: LocalDescriptors, B: LocalDescriptors | None = None, *, deviation: float) -> Array:
    """The match kernel: the mean kernel of each descriptor of both pictures with its best match in the other picture.

    Descriptors are compared by ``exp(-||d - d'||^2 / (2 deviation^2))``. It is symmetric, but not always positive
    definite. It compares all pairs of descriptors (without ``B``, each pair once), which takes minutes for thousands of
    pictures.

    >>> A = LocalDescriptors.of([[[0.0], [4.0]], [[0.0]]])
    >>> best_matches(A, deviation=1.0).round(2)  # one of two descriptors finds itself, and the single one does
    array([[1.  , 0.75],
           [0.75, 1.  ]], dtype=float32)
    """
    if not 0 < deviation < np.inf:
        raise InputError(f"the deviation must be positive and finite, not {deviation}")
    others = A if B is None else B
    if A.rows.shape[1] != others.rows.shape[1]:
        raise InputError(f"descriptors of {A.rows.shape[1]} and {others.rows.shape[1]} dimensions cannot be compared")
    squares = np.einsum("ij,ij->i", others.rows, others.rows)
    kernel = np.empty((len(A), len(others)), np.float32)

    def of_rows(rows: slice) -> None:
        for i in range(rows.start, min(rows.stop, len(A))):
            first = i if B is None else 0  # without B, the kernels with earlier pictures are known
            start = others.ends[first]
            starts, counts = others.ends[first:-1] - start, np.diff(others.ends[first:])
            own = A.rows[A.ends[i] : A.ends[i + 1]]
            # Half of the squared distances, up to rounding. The smallest is the best match, so only it needs the
            # kernel.
            halves = own @ others.rows[start:].T
            np.subtract(squares[start:] / 2, halves, out=halves)
            halves += (np.einsum("ij,ij->i", own, own) / 2)[:, None]
            there = _rbf(np.minimum.reduceat(halves, starts, axis=1), deviation).mean(axis=0)
            back = np.add.reduceat(_rbf(halves.min(axis=0), deviation), starts) / counts
            kernel[i, first:] = (there + back) / 2
            if B is None:
                kernel[i:, i] = kernel[i, i:]

    _in_shards(of_rows, len(A))
    return kernel


def _rbf(half_squares: Array, deviation: float) -> Array:
    return np.exp(-np.maximum(half_squares, 0) / deviation**2)


def _log_self_likelihood(variances: Array) -> Array:
    """``log k(p, p)``: the log-density of a Gaussian of twice the variance at its mean."""
    return -0.5 * np.log(4 * np.pi * variances).sum(axis=1)


def _in_shards(of_rows: Any, n_pictures: int) -> None:
    shards = split(n_pictures, size=_SHARD)
    for _ in map_shards(lambda shard: of_rows(shard.rows), shards, description="Comparing pictures"):
        pass
