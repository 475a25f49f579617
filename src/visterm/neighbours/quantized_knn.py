"""Tags of the nearest pictures, each stored in a few bytes."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from visterm.contracts import FROM_1, Features, check_features
from visterm.neighbours.knn_tags import KnnAnnotator
from visterm.subspace import ProductQuantizer, nearest_coded


class QuantizedKnnAnnotator(KnnAnnotator):
    """:class:`~visterm.neighbours.KnnAnnotator` by Euclidean distances, with pictures stored in ``n_bytes`` bytes.

    For large collections of small codes: 20 dimensions of float32 take 80 bytes per picture, here only ``n_bytes``.
    Queries are not quantised.

    >>> X, tags = np.repeat(np.eye(3), 20, axis=0), np.repeat(np.eye(3, dtype=int), 20, axis=0)
    >>> QuantizedKnnAnnotator(5, n_bytes=2).fit(X, tags).score_tags([[0.0, 0.9, 0.1]])
    array([[0., 1., 0.]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": KnnAnnotator._parameter_constraints["n_neighbors"],
        "n_bytes": [FROM_1],
        "shrinkage": KnnAnnotator._parameter_constraints["shrinkage"],
    }
    _fitted_constraints: ClassVar[dict[str, str]] = {"train_codes_": "n_train n_code"}

    def __init__(self, n_neighbors: Any = 16, *, n_bytes: int = 8, shrinkage: float = 0.0) -> None:
        super().__init__(n_neighbors, shrinkage=shrinkage)
        self.n_bytes = n_bytes

    def fit(self, X: Features, tags: Any) -> Self:
        """Keep the tagged pictures as bytes."""
        super().fit(X, tags)
        self.quantizer_ = ProductQuantizer(self.n_bytes).fit(self.train_features_)
        self.train_codes_ = self.quantizer_.transform(self.train_features_)
        del self.train_features_
        return self

    def _neighbours(self, X: Features) -> NDArray[np.intp]:
        X = check_features(self, X, fitting=False)
        return nearest_coded(X, self.quantizer_, self.train_codes_, self.n_neighbors_)[0]
