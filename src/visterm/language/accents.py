"""Looks words up whatever their accents: cafe and café meet, in every form of the word."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from visterm.language.stop_lists import stop_words
from visterm.language.words import folded

#: Marks of at least this combining class stand above, below or beside a letter. Those of a lower class make another
#: letter, such as the voicing marks of Japanese and the vowels of Indic scripts.
_ACCENT = 200


def unaccented(text: str) -> str:
    """The text without accents.

    >>> unaccented("crème brûlée"), unaccented("が")
    ('creme brulee', 'が')
    """
    if text.isascii():
        return text
    letters = [c for c in unicodedata.normalize("NFD", text) if unicodedata.combining(c) < _ACCENT]
    return unicodedata.normalize("NFC", "".join(letters))


def lookup_forms(key: str, language: str = "en") -> tuple[str, ...]:
    """The forms of a key without accents. Two keys that share one are the same, but for accents and number.

    There are two if a dictionary knows the word only with its accents. A word that would become a stop word keeps its
    accents.

    >>> lookup_forms("crèmes brûlées"), lookup_forms("thé"), lookup_forms("häuser", language="de")
    (('creme brulee',), ('thé',), ('haus', 'hauser'))
    """
    form = _plain(folded(key, language), language)
    if key.isascii():
        return (form,)
    return tuple(dict.fromkeys((form, _plain(folded(_plain(key, language), language), language))))


def _plain(key: str, language: str) -> str:
    return key if key.isascii() else " ".join(_plain_word(word, language) for word in key.split())


@lru_cache(maxsize=100_000)
def _plain_word(word: str, language: str) -> str:
    plain = unaccented(word)
    return plain if plain and plain not in stop_words(language) else word
