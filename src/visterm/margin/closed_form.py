"""The squared loss in closed form: all tasks and every pair of regularisers from one eigendecomposition.

With ``f = M theta G`` (one-vs-all: M is the identity) the solution of ``||.||^2 / 2 + C sum (y - f)^2`` satisfies
``theta + 2 C M theta G = 2 C y``. In the eigenvectors of M and G, with eigenvalues s and l, the coefficients are
independent: ``theta = 2 C y / (1 + 2 C s l)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from visterm.margin.coupled import CoupledSolution
from visterm.margin.dual import Problem, Solution
from visterm.margin.inner_products import FeatureInnerProducts, InnerProducts
from visterm.margin.losses import Loss

Array = NDArray[Any]

#: Eigenvalues below this share of the largest are rounding errors.
_RANK = 1e-12


def is_closed(loss: Loss, takes_part: Array) -> bool:
    """Whether the loss is squared and all pictures take part in all tasks with weight 1."""
    _, _, low, high = loss.code
    return low == -inf and high == inf and bool((takes_part == 1).all())


@dataclass(frozen=True, slots=True, eq=False)
class Spectrum:
    """The positive eigenvalues of the pictures' Gram matrix, and the eigenvectors as columns."""

    values: Array
    vectors: Array

    @classmethod
    def of(cls, products: InnerProducts) -> Spectrum:
        """The spectrum, from the Gram matrix or the features' scatter matrix, whichever is smaller."""
        if isinstance(products, FeatureInnerProducts):
            X = products.with_constant()
            if X.shape[1] < X.shape[0]:
                values, rotation = linalg.eigh(X.T @ X, check_finite=False)
                kept = values > _RANK * max(values[-1], 0.0)
                return cls(values[kept], (X @ rotation[:, kept]) / np.sqrt(values[kept]))
            G = X @ X.T
        else:
            G = products.G.astype(np.float64) + products.shift
        values, vectors = linalg.eigh(G, overwrite_a=True, check_finite=False)
        kept = values > _RANK * max(values[-1], 0.0)
        return cls(values[kept], np.ascontiguousarray(vectors[:, kept]))

    def theta(self, y: Array, C: float, M: Array | None = None) -> Array:
        """The coefficients (n_tasks, n_pictures) for the labels ``y``; ``M`` couples the tasks (None: no coupling)."""
        y = y.astype(np.float64)
        if M is None:
            r = 2.0 * C * self.values
            return 2.0 * C * (y - ((r / (1.0 + r)) * (y @ self.vectors)) @ self.vectors.T)
        s, V = linalg.eigh(M.astype(np.float64), check_finite=False)
        r = 2.0 * C * np.maximum(s, 0.0)[:, None] * self.values
        return 2.0 * C * (y - (V @ ((r / (1.0 + r)) * (V.T @ (y @ self.vectors)))) @ self.vectors.T)


def solve_squared(products: InnerProducts, spectrum: Spectrum, y: Array, C: float, loss: Loss) -> Solution:
    """One-vs-all with the squared loss: the limit of ``precision.solve``."""
    b = spectrum.theta(y, C) * y / C
    return Problem(products, y, np.full_like(y, C), loss).evaluate(b.astype(y.dtype))


def solve_coupled_squared(
    products: InnerProducts, spectrum: Spectrum, M: Array, y: Array, C: float, loss: Loss
) -> CoupledSolution:
    """The map with the squared loss: the limit of ``coupled.solve_coupled``."""
    b = spectrum.theta(y, C, M) * y / C
    return CoupledSolution(Problem(products, y, np.full_like(y, C), loss), M, b.astype(y.dtype))
