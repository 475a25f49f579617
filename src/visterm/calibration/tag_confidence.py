"""How sure a suggestion is: from the chance that a tag is drawn next to the probability that the picture has it."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from visterm.calibration.sigmoids import fit_platt, sigmoid
from visterm.contracts import Scores
from visterm.contracts.estimator import Estimator

_LEAST = 1e-12  # smallest chance before taking the logarithm


class TagConfidence(Estimator):
    """Turns chances (rows sum to one) into probabilities, in the same order.

    With tagged held-out pictures, the probability is ``sigmoid(slope * log(chance) + offset)``; slope and offset are
    fitted to them by maximum likelihood and are the same for all tags. Without such pictures, it is the probability
    that at least one of n draws is the tag, where n is the average number of tags per picture.

    >>> TagConfidence().of_draws(2).probabilities(np.array([[0.5, 0.5]]))
    array([[0.75, 0.75]])
    """

    _fitted_constraints: ClassVar[dict[str, str]] = {"n_draws_": "float >=0", "slope_": "float", "offset_": "float"}

    def of_draws(self, n_draws: float) -> Self:
        """Treat tags as independent draws."""
        self.n_draws_ = float(n_draws)
        self.slope_, self.offset_ = 0.0, 0.0
        return self

    def fit(self, chances: NDArray[Any], tags: Any) -> Self:
        """Learn from held-out pictures with known ``tags`` (n_pictures, n_tags)."""
        present = tags.toarray() > 0
        self.n_draws_ = float(present.sum() / len(present))
        ((slope, offset),) = fit_platt(_logs(chances).reshape(-1, 1), present.reshape(-1, 1))
        self.slope_, self.offset_ = float(slope), float(offset)
        return self

    def probabilities(self, chances: NDArray[Any]) -> Scores:
        """The probability of every tag of every picture."""
        if not self.slope_ > 0:  # nothing was learned, or the chances carry no information
            return -np.expm1(self.n_draws_ * np.log1p(-np.minimum(chances, 1 - _LEAST)))
        return sigmoid(_logs(chances), self.slope_, self.offset_)


def _logs(chances: NDArray[Any]) -> NDArray[np.float64]:
    return np.log(np.maximum(chances, _LEAST))
