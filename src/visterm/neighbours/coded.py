"""Tags from the nearest pictures in a small space: a subspace and its neighbours as one method."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from visterm.contracts import Features, Scores, check_features, check_tags
from visterm.contracts.estimator import Estimator
from visterm.errors import InputError
from visterm.neighbours.knn import KnnAnnotator
from visterm.subspace.cca import CCA
from visterm.subspace.contextual import ContextualDistance
from visterm.subspace.kernel_map import KernelMap
from visterm.subspace.pca import PCA
from visterm.subspace.pls import PLS

#: The subspaces by the names of Nakayama et al., given the number of dimensions and the ridge.
SUBSPACES: Mapping[str, Callable[[int, float], Any]] = {
    "pca": lambda n_dims, _: PCA(n_dims),
    "pcaw": lambda n_dims, _: PCA(n_dims, whiten=True),
    "pls": lambda n_dims, _: PLS(n_dims),
    "npls": lambda n_dims, _: PLS(n_dims, normalize=True),
    "cca": lambda n_dims, ridge: CCA(n_dims, ridge=ridge),
    "ccd1": lambda n_dims, ridge: ContextualDistance(n_dims, views=1, ridge=ridge),
    "ccd2": lambda n_dims, ridge: ContextualDistance(n_dims, views=2, ridge=ridge),
}


class CodeAnnotator(Estimator):
    """The tags most frequent among the nearest training pictures, compared by small codes.

    ``subspace`` is one of pca, pcaw, pls, npls, cca, ccd1, ccd2. ``kernel`` names a base distance that a
    :class:`~visterm.subspace.kernel_map.KernelMap` embeds first; None takes the features as they are. Training
    pictures are coded with what their tags say of them where the subspace can do so (ccd2); pictures to be tagged by
    their features alone.

    Nakayama, Harada, Kuniyoshi: Evaluation of dimensionality reduction methods for image auto-annotation, BMVC 2010.

    >>> rng = np.random.default_rng(0)
    >>> tags = np.repeat(np.eye(3, dtype=int), 20, axis=0)
    >>> X = tags @ rng.standard_normal((3, 10)) + 0.3 * rng.standard_normal((60, 10))
    >>> CodeAnnotator("ccd2", n_dims=2, n_neighbors=5).fit(X, tags).score_tags(X[:1])
    array([[1., 0., 0.]])
    """

    scores_are_probabilities = True

    def __init__(
        self,
        subspace: str = "ccd2",
        *,
        n_dims: int = 20,
        n_neighbors: int = 16,
        ridge: float = 0.1,
        kernel: str | None = None,
    ) -> None:
        self.subspace = subspace
        self.n_dims = n_dims
        self.n_neighbors = n_neighbors
        self.ridge = ridge
        self.kernel = kernel

    def fit(self, X: Features, tags: Any) -> Self:
        """Learn the subspace, and keep the codes of the tagged pictures."""
        if self.subspace not in SUBSPACES:
            raise InputError(f"unknown subspace {self.subspace!r}: choose one of {', '.join(SUBSPACES)}")
        X = check_features(self, X, fitting=True)
        tags = check_tags(tags, int(X.shape[0]))
        self.kernel_map_ = None if self.kernel is None else KernelMap(metric=self.kernel).fit(X)
        described = self._described(X)
        self.subspace_ = SUBSPACES[self.subspace](self.n_dims, self.ridge)
        codes = self.subspace_.fit_transform(described, tags)
        self.neighbours_ = KnnAnnotator(self.n_neighbors).fit(codes, tags)
        self.tag_counts_ = self.neighbours_.tag_counts_
        return self

    def transform(self, X: Features) -> NDArray[Any]:
        """The codes of pictures, (n_pictures, n_dims)."""
        X = check_features(self, X, fitting=False)
        return self.subspace_.transform(self._described(X))

    def score_tags(self, X: Features) -> Scores:
        """The share of neighbours that carry each tag."""
        codes = self.transform(X)
        return self.neighbours_.score_tags(codes)

    def neighbours_of(self, X: Features) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """The rows of the training pictures that vote, nearest first, and the weight of each."""
        codes = self.transform(X)
        return self.neighbours_.neighbours_of(codes)

    def _described(self, X: Any) -> Any:
        return X if self.kernel_map_ is None else self.kernel_map_.transform(X)
