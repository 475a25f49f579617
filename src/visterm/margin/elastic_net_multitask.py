"""A shared representation that uses few features: multitask learning with the elastic net."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import StrOptions

from visterm.compute import progress
from visterm.contracts import Features, Scores, check_classes, check_features
from visterm.contracts.estimator import Estimator
from visterm.margin import kernels
from visterm.margin.dual import Coordinates, warn_unconverged
from visterm.margin.elastic_net import MAX_PASSES, solve_elastic
from visterm.margin.expansion import NOT_NEGATIVE, POSITIVE, RANDOM_STATE
from visterm.margin.inner_products import FeatureInnerProducts
from visterm.margin.losses import Loss, loss_named
from visterm.margin.one_vs_all import OneVsAll, class_labels, generator, known_rows
from visterm.margin.precision import solve

Array = NDArray[Any]


class ElasticNetMultitask(OneVsAll, Estimator):
    """Classifies with a shared map of few features: (1) of Lapin et al. 2014 with the elastic net on the map.

    Minimises over the map U and the predictors w_t, with weights of the losses instead of the paper's lam and mu,

        1/C_predictors sum_t ||w_t||^2 / 2 + 1/C_map (||U||^2 / 2 + l1 ||U||_1) + sum_ti loss(y_ti <w_t, U^T x_i>)

    Map and predictors are learned in turn, starting from the one-vs-all elastic net (with ``C``). The solver keeps a
    copy of the map together with the dual variables and shrinks it after every step. ``l1`` does not shrink the
    intercept's row. The objective never rises.

    - ``kernel``: ``linear`` or ``hellinger``; other parameters as in :class:`visterm.margin.MultitaskSDCA`.

    Fitted: ``map_`` (n_dims, n_classes), with many rows of zeros, ``coef_``, ``intercept_``, ``objective_``.

    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(90) % 3; X = 0.3 * rng.normal(size=(90, 10)); X[:, :3] += 2 * np.eye(3)[y]
    >>> np.flatnonzero(ElasticNetMultitask(l1=4.0, random_state=0).fit(X, y).map_.any(axis=1))
    array([0, 1, 2])
    """

    calibration_folds = 0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [POSITIVE],
        "C_predictors": [POSITIVE],
        "C_map": [POSITIVE],
        "max_iter": [Integral],
        "l1": [NOT_NEGATIVE],
        "kernel": [StrOptions(set(kernels.EXPLICIT))],
        "loss": [str],
        "tol": [POSITIVE],
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        C_predictors: float = 1.0,
        C_map: float = 1.0,
        l1: float = 1.0,
        kernel: str = "linear",
        loss: str = "hinge",
        tol: float = 1e-3,
        max_iter: int = 10,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.C_predictors = C_predictors
        self.C_map = C_map
        self.l1 = l1
        self.kernel = kernel
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Features, y: ArrayLike) -> Self:
        """Learn from the pictures whose class is known."""
        self._validate_params()
        X = check_features(self, X, fitting=True)
        y = check_classes(y, X.shape[0])
        rows, rng, loss = known_rows(y), generator(self.random_state), loss_named(self.loss)
        self.classes_, _, labels = class_labels(y[rows])
        mapped = kernels.feature_map(X[rows], self.kernel, np.float64)
        dense = mapped if isinstance(mapped, np.ndarray) else mapped.toarray()
        augmented = np.hstack([dense, np.ones((len(dense), 1))])
        with progress.task("Sharing few features") as bar:
            U, W = self._learn(augmented, labels, loss, rng, bar)
        self.map_ = U[:-1]
        weights = W @ U.T
        self.coef_, self.intercept_ = weights[:, :-1], weights[:, -1]
        return self

    def _learn(
        self, X: Array, y: Array, loss: Loss, rng: np.random.Generator, bar: progress.Bar
    ) -> tuple[Array, Array]:
        """Learn the map and the predictors in turn while the objective falls."""
        full = np.full(y.shape[1], float(self.C))
        U = np.stack([solve_elastic(X, label, full, self.l1, loss, self.tol, rng)[0] for label in y], axis=1)
        W, B = np.zeros((len(y), len(y))), np.zeros(y.shape)
        # The first predictors are zero, so the first losses are those of zero scores.
        objectives = [float(loss.value(np.zeros(y.shape)).sum()) + self._penalty(U)]
        b = np.zeros(y.shape)
        for _ in range(self.max_iter):
            represented = FeatureInnerProducts(np.ascontiguousarray(X @ U))
            found = solve(
                represented,
                y,
                np.full(y.shape, self.C_predictors),
                loss,
                tol=self.tol,
                rng=rng,
                start=B,
            )
            objective = float(found.primal.sum()) / self.C_predictors + self._penalty(U)
            if objective > objectives[-1]:
                break
            B, W = found.b, found.theta @ represented.X
            objectives.append(objective)
            own = 0.5 * float(np.vdot(W, W)) / self.C_predictors
            new_U, b, primal, gap = solve_elastic_map(X, W, y, self.C_map, self.l1, loss, self.tol, rng, b)
            objective = primal / self.C_map + own
            bar.report(objective=objective, gap=gap)
            if objective > objectives[-1]:
                break
            U = new_U
            objectives.append(objective)
            if objectives[-3] - objective <= self.tol * objective:
                break
        self.objective_ = np.array(objectives)
        return U, W

    def _penalty(self, U: Array) -> float:
        """The map's share of the objective."""
        return (0.5 * float(np.vdot(U, U)) + self.l1 * float(np.abs(U[:-1]).sum())) / self.C_map

    def _class_scores(self, X: Features) -> Scores:
        X = check_features(self, X, fitting=False)
        return np.asarray(kernels.feature_map(X, self.kernel) @ self.coef_.T) + self.intercept_


def solve_elastic_map(
    X: Array, W: Array, y: Array, C: float, l1: float, loss: Loss, tol: float, rng: np.random.Generator, start: Array
) -> tuple[Array, Array, float, float]:
    """``||U||^2 / 2 + l1 ||U||_1 + C sum_ti loss(y_ti <U, x_i w_t^T>)``: the map, its duals, objective, relative gap.

    ``l1`` does not penalise the last column of ``X``, the intercept's.
    """
    from visterm.margin._kernels_elastic import Predictors, Shrunk, ascend_elastic_map

    thresholds = np.full(X.shape[1], float(l1))
    thresholds[-1] = 0.0
    at = Coordinates(np.array(start), y, np.full(y.shape, C))
    features = Shrunk(X, np.einsum("ij,ij->i", X, X), thresholds)
    predictors = Predictors(W, np.einsum("tk,tk->t", W, W))
    for _ in range(MAX_PASSES):
        V = X.T @ ((C * at.b * y).T @ W)
        U = np.sign(V) * np.maximum(np.abs(V) - thresholds[:, None], 0.0)
        norm = 0.5 * float(np.vdot(U, U))
        scores = W @ (X @ U).T
        primal = norm + float((thresholds @ np.abs(U)).sum()) + C * float(loss.value(y * scores).sum())
        dual = -C * float(loss.conjugate(at.b).sum()) - norm
        gap = (primal - dual) / max(abs(primal), abs(dual), np.finfo(float).tiny)
        if gap <= tol:
            break
        ascend_elastic_map(features, predictors, rng.permutation(len(X)), V, at, loss.code)
    if gap > tol:
        warn_unconverged(gap, tol)
    return U, at.b, primal, gap
