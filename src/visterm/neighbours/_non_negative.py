"""Minimising smooth functions of weights that must not be negative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute import progress

Floats = NDArray[np.float64]


def minimise(
    cost: Callable[[Floats], tuple[float, Floats]], start: Floats, *, max_iter: int, bar: progress.Bar, sign: int = 1
) -> tuple[Floats, list[float]]:
    """The non-negative weights that minimise ``cost`` (value and gradient), and the objective after every step.

    Projected quasi-Newton steps (L-BFGS-B). The objective is ``sign`` times the cost. ``sign`` is -1 when a gain is
    maximised.
    """
    from scipy.optimize import minimize

    trace: list[float] = []
    if not max_iter:  # L-BFGS-B takes a step even then
        return start, trace

    def note(intermediate_result: Any) -> None:
        trace.append(sign * float(intermediate_result.fun))
        bar.report(objective=trace[-1])
        bar.advance()

    found = minimize(
        cost,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * len(start),
        callback=note,
        options={"maxiter": max_iter},
    )
    return found.x, trace
