"""A collection's features in few numbers: unit rows in their leading principal directions."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from visterm.compute.eigenvectors import principal_axes
from visterm.compute.rows import slices, unit

Floats = NDArray[np.float32]
Integers = NDArray[np.integer[Any]]

#: The number of principal directions that are kept.
N_DIRECTIONS = 256
#: The directions are those of at most this many pictures; _BLOCK rows at a time are turned into them.
_MOST_COMPARED, _BLOCK = 10_000, 4096


class Rows(Protocol):
    """The features of pictures: an array, or what makes some rows of it when they are asked for."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any, /) -> Floats:
        """Some rows, by number or as a slice."""


def reduced(X: Rows, n_directions: int = N_DIRECTIONS) -> Floats:
    """Rows of unit length in the leading principal directions of ``X``, with a last column of ones.

    >>> reduced(np.eye(4, dtype=np.float32), 2).shape
    (4, 3)
    """
    compared = _single(X[:] if len(X) <= _MOST_COMPARED else X[sample(len(X), _MOST_COMPARED)])
    mean, axes = principal_axes(compared, min(n_directions, *compared.shape))
    directions = axes.astype(np.float32)
    Z = np.vstack([(_single(X[rows]) - mean) @ directions for rows in slices(len(X), _BLOCK)])
    return np.hstack([unit(Z), np.ones((len(Z), 1), np.float32)])


def _single(rows: Any) -> Floats:
    """Rows of unit length in single precision; they may be stored in half."""
    return unit(np.asarray(rows, np.float32))


def sample(n: int, size: int, random_state: int = 0) -> Integers:
    """``size`` of ``n`` rows, in order, drawn with a fixed seed."""
    return np.sort(np.random.default_rng(random_state).choice(n, size, replace=False))
