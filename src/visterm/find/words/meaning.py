"""What each term of a query means in a collection: a known tag, class or word, or the nearest known one with a note."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np

from visterm.calibration import Asked as Kind
from visterm.collection.any_words import Texts
from visterm.collection.evidence import Evidence
from visterm.errors import InputError
from visterm.find.rank.beliefs import Asked, Beliefs, Every, Floats, Leaf, Some, Without
from visterm.find.rank.pairs import Pairs
from visterm.find.rank.row_sets import in_either
from visterm.find.words.by_look import ByLook
from visterm.find.words.conditioned import Conditioned
from visterm.find.words.conditions import CONDITIONS, Known
from visterm.find.words.leaves import Leaves
from visterm.find.words.names import Names
from visterm.find.words.nearby import Nearby
from visterm.find.words.query import UNTAGGED, AllOf, AnyOf, Node, Not, Term, terms
from visterm.find.words.reading import How, Note, Part, Reading, Understood, distinct
from visterm.language import (
    Near,
    WordVectors,
    filler_words,
    function_words_of,
    is_ordinary,
    name_key,
    stop_words,
    sure_of_slip,
    word_key,
)

#: Nearest known words are looked up for at most this many unknown words of a query.
MAX_CORRECTED = 10
#: A tag of more words than this is found only if it is quoted.
_MAX_PHRASE = 6
#: A note on an unknown class or tag names at most this many known ones.
_MAX_NAMED = 10
#: If no picture matches all words, at most this many ways to leave out the same number of words are tried.
_MAX_WAYS = 200
#: The name of a tag of several words stands for them if it has at least this share of the pictures of its rarest word.
_OWN_MEANING = 0.5
#: What to write where an operator was written in small letters, and so was ignored.
_OPERATORS = {
    "and": "all words are looked for anyway",
    "or": "write OR in capitals to look for either, as in: boat OR ship",
    "not": "write NOT in capitals, or a minus, to exclude a word, as in: boat -person",
    "no": "write a minus to exclude a word, as in: boat -person",
    "without": "write a minus to exclude a word, as in: boat -person",
}


class Interpreter:
    """Interprets queries with the words that people wrote and the words that models know.

    ``like`` answers ``like:PATH`` with log-probabilities of all rows. ``vectors`` give the meaning of words that are
    unknown here. ``pairs`` are a model's beliefs about two words together. ``texts`` gives what judges pictures by
    their look, for any words. ``facts`` answer conditions. The language is that of the evidence.
    """

    def __init__(
        self,
        evidence: Evidence,
        tag_beliefs: Beliefs | None = None,
        class_beliefs: Beliefs | None = None,
        like: Callable[[str], Floats] | None = None,
        vectors: WordVectors | None = None,
        pairs: Pairs | None = None,
        aliases: Mapping[str, Mapping[str, str]] | None = None,
        texts: Texts | None = None,
        facts: Known | None = None,
    ) -> None:
        self._evidence = evidence
        self._pairs = pairs
        self._like = like
        known = {
            "tag": {*evidence.tag_keys, *(tag_beliefs.words if tag_beliefs else ())},
            "class": {*evidence.class_names, *(class_beliefs.words if class_beliefs else ())},
        }
        # Names that were renamed or merged still find what they are called now.
        self._names = Names(known, aliases, evidence.language, evidence.n_with_tag)
        self._leaves = Leaves(evidence, self._names, {"tag": tag_beliefs, "class": class_beliefs})
        self._stop_words = stop_words(evidence.language)
        self._fillers = filler_words(evidence.language)
        self._nearby = Nearby(evidence, self._names, vectors)
        self._conditions = Conditioned(facts, len(evidence))
        self._texts = texts
        self._by_look: ByLook | None = None

    def read(self, tree: Node) -> Reading:
        """What is asked for, with notes on words that were replaced or left out.

        Words such as "photos" are ignored, unless the query has no other words.
        """
        said = self._read(tree, self._fillers)
        return self._read(tree, frozenset()) if said.asked is None and said.ignored else said

    def fewer(self, said: Reading) -> Iterator[list[tuple[tuple[str, ...], Asked]]]:
        """What the query asks for with one plain word left out, in every way; then with two, and so on.

        Words that only the look of pictures decides are left out first, all together, and always.

        Each way comes with the words that were left out. The last words are left out first. Fields, groups and excluded
        words always remain.
        """
        plain = [place for place, part in enumerate(said.parts) if part.word is not None]
        if said.others is not None:
            yield [((), said.others)]
        # mutants: 1 -> 2 (2): there is no way to leave out more words than there are
        for n_left_out in range(1, len(plain) + 1):
            if comb(len(plain), n_left_out) > _MAX_WAYS:
                continue
            ways = []
            for places in combinations(reversed(plain), n_left_out):
                kept = [part for place, part in enumerate(said.parts) if place not in places]
                asked = self._joined(Every, kept)
                if asked is not None and any(not isinstance(part.asked, Without) for part in kept):
                    ways.append((tuple(said.parts[place].word or "" for place in sorted(places)), asked))
            yield ways

    # The tree

    def _read(self, tree: Node, fillers: frozenset[str]) -> Reading:
        plain = [word_key(term.text) for term in terms(tree) if term.field is None]
        said = Reading(fillers=fillers, silent=self._stop_words | function_words_of(plain, self._evidence.language))
        if isinstance(tree, AllOf):
            said.parts = self._parts(self._with_phrases(tree.parts), said, needed=True)
            said.asked = self._joined(Every, said.parts)
        else:
            said.asked = self._node(tree, said, needed=True)
            word = tree.text if isinstance(tree, Term) and tree.field is None else None
            said.parts = [] if said.asked is None else [Part(said.asked, 1.0, word)]
        if not isinstance(tree, Not | AnyOf):
            self._fuse(tree.parts if isinstance(tree, AllOf) else (tree,), said)
        said.notes, said.hints = list(dict.fromkeys(said.notes)), list(dict.fromkeys(said.hints))
        said.understood = list(dict.fromkeys(said.understood))
        said.missing, said.ignored = list(dict.fromkeys(said.missing)), list(dict.fromkeys(said.ignored))
        return said

    def _look(self, *, needed: bool) -> ByLook | None:
        """What judges pictures by their look; if it is ``needed`` and was not learned yet, that is done now."""
        if self._by_look is None and self._texts is not None:
            texts = self._texts.get(needed)
            self._by_look = None if texts is None else ByLook(texts, self._names)
        return self._by_look

    def _fuse(self, nodes: Sequence[Node], said: Reading) -> None:
        """Let the look of pictures decide, too, where it says more than the words that models know."""
        ignored = {word.casefold() for word in said.ignored}
        terms = [node for node in nodes if isinstance(node, Term) and node.field is None]
        terms = [term for term in terms if term.text.casefold() not in ignored]
        words = [part for part in said.parts if part.word is not None]
        others = [part for part in said.parts if part.word is None]
        if not (words or said.missing) or any(part.asked is self._untagged for part in said.parts if not words):
            return
        kind = ByLook.kind(terms, words, len(said.missing), said.like)
        if self._texts is None or (kind == Kind.KNOWN and not self._texts.helps_known):
            return
        look = self._look(needed=bool(said.missing))
        if look is None or not look.helps(kind):
            return
        known = [part for part in words if not isinstance(part.asked, Leaf) or part.asked.is_judged]
        known = distinct([*known, *(Part(asked, 1.0) for asked in said.like)])
        told = [part.asked for part in words if isinstance(part.asked, Leaf) and not part.asked.is_judged]
        text = " ".join(term.text for term in terms)
        fused = look.fused(kind, text, self._joined(Every, known), told, complete=not said.missing)
        said.asked = self._joined(Every, [Part(fused, 1.0), *others])
        if said.missing and words:  # of the pictures with all other words, those that look like it come first
            said.others = self._joined(Every, [Part(replace(fused, complete=True), 1.0), *others])
        said.by_look, said.nothing_below = kind != Kind.KNOWN, look.nothing_below(kind)
        said.some_first = bool(said.missing) or kind in (Kind.KNOWN, Kind.UNKNOWN)
        said.looked, said.missing = said.missing, []

    def _node(self, node: Node, said: Reading, *, needed: bool = False) -> Asked | None:
        """What a node asks for; ``needed`` if every picture should match it."""
        match node:
            case Term():
                return self._term(node, said, needed=needed)
            case Not():
                n_before = len(said.understood)
                part = self._node(node.part, said)
                excluded = [replace(word, excluded=not word.excluded) for word in said.understood[n_before:]]
                said.understood[n_before:] = excluded
                return None if part is None else Without(part)
            case AllOf():
                return self._joined(Every, self._parts(self._with_phrases(node.parts), said, needed=needed))
            case AnyOf():
                return self._joined(Some, self._parts(node.parts, said))

    def _parts(self, nodes: Sequence[Node], said: Reading, *, needed: bool = False) -> list[Part]:
        """The parts that ask for something, each once."""
        parts = []
        for node in nodes:
            asked = self._node(node, said, needed=needed)
            if asked is not None:
                word = node.text if isinstance(node, Term) and node.field is None else None
                parts.append(Part(asked, node.weight, None if asked is self._untagged else word))
        return distinct(parts)

    def _joined(self, kind: type[Every | Some], parts: Sequence[Part]) -> Asked | None:
        if len(parts) < 2:
            return parts[0].asked if parts else None
        mean = sum(part.weight for part in parts) / len(parts)
        asked, weights = tuple(part.asked for part in parts), tuple(part.weight / mean for part in parts)
        return self._pairs.joined(asked, weights) if kind is Every and self._pairs is not None else kind(asked, weights)

    def _with_phrases(self, nodes: Sequence[Node]) -> list[Node]:
        """The same parts, with plain words joined where they form the name of a tag or class; longest names first.

        Where the words are known far better than the name, they stay words of it.
        """
        joined: list[Node] = []
        at = 0
        while at < len(nodes):
            for end in range(min(at + _MAX_PHRASE, len(nodes)), at + 1, -1):
                run = [node for node in nodes[at:end] if isinstance(node, Term) and _is_plain(node)]
                if len(run) == end - at and self._is_name(texts := [term.text for term in run]):
                    name = " ".join(texts)
                    if self._stands_for(name, texts):
                        joined.append(Term(name, run[0].at, quoted=True))
                    else:
                        joined += [_WordOf(term.text, term.at, phrase=self._key(None, name)) for term in run]
                    at = end
                    break
            else:
                joined.append(nodes[at])
                at += 1
        return joined

    def _is_name(self, texts: Sequence[str]) -> bool:
        """Whether words form the name of a tag or class; a sign among them that is a name itself stays apart."""
        text = " ".join(texts)
        if self._names.is_exact(None, name_key(text)):
            return True
        signs = [name_key(word) for word in texts if not word_key(word)]
        known = bool(self._names.meant(None, word_key(text)))
        return known and not any(self._names.is_exact(None, sign) for sign in signs)

    def _stands_for(self, name: str, texts: Sequence[str]) -> bool:
        """Whether a name of several words stands for them: not if they are tags, too, and it is rare beside each."""
        whole, *of_words = (self._leaves.names(None, self._key(None, text)) for text in (name, *texts))
        tags, classes = self._names.of("tag"), self._names.of("class")
        if not classes.isdisjoint(whole) or any(tags.isdisjoint(names) for names in of_words):
            return True
        n_whole, *n_words = (max(map(self._names.n_tagged, names)) for names in (whole, *of_words))
        return n_whole >= _OWN_MEANING * min(n_words)

    # Terms

    def _key(self, field: str | None, text: str) -> str:
        """The key that a text is looked up by: the exact name of a tag or class if there is one, else its words."""
        exact = name_key(text)
        if self._names.is_exact(field, exact):
            return exact
        words = word_key(text)
        return self._names.renamed(field, words) or words

    def _term(self, term: Term, said: Reading, *, needed: bool) -> Asked | None:
        if term.field == "like":
            if self._like is None:
                raise InputError("like: compares pictures by their features, but no features were computed yet")
            return Leaf(f"like {term.text}", len(self._evidence), likeness=self._like(term.text))
        if term.field == "is" or term.field in CONDITIONS:
            return self._untagged if term.field == "is" else self._conditions.read(term, said)
        name = term.text if term.field == "filename" else self._key(term.field, term.text)
        if not name:
            return None if term.field is None else self._nothing(term, said)
        if term.text.endswith("*") and not name.endswith("*") and not term.quoted:
            said.hints.append(f"Visterm knows the forms of words: leave out the * of {term.text!r}")
        plain = term.field is None and not term.quoted
        if plain and not self._names.meant(None, name):
            if name == UNTAGGED:
                return self._untagged
            if self._is_ignored(term, name, said):
                return None
        known = self._leaves
        leaf = known.within(name, term.phrase) if isinstance(term, _WordOf) else known.of(term.field, name)
        if leaf is None and term.field is None:  # IMG_0042.jpg
            leaf = known.written("file name", term.text, self._evidence.named(term.text))
        leaf = self._conditions.dated(term, leaf)
        if leaf is not None:
            said.understood.append(self._understood(term, name, leaf))
            return leaf
        if plain and " " in name:  # tall-building
            return self._node(AllOf(tuple(Term(word, term.at) for word in name.split())), said, needed=needed)
        return self._nearest(term, name, said, needed=needed)

    def _understood(self, term: Term, name: str, leaf: Leaf) -> Understood:
        """How a known word was understood."""
        names = () if term.field in ("caption", "filename") else self._names.meant(term.field, name)
        how: How = "written" if not names else "name" if name_key(term.text) in names else "form"
        field = ("date" if "date" in leaf.told_by else "filename") if leaf.closed and term.field is None else term.field
        return Understood(term.text, how, names, len(leaf.told), leaf.is_judged, field)

    def _is_ignored(self, term: Term, name: str, said: Reading) -> bool:
        """Whether a plain word says nothing about pictures."""
        if name in said.fillers:
            said.ignored.append(term.text)
            said.understood.append(Understood(term.text, "ignored"))
            return True
        if any(word not in said.silent for word in name.split()):
            return False
        if name in _OPERATORS:
            said.hints.append(f"{term.text!r} was ignored: {_OPERATORS[name]}")
        said.understood.append(Understood(term.text, "ignored"))
        return True

    def _nearest(self, term: Term, name: str, said: Reading, *, needed: bool) -> Asked | None:
        """The known word nearest to an unknown one, with a note.

        Spelling is tried first. A word that has a vector is spelled right, so its meaning is tried first. An ordinary
        word is never taken for a misspelt one: "sand" does not become "land", although they differ by one letter. It
        also has a meaning of its own, so that pictures of a word that means nearly the same are only likelier: most
        pictures of children show no toddler.
        """
        alike: list[str] = []
        look: ByLook | None = None
        if term.field != "filename" and said.n_looked_up < MAX_CORRECTED:
            alike = self._nearby.spelled(term.field, name)
            alike = [word for word in alike if self._leaves.of(term.field, word) is not None]
            misspelt = bool(alike) and not is_ordinary(name, self._evidence.language)
            found = None
            if self._nearby.has_vector(name) or not misspelt:
                found = self._by_meaning(term, self._nearby.in_meaning(term.field, name), said)
            look = self._look(needed=needed) if found is None and term.field is None else None
            same = [] if look is None else look.same(term.text, alike[:1] if misspelt else [])
            if needed and ByLook.has_own_meaning(name, same, self._evidence.language):
                said.like += [leaf for word in same if (leaf := self._leaves.of(None, word.name)) is not None]
            elif found is None:
                found = self._by_meaning(term, same, said)
            if found is None and misspelt:
                said.notes.append(Note(term.text, alike[0], tuple(alike[1:]), field=term.field))
                found = leaf = self._leaves.of(term.field, alike[0], sure_of_slip(name, alike[0]))
                if leaf is not None:
                    how = replace(self._understood(term, alike[0], leaf), how="spelling")
                    said.understood.append(how)
            if found is not None:
                return found
        if look is not None and needed:
            near = tuple(look.nearest(term.text))
            said.notes.append(Note(term.text, near=near, alike=tuple(alike), by_look=True))
            said.missing.append(term.text)
            said.understood.append(Understood(term.text, "look", tuple(each.name for each in near)))
            return None
        if term.field is None:
            said.notes.append(Note(term.text, ignored=True, alike=tuple(alike)))
            if needed:
                said.missing.append(term.text)
            said.understood.append(Understood(term.text, "unknown"))
            return None
        return self._nothing(term, said, alike)

    def _by_meaning(self, term: Term, words: Sequence[Near], said: Reading) -> Asked | None:
        """The known words that mean about the same as an unknown one."""
        found = [(word, self._leaves.of(term.field, word.name)) for word in words]
        pairs = [(word, leaf) for word, leaf in found if leaf is not None]
        if not pairs:
            return None
        near, leaves = zip(*pairs, strict=True)
        said.notes.append(Note(term.text, near[0].name, field=term.field, near=near))
        names, n_pictures = tuple(word.name for word in near), len(in_either(*(leaf.told for leaf in leaves)))
        judged = any(leaf.is_judged for leaf in leaves)
        said.understood.append(Understood(term.text, "meaning", names, n_pictures, judged, term.field))
        return leaves[0] if len(leaves) == 1 else Some(leaves, tuple(word.weight for word in near))

    def _nothing(self, term: Term, said: Reading, alike: Sequence[str] = ()) -> Leaf:
        """A leaf that no picture matches, with a note."""
        known = sorted(self._names.of(term.field))
        listed = (*known[:_MAX_NAMED], "...") if len(known) > _MAX_NAMED else tuple(known)
        said.notes.append(Note(term.text, others=listed, field=term.field, alike=tuple(alike)))
        said.understood.append(Understood(term.text, "unknown", field=term.field))
        longer = next((name for name in known if name.casefold().startswith(f"{term.text.casefold()} ")), None)
        if longer is not None:  # a shell takes the quotes away
            named = f'{term.field}:"{longer}"'
            said.hints.append(f"put names of several words in quotes: {named}, and in a shell '{named}'")
        return Leaf(term.text, len(self._evidence), closed=True)

    @cached_property
    def _untagged(self) -> Leaf:
        rows = np.flatnonzero(~self._evidence.is_tagged)
        return Leaf(UNTAGGED, len(self._evidence), {"no tags": rows}, closed=True)


@dataclass(frozen=True, slots=True)
class _WordOf(Term):
    """A word that stands beside others with which it forms the name of a rare tag."""

    phrase: str = ""


def _is_plain(term: Term) -> bool:
    return term.field is None and not term.quoted and term.weight == 1
