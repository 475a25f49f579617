"""What each term of a query means in a collection: a known tag, class or word, or the nearest known one with a note."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from visterm.errors import InputError
from visterm.language import Near, Speller, Thesaurus, WordVectors, folded, stop_words, word_key
from visterm.search.beliefs import Asked, Beliefs, Every, Floats, Leaf, Some, Without
from visterm.search.evidence import Evidence
from visterm.search.pairs import Pairs
from visterm.search.query import AllOf, AnyOf, Node, Not, Term

#: Nearest known words are looked up for at most this many unknown words of a query.
MAX_CORRECTED = 10
#: A tag of more words than this is found only if it is quoted.
_MAX_PHRASE = 6
#: A note on an unknown class or tag names at most this many known ones.
_MAX_NAMED = 10
_MAX_REMEMBERED = 500


@dataclass(frozen=True, slots=True)
class Note:
    """A word that is unknown, and what the search did with it.

    If a known word was searched for instead, ``meant`` is that word and ``others`` are further candidates. If it was
    found by meaning rather than by spelling, ``near`` holds the words with their similarities. An unknown plain word is
    ``ignored``. An unknown value of a field matches no picture; ``others`` then lists some known values.
    """

    word: str
    meant: str | None = None
    others: tuple[str, ...] = ()
    ignored: bool = False
    field: str | None = None
    near: tuple[Near, ...] = ()

    def __str__(self) -> str:
        kinds = {
            "tag": "has the tag",
            "class": "has the class",
            "caption": "has a caption with",
            "filename": "has a file name like",
        }
        kind = kinds.get(self.field or "", "has the word")
        if self.near:
            found = " or ".join(f"{near.name!r} ({near.likeness:.2f})" for near in self.near)
            close = "which is" if len(self.near) == 1 else "which are"
            return f"no picture {kind} {self.word!r}: searched for {found} instead, {close} close in meaning"
        if self.meant is not None:
            also = f"; or did you mean {', '.join(self.others)}?" if self.others else ""
            return f"no picture {kind} {self.word!r}: searched for {self.meant!r} instead{also}"
        known = f"; known are {', '.join(self.others)}" if self.others else ""
        return f"no picture {kind} {self.word!r}{', so it was ignored' if self.ignored else ''}{known}"


class Interpreter:
    """Interprets queries with the words that people wrote and the words that models know.

    ``like`` answers ``like:PATH`` with log-probabilities of all rows. ``vectors`` give the meaning of words that are
    unknown here. ``pairs`` are a model's beliefs about two words together. The language is that of the evidence.
    """

    def __init__(
        self,
        evidence: Evidence,
        tag_beliefs: Beliefs | None = None,
        class_beliefs: Beliefs | None = None,
        like: Callable[[str], Floats] | None = None,
        vectors: WordVectors | None = None,
        pairs: Pairs | None = None,
    ) -> None:
        self._evidence = evidence
        self._pairs = pairs
        self._vectors = vectors
        self._thesauri: dict[str | None, Thesaurus] = {}
        self._beliefs = {"tag": tag_beliefs, "class": class_beliefs}
        self._like = like
        self._names = {
            "tag": {*evidence.tag_keys, *(tag_beliefs.words if tag_beliefs else ())} - {""},
            "class": {*evidence.class_names, *(class_beliefs.words if class_beliefs else ())} - {""},
        }
        self._stop_words = stop_words(evidence.language)
        names = sorted(self._names["class"] | self._names["tag"], reverse=True)
        self._by_fold = {folded(name, evidence.language): name for name in names}
        self._leaves: dict[tuple[str | None, str], Leaf | None] = {}

    def read(self, tree: Node) -> tuple[Asked | None, list[Note]]:
        """What is asked for (None if no word is known), and notes on words that were replaced or ignored."""
        notes: list[Note] = []
        return self._node(tree, notes), list(dict.fromkeys(notes))

    # The tree

    def _node(self, node: Node, notes: list[Note]) -> Asked | None:
        match node:
            case Term():
                return self._term(node, notes)
            case Not():
                part = self._node(node.part, notes)
                return None if part is None else Without(part)
            case AllOf():
                return self._joined(Every, self._with_phrases(node.parts), notes)
            case AnyOf():
                return self._joined(Some, node.parts, notes)

    def _joined(self, kind: type[Every | Some], nodes: Sequence[Node], notes: list[Note]) -> Asked | None:
        read = [(self._node(node, notes), node.weight) for node in nodes]
        parts = [(part, weight) for part, weight in read if part is not None]
        if len(parts) < 2:
            return parts[0][0] if parts else None
        mean = sum(weight for _, weight in parts) / len(parts)
        asked, weights = tuple(part for part, _ in parts), tuple(weight / mean for _, weight in parts)
        return self._pairs.joined(asked, weights) if kind is Every and self._pairs is not None else kind(asked, weights)

    def _with_phrases(self, nodes: Sequence[Node]) -> list[Node]:
        """The same parts, with plain words joined where they form the name of a tag or class; longest names first."""
        joined: list[Node] = []
        at = 0
        while at < len(nodes):
            for end in range(min(at + _MAX_PHRASE, len(nodes)), at + 1, -1):
                run = [node for node in nodes[at:end] if isinstance(node, Term) and _is_plain(node)]
                if len(run) == end - at and self._label(word_key(" ".join(term.text for term in run))) is not None:
                    joined.append(Term(" ".join(term.text for term in run), run[0].at, quoted=True))
                    at = end
                    break
            else:
                joined.append(nodes[at])
                at += 1
        return joined

    # Terms

    def _term(self, term: Term, notes: list[Note]) -> Asked | None:
        if term.field == "like":
            if self._like is None:
                raise InputError("like: compares pictures by their features, but no features were computed yet")
            return Leaf(f"like {term.text}", len(self._evidence), likeness=self._like(term.text))
        name = term.text if term.field == "filename" else word_key(term.text)
        if not name:
            return None if term.field is None else self._nothing(term, notes)
        words = name.split()
        plain = term.field is None and not term.quoted
        if plain and all(word in self._stop_words for word in words) and self._label(name) is None:
            return None
        leaf = self._leaf(term.field, name)
        if leaf is not None:
            return leaf
        if plain and len(words) > 1:  # tall-building
            parts: list[Node] = [Term(word, term.at) for word in words]
            return self._node(AllOf(tuple(parts)), notes)
        return self._nearest(term, name, notes)

    def _nearest(self, term: Term, name: str, notes: list[Note]) -> Asked | None:
        """The known word nearest to an unknown one, with a note.

        Spelling is tried first. A word that has a vector is spelled right, so its meaning is tried first: "cat" does
        not become "car", although they differ by one letter.
        """
        if term.field != "filename" and sum(note.meant is not None or note.ignored for note in notes) < MAX_CORRECTED:
            ways = [self._by_spelling, self._by_meaning]
            if self._vectors is not None and name in self._vectors:
                ways.reverse()
            for way in ways:
                found = way(term, name, notes)
                if found is not None:
                    return found
        if term.field is None:
            notes.append(Note(term.text, ignored=True))
            return None
        return self._nothing(term, notes)

    def _by_spelling(self, term: Term, name: str, notes: list[Note]) -> Asked | None:
        near = [word for word in self._speller(term.field).nearest(name) if self._leaf(term.field, word) is not None]
        if not near:
            return None
        notes.append(Note(term.text, near[0], tuple(near[1:]), field=term.field))
        return self._leaf(term.field, near[0])

    def _by_meaning(self, term: Term, name: str, notes: list[Note]) -> Asked | None:
        found = [(word, self._leaf(term.field, word.name)) for word in self._near_in_meaning(term.field, name)]
        pairs = [(word, leaf) for word, leaf in found if leaf is not None]
        if not pairs:
            return None
        near, leaves = zip(*pairs, strict=True)
        notes.append(Note(term.text, near[0].name, field=term.field, near=near))
        return leaves[0] if len(leaves) == 1 else Some(leaves, tuple(word.weight for word in near))

    def _nothing(self, term: Term, notes: list[Note]) -> Leaf:
        """A leaf that no picture matches, with a note."""
        known = sorted(self._names.get(term.field or "", ()))
        listed = (*known[:_MAX_NAMED], "...") if len(known) > _MAX_NAMED else tuple(known)
        notes.append(Note(term.text, others=listed, field=term.field))
        return Leaf(term.text, len(self._evidence), closed=True)

    def _leaf(self, field: str | None, name: str) -> Leaf | None:
        """The leaf of a known word. It is the same object each time, so that it can remember its best pictures."""
        if (field, name) not in self._leaves:
            if len(self._leaves) >= _MAX_REMEMBERED:
                self._leaves.clear()
            make = {
                None: self._word,
                "tag": self._tag,
                "class": self._class,
                "caption": self._caption,
                "filename": self._filename,
            }
            self._leaves[field, name] = make[field](name)
        return self._leaves[field, name]

    def _word(self, name: str) -> Leaf | None:
        """A word wherever it is known: as a tag, as a class, in captions, in file names."""
        told_by = {"caption": self._evidence.in_caption(name), "file name": self._evidence.in_path(name)}
        label = self._label(name)
        if label is None:
            return Leaf(name, len(self._evidence), told_by) if any(map(len, told_by.values())) else None
        told_by = {"tag": self._evidence.with_tag(label), "class": self._evidence.of_class(label), **told_by}
        sources = self._sources("tag", label) + self._sources("class", label)
        doubted = self._evidence.is_tagged if label in self._names["tag"] else None
        return Leaf(label, len(self._evidence), told_by, self._evidence.denied(label), sources, doubted)

    def _tag(self, name: str) -> Leaf | None:
        if name not in self._names["tag"]:
            return None
        evidence = self._evidence
        told_by = {"tag": evidence.with_tag(name)}
        return Leaf(name, len(evidence), told_by, evidence.denied(name), self._sources("tag", name), evidence.is_tagged)

    def _class(self, name: str) -> Leaf | None:
        if name not in self._names["class"]:
            return None
        evidence = self._evidence
        told_by = {"class": evidence.of_class(name)}
        return Leaf(name, len(evidence), told_by, evidence.of_other_class(name), self._sources("class", name))

    def _caption(self, name: str) -> Leaf | None:
        rows = self._evidence.in_caption(name)
        return Leaf(name, len(self._evidence), {"caption": rows}, closed=True) if len(rows) else None

    def _filename(self, pattern: str) -> Leaf | None:
        rows = self._evidence.matching_path(pattern)
        return Leaf(pattern, len(self._evidence), {"file name": rows}, closed=True) if len(rows) else None

    def _label(self, name: str) -> str | None:
        """The tag or class of this name, or else of the same name in singular or plural."""
        if name in self._names["tag"] or name in self._names["class"]:
            return name
        return self._by_fold.get(folded(name, self._evidence.language))

    def _sources(self, field: str, name: str) -> tuple[tuple[Beliefs, str], ...]:
        beliefs = self._beliefs[field]
        return ((beliefs, name),) if beliefs is not None and name in beliefs.words else ()

    def _near_in_meaning(self, field: str | None, name: str) -> list[Near]:
        """The known words of ``field`` that are nearest in meaning; none if no word vectors are installed."""
        if self._vectors is None:
            return []
        if field not in self._thesauri:
            self._thesauri[field] = Thesaurus(self._vectors, self._counts_of(field), self._evidence.language)
        return self._thesauri[field].nearest(name)

    def _speller(self, field: str | None) -> Speller:
        return Speller(self._counts_of(field)) if field in self._names else self._all_speller

    def _counts_of(self, field: str | None) -> dict[str, int]:
        """The known words of ``field`` (None: of any field), with the number of pictures of each."""
        if field in self._names:
            return {name: self._counts.get(name, 0) for name in self._names[field]}
        said = {word: count for word, count in self._counts.items() if word not in self._stop_words}
        return said | {name: self._counts.get(name, 0) for name in self._names["tag"] | self._names["class"]}

    @cached_property
    def _counts(self) -> dict[str, int]:
        return dict(self._evidence.counts())

    @cached_property
    def _all_speller(self) -> Speller:
        return Speller(self._counts_of(None))


def _is_plain(term: Term) -> bool:
    return term.field is None and not term.quoted and term.weight == 1
