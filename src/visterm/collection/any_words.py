"""Search by any words: what was learned of pictures and texts, and what counts of every picture, kept ready."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from visterm.calibration import Asked
from visterm.collection.scores import text_index
from visterm.collection.text_view import text_view
from visterm.language import text_encoder
from visterm.models import using

if TYPE_CHECKING:
    from visterm.calibration import TextRelevance
    from visterm.collection.moment import Frame
    from visterm.collection.opened import Opened
    from visterm.models import Model
    from visterm.ranking import AnyWords

Floats = NDArray[np.floating[Any]]

#: The scores of the latest texts are remembered.
_KEPT = 32
#: A picture that was not looked at.
_NOT_SEEN = -np.inf


def any_words(opened: Opened, model: Model, frame: Frame) -> tuple[AnyText, str | None]:
    """What counts of every picture for any text; and why some pictures are left out for the moment."""
    with using(model):
        _ = model.estimator, model.relevance.coefficients_
    scored = text_index(opened, model, frame.keys)
    slots = scored.snapshot.find(frame.keys)
    rows = np.flatnonzero(slots >= 0)
    codes = scored.snapshot.vectors(slots[rows])
    return AnyText(model, rows, codes, len(frame.keys)), scored.note


@dataclass(frozen=True, eq=False)
class Texts:
    """Gives an :class:`AnyText` when it is needed; with True it may be learned first, None if there is none.

    ``helps_known``: it says more than a model that knows all words.
    """

    helps_known: bool
    get: Callable[[bool], AnyText | None]


@dataclass(eq=False)
class AnyText:
    """Answers any text with log-odds for every picture, from the ``codes`` of those at ``rows``."""

    model: Model
    rows: NDArray[np.intp]
    codes: NDArray[np.float32]
    n_rows: int
    _kept: OrderedDict[str, tuple[Floats, Floats]] = field(default_factory=OrderedDict)

    @property
    def _estimator(self) -> AnyWords:
        estimator: AnyWords = self.model.estimator
        return estimator

    @property
    def relevance(self) -> TextRelevance:
        """How far texts can be trusted."""
        relevance: TextRelevance = self.model.relevance
        return relevance

    def helps(self, kind: Asked) -> bool:
        """Whether looking at pictures improves on the words that a model knows."""
        return kind != Asked.KNOWN or bool(self.relevance.helps_known_)

    def log_odds(self, kind: Asked, text: str) -> Floats:
        """(n_rows,) the part of the log-odds that needs no known word; pictures that nobody looked at have least."""
        odds = np.full(self.n_rows, _NOT_SEEN)
        if len(self.rows):
            odds[self.rows] = self.relevance.by_look(kind, *self._scores(text))
        return odds

    def near(self, texts: Sequence[str]) -> Floats:
        """(n_texts, n_looked): how near the pictures at ``rows`` are to texts."""
        return self._estimator.score(self.codes, texts).near

    def share_seen(self, kinds: Sequence[Sequence[int]]) -> Floats:
        """(n_kinds, n_looked): how probably a network sees any class of each kind in the pictures at ``rows``."""
        return self._estimator.share_seen(self.codes, kinds)

    def _scores(self, text: str) -> tuple[Floats, Floats]:
        if text not in self._kept:
            scores = self._estimator.score(self.codes, [text])
            self._kept[text] = (scores.near[0], scores.seen[0])
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(text)
        return self._kept[text]

    def word_vectors(self, names: Sequence[str]) -> Floats:
        """(n_names, n_dims) vectors of names; those known when it was learned need no encoder."""
        return self._estimator.name_vectors(names)


def vectors_of(texts: Sequence[str]) -> Floats:
    """The vectors of any texts."""
    return text_encoder(text_view().encoder).encode(list(texts))
