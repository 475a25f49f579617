"""What counts of a picture for any text: where it lies in a space of texts, and what a network sees in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from visterm.contracts import Estimator, Features
from visterm.language.text_encoder import DEFAULT, text_encoder
from visterm.ranking.sentence_cca import SentenceCCA
from visterm.ranking.spaces.pair_space import PairSpace
from visterm.ranking.spaces.said_texts import Said, class_vectors
from visterm.ranking.spaces.seen_classes import N_KEPT, likeliest_classes, seen_evidence, share_seen
from visterm.vision.network.imagenet_classes import class_probabilities

Array = NDArray[Any]

#: The feature in which a network's classes can be read.
_SEES = "deep-lite2"


class TextScores(NamedTuple):
    """(n_texts, n_pictures) each: how near pictures lie to texts, and the logarithm of how probably they show them."""

    near: Array
    seen: Array


class AnyWords(Estimator):
    """Scores pictures for any text, from no label on: by a space of texts, and by what a network sees.

    The space is that of :class:`~visterm.ranking.SentenceCCA`, learned from all that people said; or, for features and
    texts that were made for each other (``is_pair``), that of the pair itself. What a network sees are the likeliest of
    ImageNet's classes; those with names like the text count.

    Both are kept for every picture as one row of numbers (:meth:`picture_codes`), so that any text is a product.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"encoder": [str], "is_pair": ["boolean"]}
    _fitted_constraints: ClassVar[dict[str, str]] = {
        "n_code_": "int >0",
        "class_vectors_": "n_classes n_dims",
        "name_vectors_": "n_names n_text_dims",
    }

    def __init__(self, encoder: str = DEFAULT, *, is_pair: bool = False) -> None:
        self.encoder = encoder
        self.is_pair = is_pair

    def fit(self, X: Features, said: Said, names: Sequence[str] = ()) -> Self:
        """Learn from what is ``said`` of some of the pictures, as vectors; nothing need be said of any.

        The vectors of ``names``, those that the collection knows, are kept: to find those nearest to another word.
        """
        self._validate_params()
        seen = _class_probabilities(X)
        if self.is_pair:
            self.space_: PairSpace | SentenceCCA = PairSpace(self.encoder).fit(X)
        else:
            self.space_ = SentenceCCA(encoder=self.encoder).fit_said(X, said, seen)
        self.class_vectors_ = np.zeros((0, 0), np.float16)
        if seen is not None:
            self.class_vectors_ = class_vectors(self.encoder)[0].astype(np.float16)
        self.names_ = np.array(names, np.str_)
        self.name_vectors_ = text_encoder(self.encoder).encode(list(names)).astype(np.float16)
        self.n_code_ = int(self.space_.picture_codes(X[:1] if isinstance(X, np.ndarray) else _first(X)).shape[1])
        return self

    def picture_codes(self, X: Features) -> NDArray[np.float32]:
        """(n_pictures, n_columns): what counts of each picture; keep it."""
        check_is_fitted(self)
        codes = self.space_.picture_codes(X).astype(np.float32)
        seen = _class_probabilities(X) if len(self.class_vectors_) else None
        return codes if seen is None else np.hstack([codes, likeliest_classes(seen)])

    @property
    def n_columns(self) -> int:
        """How many numbers are kept of a picture."""
        return self.n_code_ + 2 * N_KEPT * bool(len(self.class_vectors_))

    def score(self, codes: Array, texts: Sequence[str]) -> TextScores:
        """The scores of pictures for any texts, from their codes."""
        check_is_fitted(self)
        asked = self.space_.text_codes(texts).astype(codes.dtype)
        near = asked @ codes[:, : self.n_code_].T
        if not len(self.class_vectors_):
            return TextScores(near, np.zeros_like(near))
        vectors = text_encoder(self.encoder).encode(list(texts))
        return TextScores(
            near, seen_evidence(codes[:, self.n_code_ :], vectors, self.class_vectors_.astype(np.float32))
        )

    def share_seen(self, codes: Array, kinds: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """(n_kinds, n_pictures): how probably a network sees any class of each kind, from the codes of pictures."""
        check_is_fitted(self)
        if not len(self.class_vectors_):
            return np.zeros((len(kinds), len(codes)), np.float32)
        return share_seen(codes[:, self.n_code_ :], kinds)

    def name_vectors(self, names: Sequence[str]) -> NDArray[np.float32]:
        """(n_names, n_dims) vectors of any names; only new ones are encoded."""
        check_is_fitted(self)
        place = {name: row for row, name in enumerate(self.names_.tolist())}
        vectors = np.empty((len(names), self.name_vectors_.shape[1]), np.float32)
        new = [name for name in names if name not in place]
        known = [row for row, name in enumerate(names) if name in place]
        vectors[known] = self.name_vectors_[[place[names[row]] for row in known]]
        if new:
            vectors[[row for row, name in enumerate(names) if name not in place]] = text_encoder(self.encoder).encode(
                new
            )
        return vectors


def _class_probabilities(X: Features) -> Array | None:
    """What a network sees, if the features tell."""
    return class_probabilities(X[_SEES]) if isinstance(X, dict) and _SEES in X else None


def _first(X: Any) -> Features:
    return {name: matrix[:1] for name, matrix in X.items()}
