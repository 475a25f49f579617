"""What neighbour methods do first: keep the tagged pictures, to compare others with them by several features."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.contracts import (
    AnnotatorMixin,
    Features,
    Matrix,
    check_feature_mapping,
    check_tags,
    is_several,
    n_pictures,
    rows_with_tags,
)
from visterm.contracts.estimator import Estimator


class TaggedPictures(AnnotatorMixin, Estimator):
    """An annotator whose training pictures are the tagged ones: rows ``train_rows_`` of ``X``, tags ``train_tags_``."""

    train_rows_: NDArray[np.intp]
    train_tags_: sparse.csr_array
    _fitted_constraints: ClassVar[dict[str, str]] = {
        "train_rows_": "n_train int >=0",
        "train_tags_": "n_train n_tags >=0",
    }

    def _keep_tagged(self, X: Features, tags: Any) -> tuple[dict[str, Matrix], sparse.csr_array]:
        """The checked features and tags of all pictures; remembers which are tagged."""
        features = check_feature_mapping(self, X, fitting=True)
        tags = check_tags(tags, n_pictures(features))
        self.train_rows_ = rows_with_tags(tags)
        self.train_tags_ = tags[self.train_rows_]
        self._count_tags(tags)
        return features, tags


def any_feature(X: Features) -> Matrix:
    """One matrix of ``X``, for the methods that do not look at features: only its number of rows is used."""
    return next(iter(X.values())) if is_several(X) else X
