"""Losses as small objects: their value, their conjugate, and the dual step of SDCA.

All are functions of the margin ``m = y f``. The dual variable ``b`` of a picture is its multiplier times its label,
so the hinge has ``b`` in [0, 1]; ``conjugate(b)`` is the paper's ``l*(-b)``. The step of one coordinate maximises

    -conjugate(b') - (b' - b) m - (b' - b)^2 q / 2

where ``q`` is the squared length of the coordinate's feature vector times its weight (Lapin et al. 2014, (7)).
"""

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr

from visterm.errors import InputError
from visterm.margin.solver.arrays import LossCode


@dataclass(frozen=True, slots=True)
class Loss:
    """A convex loss of the margin.

    Apart from the logistic loss, the conjugate is ``-b + gamma b^2 / 2`` on a range: the dual step is one clipped
    division. Safeguarded Newton iterations find the step of the logistic loss.
    """

    name: str
    code: LossCode

    def value(self, margin: ArrayLike) -> NDArray[Any]:
        """The loss at each margin."""
        is_logistic, gamma, low, high = self.code
        margin = np.asarray(margin, dtype=np.float64)
        if is_logistic:
            return np.logaddexp(0.0, -margin)
        # The conjugate of the conjugate. Without curvature the best b is a bound, and both bounds are finite.
        slack = 1.0 - margin
        # mutants: > -> >= (2): a slack of 0 is multiplied by the bound
        b = np.clip(slack / gamma, low, high) if gamma > 0 else np.where(slack > 0, high, low)
        return b * slack - 0.5 * gamma * b * b + 0.0  # no negative zeros

    def conjugate(self, b: ArrayLike) -> NDArray[Any]:
        """The conjugate at ``-b``: infinite outside the range of the dual variable."""
        is_logistic, gamma, low, high = self.code
        b = np.asarray(b, dtype=np.float64)
        if is_logistic:
            return np.asarray(-entr(b) - entr(1 - b))  # entr is -inf below 0
        return np.where((b >= low) & (b <= high), -b + 0.5 * gamma * b * b, inf)


def smooth_hinge(gamma: float = 1.0) -> Loss:
    """The hinge rounded off by a parabola over ``1 - gamma < m < 1``.

    >>> smooth_hinge(1.0).value([-1.0, 0.5, 2.0])
    array([1.5  , 0.125, 0.   ])
    """
    if not gamma > 0:
        raise InputError(f"the smooth hinge needs gamma > 0, not {gamma}: gamma = 0 is the hinge")
    return Loss("smooth_hinge", LossCode(False, float(gamma), 0.0, 1.0))


#: ``max(0, 1 - m)``, the loss of the paper's experiments.
HINGE = Loss("hinge", LossCode(False, 0.0, 0.0, 1.0))
#: ``max(0, 1 - m)^2``, like scikit-learn's ``squared_hinge``.
SQUARED_HINGE = Loss("squared_hinge", LossCode(False, 0.5, 0.0, inf))
#: ``(1 - m)^2``, which is ``(y - f)^2`` for labels of -1 and 1.
SQUARED = Loss("squared", LossCode(False, 0.5, -inf, inf))
#: ``log(1 + exp(-m))``
LOGISTIC = Loss("logistic", LossCode(True, 0.0, 0.0, 1.0))
_BY_NAME = {loss.name: loss for loss in (HINGE, smooth_hinge(), SQUARED_HINGE, SQUARED, LOGISTIC)}


def loss_named(loss: str) -> Loss:
    """The loss called ``loss``; ``smooth_hinge:0.5`` gives the smooth hinge its gamma.

    >>> loss_named("hinge").value([-1.0, 0.5, 2.0])
    array([2. , 0.5, 0. ])
    """
    name, _, gamma = str(loss).partition(":")
    if name == "smooth_hinge" and gamma:
        try:
            return smooth_hinge(float(gamma))
        except ValueError as error:
            raise InputError(
                f"cannot read the loss {loss!r}: write smooth_hinge:GAMMA with a positive GAMMA"
            ) from error
    if name not in _BY_NAME or gamma:
        raise InputError(f"unknown loss {loss!r}: choose one of {', '.join(_BY_NAME)} or smooth_hinge:GAMMA")
    return _BY_NAME[name]
