"""CCD2 and its relatives: tags from the nearest pictures in a small space that is learned from tags."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from visterm.contracts import AnnotatorMixin, Features, Scores, check_feature_mapping, check_tags, n_pictures, take
from visterm.contracts.estimator import FROM_1, NOT_NEGATIVE, Estimator, StrOptions, declared
from visterm.distances import nearest
from visterm.neighbours.knn_tags import KnnAnnotator
from visterm.neighbours.quantized_knn import QuantizedKnnAnnotator
from visterm.neighbours.voting.neighbour_count import NEIGHBOUR_COUNTS, SAMPLE, f_by_neighbours
from visterm.subspace import CCA, PCA, PLS, ContextualDistance, FeatureMaps

#: The subspaces by their names in Nakayama et al. Each takes the number of dimensions and the ridge.
SUBSPACES: Mapping[str, Callable[[int, float], Any]] = {
    "pca": lambda n_dims, _: PCA(n_dims),
    "pcaw": lambda n_dims, _: PCA(n_dims, whiten=True),
    "pls": lambda n_dims, _: PLS(n_dims),
    "npls": lambda n_dims, _: PLS(n_dims, normalize=True),
    "cca": lambda n_dims, ridge: CCA(n_dims, ridge=ridge),
    "ccd1": lambda n_dims, ridge: ContextualDistance(n_dims, views=1, ridge=ridge),
    "ccd2": lambda n_dims, ridge: ContextualDistance(n_dims, views=2, beta=0.25, ridge=ridge),
}
#: ``auto`` chooses one of these numbers of dimensions.
DIMS = (10, 20, 50, 100)
#: With fewer tagged pictures, ``auto`` chooses nothing: a fifth of them is too small a sample.
_LEAST_TO_CHOOSE = 50
#: ``auto`` holds out one of this many parts of the tagged pictures, drawn with this seed.
_PARTS, _SEED = 5, 0


@declared
class CodeAnnotator(AnnotatorMixin, Estimator):
    """Tags a picture by the most frequent tags among its nearest training pictures, compared by small codes.

    ``X`` is one matrix, or a mapping of name to matrix; one subspace then combines all features. ``subspace`` is one of
    pca, pcaw, pls, npls, cca, ccd1, ccd2. ``kernel`` names a base distance (a name, ``auto``, or a name for each
    feature): a :class:`~visterm.subspace.KernelMap` first embeds every feature by it. None takes features as they are.
    The codes of training pictures also use their tags if the subspace can do so (ccd2). The codes of pictures to be
    tagged use their features alone.

    ``n_dims`` and ``n_neighbors`` may be ``auto``: the method then holds out a fifth of the training pictures, learns
    from the rest, and takes the numbers that tag the held-out pictures best. ``code_bytes`` is the number of bytes that
    store each training picture (product quantisation); None keeps floats. ``shrinkage`` is that of
    :class:`~visterm.neighbours.KnnAnnotator`.

    Nakayama, Harada, Kuniyoshi: Evaluation of dimensionality reduction methods for image auto-annotation, BMVC 2010.

    >>> rng = np.random.default_rng(0)
    >>> tags = np.repeat(np.eye(3, dtype=int), 20, axis=0)
    >>> X = tags @ rng.standard_normal((3, 10)) + 0.3 * rng.standard_normal((60, 10))
    >>> CodeAnnotator("ccd2", n_dims=2, n_neighbors=5).fit(X, tags).score_tags(X[:1])
    array([[1., 0., 0.]])
    """

    scores_are_probabilities = True
    subspace: Annotated[str, StrOptions(set(SUBSPACES))] = "ccd2"
    _: KW_ONLY
    n_dims: Annotated[Any, FROM_1, StrOptions({"auto"})] = 20
    n_neighbors: Annotated[Any, FROM_1, StrOptions({"auto"})] = 16
    ridge: Annotated[float, NOT_NEGATIVE] = 0.1
    kernel: Annotated[Any, str, Mapping, None] = None
    code_bytes: Annotated[int | None, FROM_1] = None
    shrinkage: Annotated[float, NOT_NEGATIVE] = 0.0
    _fitted_constraints: ClassVar[dict[str, str]] = {"n_dims_": "int >0", "n_neighbors_": "int >0"}

    def fit(self, X: Features, tags: Any) -> Self:
        """Learn the subspace, and keep the codes of the tagged pictures."""
        self._validate_params()
        features = check_feature_mapping(self, X, fitting=True)
        tags = check_tags(tags, n_pictures(features))
        self.maps_ = FeatureMaps(self.kernel).fit(features)
        described = self.maps_.transform(features)
        self.n_dims_, n_neighbors = self._chosen(described, tags)
        self.subspace_ = SUBSPACES[self.subspace](self.n_dims_, self.ridge)
        codes = self.subspace_.fit_transform(described, tags)
        self.subspace_.made_small()
        if self.code_bytes is None:
            self.neighbours_ = KnnAnnotator(n_neighbors, shrinkage=self.shrinkage)
        else:
            self.neighbours_ = QuantizedKnnAnnotator(n_neighbors, n_bytes=self.code_bytes, shrinkage=self.shrinkage)
        self.neighbours_.fit(codes, tags)
        self.n_neighbors_ = self.neighbours_.n_neighbors_
        self._count_tags(tags)
        return self

    def transform(self, X: Features) -> NDArray[Any]:
        """The codes of pictures, (n_pictures, n_dims)."""
        features = check_feature_mapping(self, X, fitting=False)
        return self.subspace_.transform(self.maps_.transform(features))

    def score_tags(self, X: Features) -> Scores:
        """The share of neighbours that carry each tag."""
        codes = self.transform(X)
        return self.neighbours_.score_tags(codes)

    def _chosen(self, described: dict[str, Any], tags: Any) -> tuple[int, Any]:
        """The numbers of dimensions and neighbours: as given, or the best for held-out pictures.

        A fifth of the pictures is held out, once. Leaving out one picture at a time would not do: each would still have
        shaped the subspace, and more dimensions would look better than they are.
        """
        if "auto" not in (self.n_dims, self.n_neighbors):
            return self.n_dims, self.n_neighbors
        tagged = np.flatnonzero(np.diff(tags.indptr))
        if len(tagged) < _LEAST_TO_CHOOSE:
            return (DIMS[0] if self.n_dims == "auto" else self.n_dims, self.n_neighbors)
        order, n_held_out = np.random.default_rng(_SEED).permutation(tagged), min(len(tagged) // _PARTS, SAMPLE)
        held_out, kept = np.sort(order[:n_held_out]), np.sort(order[n_held_out:])
        dims = DIMS if self.n_dims == "auto" else (self.n_dims,)
        neighbours = NEIGHBOUR_COUNTS if self.n_neighbors == "auto" else (self.n_neighbors,)
        # The dimensions of a subspace are ordered: a smaller subspace is the first dimensions of a larger one.
        subspace = SUBSPACES[self.subspace](max(dims), self.ridge)
        codes = subspace.fit_transform(take(described, kept), tags[kept])
        queries = subspace.transform(take(described, held_out))
        found: dict[tuple[int, int], float] = {}
        for n_dims in dims:
            near, _ = nearest(queries[:, :n_dims], codes[:, :n_dims], max(neighbours))
            values = f_by_neighbours(near, tags[kept], tags[held_out], neighbours)
            found |= {(n_dims, k): value for k, value in zip(neighbours, values, strict=True)}
        return max(found, key=lambda choice: found[choice])
