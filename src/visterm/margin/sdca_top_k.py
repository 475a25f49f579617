"""All classes learned jointly, so that the right one is among the first k: the top-k multiclass SVM."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import StrOptions

from visterm.calibration import fit_temperature
from visterm.compute import progress
from visterm.contracts import Features, Scores, check_classes, n_pictures
from visterm.errors import InputError
from visterm.margin.dual import Block, warn_unconverged
from visterm.margin.expansion import EXPANSION_PARAMETERS, POSITIVE, RANDOM_STATE, ExpansionEstimator, folds
from visterm.margin.inner_products import InnerProducts
from visterm.margin.one_vs_all import (
    CALIBRATION_FOLDS,
    OneVsAll,
    both_sides,
    class_labels,
    cross_scores,
    generator,
    known_rows,
    picture_weights,
)
from visterm.margin.solver import MAX_SWEEPS, REFINE_FALL, REFINE_SHARE, random_blocks

Array = NDArray[Any]

#: Between two passes over all pictures, at most this many are refined together.
_ACTIVE_ROWS = 1024
#: Those whose gap is less than this share of the mean gap that is aimed at are left out.
_ACTIVE_SHARE = 0.1
#: The largest number of passes over them.
_REFINE_ROUNDS = 100


class TopKSDCA(OneVsAll, ExpansionEstimator):
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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **EXPANSION_PARAMETERS,
        "k": [Integral],
        "C": [POSITIVE],
        "tol": [POSITIVE],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "calibration_folds": CALIBRATION_FOLDS,
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        k: int = 1,
        *,
        C: float = 1.0,
        kernel: str = "linear",
        tol: float = 1e-3,
        intercept_scaling: float = 1.0,
        class_weight: str | dict[Any, float] | None = None,
        calibration_folds: int = 3,
        random_state: Any = None,
    ) -> None:
        self.k = k
        self.C = C
        self.kernel = kernel
        self.tol = tol
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.calibration_folds = calibration_folds
        self.random_state = random_state

    def fit(self, X: Features, y: ArrayLike, picture_weight: ArrayLike | None = None) -> Self:
        """Learn from the pictures whose class is known; ``picture_weight`` multiplies the loss of each picture."""
        self._validate_params()
        X = self._check_fit_features(X)
        y = check_classes(y, n_pictures(X))
        rng = generator(self.random_state)
        rows = known_rows(y)
        self.classes_, codes, labels = class_labels(y[rows])
        if not 1 <= self.k < len(self.classes_):
            raise InputError(f"k must lie between 1 and {len(self.classes_) - 1}, the classes minus one, not {self.k}")
        weights = self.C * picture_weights(self.class_weight, self.classes_, codes, rows, len(y), picture_weight)
        products = self._inner_products(X, rows, labels)
        solution = solve_top_k(products, codes, len(self.classes_), weights, self.k, tol=self.tol, rng=rng)
        self._keep(X, rows, _one_side(solution.theta))
        self.duality_gap_ = solution.gap
        self.objective_ = np.array([primal for primal, _ in solution.trace])
        self.dual_objective_ = np.array([dual for _, dual in solution.trace])
        if self.calibration_folds:

            def learn(part: InnerProducts, kept: Array) -> Array:
                n_classes = len(self.classes_)
                again = solve_top_k(part, codes[kept], n_classes, weights[kept], self.k, tol=self.tol, rng=rng)
                return _one_side(again.theta)

            parts = folds(codes, self.calibration_folds, rng)
            held_out = cross_scores(products, parts, len(labels), learn)
            self.temperature_ = fit_temperature(both_sides(held_out.T), codes)
        return self

    def _class_scores(self, X: Features) -> Scores:
        return self._task_scores(X)


@dataclass(slots=True, eq=False)
class TopKSolution:
    """Dual variables (n_classes, n_pictures), coefficients and scores of all classes, and the objectives."""

    p: Array
    theta: Array
    scores: Array
    primal: float
    dual: float
    #: The share of each picture in the gap.
    picture_gaps: Array
    #: Primal and dual objective after each pass.
    trace: list[tuple[float, float]]

    @property
    def gap(self) -> float:
        """The relative duality gap."""
        scale = max(abs(self.primal), abs(self.dual))
        return (self.primal - self.dual) / scale if scale else 0.0


def solve_top_k(
    products: InnerProducts,
    y: Array,
    n_classes: int,
    C: Array,
    k: int,
    *,
    tol: float,
    rng: np.random.Generator,
    max_sweeps: int = MAX_SWEEPS,
) -> TopKSolution:
    """Solve to the relative duality gap ``tol``; ``y`` are class numbers, ``C`` the weight of each picture.

    After each pass over all pictures in blocks come passes over the pictures with the largest share of the gap.
    """
    from visterm.margin._kernels_top_k import PictureDuals, ascend_pictures

    dtype = products.dtype
    y, C = np.ascontiguousarray(y, dtype=np.int64), np.ascontiguousarray(C, dtype=dtype)
    state = _evaluate(products, y, C, k, np.zeros((n_classes, len(y)), dtype))
    trace = [(state.primal, state.dual)]
    with progress.task("Separating classes jointly") as bar:
        for _ in range(max_sweeps):
            if state.gap <= tol:
                break

            def step(gram: Array, scores: Array, rows: Array, p: Array = state.p) -> Array:
                block = Block(gram, rows, np.ascontiguousarray(scores), np.zeros_like(scores))
                ascend_pictures(block, np.arange(len(rows)), PictureDuals(p, y, C), k)
                return block.delta

            products.sweep(state.theta, random_blocks(products.n_pictures, rng), step)
            state = _evaluate(products, y, C, k, state.p)
            _refine(products, y, C, k, state, tol, rng)
            state = _evaluate(products, y, C, k, state.p)
            trace.append((state.primal, state.dual))
            bar.report(objective=state.primal, gap=state.gap)
    if state.gap > tol:
        warn_unconverged(state.gap, tol)
    state.trace = trace
    return state


def _evaluate(products: InnerProducts, y: Array, C: Array, k: int, p: Array) -> TopKSolution:
    """The objectives at ``p``, with newly computed scores."""
    from visterm.margin._kernels_top_k import picture_values

    theta = -p * C
    theta[y, np.arange(len(y))] += C * p.sum(axis=0)
    scores = np.ascontiguousarray(products.scores(theta))
    losses, gains = np.empty(len(y)), np.empty(len(y))
    picture_values(scores, p, y, k, losses, gains)
    norms = np.einsum("ji,ji->i", theta, scores, dtype=np.float64)
    primal, dual = float(0.5 * norms.sum() + C @ losses), float(C @ gains - 0.5 * norms.sum())
    return TopKSolution(p, theta, scores, primal, dual, C * (losses - gains) + norms, [])


def _refine(
    products: InnerProducts, y: Array, C: Array, k: int, state: TopKSolution, tol: float, rng: np.random.Generator
) -> None:
    """Passes over only the pictures with the largest gaps, until their gap has fallen; changes ``state.p``."""
    from visterm.margin._kernels_top_k import PictureDuals, ascend_pictures, picture_values

    gap, tolerated = state.primal - state.dual, REFINE_SHARE * tol * abs(state.primal)
    if gap <= tolerated:
        return
    target = max(tolerated, REFINE_FALL * gap)
    active = np.argsort(-state.picture_gaps, kind="stable")[:_ACTIVE_ROWS]
    active = np.sort(active[state.picture_gaps[active] > _ACTIVE_SHARE * target / len(y)])
    gram, f = products.block(active), np.ascontiguousarray(state.scores[:, active])
    theta = np.ascontiguousarray(state.theta[:, active])
    block, at = Block(gram, active, f, theta), PictureDuals(state.p, y, C)
    losses, gains = np.empty(len(active)), np.empty(len(active))
    for _ in range(_REFINE_ROUNDS):
        ascend_pictures(block, rng.permutation(len(active)), at, k)
        picture_values(f, state.p[:, active], y[active], k, losses, gains)
        if float((C[active] * (losses - gains) + np.einsum("ji,ji->i", theta, f)).sum()) <= target:
            break


def _one_side(theta: Array) -> Array:
    """The coefficients of each class; for two classes, those of the second against the first."""
    return theta[1:] - theta[:1] if len(theta) == 2 else theta
