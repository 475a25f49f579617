"""Derivatives of the log gamma function for compiled code."""

from __future__ import annotations

import math

from visterm.compute.compiled import compiled

#: The Bernoulli numbers B_2, B_4 to B_12.
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730)
#: From here on, the asymptotic series with these numbers is exact to the last few bits.
_LARGE = 10.0


@compiled
def digamma(x: float) -> float:
    """The derivative of log gamma at ``x`` > 0, as ``scipy.special.digamma``."""
    value = 0.0
    while x < _LARGE:
        value -= 1.0 / x
        x += 1.0
    inverse, series = 1.0 / (x * x), 0.0
    for n in range(len(BERNOULLI), 0, -1):
        series = inverse * (BERNOULLI[n - 1] / (2 * n) + series)
    return value + math.log(x) - 0.5 / x - series


@compiled
def trigamma(x: float) -> float:
    """The second derivative of log gamma at ``x`` > 0, as ``scipy.special.polygamma(1, x)``."""
    value = 0.0
    while x < _LARGE:
        value += 1.0 / (x * x)
        x += 1.0
    inverse, series = 1.0 / (x * x), 0.0
    for n in range(len(BERNOULLI), 0, -1):
        series = inverse * (BERNOULLI[n - 1] + series)
    return value + 1.0 / x + 0.5 * inverse + series / x
