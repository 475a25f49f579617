"""Compiled passes of proximal SDCA, for the elastic net."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from visterm.compute.compiled import compiled
from visterm.margin._kernels import best_dual
from visterm.margin.dual import Coordinates

Array = NDArray[Any]


class Shrunk(NamedTuple):
    """Features (n_pictures, n_dims), the squared length of each picture, and the threshold of each dimension."""

    X: Array
    squared: Array
    thresholds: Array


class Predictors(NamedTuple):
    """The tasks' predictors (n_tasks, n_columns) in the space of the map, and their squared lengths."""

    W: Array
    lengths: Array


@compiled(fastmath={"reassoc", "contract"})
def ascend_elastic(features: Shrunk, order: Array, v: Array, at: Coordinates, loss: Any) -> None:
    """One pass of proximal SDCA for one task: ``w = soft(v, thresholds)`` with the primal copy ``v = theta X``.

    In NumPy, for each picture i: ``new = best_dual(b[i], y[i] * (soft(v) @ X[i]), C[i] squared[i])``, then
    ``v += C[i] y[i] (new - b[i]) X[i]`` and ``b[i] = new``.
    """
    X, squared, thresholds = features
    b, y, C = at
    n_dims = X.shape[1]
    for i in order:
        if C[i] <= 0.0:
            continue
        score = 0.0
        for j in range(n_dims):
            shrunk = max(abs(v[j]) - thresholds[j], 0.0)
            score += X[i, j] * (shrunk if v[j] > 0.0 else -shrunk)
        old = b[i]
        b[i] = best_dual(old, y[i] * score, C[i] * squared[i], loss)
        if b[i] != old:
            change = C[i] * y[i] * (b[i] - old)
            for j in range(n_dims):
                v[j] += change * X[i, j]


@compiled
def ascend_elastic_map(
    features: Shrunk, predictors: Predictors, order: Array, V: Array, at: Coordinates, loss: Any
) -> None:
    """One pass of proximal SDCA for the map of all tasks: ``U = soft(V, thresholds)``, ``V = sum C b y x w^T``.

    In NumPy, for each picture i and task t: ``m = y[t, i] * (W[t] @ (soft(V).T @ X[i]))``, then ``b[t, i] =
    best_dual(b[t, i], m, C[t, i] squared[i] lengths[t])`` and ``V += C y (change of b) outer(X[i], W[t])``.
    """
    X, squared, thresholds = features
    W, lengths = predictors
    b, y, C = at
    n_tasks, n_columns = W.shape
    represented = np.empty(n_columns)
    for i in order:
        stale = True
        for t in range(n_tasks):
            if stale:
                represented[:] = 0.0
                for d in range(X.shape[1]):
                    if X[i, d] != 0.0:
                        for k in range(n_columns):
                            shrunk = max(abs(V[d, k]) - thresholds[d], 0.0)
                            represented[k] += X[i, d] * (shrunk if V[d, k] > 0.0 else -shrunk)
                stale = False
            score = 0.0
            for k in range(n_columns):
                score += W[t, k] * represented[k]
            old = b[t, i]
            b[t, i] = best_dual(old, y[t, i] * score, C[t, i] * squared[i] * lengths[t], loss)
            if b[t, i] != old:
                stale = True
                change = C[t, i] * y[t, i] * (b[t, i] - old)
                for d in range(X.shape[1]):
                    if X[i, d] != 0.0:
                        for k in range(n_columns):
                            V[d, k] += change * X[i, d] * W[t, k]
