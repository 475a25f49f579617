"""Texts that no label answers for: pictures are judged by their look, beside the words of the text that are known."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from scipy.special import log_expit

from visterm.calibration import Asked as Kind
from visterm.collection.any_words import AnyText, vectors_of
from visterm.find.rank.beliefs import Asked, Fused, Leaf
from visterm.find.words.names import Names
from visterm.find.words.query import Term
from visterm.find.words.reading import Part
from visterm.language import Near, is_foreign, is_ordinary

#: A known word whose vector has this cosine with that of an unknown word means the same. Of 133 translations of tags
#: into five languages, 88 % were at least so near to the right tag, and one was to a wrong one (strada: road, street).
SAME = 0.8
#: An ordinary word that is also one of another language is meant so if it is so near: *perro* and *plage* are in a
#: dictionary of English, too. *dentist* and *tooth* have 0.81.
_SAME_ABROAD = 0.85
#: Known words that are at least so near are named.
_LIKE = 0.6
_MAX_LIKE = 3
#: A query of this many words is a sentence if one of them says nothing by itself, such as "in".
_SENTENCE = 4


class ByLook:
    """Judges pictures by their look, for any words and sentences; ``names`` are those that the collection knows."""

    def __init__(self, texts: AnyText, names: Names) -> None:
        self._texts, self._names = texts, names

    def same(self, word: str, spelled: Sequence[str]) -> list[Near]:
        """The known word that means the same, perhaps in another language; and those ``spelled`` alike if it is unsure.

        *Strand* is German for beach, but may be a misspelt *sand*. None, if no known word means the same.
        """
        near = self.nearest(word)[:1]
        if not near or near[0].likeness < SAME:
            return []
        return near + [Near(other, near[0].likeness, 1.0) for other in spelled if other != near[0].name]

    @staticmethod
    def has_own_meaning(name: str, same: Sequence[Near], language: str) -> bool:
        """Whether a word only means nearly the ``same``: it is ordinary, and not meant in another language."""
        abroad = bool(same) and same[0].likeness >= _SAME_ABROAD
        return is_ordinary(name, language) and not (abroad and is_foreign(name, language))

    def nearest(self, word: str) -> list[Near]:
        """The known words nearest in meaning, in any language; those that mean the same first."""
        if not self._known:
            return []
        cosines = self._vectors @ vectors_of([word])[0]
        best = np.argsort(-cosines, kind="stable")[:_MAX_LIKE]
        return [Near(self._known[place], float(cosines[place]), 1.0) for place in best if cosines[place] >= _LIKE]

    @cached_property
    def _known(self) -> list[str]:
        return sorted(self._names.of("tag") | self._names.of("class"))

    @cached_property
    def _vectors(self) -> np.ndarray:
        return self._texts.word_vectors(self._known)

    @staticmethod
    def kind(terms: Sequence[Term], parts: Sequence[Part], n_unknown: int, like: Sequence[Asked] = ()) -> Kind:
        """What a query of plain terms is; ``parts`` are its known words, ``like`` those that some others are like."""
        is_known = any(map(_is_judged, (*(part.asked for part in parts), *like)))
        n_silent = len(terms) - len(parts) - n_unknown
        if len(terms) >= _SENTENCE and (n_silent or len(terms) > _SENTENCE):
            return Kind.SENTENCE if is_known else Kind.FOREIGN
        if not is_known:
            return Kind.UNKNOWN
        return Kind.MIXED if n_unknown or not all(_is_judged(part.asked) for part in parts) else Kind.KNOWN

    def helps(self, kind: Kind) -> bool:
        """Whether the look of pictures says more than the words alone."""
        return bool(len(self._texts.rows)) and self._texts.helps(kind)

    def nothing_below(self, kind: Kind) -> float:
        """From which probability of the best picture on something is found."""
        return float(self._texts.relevance.nothing_below_[kind])

    def fused(self, kind: Kind, text: str, known: Asked | None, told: Sequence[Leaf], *, complete: bool) -> Fused:
        """What a text asks for; ``complete`` if all its words are among the ``known`` and the ``told``."""
        likeness = log_expit(self._texts.log_odds(kind, text)).astype(np.float32)
        look = Leaf(text, len(likeness), likeness=likeness)
        return Fused(look, known, tuple(told), lambda odds: self._texts.relevance.by_words(kind, odds), complete)


def _is_judged(asked: Asked) -> bool:
    return not isinstance(asked, Leaf) or asked.is_judged
