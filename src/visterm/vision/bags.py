"""Bags of codewords: counting codewords, stacking the bags of many pictures, and weighting them by tf-idf."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from visterm.errors import InputError
from visterm.vision.descriptor_pca import require_fitted
from visterm.vision.pyramid import normalised

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from visterm.vision.codebook import Codebook

#: The codewords that occur in a picture, in increasing order, and how often each occurs.
Bag = tuple[NDArray[np.int32], NDArray[np.float32]]


def count_words(ids: NDArray[np.int32], shares: NDArray[np.float32] | None = None) -> Bag:
    """The bag of a picture from the codewords of its descriptors, or from their shares after soft assignment.

    >>> count_words(np.array([4, 1, 4], np.int32))
    (array([1, 4], dtype=int32), array([1., 2.], dtype=float32))
    """
    words, positions = np.unique(ids, return_inverse=True)
    weights = None if shares is None else shares.ravel()
    counts = np.bincount(positions.ravel(), weights, minlength=len(words))
    return words.astype(np.int32), counts.astype(np.float32)


def stack_bags(bags: Iterable[Bag], n_words: int) -> csr_array:
    """The bags of several pictures as a sparse (n_pictures, n_words) matrix of counts, column numbers sorted.

    >>> stack_bags([count_words(np.array([4, 1, 4])), count_words(np.array([], int))], n_words=5).toarray()
    array([[0., 1., 0., 0., 2.],
           [0., 0., 0., 0., 0.]], dtype=float32)
    """
    from scipy.sparse import csr_array

    ids: list[NDArray[np.int32]] = []
    counts: list[NDArray[np.float32]] = []
    for picture, (words, weights) in enumerate(bags):
        if len(words) != len(weights):
            raise InputError(f"the bag of picture {picture} has {len(words)} codewords but {len(weights)} counts")
        if len(words) and not (words[0] >= 0 and words[-1] < n_words and (np.diff(words) > 0).all()):
            raise InputError(f"the codewords of picture {picture} must be increasing numbers from 0 to {n_words - 1}")
        ids.append(words)
        counts.append(weights)
    starts = np.concatenate([[0], np.cumsum([len(words) for words in ids], dtype=np.int64)])
    indices = np.concatenate([np.empty(0, np.int32), *ids])
    data = np.concatenate([np.empty(0, np.float32), *counts]).astype(np.float32, copy=False)
    return csr_array((data, indices, starts), shape=(len(ids), n_words))


class TfIdf:
    """Weights bags so that codewords of few pictures count more, and scales each picture to unit length.

    The weight of codeword i in a picture is tf_i idf_i / sqrt(sum_j (tf_j idf_j)^2), with tf_i its count and
    idf_i = -log(share of the training pictures that contain it) (Grangier and Bengio, "A discriminative kernel-based
    model to rank images from text queries", PAMI 2008). A codeword of no training picture, or of all, has weight zero.

    After ``fit``: ``idf_`` (n_words,).

    >>> from scipy.sparse import csr_array
    >>> TfIdf().fit_transform(csr_array([[1.0, 3.0], [2.0, 0.0]])).toarray()
    array([[0., 1.],
           [0., 0.]], dtype=float32)
    """

    idf_: NDArray[np.float64]

    def fit(self, bags: Any) -> TfIdf:
        """Learn from (n_pictures, n_words) counts in how many pictures each codeword occurs."""
        counts = _as_counts(bags)
        if counts.shape[0] == 0:
            raise InputError("tf-idf weights need at least one picture to learn from")
        n_containing = np.bincount(counts.indices, minlength=counts.shape[1])
        self.idf_ = np.log(counts.shape[0] / np.maximum(n_containing, 1))
        self.idf_[n_containing == 0] = 0.0
        return self

    def transform(self, bags: Any) -> csr_array:
        """The weighted bags, float32; an empty bag stays zero."""
        from scipy.sparse import csr_array

        require_fitted(self, "idf_")
        counts = _as_counts(bags)
        if counts.shape[1] != len(self.idf_):
            raise InputError(f"bags must have {len(self.idf_)} codewords, as in fit, not {counts.shape[1]}")
        weights = counts.data * self.idf_[counts.indices]
        rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        lengths = np.sqrt(np.bincount(rows, weights**2, minlength=counts.shape[0]))
        data = (weights / np.where(lengths > 0.0, lengths, 1.0)[rows]).astype(np.float32)
        weighted = csr_array((data, counts.indices, counts.indptr), shape=counts.shape)
        weighted.eliminate_zeros()
        return weighted

    def fit_transform(self, bags: Any) -> csr_array:
        """Learn from ``bags``, then weight them."""
        return self.fit(bags).transform(bags)


class BagEncoder:
    """One picture's bag as a dense vector of unit length, for spatial pyramids of small codebooks."""

    def __init__(self, codebook: Codebook) -> None:
        self.codebook = codebook

    @property
    def n_dims(self) -> int:
        """Length of the encoding: one entry per codeword."""
        require_fitted(self.codebook, "words_")
        return len(self.codebook.words_)

    def sums(self, descriptors: Any) -> NDArray[np.float64]:
        """How often each codeword occurs."""
        return np.bincount(self.codebook.assign(descriptors), minlength=self.n_dims).astype(np.float64)

    def encode_sums(self, sums: NDArray[np.float64]) -> NDArray[np.float32]:
        """The counts scaled to unit length."""
        return normalised(sums)


def _as_counts(bags: Any) -> csr_array:
    """A private CSR copy without stored zeros; an error unless the counts are finite and not negative."""
    from scipy.sparse import csr_array

    counts = csr_array(bags, dtype=np.float64, copy=True)
    counts.sum_duplicates()
    counts.eliminate_zeros()
    if not ((counts.data > 0.0) & np.isfinite(counts.data)).all():
        raise InputError("bags contain negative, NaN or infinite counts: counts must be zero or more")
    return counts
