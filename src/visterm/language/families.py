"""Finds names that are forms of one word: kid and kids, climb and climbing, sun set and sunset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from visterm.language.words import folded, name_key


def word_families(counts: Mapping[str, int], language: str = "en") -> list[list[str]]:
    """Groups of names that are forms of one word; in each, the most used name first, among equals the shortest.

    ``counts`` are the names in use with their number of pictures. Names belong together if they differ in case,
    spaces, hyphens or form only, such as plurals and, in English, forms of frequent verbs. The family of the most
    pictures comes first.

    >>> word_families({"climb": 3, "climbing": 9, "kids": 2, "kid": 2, "sunset": 5, "Sun set": 1, "building": 4})
    [['climbing', 'climb'], ['sunset', 'Sun set'], ['kid', 'kids']]
    """
    leader: dict[str, str] = {}
    for name in sorted(counts):
        forms = list(_forms(name, language))
        known = sorted({_first(leader, leader[form]) for form in forms if form in leader})
        for form in forms:
            leader[form] = known[0] if known else forms[0]
        for other in known[1:]:  # the name links two families
            leader[other] = known[0]
    families: dict[str, list[str]] = {}
    for name in sorted(counts, key=lambda name: (-counts[name], len(name), name)):
        first = next(iter(_forms(name, language)), None)
        if first is not None:
            families.setdefault(_first(leader, first), []).append(name)
    found = [family for family in families.values() if len(family) > 1]
    return sorted(found, key=lambda family: (-sum(counts[name] for name in family), family[0]))


def _forms(name: str, language: str) -> Iterator[str]:
    """What a name is compared by; names that share any of these belong together."""
    key = name_key(name)
    joined = key.replace(" ", "").replace("_", "")
    if not joined:
        return
    yield joined
    yield folded(key, language).replace(" ", "").replace("_", "")


def _first(leader: Mapping[str, str], form: str) -> str:
    while leader.get(form, form) != form:
        form = leader[form]
    return form
