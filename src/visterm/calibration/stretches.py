"""Numbers in parts, one for each stretch between knots, so that a slope may change there."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]


def stretches(values: Floats, knots: Floats) -> list[Floats]:
    """The part of the values on each stretch; the parts add up to them.

    >>> [part.tolist() for part in stretches(np.array([-1.0, 1.0, 4.0]), np.array([0.0, 2.0]))]
    [[-1.0, 0.0, 0.0], [0.0, 1.0, 2.0], [0.0, 0.0, 2.0]]
    """
    ends = [-np.inf, *knots, np.inf]
    return [np.clip(values, low, high) - (low if place else 0) for place, (low, high) in enumerate(pairwise(ends))]
