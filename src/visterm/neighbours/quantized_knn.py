"""Tags of the nearest pictures, each stored in a few bytes."""

from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from visterm.contracts import FROM_1, Features, check_features, declared
from visterm.neighbours.knn_tags import KnnAnnotator
from visterm.subspace import ProductQuantizer, nearest_coded


@declared
class QuantizedKnnAnnotator(KnnAnnotator):
    """:class:`~visterm.neighbours.KnnAnnotator` by Euclidean distances, with pictures stored in ``n_bytes`` bytes.

    For large collections of small codes: 20 dimensions of float32 take 80 bytes per picture, here only ``n_bytes``.
    Queries are not quantised.

    >>> X, tags = np.repeat(np.eye(3), 20, axis=0), np.repeat(np.eye(3, dtype=int), 20, axis=0)
    >>> QuantizedKnnAnnotator(5, n_bytes=2).fit(X, tags).score_tags([[0.0, 0.9, 0.1]])
    array([[0., 1., 0.]])
    """

    _: KW_ONLY
    n_bytes: Annotated[int, FROM_1] = 8
    metric: ClassVar[str] = "euclidean"  # type: ignore[misc]  # not a parameter here
    _fitted_constraints: ClassVar[dict[str, str]] = {"train_codes_": "n_train n_code"}

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
