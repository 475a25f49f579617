"""Ridge regressions of many pictures: on landmark features, by sums over shards."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.contracts import Features, Matrix, take
from visterm.margin.functions import kernels
from visterm.margin.functions.expansion import ExpansionEstimator, precision
from visterm.margin.functions.landmarks import FeatureMap, Lesson, k_means_plus_plus
from visterm.margin.functions.product_kernel import ProductKernel
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


class ByLandmarks(ExpansionEstimator):
    """Expansions by ridge regression that have a parameter ``landmarks``.

    - ``landmarks``: of how many pictures the kernel with all is known; the other pictures only add to sums. None: of
      all, which is exact. ``auto``: of all up to 6,000 pictures, else of 2,000.
    """

    landmarks: int | str | None
    alpha: float

    def n_landmarks(self, n_rows: int) -> int | None:
        """The number of landmarks among this many pictures; None if the exact kernel is used."""
        if self.landmarks is None or self.kernel == "precomputed":
            return None
        if self.landmarks == "auto":
            return None if n_rows <= EXACT_UP_TO else N_LANDMARKS
        return min(int(self.landmarks), n_rows)

    def _fit_by_landmarks(
        self, X: Features, rows: Array, targets: sparse.csr_array, denied: tuple[Array, sparse.csc_array] | None = None
    ) -> LandmarkFit:
        """Learn sparse ``targets`` (len(rows), n_targets) from the given rows of checked features.

        ``denied`` are rows of further pictures and, for the first targets, which of them are known negatives: (
        len(rows), n_targets). These count in the functions; what is known of pictures without themselves holds
        approximately for such targets.
        """
        features, landmarks = self._feature_map(X, rows, targets)
        lesson = Lesson(X, rows, targets)
        solved = Solved.of(lesson.sums(features), self.alpha)
        rotated = features.rotated(solved.root)
        if denied is not None and denied[1].nnz:
            known = rotated(take(X, denied[0]))
            for target in np.flatnonzero(np.diff(denied[1].indptr)):
                own = denied[1].indices[denied[1].indptr[target] : denied[1].indptr[target + 1]]
                solved.weights[target] = solved.with_negatives(int(target), known[own])
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

    def _keep_landmarks(self, X: Features, fit: LandmarkFit) -> None:
        """Keep the functions of a fit, in the form of the exact ones: as expansions over the landmarks, or weights."""
        on_raw, intercepts = fit.features.on_raw(fit.weights)
        if fit.landmarks is None:
            self._forget("dual_coef_", "support_", "support_vectors_", "product_kernel_")
            self.coef_ = np.ascontiguousarray(on_raw)
        else:
            self._keep(X, fit.landmarks, on_raw)
        self.intercept_ = intercepts
