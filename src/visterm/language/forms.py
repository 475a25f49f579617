"""Reduces the forms of a word to one: plurals to singulars, forms of verbs to the infinitive."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

from visterm.errors import InputError
from visterm.language.english import english_base

_CODE = re.compile(r"[a-z]{2,3}")


def base_form(word: str, known: Collection[str] = (), language: str = "en") -> str:
    """The one form under which all forms of a lower-case word are looked up; folding it again changes nothing.

    ``language`` is an ISO 639 code. English nouns become singular, verbs become infinitives, comparatives become plain;
    if spelling allows several singulars, one of the ``known`` words is preferred. In other languages, simplemma's
    tables turn every form into the dictionary form; words of languages that simplemma lacks stay as they are.

    >>> base_form("churches"), base_form("jumping"), base_form("taxis", known={"taxi"})
    ('church', 'jump', 'taxi')
    >>> base_form("häuser", language="de"), base_form("chevaux", language="fr")
    ('haus', 'cheval')
    """
    return english_base(word, known) if language == "en" else _lemma(word, language)


def check_language(language: str) -> None:
    """Refuse anything that is not an ISO 639 code."""
    if not _CODE.fullmatch(language):
        raise InputError(f"a language is two or three small letters such as en, de or fr, not {language!r}")


@lru_cache(maxsize=100_000)
def _lemma(word: str, language: str) -> str:
    """The word at which following the dictionary ends; of words that lead to each other, the alphabetically first."""
    chain = [word]
    while (following := _dictionary_word(chain[-1], language)) not in chain:
        chain.append(following)
    return min(chain[chain.index(following) :])


def _dictionary_word(word: str, language: str) -> str:
    from simplemma import is_known, lemmatize

    # With low_memory the tables load faster; lookups are slower, but answers are cached.
    try:
        found = lemmatize(word, lang=language, low_memory=True)
        # Words are in lower case, and simplemma takes German nouns without a capital for verbs: boote, booten.
        if language == "de" and is_known(noun := word.capitalize(), lang=language, low_memory=True):
            singular_noun = lemmatize(noun, lang=language, low_memory=True)
            # A dictionary form longer than the word belongs to an adjective: grüne, Grüner.
            found = singular_noun if len(singular_noun) <= len(word) else found
    except ValueError:  # simplemma lacks the language
        return word
    # Keys write ß as ss, so a word without ß must give a form without ß.
    return found.lower() if "ß" in word else found.lower().replace("ß", "ss")
