"""The known words that an unknown one may stand for: those spelled nearly the same, and those near in meaning."""

from __future__ import annotations

from functools import cached_property

from visterm.collection.evidence import Evidence
from visterm.find.words.names import Names
from visterm.language import Near, Speller, Thesaurus, WordVectors, stop_words


class Nearby:
    """Looks for known words near an unknown one; ``vectors`` give the meaning of words, if they are installed."""

    def __init__(self, evidence: Evidence, names: Names, vectors: WordVectors | None) -> None:
        self._evidence, self._names, self._vectors = evidence, names, vectors
        self._thesauri: dict[str | None, Thesaurus] = {}

    def spelled(self, field: str | None, name: str) -> list[str]:
        """Words spelled nearly the same."""
        speller = Speller(self._counts_of(field)) if field in self._names else self._all_speller
        return speller.nearest(name)

    def has_vector(self, name: str) -> bool:
        """Whether the meaning of a word is known, so that it is spelled right."""
        return self._vectors is not None and name in self._vectors

    def in_meaning(self, field: str | None, name: str) -> list[Near]:
        """The known words of ``field`` that are nearest in meaning; none if no word vectors are installed."""
        if self._vectors is None:
            return []
        if field not in self._thesauri:
            self._thesauri[field] = Thesaurus(self._vectors, self._counts_of(field), self._evidence.language)
        return self._thesauri[field].nearest(name)

    def _counts_of(self, field: str | None) -> dict[str, int]:
        """The known words of ``field`` (None: of any field), with the number of pictures of each."""
        if field in self._names:
            return {name: self._counts.get(name, 0) for name in self._names.of(field)}
        silent = stop_words(self._evidence.language)
        said = {word: count for word, count in self._counts.items() if word not in silent}
        return said | {name: self._counts.get(name, 0) for name in self._names.of("tag") | self._names.of("class")}

    @cached_property
    def _counts(self) -> dict[str, int]:
        return dict(self._evidence.counts())

    @cached_property
    def _all_speller(self) -> Speller:
        return Speller(self._counts_of(None))
