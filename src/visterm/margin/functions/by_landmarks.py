"""Functions learned from many pictures: on landmark features, ridge regressions by sums over shards."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.contracts import Features, Matrix, take
from visterm.margin.functions import kernels
from visterm.margin.functions.expansion import ExpansionEstimator, precision
from visterm.margin.functions.landmarks import FeatureMap, Lesson, k_means_plus_plus
from visterm.margin.functions.product_kernel import ProductKernel
from visterm.margin.solver.inner_products import FeatureInnerProducts
from visterm.margin.solver.ridge import Lessons
from visterm.margin.solver.sums import LeftOut, Solved, target_blocks

Array = NDArray[Any]

#: ``landmarks="auto"``: up to this many pictures all of them are landmarks, that is, the kernel is exact; of more, this
#: many are landmarks.
EXACT_UP_TO, N_LANDMARKS = 6000, 2000
#: Landmarks are chosen among at most this many more candidates.
_MORE_CANDIDATES = 2000


@dataclass(frozen=True, slots=True, eq=False)
class LandmarkFit:
    """A ridge regression by landmarks: rotated features, the weights of each target, and pictures without themselves.

    ``landmarks`` are the rows of the landmarks; None if the kernel has fewer explicit features, which are used instead.
    """

    lesson: Lesson
    features: FeatureMap
    landmarks: Array | None
    weights: Array
    left_out: LeftOut

    @property
    def n_own(self) -> Array:
        """The number of pictures of each target."""
        return np.bincount(self.lesson.targets.indices, minlength=len(self.weights))

    def own_scores(self) -> sparse.csc_array:
        """(n_pictures, n_targets): the scores of pictures at their own targets, each without itself."""
        targets = self.lesson.targets
        return sparse.csc_array(
            sparse.csr_array((self.left_out.own, targets.indices, targets.indptr), shape=targets.shape)
        )

    def scores_without(self, places: Array, n_targets: int) -> Iterator[tuple[slice, Array, Array]]:
        """Of some pictures and the first targets: columns, scores of each without itself, and their targets.

        Some columns follow the others, so that memory stays bounded.
        """
        rotated = self.lesson.mapped(self.features, places)
        h, targets = self.left_out.leverages[places, None], sparse.csc_array(self.lesson.targets[places])
        for columns in target_blocks(n_targets, 2 * len(places)):
            own = targets[:, columns].toarray()
            yield columns, (rotated @ self.weights[columns].T - h * own) / (1 - h), own

    def own_means(self) -> Array:
        """Of each target, the mean score of its own pictures, each without itself."""
        sums = np.bincount(self.lesson.targets.indices, self.left_out.own, minlength=len(self.weights))
        return sums / np.maximum(self.n_own, 1)


@dataclass(frozen=True, slots=True, eq=False)
class MappedInnerProducts(FeatureInnerProducts):
    """Pictures given by features of a map, without its constant; ``landmarks`` as in :class:`LandmarkFit`."""

    features: FeatureMap = field(kw_only=True)
    landmarks: Array | None = field(kw_only=True)


class ByLandmarks(ExpansionEstimator):
    """Expansions that have a parameter ``landmarks``.

    - ``landmarks``: of how many pictures the kernel with all is known; the other pictures only add to sums. None: of
      all, which is exact. ``auto``: of all up to 6,000 pictures, else of 2,000.

    Fitted, if there are landmarks: ``n_landmarks_``, their number.
    """

    landmarks: int | str | None
    _fitted_constraints: ClassVar[dict[str, str]] = {"n_landmarks_": "int >0"}

    def n_landmarks(self, n_rows: int) -> int | None:
        """The number of landmarks among this many pictures; None if the exact kernel is used."""
        if self.landmarks is None or self.kernel == "precomputed":
            return None
        if self.landmarks == "auto":
            return None if n_rows <= EXACT_UP_TO else N_LANDMARKS
        return min(int(self.landmarks), n_rows)

    def _fit_by_landmarks(
        self, X: Features, lessons: Lessons, alpha: float, sets: sparse.csr_array | None = None
    ) -> LandmarkFit:
        """Learn the tags of checked features, and further targets ``sets`` (n_tagged, n_sets) of the tagged pictures.

        Known negatives count in the functions; what is known of pictures without themselves holds approximately for
        such tags.
        """
        rows, denied = lessons.rows[lessons.tagged], lessons.denied
        targets = lessons.tags if sets is None else sparse.csr_array(sparse.hstack([lessons.tags, sets], format="csr"))
        features, landmarks = self._feature_map(X, rows, targets)
        lesson = Lesson(X, rows, targets)
        solved = Solved.of(lesson.sums(features), alpha)
        rotated = features.rotated(solved.root)
        for tag in np.flatnonzero(np.diff(denied.indptr)):
            own = denied.indices[denied.indptr[tag] : denied.indptr[tag + 1]]
            solved.weights[tag] = solved.with_negatives(int(tag), rotated(take(X, lessons.rows[own])))
        return LandmarkFit(lesson, rotated, landmarks, solved.weights, lesson.left_out(rotated, solved.weights))

    def _feature_map(self, X: Features, rows: Array, targets: sparse.csr_array) -> tuple[FeatureMap, Array | None]:
        """Features whose inner products are about the kernel, and the rows of the landmarks that they compare with."""
        dtype, constant = precision(rows), float(self.intercept_scaling)
        n_landmarks = cast(int, self.n_landmarks(len(rows)))
        name, _ = kernels.kernel_named(self.kernel_)
        if name in kernels.EXPLICIT and cast(Matrix, X).shape[1] <= n_landmarks:

            def explicit(some: Features) -> Array:
                found = kernels.feature_map(cast(Matrix, some), name, dtype)
                return found if isinstance(found, np.ndarray) else found.toarray()

            return FeatureMap(explicit, cast(Matrix, X).shape[1], constant, dtype), None
        rng = np.random.default_rng(0)
        n_candidates = min(len(rows), n_landmarks + _MORE_CANDIDATES)
        drawn = np.sort(rng.choice(len(rows), n_candidates, replace=False))
        gram = self._candidates_gram(X, rows[drawn], targets[drawn])
        chosen = np.arange(n_candidates) if n_candidates == n_landmarks else k_means_plus_plus(gram, n_landmarks, rng)
        between = self._kernel_with(X, rows[drawn[chosen]], chosen, dtype)
        own = gram[np.ix_(chosen, chosen)]
        return FeatureMap.of_landmarks(between, own, constant, dtype), rows[drawn[chosen]]

    def _candidates_gram(self, X: Features, rows: Array, targets: sparse.csr_array) -> Array:
        """The kernel between candidates; that of several features is fitted to them and their targets."""
        name, scale = kernels.kernel_named(self.kernel_)
        if name in kernels.PRODUCTS:
            self.product_kernel_ = ProductKernel(scale, weights=kernels.PRODUCTS[name])
            return self.product_kernel_.fit_transform(X, targets, rows=rows)
        return kernels.gram(cast(Matrix, X), kernel=self.kernel_, dtype=precision(rows), rows=rows)

    def _kernel_with(self, X: Features, landmarks: Array, places: Array, dtype: Any) -> Callable[[Features], Array]:
        """The kernel of any pictures with the landmarks, which have these ``places`` among the candidates."""
        if kernels.kernel_named(self.kernel_)[0] in kernels.PRODUCTS:
            self.product_kernel_ = self.product_kernel_.select(places)
            return self.product_kernel_.transform
        others, kernel = cast(Matrix, take(X, landmarks)), self.kernel_
        return lambda some: kernels.gram(cast(Matrix, some), others, kernel=kernel, dtype=dtype)

    def _keep_weights(self, X: Features, features: FeatureMap, landmarks: Array | None, weights: Array) -> None:
        """Keep functions in the form of the exact ones: as expansions over the landmarks, or as weights."""
        on_raw, intercepts = features.on_raw(weights)
        if landmarks is None:
            self._forget("dual_coef_", "support_", "support_vectors_", "product_kernel_", "n_landmarks_")
            self.coef_ = np.ascontiguousarray(on_raw)
        else:
            self._keep(X, landmarks, on_raw)
            self.n_landmarks_ = len(landmarks)
        self.intercept_ = intercepts

    def _mapped_products(self, X: Features, rows: Array, targets: sparse.csr_array) -> "MappedInnerProducts":
        """The inner products of the given rows by their features, which are kept."""
        features, landmarks = self._feature_map(X, rows, targets)
        mapped = Lesson(X, rows, targets).mapped(features, np.arange(len(rows)))
        return MappedInnerProducts(mapped[:, :-1], features.constant**2, features=features, landmarks=landmarks)

    def _keep_mapped(self, X: Features, products: "MappedInnerProducts", theta: Array) -> None:
        """Keep the functions with these coefficients (n_tasks, n_pictures)."""
        constant = products.features.constant * theta.sum(axis=1, keepdims=True)
        weights = np.hstack([theta @ products.X, constant])
        self._keep_weights(X, products.features, products.landmarks, weights)
