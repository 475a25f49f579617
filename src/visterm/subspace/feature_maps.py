"""Codes for each of several features, which linear subspaces can take side by side."""

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Annotated, Any, Self

from visterm.contracts import FROM_1, FROM_2, Estimator, Features, Matrix, check_feature_mapping, declared
from visterm.distances import automatic_metric, metric_named
from visterm.subspace.kernel_map import KernelMap
from visterm.subspace.linear.linear_embedding import MAX_COVARIANCE_DIMS
from visterm.subspace.pca import PCA


@declared
class FeatureMaps(Estimator):
    """Maps every feature by its own :class:`~visterm.subspace.kernel_map.KernelMap` to at most ``n_dims`` dimensions.

    ``X`` is a mapping of name to matrix, or one matrix (a feature called ``x``). ``kernel`` names the base distance
    that the codes follow, for all features, or for each by a mapping. ``auto`` is chi2 if no value is negative, else
    the Euclidean distance. None, for all or for some, takes a feature as it is, or its ``n_dims`` leading principal
    components if it is too wide for a covariance matrix.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = {"histogram": rng.random((40, 30)), "gist": rng.standard_normal((40, 6))}
    >>> maps = FeatureMaps(kernel={"histogram": "auto", "gist": None}, n_dims=8).fit(X)
    >>> {name: codes.shape for name, codes in maps.transform(X).items()}
    {'histogram': (40, 8), 'gist': (40, 6)}
    """

    kernel: Annotated[Any, str, Mapping, None] = "auto"
    _: KW_ONLY
    n_dims: Annotated[int, FROM_1] = 200
    n_landmarks: Annotated[int, FROM_2] = 300

    def fit(self, X: Features, tags: Any = None) -> Self:  # noqa: ARG002 - embeddings take tags
        """Learn the map of every feature; tags are not used."""
        self._validate_params()
        features = check_feature_mapping(self, X, fitting=True)
        self.maps_ = {name: self._map_of(name, matrix) for name, matrix in features.items()}
        return self

    def transform(self, X: Features) -> dict[str, Matrix]:
        """The codes of pictures by every feature."""
        features = check_feature_mapping(self, X, fitting=False)
        return {
            name: matrix if self.maps_[name] is None else self.maps_[name].transform(matrix)
            for name, matrix in features.items()
        }

    def fit_transform(self, X: Features, tags: Any = None) -> dict[str, Matrix]:
        """Fit, then return the codes of the same pictures."""
        return self.fit(X, tags).transform(X)

    def _map_of(self, name: str, matrix: Matrix) -> Any:
        kernel = self.kernel.get(name, "auto") if isinstance(self.kernel, Mapping) else self.kernel
        if kernel == "auto":
            kernel = automatic_metric(matrix)
        if kernel is not None:
            metric_named(kernel)
            return KernelMap(self.n_dims, metric=kernel, n_landmarks=self.n_landmarks).fit(matrix)
        return PCA(self.n_dims).fit(matrix) if matrix.shape[1] > MAX_COVARIANCE_DIMS else None
