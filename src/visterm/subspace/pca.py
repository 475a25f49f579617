"""Principal components, plain and whitened."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from visterm.contracts import Features, Matrix, check_features, is_several
from visterm.subspace.eigenvectors import leading, with_fixed_signs
from visterm.subspace.linear_embedding import MAX_COVARIANCE_DIMS, LinearEmbedding
from visterm.subspace.moments import Moments


class PCA(LinearEmbedding):
    """The subspace in which pictures vary most; ``whiten=True`` (PCAW) gives every direction unit variance.

    ``C_xx A = A Omega``; the code is ``A^T (x - x_mean)``, whitened ``Omega^{-1/2} A^T (x - x_mean)``. Tags are not
    used. If features have more dimensions than there are pictures, the eigenproblem is solved between pictures.
    Features of more than 4,096 dimensions keep no covariance, so ``partial_fit`` cannot add pictures.

    >>> codes = PCA(1).fit_transform(np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]))
    >>> codes.ravel().round(2)
    array([-1.41,  0.  ,  1.41])
    """

    learns_from_tags: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_dims": [Interval(Integral, 1, None, closed="left")],
        "whiten": ["boolean"],
    }

    def __init__(self, n_dims: int = 20, *, whiten: bool = False) -> None:
        self.n_dims = n_dims
        self.whiten = whiten

    def fit(self, X: Features, tags: Any = None) -> Self:
        """Learn the subspace."""
        self._validate_params()
        if is_several(X):
            return super().fit(X, tags)
        checked = check_features(self, X, fitting=True)
        n_pictures, width = checked.shape
        if width <= max(n_pictures, 64) and width <= MAX_COVARIANCE_DIMS:
            return super().fit(X, tags)
        self.feature_widths_ = {"x": width}
        self._solve_among_pictures(checked)
        return self

    def _solve(self, moments: Moments) -> None:
        n_dims = min(self.n_dims, len(moments.x_mean_))
        self._keep(*leading(moments.C_xx, n_dims))

    def _solve_among_pictures(self, X: Matrix) -> None:
        """The same subspace from the products between pictures: ``X X^T`` has the eigenvalues of ``X^T X``."""
        moments = Moments(covariance=False).fit(X)
        self.x_mean_, n_pictures = moments.x_mean_, int(X.shape[0])
        centred = (X if isinstance(X, np.ndarray) else X.toarray()) - self.x_mean_.astype(X.dtype)
        values, vectors = leading((centred @ centred.T).astype(np.float64) / n_pictures, min(self.n_dims, n_pictures))
        lengths = np.sqrt(np.where(values > values[0] * 1e-12, values, np.inf) * n_pictures)
        self._keep(values, with_fixed_signs(centred.T.astype(np.float64) @ (vectors / lengths)))
        if hasattr(self, "moments_"):
            del self.moments_

    def _keep(self, values: NDArray[Any], vectors: NDArray[Any]) -> None:
        self.variance_ = values  # Omega
        if self.whiten:
            # A direction without variance stays zero. Dividing by its deviation would give noise.
            known = values > values[0] * 1e-10
            vectors = vectors * np.where(known, 1 / np.sqrt(np.where(known, values, 1.0)), 0.0)
        self.components_ = vectors
