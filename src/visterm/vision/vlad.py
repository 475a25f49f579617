"""VLAD: how the descriptors of a picture lie around the words of a codebook."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.vision.codebook import Codebook
from visterm.vision.descriptor_pca import as_descriptors, require_fitted
from visterm.vision.pyramid import normalised


class Vlad:
    """Vector of locally aggregated descriptors: the sum of differences from its word, for every word.

    Each word's sum is scaled to unit length (Arandjelovic and Zisserman, "All about VLAD", CVPR 2013), then all entries
    get a signed square root and the whole unit length (Jegou et al., "Aggregating local image descriptors into compact
    codes", PAMI 2012).

    Parameters
    ----------
    codebook
        A fitted codebook, usually of 16 to 256 words.
    intra_normalise
        Whether each word's sum is scaled to unit length.
    power
        Exponent of the signed power; 1 leaves entries as they are.

    >>> codebook = Codebook(2, random_state=0).fit([[0.0, 0.0], [10.0, 0.0]])
    >>> vlad = Vlad(codebook, power=1.0).encode([[0.0, 3.0], [10.0, 5.0], [10.0, 4.0]])
    >>> vlad.round(4)
    array([0.    , 0.7071, 0.    , 0.7071], dtype=float32)
    """

    def __init__(self, codebook: Codebook, *, intra_normalise: bool = True, power: float = 0.5) -> None:
        self.codebook = codebook
        self.intra_normalise = intra_normalise
        self.power = power

    @property
    def n_dims(self) -> int:
        """Length of the encoding: n_words times the descriptors' dimensions."""
        require_fitted(self.codebook, "words_")
        return self.codebook.words_.size

    def encode(self, descriptors: Any) -> NDArray[np.float32]:
        """The encoding of one picture's descriptors; zeros if there are none."""
        return self.encode_sums(self.sums(descriptors))

    def sums(self, descriptors: Any) -> NDArray[np.float64]:
        """Each word's sum of differences, (n_words, descriptor dimensions)."""
        from visterm.vision._kernels_clusters import sum_by_word

        ids = self.codebook.assign(descriptors)
        words = self.codebook.words_
        sums = np.zeros(words.shape)
        counts = np.zeros(len(words), np.int64)
        sum_by_word(as_descriptors(descriptors), ids, sums, counts)
        return sums - counts[:, None] * words

    def encode_sums(self, sums: NDArray[np.float64]) -> NDArray[np.float32]:
        """The normalised encoding from sums over descriptors."""
        if self.intra_normalise:
            lengths = np.sqrt(np.einsum("wd,wd->w", sums, sums))[:, None]
            sums = np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 0.0)
        return normalised(sums, self.power)
