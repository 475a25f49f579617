"""The forms of a word brought to one: plurals in English, all inflected forms in other languages."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

from visterm.errors import InputError
from visterm.language.english import english_singular

_CODE = re.compile(r"[a-z]{2,3}")


def singular(word: str, known: Collection[str] = (), language: str = "en") -> str:
    """The form of a word in lower case under which all its forms are looked up; folding it twice changes nothing.

    ``language`` is an ISO 639 code. In English, plurals become singulars and other words stay, and where spelling
    allows several singulars, one that is among the ``known`` words is preferred. In other languages every form becomes
    the dictionary's word, by the tables of simplemma; words of a language that simplemma lacks stay as they are.

    >>> singular("churches"), singular("taxis", known={"taxi"})
    ('church', 'taxi')
    >>> singular("häuser", language="de"), singular("chevaux", language="fr")
    ('haus', 'cheval')
    """
    return english_singular(word, known) if language == "en" else _lemma(word, language)


def check_language(language: str) -> None:
    """Refuse what is no ISO 639 code."""
    if not _CODE.fullmatch(language):
        raise InputError(f"a language is given by two or three small letters such as en, de or fr, not {language!r}")


@lru_cache(maxsize=100_000)
def _lemma(word: str, language: str) -> str:
    """The word where following the dictionary ends; of words that lead to each other, the first by the alphabet."""
    chain = [word]
    while (following := _dictionary_word(chain[-1], language)) not in chain:
        chain.append(following)
    return min(chain[chain.index(following) :])


def _dictionary_word(word: str, language: str) -> str:
    from simplemma import is_known, lemmatize

    # With little memory the tables open sooner; what a lookup takes longer does not show, since answers are kept.
    try:
        found = lemmatize(word, lang=language, low_memory=True)
        # Words come in lower case, and simplemma takes German nouns without their capital for verbs: boote, booten.
        if language == "de" and is_known(noun := word.capitalize(), lang=language, low_memory=True):
            singular_noun = lemmatize(noun, lang=language, low_memory=True)
            # A noun longer than its form is an adjective's: grüne, Grüner.
            found = singular_noun if len(singular_noun) <= len(word) else found
    except ValueError:  # simplemma lacks the language
        return word
    # Keys of words have ss for ß: what came without one has none.
    return found.lower() if "ß" in word else found.lower().replace("ß", "ss")
