"""What methods do first that keep tagged pictures and compare others with them by several features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.contracts import (
    AnnotatorMixin,
    Estimator,
    Features,
    Matrix,
    check_feature_mapping,
    check_tags,
    n_pictures,
    rows_with_tags,
)


class TaggedPictures(AnnotatorMixin, Estimator):
    """An annotator whose training pictures are the tagged ones: rows ``train_rows_`` of ``X``, tags ``train_tags_``."""

    train_rows_: NDArray[np.intp]
    train_tags_: sparse.csr_array

    def _keep_tagged(self, X: Features, tags: Any) -> tuple[dict[str, Matrix], sparse.csr_array]:
        """The checked features and tags of all pictures; remembers which are tagged."""
        features = check_feature_mapping(self, X, fitting=True, halves=True)
        tags = check_tags(tags, n_pictures(features))
        self.train_rows_ = rows_with_tags(tags)
        self.train_tags_ = tags[self.train_rows_]
        self._count_tags(tags)
        return features, tags
