"""Two layers of one-vs-all classifiers."""

from dataclasses import KW_ONLY
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.contracts import POSITIVE, Features, declared
from visterm.margin.functions.expansion import generator
from visterm.margin.functions.one_vs_all import OneVsAll
from visterm.margin.solver.ascent import solve
from visterm.margin.solver.inner_products import FeatureInnerProducts, InnerProducts
from visterm.margin.solver.losses import loss_named
from visterm.margin.solver.tasks import Problem

Array = NDArray[Any]


@declared
class StackedSDCA(OneVsAll):
    """Learns one-vs-all functions from the scores of one-vs-all functions: STL-SDCA-Stacked of Lapin et al. 2014.

    The second layer (parameter ``C_second``) learns from the scores that the first layer gives its own training
    pictures, as in the paper. Both layers are linear, so they are folded into one function per class. The other
    parameters are those of :class:`visterm.margin.SDCAClassifier`.

    >>> X, y = [[0.0, 1.0], [0.1, 0.9], [1.0, 0.0], [0.9, 0.2], [0.5, 0.5], [0.4, 0.5]], [0, 0, 1, 1, 2, 2]
    >>> StackedSDCA(C=100.0, random_state=0).fit(X, y).predict([[0.0, 1.2], [1.2, 0.0]])
    array([0, 1])
    """

    C: Annotated[float, POSITIVE] = 1.0
    _: KW_ONLY
    C_second: Annotated[float, POSITIVE] = 1.0
    loss: str = "hinge"

    def fit(self, X: Features, y: ArrayLike, picture_weight: ArrayLike | None = None) -> Self:
        """Learn both layers from the pictures whose class is known; ``picture_weight`` multiplies their losses."""
        lesson = self._lesson(X, y, picture_weight)
        X, rows, _, labels, weights, products = lesson
        rng = generator(self.random_state)
        self._keep(X, rows, self._learn(products, labels, weights, rng))
        self._set_temperature(lesson, rng, lambda part, kept: self._learn(part, labels[:, kept], weights[kept], rng))
        return self

    def _learn(self, products: InnerProducts, labels: Array, weights: Array, rng: np.random.Generator) -> Array:
        """The coefficients of the two layers, folded."""
        loss = loss_named(self.loss)
        every = np.broadcast_to(self.C * weights, labels.shape)
        first = solve(Problem(products, labels, every, loss), tol=self.tol, rng=rng)
        outputs = FeatureInnerProducts(np.ascontiguousarray(first.scores.T))
        every = np.broadcast_to(self.C_second * weights, labels.shape)
        second = solve(Problem(outputs, labels, every, loss), tol=self.tol, rng=rng)
        # f(x) = W_second^T first(x), and first(x) = first.theta k(x): one set of coefficients.
        return (second.theta @ outputs.X) @ first.theta
