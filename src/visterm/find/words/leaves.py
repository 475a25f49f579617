"""The leaf of each known word: what people wrote, what models believe, and where the word may be doubted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from visterm.collection.evidence import Evidence, Rows, no_rows
from visterm.find.rank.beliefs import Beliefs, Leaf
from visterm.find.rank.omission import Doubts
from visterm.find.rank.row_sets import in_either
from visterm.find.words.names import HIDDEN, Names
from visterm.language import folded

_MAX_REMEMBERED = 500


class Leaves:
    """Makes the leaves of words and keeps them: the leaf of a word is the same object for all its forms.

    ``beliefs`` are those of models, by the kind of name.
    """

    def __init__(self, evidence: Evidence, names: Names, beliefs: dict[str, Beliefs | None]) -> None:
        self._evidence, self._names, self._beliefs = evidence, names, beliefs
        self._kept: dict[tuple[str | None, tuple[str, ...], str | None, float], Leaf | None] = {}

    def of(self, field: str | None, name: str, sure: float = 1.0) -> Leaf | None:
        """The leaf of a word that is meant with the probability ``sure``; None if nothing is known of it."""
        return self._keep(field, self.names(field, name), None, sure)

    def within(self, name: str, phrase: str) -> Leaf | None:
        """The leaf of a word in a query with a phrase: who gave a picture the tag *running dog* said *dog*, too."""
        return self._keep(None, self.names(None, name), phrase)

    def names(self, field: str | None, name: str) -> tuple[str, ...]:
        """The names of the vocabulary that a word means, or else its one form."""
        if field == "filename":
            return (name,)
        meant = () if field == "caption" else self._names.meant(field, name)
        return meant or (folded(name, self._evidence.language),)

    def written(self, place: str, text: str, rows: Rows) -> Leaf | None:
        """The leaf of a text that matches where it is written, and nowhere else; None if that is nowhere."""
        return Leaf(text, len(self._evidence), {place: rows}, closed=True) if len(rows) else None

    def _keep(self, field: str | None, names: tuple[str, ...], phrase: str | None, sure: float = 1.0) -> Leaf | None:
        place = (field, names, phrase, sure)
        if place not in self._kept:
            if len(self._kept) >= _MAX_REMEMBERED:
                self._kept.clear()
            made = self._made(field, names)
            if made is not None and phrase is not None:
                said = in_either(made.told_by.get("tag", no_rows()), self._evidence.with_tag(*self.names(None, phrase)))
                made = replace(made, told_by=made.told_by | {"tag": said})
            if made is not None and sure < 1:
                less_sure = tuple((beliefs.less_sure(sure), word) for beliefs, word in made.sources)
                made = replace(made, sources=less_sure, surer=self._keep(field, names, phrase))
            self._kept[place] = made
        return self._kept[place]

    def _made(self, field: str | None, names: tuple[str, ...]) -> Leaf | None:
        if field in self._names and self._names.of(field).isdisjoint(names):
            return None
        match field:
            case None:
                return self._word(names)
            case "tag":
                return self._tag(names)
            case "class":
                return self._class(names)
            case "caption":
                return self.written("caption", names[0], self._evidence.in_caption(names[0]))
            case _:
                return self.written("file name", names[0], self._evidence.matching_path(names[0]))

    def _word(self, names: tuple[str, ...]) -> Leaf | None:
        """A word wherever it is known: as a tag, as a class, in captions, in file names."""
        evidence, name = self._evidence, names[0]
        told_by = {"caption": evidence.in_caption(name), "file name": evidence.in_path(name)}
        if not self._names.is_exact(None, name):
            return Leaf(name, len(evidence), told_by) if any(map(len, told_by.values())) else None
        told_by = {"tag": evidence.with_tag(*names), "class": evidence.of_class(*names), **told_by}
        sources = self._sources("tag", names) + self._sources("class", names)
        is_tag = not self._names.of("tag").isdisjoint(names)
        # Who denies a class says nothing of a tag of the same name.
        denied = (
            evidence.denied(*names) if is_tag else in_either(evidence.denied(*names), evidence.not_of_class(*names))
        )
        return Leaf(name, len(evidence), told_by, denied, sources, self._doubted if is_tag else None)

    def _tag(self, names: tuple[str, ...]) -> Leaf:
        evidence = self._evidence
        told_by = {"tag": evidence.with_tag(*names)}
        sources = self._sources("tag", names)
        return Leaf(names[0], len(evidence), told_by, evidence.denied(*names), sources, self._doubted)

    def _class(self, names: tuple[str, ...]) -> Leaf:
        evidence = self._evidence
        told_by = {"class": evidence.of_class(*names)}
        sources = self._sources("class", names)
        return Leaf(names[0], len(evidence), told_by, evidence.of_other_class(*names), sources)

    def _sources(self, field: str, names: Sequence[str]) -> tuple[tuple[Beliefs, str], ...]:
        """What models believe of names; not of those that are rare beside the others, for they know little of them."""
        beliefs = self._beliefs[field]
        if beliefs is None:
            return ()
        known = [name for name in names if name in beliefs.words]
        most = max(map(self._names.n_tagged, known), default=0)
        return tuple((beliefs, name) for name in known if HIDDEN * self._names.n_tagged(name) >= most)

    @cached_property
    def _doubted(self) -> Doubts:
        return Doubts.learned(self._evidence.n_tags)
