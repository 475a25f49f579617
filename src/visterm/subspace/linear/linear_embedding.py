"""The base of linear subspaces: it takes moments and gives a projection."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.compute.eigenvectors import inverse_roots
from visterm.compute.rows import slices
from visterm.compute.threads import blas_threads_for
from visterm.contracts import Features, Matrix, check_feature_mapping, check_tags, in_single, n_pictures, rows_with_tags
from visterm.contracts.estimator import Estimator
from visterm.errors import InputError
from visterm.subspace.linear.moments import Moments, block_rows

#: For features wider than this, no (n_dims, n_dims) covariance matrix is computed.
MAX_COVARIANCE_DIMS = 4096


class LinearEmbedding(Estimator):
    """``transform(X) = (X - x_mean_) @ components_``, learned from the moments of the training pictures alone.

    ``partial_fit`` adds more pictures (and new tags) and solves again. Its time does not depend on how many pictures
    were seen before, and its result equals that of fitting all of them at once. Methods that learn from tags leave out
    pictures without tags.

    ``X`` is one matrix or a mapping of name to matrix. Several features are taken side by side, each scaled to a total
    variance of one, so that a long feature does not count more. The scales come from the moments, so they stay exact
    when pictures are added.
    """

    learns_from_tags: ClassVar[bool] = True
    needs_covariance: ClassVar[bool] = True

    n_dims: Any
    components_: NDArray[Any]
    _fitted_constraints: ClassVar[dict[str, str]] = {"x_mean_": "n_features"}

    def fit(self, X: Features, tags: Any = None) -> Self:
        """Learn the subspace."""
        self._validate_params()
        X, tags, rows = self._tagged(X, tags, fitting=True)
        return self._fit_moments(Moments(covariance=self.needs_covariance).fit(X, tags, rows=rows))

    def partial_fit(self, X: Features, tags: Any = None) -> Self:
        """Add more pictures; ``tags`` may have more columns than before, at the end."""
        if not hasattr(self, "moments_"):
            if hasattr(self, "components_"):
                raise InputError(f"this {type(self).__name__} was made small and cannot learn more: fit it again")
            return self.fit(X, tags)
        X, tags, rows = self._tagged(X, tags, fitting=False)
        return self._fit_moments(self.moments_.partial_fit(X, tags, rows=rows))

    def fit_moments(self, moments: Moments) -> Self:
        """Learn the subspace from moments computed elsewhere, on other machines or at another time."""
        self._validate_params()
        if self.learns_from_tags and not len(moments.y_mean_):
            raise InputError(f"{type(self).__name__} learns from tags: compute the moments with tags")
        self.n_features_in_, self.feature_widths_ = len(moments.x_mean_), moments.feature_widths_
        return self._fit_moments(moments)

    def made_small(self) -> Self:
        """Drop the moments, which only :meth:`partial_fit` needs: with thousands of tags they take 100 MB and more."""
        if hasattr(self, "moments_"):
            del self.moments_
        return self

    def transform(self, X: Features) -> NDArray[Any]:
        """The codes of pictures, (n_pictures, n_dims)."""
        return self._projected(check_feature_mapping(self, X, fitting=False), self.components_)

    def fit_transform(self, X: Features, tags: Any = None) -> NDArray[Any]:
        """Fit, then return the codes of the same pictures."""
        return self.fit(X, tags).transform(X)

    def _fit_moments(self, moments: Moments) -> Self:
        self.moments_ = moments
        self.x_mean_ = moments.x_mean_
        scales = self._scales(moments)
        with blas_threads_for(len(moments.y_mean_)):
            self._solve(moments if scales is None else moments.scaled(scales))
        if scales is not None:
            self._undo(scales)
        return self

    def _scales(self, moments: Moments) -> NDArray[np.float64] | None:
        """The factor of every dimension that gives each of several features a total variance of one."""
        widths = list(self.feature_widths_.values())
        if len(widths) == 1:
            return None
        totals = np.array([part.sum() for part in np.split(moments.x_variance, np.cumsum(widths)[:-1])])
        return np.repeat(inverse_roots(totals), widths)

    def _undo(self, scales: NDArray[np.float64]) -> None:
        """Turn components of scaled features into components of the features as they are."""
        self.components_ = self.components_ * scales[:, None]

    def _projected(
        self, X: dict[str, Matrix], components: NDArray[Any], rows: NDArray[np.intp] | None = None
    ) -> NDArray[Any]:
        """``(x - x_mean_) @ components`` of pictures (None: all) with all features side by side."""
        ends = np.cumsum(list(self.feature_widths_.values()))
        codes = None
        for (name, width), end in zip(self.feature_widths_.items(), ends, strict=True):
            part = slice(end - width, end)
            found = project(X[name], self.x_mean_[part], components[part], rows)
            codes = found if codes is None else codes + found
        assert codes is not None  # noqa: S101 - there is at least one feature
        return codes

    def _solve(self, moments: Moments) -> None:
        """Set ``components_`` and the other fitted attributes of the method."""
        raise NotImplementedError

    def _tagged(
        self, X: Features, tags: Any, *, fitting: bool
    ) -> tuple[Features, sparse.csr_array | None, NDArray[np.intp] | None]:
        """The checked pictures, their tags, and the rows to learn from (None: all)."""
        checked = check_feature_mapping(self, X, fitting=fitting)
        if self.needs_covariance and self.n_features_in_ > MAX_COVARIANCE_DIMS:
            raise InputError(
                f"{type(self).__name__} of {self.n_features_in_} features would need too large a covariance "
                f"matrix: reduce them to at most {MAX_COVARIANCE_DIMS} first, with KernelMap or PCA"
            )
        if not self.learns_from_tags:
            return _as_given(checked), None, None
        if tags is None:
            raise InputError(f"{type(self).__name__} learns from tags: pass them as (n_pictures, n_tags)")
        tags = check_tags(tags, n_pictures(checked))
        rows = rows_with_tags(tags)
        return _as_given(checked), tags, None if len(rows) == tags.shape[0] else rows


def _as_given(features: dict[str, Matrix]) -> Features:
    """One matrix where one was given, else the mapping."""
    return features["x"] if set(features) == {"x"} else features


def project(
    X: Matrix, mean: NDArray[Any], components: NDArray[Any], rows: NDArray[np.intp] | None = None
) -> NDArray[Any]:
    """``(X - mean) @ components`` of some rows (None: all) in the precision of ``X``, but at least float32.

    Rows are taken in blocks, so that no centred or widened copy of ``X`` is made.
    """
    n_rows, dtype = X.shape[0] if rows is None else len(rows), np.result_type(X.dtype, np.float32)
    codes = np.empty((n_rows, components.shape[1]), dtype)
    if isinstance(X, np.ndarray):
        mean, components = mean.astype(dtype), components.astype(dtype)
        for block in slices(n_rows, block_rows(X.shape[1])):
            np.matmul(in_single(X[block if rows is None else rows[block]]) - mean, components, out=codes[block])
    elif n_rows:
        codes[:] = (X if rows is None else X[rows]) @ components - mean @ components
    return codes
