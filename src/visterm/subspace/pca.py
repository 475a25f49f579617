"""Principal components, plain and whitened."""

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from visterm.compute.eigenvectors import axes_between, inverse_roots, leading, with_fixed_signs
from visterm.compute.rows import slices
from visterm.contracts import FROM_1, Features, Matrix, check_features, declared, in_single, is_several
from visterm.subspace.linear.linear_embedding import MAX_COVARIANCE_DIMS, LinearEmbedding
from visterm.subspace.linear.moments import Moments

#: Halves are widened and multiplied this many at a time: they stay in the processor's cache.
_WIDENED = 2**19
#: Columns are centred this many bytes at a time.
_BLOCK_BYTES = 64 * 2**20
#: Features of at most this many dimensions keep their covariance, however few the pictures.
_FEW_DIMS = 64
#: Variances below this share of the largest are rounding.
_NOISE = 1e-10
#: The seed of the vector with which Lanczos steps start, and their precision.
_SEED, _TOLERANCE = 0, 1e-6


@declared
class PCA(LinearEmbedding):
    """The subspace in which pictures vary most; ``whiten=True`` (PCAW) gives every direction unit variance.

    ``C_xx A = A Omega``; the code is ``A^T (x - x_mean)``, whitened ``Omega^{-1/2} A^T (x - x_mean)``. Tags are not
    used. If features have more dimensions than there are pictures, the eigenproblem is solved between pictures.
    Features of more than 4,096 dimensions keep no covariance, so ``partial_fit`` cannot add pictures. With more than
    4,096 pictures as well, Lanczos steps find the subspace without a matrix of either size.

    >>> codes = PCA(1).fit_transform(np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]))
    >>> codes.ravel().round(2)
    array([-1.41,  0.  ,  1.41])
    """

    learns_from_tags: ClassVar[bool] = False
    n_dims: Annotated[int, FROM_1] = 20
    _: KW_ONLY
    whiten: bool = False

    def fit(self, X: Features, tags: Any = None) -> Self:
        """Learn the subspace."""
        self._validate_params()
        if is_several(X):
            return super().fit(X, tags)
        checked = check_features(self, X, fitting=True, halves=True)
        n_pictures, width = checked.shape
        if width <= max(n_pictures, _FEW_DIMS) and width <= MAX_COVARIANCE_DIMS:
            return super().fit(X, tags)
        self.feature_widths_ = {"x": width}
        self.made_small()  # of an earlier fit
        if n_pictures <= MAX_COVARIANCE_DIMS:
            self._solve_among_pictures(checked)
        else:
            self._solve_by_products(checked)
        return self

    def _solve(self, moments: Moments) -> None:
        n_dims = min(self.n_dims, len(moments.x_mean_))
        self._keep(*leading(moments.C_xx, n_dims))

    def _solve_among_pictures(self, X: Matrix) -> None:
        """The same subspace from the products between pictures: ``X X^T`` has the eigenvalues of ``X^T X``.

        Columns are centred and multiplied some at a time, so ``X`` is not copied.
        """
        self.x_mean_, n_pictures = Moments(covariance=False).fit(X).x_mean_, int(X.shape[0])
        products = np.zeros((n_pictures, n_pictures))
        for _, centred in _centred_columns(X, self.x_mean_):
            products += centred @ centred.T

        def summed(weights: NDArray[Any]) -> NDArray[Any]:
            found = np.empty((X.shape[1], weights.shape[1]))
            for columns, centred in _centred_columns(X, self.x_mean_):
                found[columns] = centred.T @ (weights / np.sqrt(n_pictures))
            return found

        values, axes = axes_between(products / n_pictures, min(self.n_dims, n_pictures), summed)
        self._keep(values, with_fixed_signs(axes))

    def _solve_by_products(self, X: Matrix) -> None:
        """The same subspace of many pictures with many features, by Lanczos steps: each multiplies ``X`` by a vector.

        ``C v = X^T (X v) / n - m (m . v)``, where ``m`` is the mean. Sparse features stay sparse. Halves are widened a
        block of pictures at a time.
        """
        from scipy.sparse.linalg import LinearOperator, eigsh

        self.x_mean_, (n_pictures, width) = Moments(covariance=False).fit(X).x_mean_, X.shape
        mean = self.x_mean_

        def covary(v: NDArray[Any]) -> NDArray[Any]:
            total, shift = np.zeros(width), mean @ v.ravel()
            for block in _single_blocks(X):
                of_pictures = (block @ v.ravel().astype(block.dtype)).astype(np.float64) - shift
                total += np.asarray(block.T @ of_pictures.astype(block.dtype), np.float64) - mean * of_pictures.sum()
            return total / n_pictures

        operator = LinearOperator((width, width), matvec=covary, dtype=np.float64)
        start = np.random.default_rng(_SEED).standard_normal(width)
        values, vectors = eigsh(operator, k=min(self.n_dims, width - 1), v0=start, tol=_TOLERANCE)
        order = np.argsort(-values, kind="stable")
        self._keep(np.maximum(values[order], 0), with_fixed_signs(vectors[:, order]))

    def _keep(self, values: NDArray[Any], vectors: NDArray[Any]) -> None:
        self.variance_ = values  # Omega
        if self.whiten:
            # A direction without variance stays zero. Dividing by its deviation would give noise.
            vectors = vectors * inverse_roots(np.where(values > values[0] * _NOISE, values, 0))
        self.components_ = vectors


def _single_blocks(X: Matrix) -> Iterator[Matrix]:
    """Halves as float32, some pictures at a time; anything else whole."""
    if X.dtype != np.float16:
        yield X
        return
    for rows in slices(X.shape[0], max(1, _WIDENED // X.shape[1])):
        yield in_single(X[rows])


def _centred_columns(X: Matrix, mean: NDArray[np.float64]) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Some columns at a time, dense, in double precision, minus their means."""
    for columns in slices(X.shape[1], max(1, _BLOCK_BYTES // (8 * max(1, X.shape[0])))):
        part = X[:, columns]
        yield columns, (part if isinstance(part, np.ndarray) else part.toarray()) - mean[columns]
