"""Whether a word is spelled right: whether it is an ordinary word of its language."""

from __future__ import annotations

from functools import lru_cache

_OFTEN = ("en", "de", "fr", "es", "it", "nl")


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
