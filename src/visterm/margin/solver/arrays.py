"""The arrays that the compiled loops of the dual solvers take."""

from typing import Any, NamedTuple

from numpy.typing import NDArray

Array = NDArray[Any]


class Block(NamedTuple):
    """Pictures whose steps are taken together: their Gram matrix, their rows, their scores (n_tasks, len(rows)).

    Compiled code changes the scores ``f`` in place and adds the change of theta to ``delta``, of the same shape.
    """

    G: Array
    rows: Array
    f: Array
    delta: Array


class Coordinates(NamedTuple):
    """The coordinates of all tasks (n_tasks, n_pictures), or of one: dual variables, labels, weights.

    ``C`` is 0 if a coordinate does not exist. Compiled code changes ``b`` in place.
    """

    b: Array
    y: Array
    C: Array


class PictureDuals(NamedTuple):
    """Dual variables ``p`` (n_classes, n_pictures), zero at a picture's own class ``y``; picture weights ``C``."""

    p: Array
    y: Array
    C: Array


class LossCode(NamedTuple):
    """A loss as numbers, for compiled code. All but the logistic have the conjugate -b + gamma b^2 / 2 on a range."""

    is_logistic: bool
    gamma: float
    low: float
    high: float
