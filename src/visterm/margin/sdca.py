"""One-vs-all classification by stochastic dual coordinate ascent."""

from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from visterm.contracts import FROM_1, POSITIVE, Features, StrOptions, declared, is_several
from visterm.margin.functions.by_landmarks import ByLandmarks, MappedInnerProducts
from visterm.margin.functions.expansion import generator
from visterm.margin.functions.one_vs_all import Lesson, OneVsAll
from visterm.margin.functions.selection import PATH_TOL, ChosenC, choose_c
from visterm.margin.solver.ascent import Solution, solve
from visterm.margin.solver.inner_products import InnerProducts
from visterm.margin.solver.losses import Loss, loss_named
from visterm.margin.solver.tasks import Problem

Array = NDArray[Any]

#: With landmarks, C is chosen by a sample of this many pictures.
_CHOOSING_PICTURES = 2000


@declared
class SDCAClassifier(OneVsAll, ByLandmarks):
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
    - ``landmarks``: a number of pictures by whose kernel the others are known, if the kernel has no fewer explicit
      features; None: all, which is exact. ``auto``: all up to 10,000 pictures, else 2,000. With landmarks, C is chosen
      by 2,000 pictures; where ``auto`` means landmarks, a gap of 0.01 is enough.
    - ``warm_start``: start from the dual variables of the last fit, for example along a path of C.

    Pictures of unknown class (-1) are left out. Fitted: ``C_``, the value of C that was used.

    >>> model = SDCAClassifier(random_state=0).fit([[0.0], [0.2], [0.8], [1.0]], ["sea", "sea", "wood", "wood"])
    >>> model.predict([[-0.5], [1.5]]).tolist()
    ['sea', 'wood']
    """

    C: Annotated[float | str, POSITIVE, StrOptions({"auto"})] = 1.0
    _: KW_ONLY
    loss: str = "hinge"
    class_weight: Annotated[str | dict[Any, float] | None, StrOptions({"balanced"}), dict] = None
    landmarks: Annotated[int | str | None, FROM_1, StrOptions({"auto"})] = "auto"
    warm_start: bool = False
    _fitted_constraints: ClassVar[dict[str, str]] = {"C_": "float >0"}

    def fit(self, X: Features, y: ArrayLike, picture_weight: ArrayLike | None = None) -> Self:
        """Learn from the pictures whose class is known; ``picture_weight`` multiplies the losses of each picture."""
        lesson = self._lesson(X, y, picture_weight)
        loss, rng = loss_named(self.loss), generator(self.random_state)
        choice = None
        if self.C == "auto":
            lesson, choice = self._chosen(lesson, loss, rng)
        X, rows, _, labels, weights, products = lesson
        is_sample = choice is not None and len(choice.b.T) < len(rows)
        self.C_ = float(self.C) if choice is None else choice.C
        weights = np.broadcast_to(self.C_ * weights, labels.shape)
        start = getattr(self, "dual_", None) if self.warm_start else None
        if choice is not None:
            start = choice.b
        if start is not None and start.shape != labels.shape:
            start = None

        def learn(part: InnerProducts, kept: Any, start: Array | None, tol: float) -> Solution:
            return solve(Problem(part, labels[:, kept], weights[:, kept], loss), tol=tol, rng=rng, start=start)

        is_large = self.landmarks == "auto" and self.n_landmarks(len(rows)) is not None
        tol = max(self.tol, PATH_TOL) if is_large else self.tol
        solution = learn(products, slice(None), start, tol)
        if isinstance(products, MappedInnerProducts):
            self._keep_mapped(products, solution.theta)
        else:
            self._keep(X, rows, solution.theta)
        self.duality_gap_ = solution.gaps
        self._keep_trace(solution)
        if self.warm_start:
            self.dual_ = solution.b
        if self.calibration_folds and choice is not None and not is_sample:
            self.temperature_ = choice.temperature
        else:
            self._set_temperature(lesson, rng, lambda part, kept: learn(part, kept, solution.b[:, kept], tol).theta)
        return self

    def _chosen(self, lesson: Lesson, loss: Loss, rng: np.random.Generator) -> tuple[Lesson, ChosenC]:
        """The lesson by the best kernel, and the best C, by all pictures or a sample of many."""
        X, rows, codes, labels, weights, products = lesson
        candidates = {self.kernel_: products}
        if self.kernel == "auto" and not is_several(X):
            self.kernel_ = "cosine"
            candidates[self.kernel_] = self._inner_products(X, rows, labels)
        by: dict[str, InnerProducts] = dict(candidates)
        if self.n_landmarks(len(rows)) is not None and len(rows) > _CHOOSING_PICTURES:
            some = np.sort(rng.choice(len(rows), _CHOOSING_PICTURES, replace=False))
            by = {kernel: given.subset(some) for kernel, given in candidates.items()}
            codes, labels, weights = codes[some], labels[:, some], weights[some]
        choice = choose_c(by, labels, codes, weights, loss, rng=rng)
        self.kernel_ = choice.kernel
        return lesson._replace(products=candidates[choice.kernel]), choice

    def _inner_products(self, X: Features, rows: Array, labels: Array) -> InnerProducts:
        if self.n_landmarks(len(rows)) is None:
            return super()._inner_products(X, rows, labels)
        present = np.vstack([labels, -labels] if len(labels) == 1 else [labels]).T > 0
        return self._mapped_products(X, rows, sparse.csr_array(present.astype(np.float32)))
