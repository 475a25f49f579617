"""Losses as small objects: their value, their conjugate, and the dual step of SDCA.

All are functions of the margin ``m = y f``. The dual variable ``b`` of a picture is its multiplier times its label,
so the hinge has ``b`` in [0, 1]; ``conjugate(b)`` is the paper's ``l*(-b)``. The step of one coordinate maximises

    -conjugate(b') - (b' - b) m - (b' - b)^2 q / 2

where ``q`` is the squared length of the coordinate's feature vector times its weight (Lapin et al. 2014, (7)).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.errors import InputError
from visterm.margin.solver.arrays import LossCode


class Loss(ABC):
    """A convex loss of the margin."""

    @property
    @abstractmethod
    def code(self) -> LossCode:
        """The loss for compiled code."""

    @abstractmethod
    def value(self, margin: ArrayLike) -> NDArray[Any]:
        """The loss at each margin."""

    @abstractmethod
    def conjugate(self, b: ArrayLike) -> NDArray[Any]:
        """The conjugate at ``-b``: infinite outside the range of the dual variable."""


class QuadraticConjugate(Loss):
    """A loss whose conjugate is ``-b + gamma b^2 / 2`` on ``[low, high]``: the dual step is one clipped division."""

    def value(self, margin: ArrayLike) -> NDArray[Any]:
        """The loss at each margin: the conjugate of the conjugate."""
        _, gamma, low, high = self.code
        slack = 1.0 - np.asarray(margin, dtype=np.float64)
        # Without curvature the best b is a bound, and both bounds are finite.
        b = np.clip(slack / gamma, low, high) if gamma > 0 else np.where(slack > 0, high, low)
        return b * slack - 0.5 * gamma * b * b + 0.0  # no negative zeros

    def conjugate(self, b: ArrayLike) -> NDArray[Any]:
        """``-b + gamma b^2 / 2``, infinite outside the range."""
        _, gamma, low, high = self.code
        b = np.asarray(b, dtype=np.float64)
        return np.where((b >= low) & (b <= high), -b + 0.5 * gamma * b * b, inf)


@dataclass(frozen=True, slots=True)
class Hinge(QuadraticConjugate):
    """``max(0, 1 - m)``, the loss of the paper's experiments.

    >>> Hinge().value([-1.0, 0.5, 2.0])
    array([2. , 0.5, 0. ])
    """

    code = LossCode(False, 0.0, 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class SmoothHinge(QuadraticConjugate):
    """The hinge rounded off by a parabola over ``1 - gamma < m < 1``.

    >>> SmoothHinge(1.0).value([-1.0, 0.5, 2.0])
    array([1.5  , 0.125, 0.   ])
    """

    gamma: float = 1.0

    def __post_init__(self) -> None:
        if not self.gamma > 0:
            raise InputError(f"the smooth hinge needs gamma > 0, not {self.gamma}: gamma = 0 is the hinge")

    @property
    def code(self) -> LossCode:
        """The loss for compiled code."""
        return LossCode(False, float(self.gamma), 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class SquaredHinge(QuadraticConjugate):
    """``max(0, 1 - m)^2``, like scikit-learn's ``squared_hinge``."""

    code = LossCode(False, 0.5, 0.0, inf)


@dataclass(frozen=True, slots=True)
class Squared(QuadraticConjugate):
    """``(1 - m)^2``, which is ``(y - f)^2`` for labels of -1 and 1."""

    code = LossCode(False, 0.5, -inf, inf)


@dataclass(frozen=True, slots=True)
class Logistic(Loss):
    """``log(1 + exp(-m))``; safeguarded Newton iterations find its dual step."""

    code = LossCode(True, 0.0, 0.0, 1.0)

    def value(self, margin: ArrayLike) -> NDArray[Any]:
        """The loss at each margin."""
        return np.logaddexp(0.0, -np.asarray(margin, dtype=np.float64))

    def conjugate(self, b: ArrayLike) -> NDArray[Any]:
        """The negative entropy ``b log b + (1 - b) log(1 - b)``."""
        from scipy.special import entr

        b = np.asarray(b, dtype=np.float64)
        return np.asarray(-entr(b) - entr(1 - b))  # entr is -inf below 0


_BY_NAME: dict[str, Loss] = {
    "hinge": Hinge(),
    "smooth_hinge": SmoothHinge(),
    "squared_hinge": SquaredHinge(),
    "squared": Squared(),
    "logistic": Logistic(),
}


def loss_named(loss: str) -> Loss:
    """The loss called ``loss``; ``smooth_hinge:0.5`` gives the smooth hinge its gamma.

    >>> loss_named("smooth_hinge:0.5")
    SmoothHinge(gamma=0.5)
    """
    name, _, gamma = str(loss).partition(":")
    if name == "smooth_hinge" and gamma:
        try:
            return SmoothHinge(float(gamma))
        except ValueError as error:
            raise InputError(
                f"cannot read the loss {loss!r}: write smooth_hinge:GAMMA with a positive GAMMA"
            ) from error
    if name not in _BY_NAME or gamma:
        raise InputError(f"unknown loss {loss!r}: choose one of {', '.join(_BY_NAME)} or smooth_hinge:GAMMA")
    return _BY_NAME[name]
