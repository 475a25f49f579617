"""The common loop of expectation maximisation. The objective or held-out pictures decide when it stops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from visterm.compute import progress

M = TypeVar("M")
E = TypeVar("E")

#: Iterations between two scores of the held-out pictures, and scores without a rise before the loop stops.
_ITERATIONS_PER_LOOK, _PATIENCE = 5, 3


def climb(
    model: M,
    e_step: Callable[[M], tuple[E, float]],
    m_step: Callable[[M, E], M],
    *,
    max_iter: int,
    tol: float,
    bar: progress.Bar,
    look: Callable[[M], float] | None = None,
) -> tuple[M, NDArray[np.float64]]:
    """Alternate ``e_step``, which returns statistics and the objective, and ``m_step``, which returns a new model.

    The loop stops when the objective rises by less than ``tol``, relatively. ``look`` scores the model on held-out
    pictures: the loop then also stops when the score no longer rises, and returns the model of the best score. It also
    returns the objective at the start of every iteration.
    """
    objective: list[float] = []
    best, best_score, looks = model, -np.inf, 0
    for iteration in range(max_iter):
        evidence, value = e_step(model)
        objective.append(value)
        bar.advance()
        bar.report(objective=value)
        if iteration and value - objective[-2] <= tol * abs(value):
            break
        model = m_step(model, evidence)
        if look is not None and iteration % _ITERATIONS_PER_LOOK == _ITERATIONS_PER_LOOK - 1:
            score = look(model)
            bar.report(held_out=score)
            looks = 0 if score > best_score else looks + 1
            if score > best_score:
                best, best_score = model, score
            if looks == _PATIENCE:
                break
    if look is not None and look(model) <= best_score:
        model = best
    return model, np.array(objective)


def held_out_rows(n_pictures: int, share: float, random: Any) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows to learn from, and a ``share`` of the rows to hold out, drawn at random; both are sorted."""
    order = random.permutation(n_pictures)
    n_held = min(round(share * n_pictures), n_pictures - 1)
    return np.sort(order[n_held:]), np.sort(order[:n_held])
