"""A collection's features in few numbers: unit rows in their leading principal directions."""

import hashlib
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.compute.eigenvectors import principal_axes
from visterm.compute.rows import slices, unit
from visterm.contracts import (
    FROM_1,
    Estimator,
    Features,
    Matrix,
    check_feature_mapping,
    declared,
    is_several,
    n_pictures,
    take,
)

Floats = NDArray[np.float32]
Integers = NDArray[np.integer[Any]]

#: The number of principal directions that are kept.
N_DIRECTIONS = 256
#: The directions are those of at most this many pictures; _BLOCK rows at a time are turned into them.
_MOST_COMPARED, _BLOCK = 10_000, 4096
#: The last directions, by a checksum of the features: while methods are compared, the pictures stay the same.
_LAST: dict[str, "Directions"] = {}


@declared
class Directions(Estimator):
    """Rows of unit length in the leading principal directions of all features side by side, each of unit length.

    Labels are not used: all pictures show how pictures vary.

    >>> X = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> codes = Directions(2).fit(X).transform(X)
    >>> codes.shape, (codes @ codes.T).round(1).tolist()
    ((3, 2), [[1.0, -0.5, -0.5], [-0.5, 1.0, -0.5], [-0.5, -0.5, 1.0]])
    """

    n_dims: Annotated[int, FROM_1] = N_DIRECTIONS
    _fitted_constraints: ClassVar[dict[str, str]] = {"mean_": "n_features", "axes_": "n_features n_dims"}

    @classmethod
    def of(cls, X: Features, n_dims: int = N_DIRECTIONS) -> "Directions":
        """The directions of pictures; of those that were asked for last, they are known already."""
        key = f"{n_dims} {checksum(X)}"
        found = _LAST.get(key)
        if found is None:
            found = cls(n_dims).fit(X)
            _LAST.clear()
            _LAST[key] = found
        return found

    def fit(self, X: Features, y: Any = None) -> Self:  # noqa: ARG002 - scikit-learn's estimators take a y
        """Find the directions in which the pictures vary most."""
        self._validate_params()
        features = check_feature_mapping(self, X, fitting=True)
        n = next(iter(features.values())).shape[0]
        compared = _joined(features, slice(None) if n <= _MOST_COMPARED else sample(n, _MOST_COMPARED))
        self.mean_, self.axes_ = principal_axes(compared, min(self.n_dims, *compared.shape))
        return self

    def transform(self, X: Features) -> NDArray[np.float64]:
        """(n_pictures, n_dims) rows of unit length."""
        features = check_feature_mapping(self, X, fitting=False)
        n = next(iter(features.values())).shape[0]
        parts = [(_joined(features, rows) - self.mean_) @ self.axes_ for rows in slices(n, _BLOCK)]
        return unit(np.vstack(parts or [np.empty((0, self.axes_.shape[1]))]))


def _joined(features: dict[str, Matrix], rows: Any) -> Floats:
    """Some rows of all features side by side, of unit length; so is each feature if there are several."""
    parts = [part[rows] for part in features.values()]
    dense = [part.toarray() if sparse.issparse(part) else part for part in parts]
    several = [unit(np.ascontiguousarray(part, np.float32)) for part in dense]
    return several[0] if len(several) == 1 else unit(np.hstack(several))


def checksum(X: Features) -> str:
    """A text that tells two sets of features apart."""
    digest = hashlib.blake2b(digest_size=16)
    for name, given in sorted(X.items()) if is_several(X) else [("", X)]:
        part: Any = given if hasattr(given, "shape") else np.asarray(given)
        digest.update(f"{name} {part.shape} {part.dtype}".encode())
        arrays = (part.data, part.indices, part.indptr) if sparse.issparse(part) else (part,)
        for array in arrays:
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def reduced(X: Features, n_dims: int = N_DIRECTIONS) -> Floats:
    """The rows of :class:`Directions` with a last column of ones.

    >>> reduced(np.eye(4, dtype=np.float32), 2).shape
    (4, 3)
    """
    found, n = Directions(n_dims).fit(X), n_pictures(X)
    Z = np.vstack([found.transform(take(X, rows)).astype(np.float32) for rows in slices(n, _BLOCK)])
    return np.hstack([Z, np.ones((n, 1), np.float32)])


def sample(n: int, size: int, random_state: int = 0) -> Integers:
    """``size`` of ``n`` rows, in order, drawn with a fixed seed."""
    return np.sort(np.random.default_rng(random_state).choice(n, size, replace=False))
