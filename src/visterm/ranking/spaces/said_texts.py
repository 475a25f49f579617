"""What people said of pictures, as vectors: captions, tags, classes; and what a network sees in them, as text."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.compute.rows import unit
from visterm.errors import InputError
from visterm.language.text_encoder import TextEncoder, text_encoder

Array = NDArray[Any]

#: Probabilities are flattened: with their roots, classes that are merely possible count, too.
_FLATTENED = 0.5
#: What people write around a noun: the middle of such sentences is the middle of queries, before there are captions.
_SENTENCES = ("a photo of a {}.", "a {} in the background", "a person with a {}")
#: Sentences are made of every tenth class.
_EVERY = 10


@dataclass(frozen=True, slots=True, eq=False)
class Said:
    """Vectors of what is said of pictures: ``vectors`` of single texts, each of the picture ``of``."""

    vectors: Array
    of: NDArray[np.intp]
    n_pictures: int

    @property
    def counts(self) -> NDArray[np.intp]:
        """(n_pictures,): how many texts each picture has."""
        return np.bincount(self.of, minlength=self.n_pictures)

    def select(self, rows: NDArray[np.intp]) -> "Said":
        """What is said of some pictures, which are numbered anew."""
        number = np.full(self.n_pictures, -1)
        number[rows] = np.arange(len(rows))
        kept = number[self.of] >= 0
        return Said(self.vectors[kept], number[self.of[kept]], len(rows))

    def means(self) -> Array:
        """(n_pictures, n_dims): the mean of each picture's texts; zero where there is none."""
        sums = sparse.csr_array(
            (np.ones(len(self.of), np.float32), (self.of, np.arange(len(self.of)))), (self.n_pictures, len(self.of))
        )
        return np.asarray(sums @ self.vectors) / np.maximum(self.counts, 1)[:, None].astype(np.float32)


def said_of_pictures(
    tags: sparse.csr_array,
    texts: Sequence[Sequence[str]] | None,
    tag_names: Sequence[str] | None,
    encoder: TextEncoder | None,
) -> "Said":
    """The vectors of all texts of all pictures.

    The tags of a picture are one more text, "tag, tag, tag". Without their names, each tag is a direction of its own.
    """
    n_pictures = tags.shape[0]
    if encoder is None:
        tagged = np.flatnonzero(np.diff(tags.indptr))
        return Said(unit(tags[tagged].toarray()), tagged, n_pictures)
    all_texts, of = [], []
    for row in range(n_pictures):
        own = list(texts[row]) if texts is not None else []
        columns = tags.indices[tags.indptr[row] : tags.indptr[row + 1]]
        if len(columns) and tag_names is not None:
            own.append(", ".join(tag_names[column] for column in columns))
        own = [text for text in own if text.strip()]
        all_texts += own
        of += [row] * len(own)
    return Said(encoder.encode(all_texts), np.array(of, np.intp), n_pictures)


def seen_texts(class_probabilities: Array, encoder_name: str) -> Array:
    """(n_pictures, n_dims): what a network sees in pictures, as the mean of the class names' vectors, not centred."""
    vectors = class_vectors(encoder_name)[0]
    if np.ndim(class_probabilities) != 2 or class_probabilities.shape[1] != len(vectors):
        raise InputError(
            f"class_probabilities must be (n_pictures, {len(vectors)}), as the recipe 'imagenet-classes' gives, "
            f"but have shape {np.shape(class_probabilities)}"
        )
    if not (np.isfinite(class_probabilities).all() and (class_probabilities >= 0).all()):
        raise InputError("class_probabilities must be finite and not negative")
    weights = np.asarray(class_probabilities, np.float32) ** _FLATTENED
    return np.asarray(weights @ vectors / np.maximum(weights.sum(axis=1, keepdims=True), 1e-12))


def usual_sentence(encoder_name: str) -> Array:
    """(n_dims,): the mean of sentences about all kinds of things: where queries lie before there are captions."""
    return class_vectors(encoder_name)[1]


@lru_cache(maxsize=2)
def class_vectors(encoder_name: str) -> tuple[Array, Array]:
    """The vectors of the names of ImageNet's classes, and the mean vector of sentences about some of them."""
    from visterm.vision.network.imagenet_classes import imagenet_names

    names, encoder = imagenet_names(), text_encoder(encoder_name)
    sentences = [sentence.format(name) for sentence in _SENTENCES for name in names[::_EVERY]]
    return encoder.encode(names), encoder.encode(sentences).mean(axis=0)
