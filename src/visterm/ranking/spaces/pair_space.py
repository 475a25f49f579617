"""The space of a pair of encoders that were made for each other: pictures already lie near their texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from visterm.contracts import Estimator, Features
from visterm.errors import InputError
from visterm.language.text_encoder import text_encoder
from visterm.ranking.spaces.shared_space import crowding, unit

#: Crowding is measured on at most this many pictures, and by this many neighbours.
_MAX_BANK, _N_NEAREST = 1000, 10


class PairSpace(Estimator):
    """Codes whose products are ``2 cos(q, p) - r(q)``, where ``r`` is how much a text resembles everything.

    >>> _ = PairSpace("use-multilingual-3").fit(np.eye(512)[:3])
    >>> PairSpace("use-multilingual-3").fit(np.eye(512)[:3]).picture_codes(np.eye(512)[:2]).shape
    (2, 513)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"encoder": [str]}
    _fitted_constraints: ClassVar[dict[str, str]] = {"bank_pictures_": "n_bank n_dims"}

    def __init__(self, encoder: str) -> None:
        self.encoder = encoder

    def fit(self, X: Features) -> Self:
        """Keep some pictures to measure crowding."""
        self._validate_params()
        pictures = self._units(X)
        rows = np.linspace(0, len(pictures) - 1, min(len(pictures), _MAX_BANK)).astype(np.intp)
        self.bank_pictures_ = pictures[rows]
        return self

    def picture_codes(self, X: Features) -> NDArray[np.float64]:
        """(n_pictures, n_dims + 1)."""
        check_is_fitted(self)
        pictures = self._units(X)
        return np.column_stack([pictures, np.ones(len(pictures))])

    def text_codes(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """(n_texts, n_dims + 1): their products with :meth:`picture_codes` are the scores."""
        check_is_fitted(self)
        vectors = text_encoder(self.encoder).encode(list(texts)).astype(np.float64)
        return np.column_stack([2 * vectors, -crowding(vectors, self.bank_pictures_, _N_NEAREST)])

    def _units(self, X: Features) -> NDArray[np.float64]:
        n_dims = text_encoder(self.encoder).n_dims
        if isinstance(X, dict) or getattr(X, "shape", ())[1:] != (n_dims,):
            raise InputError(f"the pictures of this pair have {n_dims} numbers each, as its texts do")
        return unit(np.asarray(X, np.float64))
