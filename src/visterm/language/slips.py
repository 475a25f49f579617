"""Recognises ordinary words, and a new name that is probably a slip of one in use: misspelt, a plural, or apart."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from visterm.language.words import Speller, folded, name_key

_NOT_DIGITS = re.compile(r"\D")
#: The languages that an unknown word is looked up in.
_OFTEN = ("en", "de", "fr", "es", "it", "nl")


def nearest_name(name: str, counts: Mapping[str, int], language: str = "en") -> str | None:
    """The name in use that ``name`` looks like a slip of; None if it looks like a name of its own.

    ``counts`` are the names in use with their number of pictures. A name that differs in case, plural or spaces only
    is always near. A name that differs in letters is near unless all its words are in the dictionary of ``language``.
    Names whose numbers differ are never near.

    >>> in_use = {"beach": 57, "sunset": 12, "coat": 3, "trip 2019": 8}
    >>> [nearest_name(name, in_use) for name in ("bech", "Beaches", "sun set", "boat", "trip 2018")]
    ['beach', 'beach', 'sunset', None, None]
    """
    key = name_key(name)
    known = {other: name_key(other) for other in sorted(counts, key=lambda other: (-counts[other], other))}
    for form in (_joined, lambda text: _joined(folded(text, language))):
        if key and (same := [other for other, text in known.items() if form(text) == form(key)]):
            return same[0]
    by_form: dict[str, str] = {}
    for other, text in known.items():
        if _digits(text) == _digits(key):
            by_form.setdefault(_joined(text), other)
    near = Speller({form: counts[other] for form, other in by_form.items()}).nearest(_joined(key), n_best=1)
    ordinary = all(is_ordinary(word, language) or is_ordinary(word.capitalize(), language) for word in key.split())
    return by_form[near[0]] if near and not ordinary else None


def _joined(key: str) -> str:
    return key.replace(" ", "").replace("_", "")


def _digits(key: str) -> str:
    return _NOT_DIGITS.sub("", key)


def is_ordinary(name: str, language: str = "en") -> bool:
    """Whether every word of a name (in lower case) is in simplemma's dictionary; False if it lacks the language.

    >>> is_ordinary("sand"), is_ordinary("baot"), is_ordinary("haus", "de")
    (True, False, True)
    """
    return bool(name) and all(_is_known(word, language) for word in name.split())


def is_foreign(name: str, language: str = "en") -> bool:
    """Whether a word (in lower case) is in simplemma's dictionary of another language that is often asked in.

    The first such question takes a second, in which the dictionaries are read.

    >>> is_foreign("perro"), is_foreign("toddler"), is_foreign("dog", "de")
    (True, False, True)
    """
    return any(_is_known(name, other) for other in _OFTEN if other != language)


@lru_cache(maxsize=10_000)
def _is_known(word: str, language: str) -> bool:
    from simplemma import is_known

    # With low_memory the tables take 3 MB rather than 25; lookups are slower, but answers are cached.
    forms = (word, word.capitalize()) if language == "de" else (word,)  # German nouns have capitals
    try:
        return any(is_known(form, lang=language, low_memory=True) for form in forms)
    except ValueError:  # simplemma lacks the language
        return False
