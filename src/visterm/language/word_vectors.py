"""How near words are in meaning, by installed word vectors that are mapped into memory."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.errors import InputError
from visterm.language.forms import base_form
from visterm.language.stop_lists import stop_words

#: Words whose cosine is below this are not near in meaning.
NEAR = 0.5
#: Alternatives with less than this weight are left out; the nearest word has weight 1.
_LEAST_WEIGHT = 0.5
FORMAT = "visterm word vectors 1"
_CHUNK_BYTES = 8 * 2**20
_MAX_HEADER = 1_000_000


def word_hash(word: str) -> int:
    """The number by which a word is looked up; among millions of words, it is practically unique."""
    return int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little")


class WordVectors:
    """The directions of words in a file made by :func:`~visterm.language.vector_files.compile_vectors`.

    The file is in the safetensors format: ``hashes`` of the words in rising order, and ``vectors``, one int8 row each,
    of which only the direction counts. It is mapped into memory when first used, and only the needed rows are read.

    >>> from tempfile import mkdtemp
    >>> from visterm.language.vector_files import compile_vectors
    >>> folder = Path(mkdtemp())
    >>> _ = (folder / "tiny.txt").write_text("dog 1 0\\npuppy 0.9 0.3\\ntree 0 1\\n")
    >>> vectors = WordVectors(compile_vectors(folder / "tiny.txt", folder / "words.safetensors"))
    >>> units, known = vectors.units(["dog", "puppies", "xylophone"])
    >>> known.tolist(), round(float(units[0] @ units[1]), 2)
    ([True, True, False], 0.95)
    """

    def __init__(self, file: Path) -> None:
        self.file = file

    @property
    def n_words(self) -> int:
        """The number of words."""
        return len(self._hashes)

    @property
    def n_dims(self) -> int:
        """The number of dimensions."""
        return int(self._vectors.shape[1])

    @cached_property
    def about(self) -> dict[str, str]:
        """The notes in the file: ``source``, the name of the text file, and ``installed``, the time."""
        return {str(name): str(value) for name, value in self._header.get("__metadata__", {}).items()}

    def __contains__(self, phrase: str) -> bool:
        """Whether the word or phrase has a vector of its own."""
        return phrase in self._rows([phrase])

    def units(self, phrases: Sequence[str], language: str = "en") -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """(n_phrases, n_dims) directions of length 1, zero where unknown; and which are known.

        A phrase without a vector of its own gets the mean of its words, all of which must have one. A plural without a
        vector gets that of its singular. ``language`` is the language of the phrases.
        """
        parts = [_parts_of(phrase, language) for phrase in phrases]
        rows = self._rows({part for of_one in parts for forms in of_one for part in forms})
        units = np.zeros((len(phrases), self.n_dims), np.float32)
        for i, (phrase, of_one) in enumerate(zip(phrases, parts, strict=True)):
            if phrase in rows:
                units[i] = rows[phrase]
                continue
            found = [next((rows[form] for form in forms if form in rows), None) for forms in of_one[1:]]
            if found and all(row is not None for row in found):
                units[i] = np.sum([row for row in found if row is not None], axis=0)
        lengths = np.linalg.norm(units, axis=1)
        known = lengths > 0
        units[known] /= lengths[known, np.newaxis]
        return units, known

    def _rows(self, words: Iterable[str]) -> dict[str, NDArray[np.float32]]:
        """The unit directions of the words that have a vector."""
        asked = list(words)
        hashes = np.array([word_hash(word) for word in asked], np.uint64)
        places = np.minimum(np.searchsorted(self._hashes, hashes), max(0, self.n_words - 1))
        known = np.flatnonzero(self._hashes[places] == hashes) if self.n_words else np.empty(0, np.intp)
        rows = self._vectors[places[known]].astype(np.float32)
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        return {asked[i]: row for i, row in zip(known, rows, strict=True)}

    def check(self) -> None:
        """Raise an error if the file fails its checksum."""
        crc = 0
        with self.file.open("rb") as file:
            file.seek(self._header["data"])
            while data := file.read(_CHUNK_BYTES):
                crc = zlib.crc32(data, crc)
        if f"{crc:08x}" != self.about.get("crc32"):
            raise self._damaged("it fails its checksum")

    @cached_property
    def _header(self) -> dict[str, Any]:
        try:
            with self.file.open("rb") as file:
                length = int.from_bytes(file.read(8), "little")
                header = json.loads(file.read(length)) if 0 < length <= _MAX_HEADER else None
            if not isinstance(header, dict) or header.get("__metadata__", {}).get("format") != FORMAT:
                raise ValueError("it is not a file of word vectors")
        except (OSError, ValueError, AttributeError) as error:
            raise self._damaged(error) from error
        return {**header, "data": 8 + length}

    @cached_property
    def _hashes(self) -> NDArray[np.uint64]:
        return self._tensor("hashes", "U64", np.uint64, 1)

    @cached_property
    def _vectors(self) -> NDArray[np.int8]:
        vectors: NDArray[np.int8] = self._tensor("vectors", "I8", np.int8, 2)
        if len(vectors) != len(self._hashes):
            raise self._damaged("the number of words differs from the number of vectors")
        return vectors

    def _tensor(self, name: str, kind: str, dtype: Any, n_axes: int) -> NDArray[Any]:
        try:
            about = self._header[name]
            shape, (start, end) = tuple(map(int, about["shape"])), about["data_offsets"]
            wanted = prod(shape) * np.dtype(dtype).itemsize
            if about["dtype"] != kind or len(shape) != n_axes or min(shape) < 0 or end - start != wanted:
                raise ValueError(f"the header of {name} does not match the data")
            if not wanted:
                return np.empty(shape, dtype)
            return np.memmap(self.file, dtype, "r", self._header["data"] + start, shape)
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise self._damaged(error) from error

    def _damaged(self, reason: object) -> InputError:
        return InputError(
            f"the word vectors in {self.file} cannot be read ({reason}): "
            "install them again, or remove them with 'visterm words remove'"
        )


@dataclass(frozen=True, slots=True)
class Near:
    """A known word near in meaning: its cosine, and its weight relative to the nearest word."""

    name: str
    likeness: float
    weight: float


class Thesaurus:
    """Finds the known words that are nearest in meaning to another word."""

    def __init__(self, vectors: WordVectors, names: Iterable[str], language: str = "en") -> None:
        listed = sorted(names)
        units, known = vectors.units(listed, language)
        self._vectors, self._language = vectors, language
        self._names = [listed[i] for i in np.flatnonzero(known)]
        self._units = units[known]

    def nearest(self, phrase: str, n_best: int = 3) -> list[Near]:
        """The known words with a cosine above :data:`NEAR`, nearest first; none if the phrase itself has no vector.

        The weight of a word is its cosine minus :data:`NEAR`, relative to the nearest word. Words with less than half
        the weight of the nearest are left out.
        """
        (unit,), (known,) = self._vectors.units([phrase], self._language)
        if not known or not self._names:
            return []
        likeness = self._units @ unit
        order = np.argsort(-likeness, kind="stable")[:n_best]
        above = np.maximum(likeness[order] - NEAR, 0.0)
        weights = above / above[0] if above[0] > 0 else above
        return [
            Near(self._names[i], float(likeness[i]), float(w))
            for i, w in zip(order, weights, strict=True)
            if w >= _LEAST_WEIGHT
        ]


def _parts_of(phrase: str, language: str) -> list[tuple[str, ...]]:
    """The phrase, then each of its words with the forms to look up."""
    words = [word for word in phrase.split() if word not in stop_words(language)]
    return [(phrase,), *((word, base_form(word, language=language)) for word in words)]
