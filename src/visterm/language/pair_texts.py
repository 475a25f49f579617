"""The text half of an image-text pair: a tokenizer and an ONNX model."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute.optional import first_line, imported
from visterm.compute.rows import unit
from visterm.errors import InputError
from visterm.pairs import Pair, Tower
from visterm.pairs.parts import CONFIG, SPECIAL_TOKENS, TEXTS, TOKENIZER, TOKENIZER_CONFIG
from visterm.pairs.tower import IDS, MASK

Vectors = NDArray[np.float32]

#: How many tokens texts have in families whose settings need not say it.
_USUAL_LENGTHS = {"clip": 77, "siglip": 64, "siglip2": 64, "chinese_clip": 52}
#: Longer texts are cut, whatever a model could take: an attention layer needs memory for the square of the length.
_MAX_TOKENS = 512
#: Tokenizers may need time for the square of a word's length.
_MAX_CHARACTERS = 4096
#: Families that learned from small letters only; the tokenizers of others know themselves what they need.
_SMALL_LETTERS = ("siglip",)


class PairTexts:
    """Texts as vectors beside those of pictures, by the pair ``pair``; nothing is opened before the first text.

    ``padded``: whether all texts are padded to :attr:`text_length` tokens, as they were in training; by default, what
    the pair's trial has shown. Only texts of the same number of tokens are computed together, so that a text's vector
    does not depend on the others.
    """

    def __init__(self, pair: Pair, *, padded: bool | None = None) -> None:
        self.name, self.n_dims = pair.full_name, pair.trial.n_dims
        files = (TEXTS, TOKENIZER, TOKENIZER_CONFIG, SPECIAL_TOKENS, CONFIG)
        self.fingerprint = pair.fingerprint(*files)
        self._pair, self._padded = pair, pair.trial.padded if padded is None else padded
        self.tower = Tower(pair, TEXTS)
        self._tokenizer: Any = None
        self._opening = threading.Lock()

    def encode(self, texts: Sequence[str], *, seconds: float | None = None) -> Vectors:
        """(n_texts, n_dims) of length one; ``seconds`` is the most that one run of the model may take."""
        tokens = [self._tokens(text) for text in texts]
        counts = np.array([len(each) for each in tokens], int)
        lengths = np.where(counts > 0, self.text_length, 0) if counts.any() and self.is_padded else counts
        vectors = np.zeros((len(texts), self.n_dims), np.float32)
        for length in np.unique(lengths[lengths > 0]).tolist():
            rows = np.flatnonzero(lengths == length)
            ids = np.array([[*tokens[row], *[self._pad] * (length - counts[row])] for row in rows], np.int64)
            mask = (np.arange(length) < counts[rows, np.newaxis]).astype(np.int64)
            found = self.tower.run({IDS: ids, MASK: mask}, seconds=seconds)
            if found.shape[1] != self.n_dims:
                raise InputError(
                    f"{self.tower.name} gives texts {found.shape[1]} numbers, but pictures have {self.n_dims}: "
                    "both halves must come from one pair, and with their projections"
                )
            vectors[rows] = unit(found)
        return vectors

    @cached_property
    def text_length(self) -> int:
        """The largest number of tokens: what the model is made for, or what the settings of the pair say."""
        if isinstance(self._fixed_length, int):
            return self._fixed_length
        config = self._pair.settings(CONFIG)
        told = (
            self._pair.settings(TOKENIZER_CONFIG).get("model_max_length"),
            _texts_of(config).get("max_position_embeddings"),
            _USUAL_LENGTHS.get(str(config.get("model_type"))),
        )
        lengths = [each for each in told if type(each) is int and each > 1]
        if not lengths:
            raise InputError(
                f"the settings of the pair {self._pair.name!r} do not say how long texts may be: "
                f"write model_max_length into {TOKENIZER_CONFIG}"
            )
        return min(*lengths, _MAX_TOKENS)

    @property
    def is_padded(self) -> bool:
        """Whether all texts get :attr:`text_length` tokens: by choice, or because the model takes no other number."""
        return self._padded or isinstance(self._fixed_length, int)

    @cached_property
    def _fixed_length(self) -> object:
        """The number of tokens that the model always takes; something else than a number if there is none."""
        return self.tower.shape(IDS)[1]

    @cached_property
    def _pad(self) -> int:
        """The token that fills texts up."""
        for file in (TOKENIZER_CONFIG, SPECIAL_TOKENS):
            told = self._pair.settings(file).get("pad_token")
            content = told.get("content") if isinstance(told, dict) else told
            found = self._opened().token_to_id(content) if isinstance(content, str) else None
            if found is not None:
                return int(found)
        told = _texts_of(self._pair.settings(CONFIG)).get("pad_token_id")
        return told if type(told) is int and told >= 0 else 0

    @cached_property
    def _is_lowered(self) -> bool:
        family = str(self._pair.settings(CONFIG).get("model_type", ""))
        return family.startswith(_SMALL_LETTERS)

    def _tokens(self, text: str) -> list[int]:
        """The numbers of a text; none if it says nothing."""
        readable = text.encode("utf-8", "replace").decode()[:_MAX_CHARACTERS]
        if not readable.strip():
            return []
        tokenizer = self._opened()
        try:
            return list(tokenizer.encode(readable.lower() if self._is_lowered else readable).ids)
        except Exception as error:  # its errors have no class of their own
            raise InputError(f"{TOKENIZER} of the pair {self._pair.name!r} fails: {first_line(error)}") from error

    def _opened(self) -> Any:
        with self._opening:
            if self._tokenizer is None:
                self._tokenizer = self._open()
        return self._tokenizer

    def _open(self) -> Any:
        """The tokenizer, cutting texts to what the model takes, and padding none: that is done here."""
        package = imported("tokenizers", "an image-text pair", extra="pair")
        try:
            tokenizer = package.Tokenizer.from_buffer(self._pair.read(TOKENIZER))
            tokenizer.no_padding()
            tokenizer.enable_truncation(self.text_length)
        except (InputError, MemoryError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic of the package, which is written in Rust, is no Exception
            raise InputError(
                f"{TOKENIZER} of the pair {self._pair.name!r} is not a tokenizer: {first_line(error)}"
            ) from error
        return tokenizer


def _texts_of(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the settings of a pair say of its text half."""
    texts = config.get("text_config")
    return texts if isinstance(texts, dict) else {}
