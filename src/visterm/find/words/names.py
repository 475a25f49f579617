"""The tags and classes that a name in a query means: in any form, with or without accents, by old names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Set

from visterm.language import folded, lookup_forms, word_key

#: A name is joined by other forms of its word that have at least this many times as many pictures.
HIDDEN = 10


class Names:
    """The keys of the tags and classes of a collection, by kind.

    A name means the tag or class that has exactly this key; or else those that are other forms of the same word; or
    else all that differ in accents. A name of few pictures does not hide another form of its word that is much more
    frequent: ``count`` gives the number of pictures of a tag. ``aliases`` has old names and what they are called now,
    by kind.

    >>> counts = {"kids": 1, "kid": 57, "résumé": 4, "resume": 4}
    >>> names = Names({"tag": ["resume", "résumé", "cafés", "kid", "kids"], "class": ["coast"]}, count=counts.get)
    >>> [names.meant(None, name) for name in ("résumés", "resume", "cafe", "sea", "kid", "kids")]
    [('résumé',), ('resume',), ('cafés',), (), ('kid',), ('kids', 'kid')]
    """

    def __init__(
        self,
        known: Mapping[str, Iterable[str]],
        aliases: Mapping[str, Mapping[str, str]] | None = None,
        language: str = "en",
        count: Callable[[str], int | None] = lambda _: 0,
    ) -> None:
        self._language, self._count = language, count
        self._known = {kind: frozenset(names) - {""} for kind, names in known.items()}
        self._by_word: dict[str, dict[str, list[str]]] = {}
        self._by_form: dict[str, dict[str, list[str]]] = {}
        for kind, names in self._known.items():
            by_word = self._by_word[kind] = defaultdict(list)
            by_form = self._by_form[kind] = defaultdict(list)
            for name in sorted(names):
                by_word[folded(name, language)].append(name)
                for form in lookup_forms(name, language):
                    by_form[form].append(name)
        self._now = {
            kind: {word_key(old): word_key(new) for old, new in names.items()}
            for kind, names in (aliases or {}).items()
        }
        self._now_by_form = {
            kind: {form: new for old, new in names.items() for form in lookup_forms(old, language)}
            for kind, names in self._now.items()
        }

    def __contains__(self, field: str | None) -> bool:
        """Whether a field of a query names a kind."""
        return field in self._known

    def of(self, kind: str | None) -> Set[str]:
        """All keys of a kind; none if there is no such kind."""
        return self._known.get(kind or "", frozenset())

    def is_exact(self, field: str | None, name: str) -> bool:
        """Whether ``name`` is the key of a tag or class; with a field, of that kind."""
        return any(name in self._known[kind] for kind in self._kinds(field))

    def n_tagged(self, name: str) -> int:
        """How many pictures have the tag."""
        return self._count(name) or 0

    def meant(self, field: str | None, name: str) -> tuple[str, ...]:
        """The keys of the tags and classes that ``name`` means, with a field those of that kind; none if unknown."""
        one = folded(name, self._language)
        if self.is_exact(field, name):
            return (name, *self._hidden_by(field, name, one))
        for kind in self._kinds(field):
            if same := self._by_word[kind].get(one):
                return tuple(sorted(same, key=lambda other: (-self.n_tagged(other), other)))
        forms = lookup_forms(name, self._language)
        found = [key for kind in self._kinds(field) for form in forms for key in self._by_form[kind].get(form, ())]
        return tuple(dict.fromkeys(found))

    def _hidden_by(self, field: str | None, name: str, word: str) -> list[str]:
        """The tags of the same word that are so frequent that ``name`` alone would hide them."""
        if "tag" not in self._kinds(field):
            return []
        enough = HIDDEN * max(1, self.n_tagged(name))
        others = [other for other in self._by_word["tag"].get(word, ()) if other != name]
        return [other for other in others if self.n_tagged(other) >= enough]

    def renamed(self, field: str | None, words: str) -> str | None:
        """What a tag or class of the key ``words`` is called now; None if it has no other name.

        Accents make a difference only if there is a tag or class of this name now.
        """
        kinds = [kind for kind in self._now if field in (None, kind)]
        for kind in kinds:
            if words in self._now[kind]:
                return self._now[kind][words]
        if not self.meant(field, words):
            for form in lookup_forms(words, self._language):
                for kind in kinds:
                    if form in self._now_by_form[kind]:
                        return self._now_by_form[kind][form]
        return None

    def _kinds(self, field: str | None) -> list[str]:
        return [kind for kind in self._known if field in (None, kind)]
