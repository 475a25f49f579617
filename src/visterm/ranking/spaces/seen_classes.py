"""What a network sees in pictures, asked for by any text: the classes whose names mean nearly what the text means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute.rows import unit

Array = NDArray[Any]

#: A class counts ``exp((cosine - 1) / _WIDTH)`` for a text. Of three widths from 0.05 to 0.15, this ranked the
#: validation pictures of flickr1500 best, for words of captions.
_WIDTH = 0.1
#: The likeliest classes of a picture that are kept.
N_KEPT = 10
#: What a picture is taken to show of anything: the logarithm of the evidence has an end.
_LEAST = 1e-3


def likeliest_classes(class_probabilities: Array) -> NDArray[np.float32]:
    """(n_pictures, 20): the 10 largest probabilities of each picture, then the numbers of their classes."""
    classes = np.argpartition(class_probabilities, -N_KEPT, axis=1)[:, -N_KEPT:]
    return np.hstack([np.take_along_axis(class_probabilities, classes, axis=1), classes]).astype(np.float32)


def seen_evidence(likeliest: Array, vectors: Array, names: Array) -> NDArray[np.float64]:
    """(n_texts, n_pictures): the logarithm of the probability that a network sees what the texts mean, 0 at the least.

    ``likeliest`` are the rows of :func:`likeliest_classes`; ``vectors`` are those of the texts, ``names`` those of the
    classes' names.
    """
    centre = names.mean(axis=0)
    cosines = unit(vectors - centre) @ unit(names - centre).T
    cosines[~vectors.any(axis=1)] = -1.0  # what says nothing is like nothing
    counts = np.exp((cosines - 1) / _WIDTH).astype(np.float32)
    probabilities, classes = likeliest[:, :N_KEPT], likeliest[:, N_KEPT:].astype(np.int16)
    each = [np.einsum("pk,pk->p", count[classes], probabilities) for count in counts]
    return np.log1p(np.reshape(each, (len(vectors), len(likeliest))).astype(np.float64) / _LEAST)


def share_seen(likeliest: Array, kinds: Sequence[Sequence[int]]) -> NDArray[np.float32]:
    """(n_kinds, n_pictures): how probably a network sees any of the classes of each kind; 0 for a kind without any."""
    probabilities, classes = likeliest[:, :N_KEPT], likeliest[:, N_KEPT:].astype(np.intp)
    shares = [np.where(np.isin(classes, list(kind)), probabilities, 0.0).sum(axis=1) for kind in kinds]
    return np.reshape(shares, (len(kinds), len(likeliest))).astype(np.float32)
