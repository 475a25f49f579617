"""One-vs-all classification with sparse weights: the elastic net by proximal dual coordinate ascent."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import StrOptions

from visterm.compute import progress
from visterm.contracts import Features, Scores, check_classes, check_features
from visterm.contracts.estimator import Estimator
from visterm.margin import kernels
from visterm.margin.dual import Coordinates, warn_unconverged
from visterm.margin.expansion import NOT_NEGATIVE, POSITIVE, RANDOM_STATE
from visterm.margin.losses import Loss, loss_named
from visterm.margin.one_vs_all import OneVsAll, class_labels, generator, known_rows

Array = NDArray[Any]

#: The most passes over all pictures.
MAX_PASSES = 3000


class ElasticNetSDCA(OneVsAll, Estimator):
    """Classifies one-vs-all with few features: the elastic-net extension of Lapin et al. 2014.

    For each class it minimises ``||w||^2 / 2 + l1 ||w||_1 + C sum_i loss(y_i <w, x_i>)``. The solver keeps the weights
    together with the dual variables and shrinks them after every step (Shalev-Shwartz and Zhang 2012). ``l1`` does not
    shrink the intercept.

    - ``kernel``: ``linear`` or ``hellinger``; other parameters as in :class:`visterm.margin.SDCAClassifier`.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 8)); y = (X[:, 0] > 0).astype(int)
    >>> np.flatnonzero(ElasticNetSDCA(l1=20.0, random_state=0).fit(X, y).coef_)
    array([0])
    """

    calibration_folds = 0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [POSITIVE],
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
        l1: float = 1.0,
        kernel: str = "linear",
        loss: str = "hinge",
        tol: float = 1e-3,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.l1 = l1
        self.kernel = kernel
        self.loss = loss
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Features, y: ArrayLike) -> Self:
        """Learn from the pictures whose class is known."""
        self._validate_params()
        X = check_features(self, X, fitting=True)
        y = check_classes(y, X.shape[0])
        rows, rng = known_rows(y), generator(self.random_state)
        self.classes_, _, labels = class_labels(y[rows])
        mapped = kernels.feature_map(X[rows], self.kernel)
        dense = mapped if isinstance(mapped, np.ndarray) else mapped.toarray()
        augmented = np.hstack([dense, np.ones((len(dense), 1))])
        loss = loss_named(self.loss)
        with progress.task("Separating classes by few features", total=len(labels)) as bar:
            weights, self.duality_gap_ = np.empty((len(labels), augmented.shape[1])), np.empty(len(labels))
            for t, label in enumerate(labels):
                weights[t], self.duality_gap_[t] = solve_elastic(
                    augmented, label, np.full(len(label), float(self.C)), self.l1, loss, self.tol, rng
                )
                bar.advance()
        self.coef_, self.intercept_ = weights[:, :-1], weights[:, -1]
        return self

    def _class_scores(self, X: Features) -> Scores:
        X = check_features(self, X, fitting=False)
        return np.asarray(kernels.feature_map(X, self.kernel) @ self.coef_.T) + self.intercept_


def solve_elastic(
    X: Array, y: Array, C: Array, l1: float, loss: Loss, tol: float, rng: np.random.Generator
) -> tuple[Array, float]:
    """The weights of one task and its relative duality gap; ``l1`` does not penalise the last column of ``X``."""
    from visterm.margin._kernels_elastic import Shrunk, ascend_elastic

    thresholds = np.full(X.shape[1], float(l1))
    thresholds[-1] = 0.0
    features = Shrunk(X, np.einsum("ij,ij->i", X, X), thresholds)
    b = np.zeros(len(y))
    gap, w = np.inf, np.zeros(X.shape[1])
    for _ in range(MAX_PASSES):
        v = (C * b * y) @ X
        w = np.sign(v) * np.maximum(np.abs(v) - thresholds, 0.0)
        primal = 0.5 * w @ w + thresholds @ np.abs(w) + C @ loss.value(y * (X @ w))
        dual = -(C @ loss.conjugate(b)) - 0.5 * w @ w
        gap = (primal - dual) / max(abs(primal), abs(dual), np.finfo(float).tiny)
        if gap <= tol:
            return w, float(gap)
        ascend_elastic(features, rng.permutation(len(y)), v, Coordinates(b, y, C), loss.code)
    warn_unconverged(float(gap), tol)
    return w, float(gap)
