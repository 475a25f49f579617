"""Means and covariances of features and tags: all that the linear subspaces need from a collection."""

from copy import deepcopy
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.compute.parallel import Engine, rows_of_task, sum_shards
from visterm.compute.rows import slices
from visterm.contracts import (
    Estimator,
    Matrix,
    check_feature_mapping,
    check_tags,
    declared,
    in_single,
    n_pictures,
    take,
)
from visterm.contracts.labelled_rows import LabelledRows, labelled_shards
from visterm.errors import InputError

#: At most this many pictures are centred and multiplied at a time: a block and its product stay in the processor's
#: cache.
BLOCK = 2048
#: Fewer, if their features are more numbers than this.
BLOCK_NUMBERS = 2**23
#: The products of means are subtracted for this many tags at a time.
_TAGS = 256
#: The number of pictures of one task.
_SHARD = 2**14


@declared
class Moments(Estimator):
    """Means and scatter matrices of features ``x`` and tags ``y``, in one pass over the pictures.

    Features may be float32: the sums of a block are computed in the features' precision around the block's own mean,
    and blocks are merged in float64 (Chan, Golub and LeVeque 1983). Halves are widened a block at a time. Tags stay
    sparse. Moments of different pictures can be added. If the vocabulary has grown, earlier pictures carry none of the
    new tags.

    ``covariance=False`` keeps only the diagonal of the (n_dims, n_dims) matrix. Partial least squares needs no more, so
    it takes features of any width.

    Several features, a mapping of name to matrix, are taken side by side, block by block, without a copy of all. Their
    moments include the covariances between features.

    >>> X, tags = np.array([[0.0, 1.0], [2.0, 5.0], [4.0, 0.0]]), [[1], [0], [1]]
    >>> whole = Moments().fit(X, tags)
    >>> parts = Moments().fit(X[:1], tags[:1]) + Moments().fit(X[1:], tags[1:])
    >>> np.allclose(parts.C_xx, whole.C_xx), parts.n_pictures_
    (True, 3)
    """

    _: KW_ONLY
    covariance: bool = True
    _fitted_constraints: ClassVar[dict[str, str]] = {
        "n_pictures_": "int >0",
        "x_mean_": "n_features",
        "x_squares_": "n_features",
        "y_mean_": "n_tags",
    }

    def fit(self, X: Any, tags: Any = None, *, rows: NDArray[np.intp] | None = None) -> Self:
        """Go through the pictures once; without ``tags``, only features are used.

        ``rows`` are the pictures that count (None: all); the features of the others are not copied.
        """
        self._validate_params()
        features = check_feature_mapping(self, X, fitting=True, addresses=True)
        return self._take(self._of(features, self._second_view(tags, n_pictures(features)), rows))

    def partial_fit(self, X: Any, tags: Any = None, *, rows: NDArray[np.intp] | None = None) -> Self:
        """Add more pictures; ``tags`` may have more columns than before, at the end."""
        if not hasattr(self, "n_pictures_"):
            return self.fit(X, tags, rows=rows)
        features = check_feature_mapping(self, X, fitting=False, addresses=True)
        return self._take(self + self._of(features, self._second_view(tags, n_pictures(features)), rows))

    def __add__(self, other: "Moments") -> "Moments":
        """The moments of both sets of pictures together."""
        if self.feature_widths_ != other.feature_widths_:
            raise InputError(f"moments of features {self.feature_widths_} and {other.feature_widths_} cannot be added")
        if (self.xx_ is None) != (other.xx_ is None):
            raise InputError("moments with and without covariance cannot be added")
        n_tags = max(len(self.y_mean_), len(other.y_mean_))
        return deepcopy(self._widened(n_tags))._absorb(other._widened(n_tags))

    @property
    def C_xx(self) -> NDArray[np.float64]:  # noqa: N802 - the paper's symbol
        """The covariance of the features, (n_dims, n_dims)."""
        if self.xx_ is None:
            raise InputError("these moments hold only variances: fit them with covariance=True")
        return self._mean(self.xx_)

    @property
    def C_xy(self) -> NDArray[np.float64]:  # noqa: N802 - the paper's symbol
        """The covariance between features and tags, (n_dims, n_tags)."""
        return self._mean(self.xy_)

    @property
    def C_yy(self) -> NDArray[np.float64]:  # noqa: N802 - the paper's symbol
        """The covariance of the tags, (n_tags, n_tags)."""
        return self._mean(self.yy_)

    @property
    def x_variance(self) -> NDArray[np.float64]:
        """The variance of each feature; never negative, even by rounding."""
        return self._mean(np.maximum(self.x_squares_, 0))

    @property
    def y_variance(self) -> NDArray[np.float64]:
        """The variance of each tag."""
        return self._mean(np.maximum(np.diag(self.yy_), 0))

    def scaled(self, factors: NDArray[np.float64]) -> "Moments":
        """The moments of the features multiplied by ``factors``, one each."""
        xx = None if self.xx_ is None else self.xx_ * factors[:, None] * factors
        squares, xy = self.x_squares_ * factors**2, self.xy_ * factors[:, None]
        return self._new(self.n_pictures_, self.x_mean_ * factors, self.y_mean_, xx, squares, xy, self.yy_)

    def _mean(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        # mutants: 1 -> 2: the sums of a single picture around its own mean are 0
        return sums / max(1, self.n_pictures_)

    def _of(self, X: dict[str, Matrix], tags: sparse.csr_array, rows: NDArray[np.intp] | None) -> "Moments":
        engine = Engine.reaching(X)
        rows = np.arange(n_pictures(X)) if rows is None else rows
        shards = labelled_shards(rows, take(tags, rows), size=rows_of_task(len(rows), _SHARD, engine))

        def of_shard(shard: LabelledRows) -> Moments:
            blocks = slices(len(shard), block_rows(self.n_features_in_))
            found = self._of_blocks(X, shard, blocks)
            found.yy_ = self._scatter(shard.labels)
            return found

        if len(shards) == 1:
            return of_shard(shards[0])
        return sum_shards(of_shard, shards, engine=engine, description="Measuring features")

    def _second_view(self, tags: Any, n_rows: int) -> Any:
        """The checked tags."""
        return sparse.csr_array((n_rows, 0), dtype=np.float32) if tags is None else check_tags(tags, n_rows)

    def _scatter(self, tags: Any) -> NDArray[np.float64]:
        """``sum_i (y_i - y_mean) (y_i - y_mean)^T``, (n_tags, n_tags)."""
        return _tag_scatter(tags)

    def _of_blocks(self, X: dict[str, Matrix], shard: LabelledRows, blocks: list[slice]) -> "Moments":
        """The moments of a shard without ``yy_``, which is computed at once: with many tags, it is the largest part."""
        merged: Moments | None = None
        for block in blocks:
            found = self._of_block(_side_by_side(X, shard.taken[block]), shard.labels[block])
            merged = found if merged is None else merged._absorb(found)
        assert merged is not None  # noqa: S101 - a shard has rows
        return merged

    def _of_block(self, X: NDArray[Any], tags: sparse.csr_array) -> "Moments":
        n = len(X)
        shift, rest, xx, squares, xy = _sums(X, tags, self.covariance)
        y_mean = np.asarray(tags.sum(axis=0), np.float64).ravel() / n
        # ``rest`` is the mean that remains after centring because of rounding.
        if xx is not None:
            xx -= n * np.outer(rest, rest)
        return self._new(n, shift + rest, y_mean, xx, squares - n * rest**2, xy - n * np.outer(rest, y_mean), None)

    def _new(self, n: int, x_mean: Any, y_mean: Any, xx: Any, squares: Any, xy: Any, yy: Any) -> "Moments":
        moments = type(self)(**self.get_params())
        moments.n_features_in_, moments.feature_widths_ = len(x_mean), self.feature_widths_
        moments.n_pictures_, moments.x_mean_, moments.y_mean_ = n, x_mean, y_mean
        moments.xx_, moments.x_squares_, moments.xy_, moments.yy_ = xx, squares, xy, yy
        return moments

    def _absorb(self, other: "Moments") -> "Moments":
        """``self + other`` for moments of the same tags, by Chan's update; changes ``self`` in place."""
        n, m = self.n_pictures_, other.n_pictures_
        dx, dy = other.x_mean_ - self.x_mean_, other.y_mean_ - self.y_mean_
        weight = n * m / (n + m)
        if self.xx_ is not None:
            self.xx_ += other.xx_
            self.xx_ += np.outer(weight * dx, dx)
        self.x_squares_ += other.x_squares_ + weight * dx**2
        self.xy_ += other.xy_ + np.outer(weight * dx, dy)
        if self.yy_ is not None:
            self.yy_ += other.yy_
            self.yy_ += np.outer(weight * dy, dy)
        self.x_mean_ += dx * (m / (n + m))
        self.y_mean_ += dy * (m / (n + m))
        self.n_pictures_ += m
        return self

    def _widened(self, n_tags: int) -> "Moments":
        """The moments of the same pictures for a larger vocabulary, whose last tags none of them carries."""
        more = n_tags - len(self.y_mean_)
        if not more:
            return self
        return self._new(
            self.n_pictures_,
            self.x_mean_,
            np.pad(self.y_mean_, (0, more)),
            self.xx_,
            self.x_squares_,
            np.pad(self.xy_, ((0, 0), (0, more))),
            np.pad(self.yy_, (0, more)),
        )

    def _take(self, other: "Moments") -> Self:
        for name, value in vars(other).items():
            if name.endswith("_"):
                setattr(self, name, value)
        return self


def block_rows(width: int) -> int:
    """How many pictures with features of this width are taken at a time."""
    return min(BLOCK, max(1, BLOCK_NUMBERS // max(1, width)))


def _tag_scatter(tags: sparse.csr_array) -> NDArray[np.float64]:
    """``sum_i (y_i - y_mean) (y_i - y_mean)^T``, (n_tags, n_tags)."""
    total = np.asarray(tags.sum(axis=0), np.float64).ravel()
    scatter: NDArray[np.float64] = (tags.T @ tags).astype(np.float64).toarray()
    for part in slices(len(total), _TAGS):  # the outer product as a whole would take as much memory again
        scatter[part] -= np.outer(total[part] / tags.shape[0], total)
    return scatter


def _side_by_side(X: dict[str, Matrix], rows: NDArray[np.intp]) -> NDArray[Any]:
    """Some pictures with all features side by side."""
    some = [in_single(cast(Matrix, take(matrix, rows))) for matrix in X.values()]
    blocks = [block if isinstance(block, np.ndarray) else block.toarray() for block in some]
    return blocks[0] if len(blocks) == 1 else np.hstack(blocks)


def _sums(
    block: NDArray[Any], tags: sparse.csr_array, covariance: bool
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None, NDArray[Any], NDArray[Any]]:
    """A shift near the mean, and for the features minus the shift: mean, products, squares, products with the tags."""
    ones = np.ones(len(block), block.dtype)
    shift = (ones @ block) / len(block)
    block = block - shift
    xx = (block.T @ block).astype(np.float64) if covariance else None
    squares = np.diag(xx).copy() if xx is not None else np.einsum("ij,ij->j", block, block).astype(np.float64)
    xy = np.asarray(tags.T @ block, np.float64).T
    return shift.astype(np.float64), (ones @ block).astype(np.float64) / len(block), xx, squares, xy
