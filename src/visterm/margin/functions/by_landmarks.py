"""Functions learned from many pictures: on landmark features, ridge regressions by sums over shards."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.compute import memory
from visterm.contracts import Features, Matrix, take
from visterm.margin.functions import kernels
from visterm.margin.functions.expansion import ExpansionEstimator, bytes_of_pairs, precision
from visterm.margin.functions.landmarks import FeatureMap, Lesson, near_centres, times_agreement
from visterm.margin.functions.product_kernel import ProductKernel
from visterm.margin.solver.inner_products import FeatureInnerProducts
from visterm.margin.solver.ridge import Lessons
from visterm.margin.solver.sums import LeftOut, Moments, Solved, multiply_in_place, target_blocks

Array = NDArray[Any]

#: ``landmarks="auto"``: up to this many pictures all of them are landmarks, that is, the kernel is exact; of more, this
#: many are landmarks.
EXACT_UP_TO, N_LANDMARKS = 10_000, 2000
#: Landmarks are chosen among at most this many more candidates.
_MORE_CANDIDATES = 2000


@dataclass(frozen=True, slots=True, eq=False)
class LandmarkFit:
    """A ridge regression by landmarks: rotated features, the weights of each target, and pictures without themselves.

    ``landmarks`` are their features, empty if the kernel keeps them itself; None if the kernel has fewer explicit
    features, which are used instead. The leverages of pictures learned earlier are ``shrunk`` by what was added, on
    average.
    """

    lesson: Lesson
    features: FeatureMap
    landmarks: Features | None
    weights: Array
    left_out: LeftOut
    shrunk: float = 1.0

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

    def moments(self) -> Moments:
        """The moments of the scores of pictures without themselves."""
        sums = np.bincount(self.lesson.targets.indices, self.left_out.own, minlength=len(self.weights))
        means, deviations = self.left_out.moments(self.weights)
        return Moments(len(self.lesson.rows), self.n_own, means, deviations, sums / np.maximum(self.n_own, 1))


@dataclass(frozen=True, slots=True, eq=False)
class MappedInnerProducts(FeatureInnerProducts):
    """Pictures given by features of a map, without its constant; ``landmarks`` as in :class:`LandmarkFit`."""

    features: FeatureMap = field(kw_only=True)
    landmarks: Features | None = field(kw_only=True)


class ByLandmarks(ExpansionEstimator):
    """Expansions that have a parameter ``landmarks``.

    - ``landmarks``: of how many pictures the kernel with all is known; the other pictures only add to sums. None: of
      all, which is exact. ``auto``: of all up to 10,000 pictures whose kernel fits into memory, else of 2,000.

    Fitted, if there are landmarks: ``n_landmarks_``, their number. A method to which pictures can be added keeps
    ``rotation_`` (n_width, n_width): the features in which its system is I.
    """

    landmarks: int | str | None
    _fitted_constraints: ClassVar[dict[str, str]] = {"n_landmarks_": "int >0", "rotation_": "n_width n_width"}

    def n_landmarks(self, n_rows: int) -> int | None:
        """The number of landmarks among this many pictures; None if the exact kernel is used."""
        if self.landmarks is None or self.kernel == "precomputed":
            return None
        if self.landmarks == "auto":
            explicit = kernels.kernel_named(self.kernel_)[0] in kernels.EXPLICIT and self.n_features_in_ < n_rows
            fits = n_rows <= N_LANDMARKS or explicit or bytes_of_pairs(n_rows) <= memory.left()
            return None if n_rows <= EXACT_UP_TO and fits else N_LANDMARKS
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

    def _fit_more(self, lesson: Lesson) -> LandmarkFit:
        """Add pictures to a fit whose ``rotation_`` is kept: in the features rotated by it, its system is I."""
        features = self._kept_features()
        sums = lesson.sums(features)
        sums.cross += self._kept_weights(features).astype(sums.cross.dtype)
        solved = Solved.of(sums, 1.0)
        rotated = features.rotated(solved.root)
        left_out = lesson.left_out(rotated, solved.weights)
        # The earlier leverages were those of the system I: the mean diagonal of its inverse is what remains of them.
        shrunk = float(np.square(solved.root).sum() / features.width)
        return LandmarkFit(lesson, rotated, None, solved.weights, left_out, shrunk)

    def _kept_features(self) -> FeatureMap:
        name, _ = kernels.kernel_named(self.kernel_)
        if name in kernels.EXPLICIT:
            raw, n_raw = _explicit(name, self.coef_.dtype), self.coef_.shape[1]
        else:
            raw, n_raw = self._support_kernel, self.dual_coef_.shape[1]
        compared = self._compared(name)
        return FeatureMap(raw, n_raw, float(self.intercept_scaling), self.rotation_.dtype, self.rotation_, compared)

    def _kept_weights(self, features: FeatureMap) -> Array:
        """The weights of rotated features that the kept functions are; the inverse of ``FeatureMap.on_raw``."""
        on_raw = self.coef_ if hasattr(self, "coef_") else self.dual_coef_
        constant = self.intercept_ / (features.constant or 1.0)
        inverse = np.linalg.inv(self.rotation_.astype(np.float64))
        return multiply_in_place(np.hstack([on_raw, constant[:, None].astype(on_raw.dtype)]), inverse.T)

    def _feature_map(self, X: Features, rows: Array, targets: sparse.csr_array) -> tuple[FeatureMap, Features | None]:
        """Features whose inner products are about the kernel, and the landmarks that they compare with.

        The kernel of several features keeps its landmarks itself.
        """
        dtype, constant = precision(rows), float(self.intercept_scaling)
        n_landmarks = cast(int, self.n_landmarks(len(rows)))
        name, _ = kernels.kernel_named(self.kernel_)
        if name in kernels.EXPLICIT and cast(Matrix, X).shape[1] <= n_landmarks:
            compared = self._compared(name)
            return FeatureMap(_explicit(name, dtype), cast(Matrix, X).shape[1], constant, dtype, None, compared), None
        rng = np.random.default_rng(0)
        n_candidates = min(len(rows), n_landmarks + _MORE_CANDIDATES)
        drawn = np.sort(rng.choice(len(rows), n_candidates, replace=False))
        landmarks = self._landmarks_among(X, rows[drawn], targets[drawn], n_landmarks, rng)
        if landmarks is None:
            product = self.product_kernel_
            return FeatureMap.of_landmarks(product.transform, product.gram(), constant, dtype, self._compared(name)), {}
        kernel = self.kernel_
        gram = kernels.gram(landmarks, kernel=kernel, dtype=dtype)

        def between(some: Features) -> Array:
            return kernels.gram(cast(Matrix, some), landmarks, kernel=kernel, dtype=dtype)

        return FeatureMap.of_landmarks(between, gram, constant, dtype, self._compared(name, landmarks)), landmarks

    def _landmarks_among(
        self, X: Features, rows: Array, targets: sparse.csr_array, n: int, rng: np.random.Generator
    ) -> Matrix | None:
        """The means of candidates near ``n`` of them that lie apart: as a matrix, or kept by the kernel of several.

        Where labels agree, candidates are nearer to each other.
        """
        name, scale = kernels.kernel_named(self.kernel_)
        if name in kernels.PRODUCTS:
            self.product_kernel_ = ProductKernel(scale, weights=kernels.PRODUCTS[name])
            gram = self.product_kernel_.fit_transform(X, targets, rows=rows)
            if n < len(rows):
                self.product_kernel_ = self.product_kernel_.to_means(
                    near_centres(times_agreement(gram, targets), n, rng), n
                )
            return None
        candidates = cast(Matrix, take(X, rows))
        if n == len(rows):
            return candidates
        gram = kernels.gram(candidates, kernel=self.kernel_, dtype=precision(rows))
        return kernels.means(candidates, name, near_centres(times_agreement(gram, targets), n, rng), n)

    def _keep_weights(self, features: FeatureMap, landmarks: Features | None, weights: Array) -> None:
        """Keep functions in the form of the exact ones: as expansions over the landmarks, or as weights."""
        on_raw, intercepts = features.on_raw(weights)
        self._forget("rotation_")
        if landmarks is None:
            self._forget("dual_coef_", "support_", "support_vectors_", "product_kernel_", "n_landmarks_")
            self.coef_ = np.ascontiguousarray(on_raw)
        else:
            self._keep(landmarks, np.arange(features.n_raw), on_raw, whole=True)
            self.n_landmarks_ = features.n_raw
        self.intercept_ = intercepts

    def _keep_more(self, fit: LandmarkFit) -> None:
        """Replace the kept functions by those to which pictures were added."""
        on_raw, self.intercept_ = fit.features.on_raw(fit.weights)
        setattr(self, "coef_" if hasattr(self, "coef_") else "dual_coef_", np.ascontiguousarray(on_raw))
        self._keep_rotation(fit.features)

    def _keep_rotation(self, features: FeatureMap) -> None:
        """Keep what more pictures can be added to, if the landmarks are kept as well."""
        if hasattr(self, "dual_coef_") or not hasattr(self, "n_landmarks_"):
            self.rotation_ = cast(Array, features.matrix)

    def _mapped_products(self, X: Features, rows: Array, targets: sparse.csr_array) -> "MappedInnerProducts":
        """The inner products of the given rows by their features, which are kept."""
        features, landmarks = self._feature_map(X, rows, targets)
        mapped = Lesson(X, rows, targets).mapped(features, np.arange(len(rows)))
        return MappedInnerProducts(mapped[:, :-1], features.constant**2, features=features, landmarks=landmarks)

    def _keep_mapped(self, products: "MappedInnerProducts", theta: Array) -> None:
        """Keep the functions with these coefficients (n_tasks, n_pictures)."""
        constant = products.features.constant * theta.sum(axis=1, keepdims=True)
        weights = np.hstack([theta @ products.X, constant])
        self._keep_weights(products.features, products.landmarks, weights)


def _explicit(kernel: str, dtype: Any) -> Callable[[Features], Array]:
    """The explicit features of a kernel, dense."""

    def features(X: Features) -> Array:
        found = kernels.feature_map(cast(Matrix, X), kernel, dtype)
        return found if isinstance(found, np.ndarray) else found.toarray()

    return features
