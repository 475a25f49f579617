"""Derivatives of the log gamma function for compiled code."""

from __future__ import annotations

import math

from visterm.compute.compiled import compiled


@compiled
def digamma(x: float) -> float:
    """The derivative of log gamma at ``x`` > 0, as ``scipy.special.digamma``."""
    value = 0.0
    while x < 10.0:
        value -= 1.0 / x
        x += 1.0
    inverse = 1.0 / (x * x)
    series = inverse * (
        1 / 12
        - inverse * (1 / 120 - inverse * (1 / 252 - inverse * (1 / 240 - inverse * (1 / 132 - inverse * 691 / 32760))))
    )
    return value + math.log(x) - 0.5 / x - series


@compiled
def trigamma(x: float) -> float:
    """The second derivative of log gamma at ``x`` > 0, as ``scipy.special.polygamma(1, x)``."""
    value = 0.0
    while x < 10.0:
        value += 1.0 / (x * x)
        x += 1.0
    inverse = 1.0 / (x * x)
    series = 1 / 6 - inverse * (
        1 / 30 - inverse * (1 / 42 - inverse * (1 / 30 - inverse * (5 / 66 - inverse * 691 / 2730)))
    )
    return value + 1.0 / x + 0.5 * inverse + inverse / x * series
