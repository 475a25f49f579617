"""The base of the margin methods: training pictures in the form that the solver needs, and the learned functions.

A learned function is an expansion over training pictures, ``f_t(x) = sum_i theta_ti (k(x, x_i) + s^2)``, where ``s`` is
the constant feature that carries the intercept. If the kernel has explicit features, the expansion is folded into
weights and no training picture is kept. Otherwise only the pictures with non-zero coefficients are kept.
"""

from typing import Annotated, Any, ClassVar, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from visterm.compute import memory
from visterm.contracts import Features, Matrix, Scores, check_feature_mapping, check_features, is_several, n_pictures
from visterm.contracts.estimator import NOT_NEGATIVE, Estimator
from visterm.distances import as_given
from visterm.errors import InputError
from visterm.margin.functions import kernels, on_device
from visterm.margin.functions.compared import Compared
from visterm.margin.functions.product_kernel import ProductKernel
from visterm.margin.solver.inner_products import FeatureInnerProducts, GramInnerProducts, InnerProducts

Array = NDArray[Any]

#: Up to this many training pictures, the solver uses double precision; for more, single precision.
DOUBLE_PRECISION_ROWS = 2048
#: A seed, a generator, or None.
Seed: TypeAlias = Annotated[Any, "random_state", np.random.Generator]
#: The bytes of a pair of training pictures: its kernel, distances by a feature or two, and its place in an inverse.
_BYTES_OF_PAIR = 20
#: Seeds of random generators are below this number.
_SEEDS = 2**31 - 1
#: Coefficients below this share of their task's largest are rounding errors, not support.
_NO_SUPPORT = 1e-7
#: The support of this many tasks is found at a time.
_SUPPORT_TASKS = 256
#: More scores than this are not widened to double precision: they would take twice the memory.
_DOUBLE_SCORES = 2**20


class ExpansionEstimator(Estimator):
    """An estimator with the parameters ``kernel`` and ``intercept_scaling`` that learns expansions over pictures.

    Fitted: ``kernel_``, the kernel that was used; ``coef_`` (n_tasks, n_dims) and ``intercept_`` if it has explicit
    features. Otherwise ``dual_coef_`` (n_tasks, n_support), ``intercept_``, ``support_`` (rows) and the data of those
    pictures: ``support_vectors_``, or ``product_kernel_`` for several features.
    """

    kernel: str
    intercept_scaling: Annotated[float, NOT_NEGATIVE]
    #: The kernel that ``auto`` means for one feature; for several it means the weighted product.
    _kernel_of_one_feature: ClassVar[str] = "hellinger"
    _fitted_constraints: ClassVar[dict[str, str]] = {
        "kernel_": "text",
        "intercept_": "n_outputs",
        "coef_": "n_outputs n_features",
        "dual_coef_": "n_outputs n_support",
        "support_": "n_support int >=0",
        "support_vectors_": "n_support n_features",
    }

    def _check_fit_features(self, X: Features) -> Features:
        """``X`` checked for fitting, and the kernel chosen for it."""
        self.kernel_ = self._kernel_for(X)
        name, _ = kernels.kernel_named(self.kernel_)
        self._forget("feature_widths_")
        if name in kernels.PRODUCTS:
            # mutants: True -> False: the same numbers, but halves are widened at once and take more memory
            return as_given(X, check_feature_mapping(self, X, fitting=True))
        if is_several(X):
            raise InputError(
                f"the kernel {name} takes one feature, but X has {len(X)}: choose auto or weighted-product"
            )
        # With a number of landmarks, only some rows are taken at a time.
        by_sums = isinstance(getattr(self, "landmarks", None), int) and name != "precomputed"
        checked = check_features(self, X, fitting=True, halves=True, addresses=by_sums)
        return kernels.check_square(checked) if name == "precomputed" else checked

    def _kernel_for(self, X: Features) -> str:
        if self.kernel != "auto":
            return self.kernel
        return "weighted-product" if is_several(X) else self._kernel_of_one_feature

    def _forget(self, *names: str) -> None:
        """Drop fitted attributes that the next fit may not set."""
        for name in names:
            if name in vars(self):
                delattr(self, name)

    def _inner_products(self, X: Features, rows: Array, labels: Array) -> InnerProducts:
        """The inner products of the given rows of checked features, in the form that the solver needs.

        ``labels`` (n_tasks, len(rows)) are positive where a label is present and negative where it is absent.
        """
        shift = float(self.intercept_scaling) ** 2
        if self.kernel_ in kernels.EXPLICIT and cast(Matrix, X).shape[1] < len(rows):
            return FeatureInnerProducts(_mapped(cast(Matrix, X), rows, self.kernel_), shift)
        return GramInnerProducts(self._training_gram(X, rows, labels), shift)

    def _training_gram(self, X: Features, rows: Array, labels: Array) -> Array:
        """The kernel between the given rows of checked features; ``labels`` as above."""
        dtype, (name, scale) = precision(rows), kernels.kernel_named(self.kernel_)
        if name != "precomputed" and (needed := bytes_of_pairs(len(rows))) > (left := memory.left()):
            raise memory.TooLittleMemoryError(f"comparing {len(rows)} pictures with each other", needed, left)
        if name == "precomputed":
            G = cast(Array, X)
            G = G if len(rows) == len(G) else np.ascontiguousarray(G[np.ix_(rows, rows)])
            return G.astype(dtype, copy=False)
        if name in kernels.PRODUCTS:
            self.product_kernel_ = ProductKernel(scale, weights=kernels.PRODUCTS[name])
            # A task of one class against the other also labels the other class.
            present = np.vstack([labels, -labels] if len(labels) == 1 else [labels]).T > 0
            some = None if len(rows) == n_pictures(X) else rows
            return self.product_kernel_.fit_transform(X, present, rows=some).astype(dtype, copy=False)
        return kernels.gram(cast(Matrix, X), kernel=self.kernel_, dtype=dtype, rows=rows)

    def _keep(self, X: Features, rows: Array, theta: Array, *, whole: bool = False) -> None:
        """Keep the functions with coefficients ``theta`` (n_tasks, len(rows)) over the given rows.

        Rows without coefficients are dropped, unless the ``whole`` expansion is wanted.
        """
        self._forget("coef_", "dual_coef_", "support_", "support_vectors_", "n_landmarks_", "rotation_")
        self.intercept_ = float(self.intercept_scaling) ** 2 * theta.sum(axis=1, dtype=np.float64)
        name, _ = kernels.kernel_named(self.kernel_)
        if name in kernels.EXPLICIT:
            self.coef_ = _folded(cast(Matrix, X), rows, theta, name)
        else:
            is_support = np.ones(len(rows), np.bool_) if whole else _support(theta)
            self.support_ = rows[is_support]
            self.dual_coef_ = np.ascontiguousarray(theta if is_support.all() else theta[:, is_support])
            if name in kernels.PRODUCTS:
                self.product_kernel_ = self.product_kernel_.select(np.flatnonzero(is_support))
            elif name != "precomputed":
                self.support_vectors_ = cast(Matrix, X)[self.support_]
        if name not in kernels.PRODUCTS:
            self._forget("product_kernel_")

    def _task_scores(self, X: Features, tasks: slice = slice(None)) -> Scores:
        """(n_pictures, n_tasks): the learned functions, or some of them, at new pictures."""
        check_is_fitted(self)
        name, _ = kernels.kernel_named(self.kernel_)
        intercept = self.intercept_[tasks]
        weights = self.coef_ if name in kernels.EXPLICIT else self.dual_coef_
        compared = self._compared(name)
        if (device := on_device.device_for_scores(compared, X, weights.dtype)) is not None:
            X = self._checked(X)
            return _with_intercept(on_device.scores(cast(Compared, compared), X, weights[tasks], device), intercept)
        if name not in kernels.EXPLICIT:
            return _with_intercept(np.asarray(self._expanded(self._support_kernel(X), tasks)), intercept)
        X = cast(Matrix, self._checked(X))
        scores = np.empty((X.shape[0], len(intercept)), self.coef_.dtype)
        for part, mapped in kernels.mapped_blocks(X, name, self.coef_.dtype):
            scores[part] = mapped @ self.coef_[tasks].T
        return _with_intercept(scores, intercept)

    def _support_kernel(self, X: Features) -> Any:
        """(n_pictures, n_support): the kernel between pictures and the support."""
        name, _ = kernels.kernel_named(self.kernel_)
        X = self._checked(X)
        if name in kernels.PRODUCTS:
            return self.product_kernel_.transform(X)
        X = cast(Matrix, X)
        if name == "precomputed":
            return X[:, self.support_]
        return kernels.gram(X, self.support_vectors_, kernel=self.kernel_, dtype=self.dual_coef_.dtype)

    def _checked(self, X: Features) -> Features:
        """New pictures, checked."""
        if kernels.kernel_named(self.kernel_)[0] in kernels.PRODUCTS:
            return check_feature_mapping(self, X, fitting=False)
        return check_features(self, X, fitting=False, halves=True)

    def _compared(self, name: str, landmarks: Matrix | None = None) -> Compared | None:
        """How a device compares pictures by the kernel called ``name``, with these landmarks or else the support."""
        if name in kernels.PRODUCTS:
            return Compared.by_product(self.product_kernel_)
        if name in kernels.EXPLICIT and landmarks is None:
            return Compared.by_kernel(name, None)
        if name == "precomputed":
            return None
        return Compared.by_kernel(self.kernel_, self.support_vectors_ if landmarks is None else landmarks)

    def _expanded(self, gram: Any, tasks: slice) -> Scores:
        """(n_pictures, n_tasks) from the kernel between pictures and the support, without intercepts."""
        return gram @ self.dual_coef_[tasks].T

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def bytes_of_pairs(n_pictures: int) -> int:
    """The memory that learning from the kernel between all of these pictures takes."""
    return _BYTES_OF_PAIR * n_pictures**2


def folds(groups: Array, n_folds: int, rng: np.random.Generator) -> list[Array]:
    """The rows of each fold; pictures are distributed group by group, so each fold has its share of every group.

    >>> [fold.tolist() for fold in folds(np.array([0, 0, 1, 1]), 2, np.random.default_rng(0))]
    [[0, 2], [1, 3]]
    """
    shuffled = rng.permutation(len(groups))
    dealt = shuffled[np.argsort(groups[shuffled], kind="stable")]
    return [np.sort(dealt[fold::n_folds]) for fold in range(min(n_folds, len(groups)))]


def generator(random_state: Any) -> np.random.Generator:
    """The random generator of a fit, the same for the same ``random_state`` of any kind that scikit-learn accepts."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_random_state(random_state).randint(_SEEDS))


def precision(rows: Array) -> Any:
    """The precision of coefficients over the given training pictures: single if they are many."""
    return np.float64 if len(rows) <= DOUBLE_PRECISION_ROWS else np.float32


def _with_intercept(scores: Array, intercept: Array) -> Scores:
    """Many scores stay in single precision; few become double, like the intercepts."""
    if scores.dtype == np.float32 and scores.shape[0] * scores.shape[1] > _DOUBLE_SCORES:
        scores += intercept.astype(np.float32)
        return scores
    return scores + intercept


def _support(theta: Array) -> NDArray[np.bool_]:
    """The pictures with a coefficient that is no rounding error, some tasks at a time."""
    is_support = np.zeros(theta.shape[1], np.bool_)
    for start in range(0, len(theta), _SUPPORT_TASKS):
        size = np.abs(theta[start : start + _SUPPORT_TASKS])
        is_support |= (size > _NO_SUPPORT * size.max(axis=1, keepdims=True, initial=0.0)).any(axis=0)
    return is_support


def _mapped(X: Matrix, rows: Array, kernel: str) -> Array:
    """The explicit features of some rows, dense."""
    features = np.empty((len(rows), X.shape[1]), precision(rows))
    for part, mapped in kernels.mapped_blocks(X, kernel, features.dtype, rows):
        features[part] = mapped if isinstance(mapped, np.ndarray) else mapped.toarray()
    return features


def _folded(X: Matrix, rows: Array, theta: Array, kernel: str) -> Array:
    """The weights (n_tasks, n_dims) of an expansion with explicit features, a block of pictures at a time."""
    weights = np.zeros((len(theta), X.shape[1]), theta.dtype)
    for part, mapped in kernels.mapped_blocks(X, kernel, theta.dtype, rows):
        weights += theta[:, part] @ mapped
    return weights
