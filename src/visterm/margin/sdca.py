"""One-vs-all classification by stochastic dual coordinate ascent."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import StrOptions

from visterm.calibration import fit_temperature
from visterm.contracts import Features, Scores, check_classes, is_several, n_pictures
from visterm.margin.expansion import EXPANSION_PARAMETERS, POSITIVE, RANDOM_STATE, ExpansionEstimator, folds
from visterm.margin.losses import loss_named
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
from visterm.margin.precision import solve
from visterm.margin.selection import choose_c

Array = NDArray[Any]


class SDCAClassifier(OneVsAll, ExpansionEstimator):
    """Learns one function for each class against all other classes: STL-SDCA of Lapin et al. 2014.

    For each class it minimises ``||w||^2 / 2 + C sum_i c_i loss(y_i <w, x_i>)`` to the relative duality gap ``tol``.
    The form is that of scikit-learn's ``LinearSVC`` and ``SVC`` (the paper's lambda is 1 / (C n)). Two classes need one
    function.

    - ``C``: a number, or ``auto`` for the value whose held-out probabilities are best, see
      :func:`~visterm.margin.choose_c`. The smoother losses, ``logistic`` above all, gain most from it.
    - ``kernel``: ``linear``, ``cosine``, ``hellinger``, ``chi2``, ``exp-chi2[:GAMMA]``, ``precomputed``; for several
      features ``product[:SCALE]`` or ``weighted-product[:SCALE]``. ``auto`` is the latter for several features. For one
      it is ``hellinger``, or with ``C="auto"`` the better of ``hellinger`` and ``cosine``.
    - ``loss``: ``hinge``, ``smooth_hinge[:GAMMA]``, ``squared_hinge``, ``squared`` or ``logistic``.
    - ``intercept_scaling``: the constant feature that carries the intercept; 0 for none.
    - ``class_weight``: None, ``balanced``, or a dict of class to weight.
    - ``calibration_folds``: the number of folds, at least 2, whose held-out scores set the temperature of
      ``predict_proba``; 0: no probabilities. With ``C="auto"`` the folds that chose C set it.
    - ``warm_start``: start from the dual variables of the last fit, for example along a path of C.

    Pictures of unknown class (-1) are left out. Fitted: ``C_``, the value of C that was used.

    >>> model = SDCAClassifier(random_state=0).fit([[0.0], [0.2], [0.8], [1.0]], ["sea", "sea", "wood", "wood"])
    >>> model.predict([[-0.5], [1.5]]).tolist()
    ['sea', 'wood']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **EXPANSION_PARAMETERS,
        "C": [POSITIVE, StrOptions({"auto"})],
        "loss": [str],
        "tol": [POSITIVE],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "calibration_folds": CALIBRATION_FOLDS,
        "warm_start": ["boolean"],
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        C: float | str = 1.0,
        *,
        kernel: str = "linear",
        loss: str = "hinge",
        tol: float = 1e-3,
        intercept_scaling: float = 1.0,
        class_weight: str | dict[Any, float] | None = None,
        calibration_folds: int = 3,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.loss = loss
        self.tol = tol
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.calibration_folds = calibration_folds
        self.warm_start = warm_start
        self.random_state = random_state

    def fit(self, X: Features, y: ArrayLike, picture_weight: ArrayLike | None = None) -> Self:
        """Learn from the pictures whose class is known; ``picture_weight`` multiplies the losses of each picture."""
        self._validate_params()
        X = self._check_fit_features(X)
        y = check_classes(y, n_pictures(X))
        loss, rng = loss_named(self.loss), generator(self.random_state)
        rows = known_rows(y)
        self.classes_, codes, labels = class_labels(y[rows])
        weights = picture_weights(self.class_weight, self.classes_, codes, rows, len(y), picture_weight)
        products = self._inner_products(X, rows, labels)
        choice = None
        if self.C == "auto":
            candidates = {self.kernel_: products}
            if self.kernel == "auto" and not is_several(X):
                self.kernel_ = "cosine"
                candidates[self.kernel_] = self._inner_products(X, rows, labels)
            choice = choose_c(candidates, labels, codes, weights, loss, rng=rng)
            self.kernel_, products = choice.kernel, candidates.pop(choice.kernel)
            del candidates  # Gram matrices are large
        self.C_ = float(self.C) if choice is None else choice.C
        weights = np.broadcast_to(self.C_ * weights, labels.shape)
        start = getattr(self, "dual_", None) if self.warm_start else None
        if choice is not None:
            start = choice.b
        if start is not None and start.shape != labels.shape:
            start = None
        solution = solve(products, labels, weights, loss, tol=self.tol, rng=rng, start=start)
        self._keep(X, rows, solution.theta)
        self.duality_gap_ = solution.gaps
        self.objective_ = np.array([primal for primal, _ in solution.trace])
        self.dual_objective_ = np.array([dual for _, dual in solution.trace])
        if self.warm_start:
            self.dual_ = solution.b
        if self.calibration_folds and choice is not None:
            self.temperature_ = choice.temperature
        elif self.calibration_folds:
            held_out = cross_scores(
                products,
                folds(codes, self.calibration_folds, rng),
                len(labels),
                lambda part, kept: (
                    solve(
                        part, labels[:, kept], weights[:, kept], loss, tol=self.tol, rng=rng, start=solution.b[:, kept]
                    ).theta
                ),
            )
            self.temperature_ = fit_temperature(both_sides(held_out.T), codes)
        return self

    def _class_scores(self, X: Features) -> Scores:
        return self._task_scores(X)
