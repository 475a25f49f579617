"""The tags and classes that a name in a query means: in singular or plural, with or without accents, by old names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set

from visterm.language import folded, lookup_forms, word_key


class Names:
    """The keys of the tags and classes of a collection, by kind.

    A name means the tag or class that has exactly this key; or else the one that differs in number; or else all that
    differ in accents. ``aliases`` has old names and what they are called now, by kind.

    >>> names = Names({"tag": ["resume", "résumé", "cafés"], "class": ["coast"]})
    >>> [names.meant(None, name) for name in ("résumés", "resume", "cafe", "sea")]
    [('résumé',), ('resume',), ('cafés',), ()]
    """

    def __init__(
        self,
        known: Mapping[str, Iterable[str]],
        aliases: Mapping[str, Mapping[str, str]] | None = None,
        language: str = "en",
    ) -> None:
        self._language = language
        self._known = {kind: frozenset(names) - {""} for kind, names in known.items()}
        self._by_number: dict[str, dict[str, str]] = {}
        self._by_form: dict[str, dict[str, list[str]]] = {}
        for kind, names in self._known.items():
            self._by_number[kind] = {folded(name, language): name for name in sorted(names, reverse=True)}
            by_form = self._by_form[kind] = defaultdict(list)
            for name in sorted(names):
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

    def meant(self, field: str | None, name: str) -> tuple[str, ...]:
        """The keys of the tags and classes that ``name`` means, with a field those of that kind; none if unknown."""
        if self.is_exact(field, name):
            return (name,)
        one = folded(name, self._language)
        for kind in self._kinds(field):
            if one in self._by_number[kind]:
                return (self._by_number[kind][one],)
        forms = lookup_forms(name, self._language)
        found = [key for kind in self._kinds(field) for form in forms for key in self._by_form[kind].get(form, ())]
        return tuple(dict.fromkeys(found))

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
