"""One number that turns class scores into probabilities: ``softmax(scores / temperature)``."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from visterm.contracts import UNKNOWN_CLASS

Array = NDArray[Any]


def fit_temperature(
    scores: Array, classes: NDArray[np.integer[Any]], *, largest: float = math.exp(7.0), prior: float = 0.0
) -> float:
    """The temperature at which the ``classes`` of held-out pictures are most likely (Guo et al., ICML 2017).

    ``classes`` are columns of ``scores``, or -1 if the class is unknown. Dividing by one number keeps the order of the
    classes. The temperature lies between ``1 / largest`` and ``largest``; it is 1 if no class is known. ``prior`` adds
    this many pictures whose class could be any: without them, a few pictures that are all right would seem certain.

    >>> scores = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> temperature = fit_temperature(scores, np.array([0, 0, 1, 1]))
    >>> round(float(class_probabilities(scores, temperature)[0, 0]), 2)
    0.75
    """
    from scipy.optimize import minimize_scalar

    known = np.flatnonzero(classes != UNKNOWN_CLASS)
    if not len(known) or scores.shape[1] < 2:
        return 1.0
    given, column, bound = scores[known].astype(np.float64), classes[known], math.log(largest)
    rows = np.arange(len(known))

    def loss(log_temperature: float) -> float:
        log_probabilities = log_softmax(given / math.exp(log_temperature), axis=1)
        return -float(log_probabilities[rows, column].sum() + prior * log_probabilities.mean())

    return float(np.exp(minimize_scalar(loss, bounds=(-bound, bound), method="bounded").x))


def surprise(scores: Array, classes: NDArray[np.integer[Any]], temperature: float) -> float:
    """The mean negative log probability of the ``classes``, as above; 0 if no class is known.

    >>> round(surprise(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0, 1]), 1.0), 3)
    0.313
    """
    known = np.flatnonzero(classes != UNKNOWN_CLASS)
    if not len(known):
        return 0.0
    log_probabilities = log_softmax(scores[known].astype(np.float64) / temperature, axis=1)
    return -float(log_probabilities[np.arange(len(known)), classes[known]].mean())


def class_probabilities(scores: Array, temperature: float) -> Array:
    """(n_pictures, n_classes) probabilities from scores with one column per class."""
    return softmax(scores / temperature, axis=1)
