"""Product quantisation: small codes with one byte for every few dimensions."""

from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from visterm.compute.parallel import map_shards, split
from visterm.contracts import FROM_0, FROM_1, Estimator, Features, check_features, declared

Bytes = NDArray[np.uint8]
#: A byte can name this many words.
_WORDS = 256
#: Tables are computed for this many queries at a time.
_BLOCK = 256
#: Dimensions with less than this share of the largest variance are as good as constant.
_CONSTANT = 1e-9
#: The size of a constant dimension in its group: every dimension counts.
_LEAST_SIZE = 1.0


@declared
class ProductQuantizer(Estimator):
    """Stores each row of floats in ``n_bytes`` bytes (Jégou, Douze and Schmid, PAMI 2011).

    The dimensions are divided into ``n_bytes`` groups. Each group has its own vocabulary of 256 words found by k-means;
    a row becomes the number of its nearest word in every group. The product of the variances is about the same in every
    group, which is best for Gaussian data (Ge, He, Ke and Sun, CVPR 2013): the first dimensions of a subspace vary far
    more than the last.

    Queries stay floats: their squared distance to a coded row is a sum of ``n_bytes`` entries of :meth:`tables`
    (asymmetric distances).

    >>> codes = np.random.default_rng(0).standard_normal((1000, 8))
    >>> quantizer = ProductQuantizer(4).fit(codes)
    >>> stored = quantizer.transform(codes)
    >>> stored.shape, stored.dtype.name
    ((1000, 4), 'uint8')
    >>> bool(np.mean((quantizer.inverse_transform(stored) - codes) ** 2) < 0.05)
    True
    """

    n_bytes: Annotated[Any, FROM_1] = 8
    _: KW_ONLY
    max_iter: Annotated[int, FROM_0] = 15
    random_state: Annotated[int | None, FROM_0] = 0
    _fitted_constraints: ClassVar[dict[str, str]] = {"words_": "n_groups n_words n_group_dims"}

    def fit(self, X: Features, tags: Any = None) -> Self:  # noqa: ARG002 - embeddings take tags
        """Learn the vocabulary of every group of dimensions; tags are not used."""
        from visterm.vision.encode.codebook import Codebook

        self._validate_params()
        rows = self._rows(X, fitting=True)
        self.groups_ = balanced_groups(rows.var(axis=0, dtype=np.float64), min(self.n_bytes, rows.shape[1]))
        n_words = min(_WORDS, len(rows))
        # Groups differ in size by one at most. The words of smaller groups have a last coordinate of zero.
        self.words_ = np.zeros((len(self.groups_), n_words, max(map(len, self.groups_))), np.float32)
        for words, dims in zip(self.words_, self.groups_, strict=True):
            book = Codebook(n_words, n_iterations=self.max_iter, random_state=self.random_state).fit(rows[:, dims])
            words[:, : len(dims)] = book.words_
        return self

    def transform(self, X: Features) -> Bytes:
        """The numbers of the nearest words, (n_pictures, n_bytes) of uint8."""
        from visterm.vision.encode.codebook import nearest_words

        rows = self._rows(X, fitting=False)
        codes = np.empty((len(rows), len(self.groups_)), np.uint8)
        for group, dims in enumerate(self.groups_):
            if len(rows):
                codes[:, group] = nearest_words(rows[:, dims], self.words_[group, :, : len(dims)])
        return codes

    def inverse_transform(self, codes: Bytes) -> NDArray[np.float32]:
        """The rows that the codes represent, (n_pictures, n_dims)."""
        rows = np.empty((len(codes), self.n_features_in_), np.float32)
        for group, dims in enumerate(self.groups_):
            rows[:, dims] = self.words_[group, codes[:, group], : len(dims)]
        return rows

    def tables(self, X: Features) -> NDArray[np.float32]:
        """The squared distances of every row to every word, (n_pictures, n_bytes, n_words)."""
        rows = self._rows(X, fitting=False)
        tables = np.empty((len(rows), *self.words_.shape[:2]), np.float32)
        for group, dims in enumerate(self.groups_):
            words = self.words_[group, :, : len(dims)]
            apart = rows[:, None, dims] - words
            tables[:, group] = np.einsum("iwd,iwd->iw", apart, apart)
        return tables

    def _rows(self, X: Features, *, fitting: bool) -> NDArray[np.float32]:
        checked = check_features(self, X, fitting=fitting)
        dense = checked if isinstance(checked, np.ndarray) else checked.toarray()
        return np.ascontiguousarray(dense, np.float32)


def nearest_coded(
    queries: Any, quantizer: ProductQuantizer, codes: Bytes, n_neighbors: int
) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """The ``n_neighbors`` coded rows nearest each query, nearest first, ties by row, and their distances."""
    from visterm.subspace import _kernels

    k = min(n_neighbors, len(codes))
    rows, squared = np.empty((len(queries), k), np.intp), np.empty((len(queries), k), np.float32)

    def of_block(block: slice) -> None:
        _kernels.nearest_bytes(quantizer.tables(queries[block]), codes, rows[block], squared[block])

    shards = split(len(queries), size=_BLOCK)
    if len(shards) == 1:
        of_block(shards[0].rows)
    elif shards:
        for _ in map_shards(lambda shard: of_block(shard.rows), shards, description="Finding look-alikes"):
            pass
    return rows, np.sqrt(squared, out=squared)


def balanced_groups(variances: NDArray[np.float64], n_groups: int) -> list[NDArray[np.intp]]:
    """Dimensions in ``n_groups`` groups of about equal size whose products of variances are about equal.

    >>> [group.tolist() for group in balanced_groups(np.array([8.0, 4.0, 2.0, 1.0]), 2)]
    [[0, 3], [1, 2]]
    """
    share = len(variances) / n_groups
    least = max(variances.max() * _CONSTANT, np.finfo(float).tiny)
    sizes = np.log(np.maximum(variances, least) / least) + _LEAST_SIZE
    groups: list[list[int]] = [[] for _ in range(n_groups)]
    for dim in np.argsort(-variances, kind="stable"):
        open_groups = [group for group in groups if len(group) < share]
        min(open_groups, key=lambda group: sum(sizes[d] for d in group)).append(int(dim))
    return [np.array(sorted(group), np.intp) for group in groups]
