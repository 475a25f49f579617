"""Ridge regressions that score a picture they learned from as if it had been left out."""

from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from visterm.contracts import Scores
from visterm.margin.functions import kernels
from visterm.margin.functions.expansion import ExpansionEstimator

#: Of these kernels, a picture has the kernel 1 with itself, and less with every other picture.
_ONE_WITH_ITSELF = ("exp-chi2", *kernels.PRODUCTS)
#: Two pictures are the same if their kernel is 1 but for rounding errors of their features.
_ROUNDING = 1e-5


class LeavesOut(ExpansionEstimator):
    """Expansions by ridge regression whose training pictures can be scored without themselves.

    A function learned from a picture nearly repeats what it was taught there: a picture that somebody tagged with one
    word only would be sure to have no other tag. With ``Q = (G + alpha I)^-1`` of the training pictures, picture i
    scores ``t_i - alpha theta_i``, and ``t_i - theta_i / Q_ii`` if it is left out. So its own part of the score is
    ``theta_i (1 / Q_ii - alpha)``. For a tag with known negatives this holds approximately.

    Fitted, if the kernel tells that a picture is the same: ``own_weights_`` (n_support,), the ``1 / Q_ii - alpha``.
    """

    _leaves_out = False
    _fitted_constraints: ClassVar[dict[str, str]] = {"own_weights_": "n_support"}

    @property
    def can_leave_out(self) -> bool:
        """Whether training pictures can be scored as if they had been left out."""
        return hasattr(self, "own_weights_")

    def as_if_left_out(self) -> Self:
        """The same estimator for new pictures; training pictures score as if each had been left out.

        >>> from visterm.margin import KernelRidgeAnnotator
        >>> X, tags = [[1.0, 0.0], [0.9, 0.1], [0.1, 0.9]], [[1, 0], [0, 1], [0, 1]]
        >>> model = KernelRidgeAnnotator(tag_power=0).fit(X, tags)
        >>> model.score_tags(X)[0].round(1), model.as_if_left_out().score_tags(X)[0].round(1)
        (array([ 0.4, -0.3]), array([-0.3,  0.4]))
        """
        other = copy(self)
        other._leaves_out = True
        return other

    def _keep_own(self, rows: NDArray[Any], own_weights: NDArray[Any]) -> None:
        """Keep what leaves pictures out; ``own_weights`` are those of all training ``rows``, which ascend."""
        self._forget("own_weights_")
        if kernels.kernel_named(self.kernel_)[0] in _ONE_WITH_ITSELF:
            self.own_weights_ = own_weights[np.searchsorted(rows, self.support_)]

    def _expanded(self, gram: Any, tasks: slice) -> Scores:
        scores = super()._expanded(gram, tasks)
        if self._leaves_out and self.can_leave_out and gram.shape[1]:
            nearest = gram.argmax(axis=1)
            known = np.flatnonzero(gram[np.arange(len(gram)), nearest] > 1 - _ROUNDING)
            places = nearest[known]
            scores[known] -= (self.dual_coef_[tasks][:, places] * self.own_weights_[places]).T.astype(scores.dtype)
        return scores
