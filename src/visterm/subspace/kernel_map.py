"""Any base distance as a Euclidean one: kernel principal components on a few landmarks."""

from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from visterm.compute.eigenvectors import leading, with_fixed_signs
from visterm.compute.parallel import map_shards, split
from visterm.contracts import Features, Matrix, check_features, in_single
from visterm.contracts.estimator import FROM_0, FROM_1, FROM_2, Estimator, StrOptions, declared
from visterm.distances import METRICS, metric_named
from visterm.subspace.linear.linear_embedding import project
from visterm.subspace.linear.moments import Moments

#: This many pictures are compared with the landmarks at a time.
_BLOCK = 512
#: Directions of the landmarks' kernel are noise if their eigenvalue is below this share of the largest.
_NOISE = 1e-6
#: Up to this many landmarks, all directions of their span are used.
_ALL_AXES = 1000
#: Of more landmarks, this many times the wanted directions.
_AXES_PER_DIM = 1.25


@declared
class KernelMap(Estimator):
    """Codes whose Euclidean geometry follows a base distance, by kernel PCA on ``n_landmarks`` training pictures.

    The kernel is ``K(a, b) = exp(-dist(a, b) / 2P)``, where ``P`` is the mean base distance between landmarks. A
    picture's coordinates are its kernels with the landmarks. The directions ``w`` lie in the span of the mapped
    landmarks, have length ``w^T w = a^T K a = 1``, and have the largest variance over *all* training pictures (Nakayama
    et al. 2010, section 2.6). Any linear subspace can take the codes as features. Metrics are those of
    :mod:`visterm.distances.metrics`, such as ``chi2`` and ``intersection`` for histograms, ``l1`` and ``euclidean``.

    >>> X = np.random.default_rng(0).random((50, 10))
    >>> KernelMap(5, metric="chi2", n_landmarks=20).fit(X).transform(X[:3]).shape
    (3, 5)
    """

    n_dims: Annotated[int, FROM_1] = 200
    _: KW_ONLY
    metric: Annotated[str, StrOptions(set(METRICS))] = "chi2"
    n_landmarks: Annotated[int, FROM_2] = 300
    random_state: Annotated[int | None, FROM_0] = 0
    _fitted_constraints: ClassVar[dict[str, str]] = {
        "landmarks_": "n_landmarks n_features",
        "mean_distance_": "float >0",
        "kernel_mean_": "n_landmarks",
    }

    def fit(self, X: Features, tags: Any = None) -> Self:  # noqa: ARG002 - embeddings take tags
        """Draw landmarks, then go through all pictures once; tags are not used."""
        self._validate_params()
        metric = metric_named(self.metric)
        X = check_features(self, X, fitting=True, non_negative=metric.needs_counts, halves=True)
        rng = np.random.default_rng(self.random_state)
        n_landmarks = min(self.n_landmarks, int(X.shape[0]))
        self.landmarks_ = in_single(X[np.sort(rng.choice(int(X.shape[0]), n_landmarks, replace=False))])
        between = np.asarray(metric(self.landmarks_, self.landmarks_), np.float64)
        self.mean_distance_ = float(between.sum() / max(1, n_landmarks * (n_landmarks - 1))) or 1.0  # P
        kernel = self._kernel(X)
        self.kernel_mean_ = kernel.mean(axis=0, dtype=np.float64)
        between = np.exp(-between / (2 * self.mean_distance_))
        self.variance_, self.components_ = kernel_components(between, kernel, self.kernel_mean_, self.n_dims)
        return self

    def transform(self, X: Features) -> NDArray[Any]:
        """The codes of pictures, (n_pictures, n_dims)."""
        X = check_features(self, X, fitting=False, halves=True)
        return project(self._kernel(X), self.kernel_mean_, self.components_)

    def fit_transform(self, X: Features, tags: Any = None) -> NDArray[Any]:
        """Fit, then return the codes of the same pictures."""
        return self.fit(X, tags).transform(X)

    def _kernel(self, X: Matrix) -> NDArray[Any]:
        """The kernels with the landmarks, (n_pictures, n_landmarks), in at least float32."""
        metric, dtype = metric_named(self.metric), np.result_type(X.dtype, np.float32)
        landmarks = metric.prepare(self.landmarks_.astype(dtype, copy=False))
        kernel = np.empty((int(X.shape[0]), self.landmarks_.shape[0]), dtype)

        def of_rows(rows: slice) -> None:
            distances = metric.between(metric.prepare(in_single(X[rows])), landmarks)
            np.exp(distances * (-0.5 / self.mean_distance_), out=kernel[rows], casting="same_kind")

        shards = split(len(kernel), size=_BLOCK)
        if len(shards) == 1:
            of_rows(shards[0].rows)
        elif shards:
            for _ in map_shards(lambda shard: of_rows(shard.rows), shards, description="Comparing with landmarks"):
                pass
        return kernel


def kernel_components(
    between: NDArray[Any], kernel: NDArray[Any], mean: NDArray[Any], n_dims: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The variances and directions ``a`` of largest variance, of length ``a^T K a = 1``.

    ``between`` is the kernel ``K`` between the landmarks, ``kernel`` the kernels of all pictures with the landmarks,
    ``mean`` the mean of its rows.
    """
    # C a = variance K a is an ordinary eigenproblem in the coordinates in which K is the identity. With many landmarks,
    # only the directions in which the landmarks themselves vary most are used.
    n_axes = len(between) if len(between) <= _ALL_AXES else min(len(between), int(n_dims * _AXES_PER_DIM))
    lengths, axes = leading(between, n_axes)
    known = lengths > lengths[0] * _NOISE
    whitening = axes[:, known] / np.sqrt(lengths[known])
    # Pictures are few numbers in these coordinates; the covariance of all kernels would be much larger.
    covariance = Moments().fit(project(kernel, mean, whitening)).C_xx
    variance, turned = leading(covariance, min(n_dims, int(known.sum())))
    return variance, with_fixed_signs(whitening @ turned)
