"""All classes learned jointly, so that the right one is among the first k: the top-k multiclass SVM."""

from dataclasses import KW_ONLY
from typing import Annotated, Any, Self

from numpy.typing import ArrayLike, NDArray

from visterm.contracts import POSITIVE, Features, StrOptions, declared
from visterm.errors import InputError
from visterm.margin.functions.expansion import generator
from visterm.margin.functions.one_vs_all import OneVsAll
from visterm.margin.solver.ascent import solve
from visterm.margin.solver.inner_products import InnerProducts
from visterm.margin.solver.top_k import TopKProblem, TopKSolution

Array = NDArray[Any]


@declared
class TopKSDCA(OneVsAll):
    """Learns the scores of all classes jointly: the top-k multiclass SVM (Lapin, Hein and Schiele, NIPS 2015).

    Minimises ``sum_j ||w_j||^2 / 2 + C sum_i c_i loss_k(x_i)`` to the relative duality gap ``tol``, where

        loss_k(x) = max(0, mean of the k largest of 1 + <w_j - w_y, x> over the classes j other than y)

    With ``k=1`` it is the multiclass SVM of Crammer and Singer. A larger ``k`` (below the number of classes) tolerates
    a few better classes: the right class should be among the first k. The dual variables of one picture are found
    together, by a projection onto the top-k simplex. The other parameters are those of
    :class:`visterm.margin.SDCAClassifier`.

    >>> X, y = [[0.0, 1.0], [0.1, 0.9], [1.0, 0.0], [0.9, 0.2], [0.5, 0.5], [0.4, 0.5]], [0, 0, 1, 1, 2, 2]
    >>> TopKSDCA(k=2, C=100.0, random_state=0).fit(X, y).predict_top([[0.0, 1.2]], 2)
    array([[0, 2]])
    """

    k: int = 1
    _: KW_ONLY
    C: Annotated[float, POSITIVE] = 1.0
    class_weight: Annotated[str | dict[Any, float] | None, StrOptions({"balanced"}), dict] = None

    def fit(self, X: Features, y: ArrayLike, picture_weight: ArrayLike | None = None) -> Self:
        """Learn from the pictures whose class is known; ``picture_weight`` multiplies the loss of each picture."""
        lesson = self._lesson(X, y, picture_weight)
        X, rows, codes, _, weights, products = lesson
        weights, rng = self.C * weights, generator(self.random_state)
        if not 1 <= self.k < len(self.classes_):
            raise InputError(f"k must lie between 1 and {len(self.classes_) - 1}, the classes minus one, not {self.k}")

        def learn(part: InnerProducts, kept: Any) -> TopKSolution:
            problem = TopKProblem(part, codes[kept], weights[kept], len(self.classes_), self.k)
            return solve(problem, tol=self.tol, rng=rng, description="Separating classes jointly")

        solution = learn(products, slice(None))
        self._keep(X, rows, _one_side(solution.theta))
        self.duality_gap_ = solution.gap
        self._keep_trace(solution)
        self._set_temperature(lesson, rng, lambda *some: _one_side(learn(*some).theta))
        return self


def _one_side(theta: Array) -> Array:
    """The coefficients of each class; for two classes, those of the second against the first."""
    return theta[1:] - theta[:1] if len(theta) == 2 else theta
