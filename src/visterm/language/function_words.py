"""Tells which words of captions say nothing of a picture: by lists in several languages, else by their frequency."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache

from visterm.language.fillers import filler_words
from visterm.language.stop_lists import LISTED, stop_words

#: A line is in another language than usual if it has at least this many words that tell so.
_TELLING = 2
#: A language counts if this share of the lines are more likely in it than in the others.
_SHARE = 0.05
#: Where no list helps, a word of at most this many letters in this share of at least this many lines says nothing.
_SHORT, _FREQUENT, _ENOUGH = 4, 0.25, 20

#: Words of a list that say something in another language: they do not tell which language a line is in.
_SAID = """
    a also am an are art as been car com come do door dove due fast had hare has hat he hem in main man me men no
    not nun of on or over pour sans sea sei so sob solo son sue ton via want war was will die
"""
_AMBIGUOUS = frozenset(_SAID.split())


def function_words(lines: Sequence[Sequence[str]], language: str = "en") -> Callable[[Sequence[str]], frozenset[str]]:
    """What tells the function words of a line of words, as learned from all ``lines`` of a collection.

    A line is in the ``language`` of the collection, unless more of its words are in the list of another language that
    at least one line of twenty is in. So *man* and *hat* are function words in German lines only. Without a list for
    any of the languages, short words that are in a quarter of the lines are function words.

    >>> lines = [["ein", "hund", "mit", "der", "frau"], ["a", "man", "with", "the", "hat"]]
    >>> ignored = function_words(lines)
    >>> [[word for word in line if word not in ignored(line)] for line in lines]
    [['hund', 'frau'], ['man', 'hat']]
    """
    best = Counter(_language(line, LISTED, language) for line in lines)
    written = [name for name in LISTED if best[name] > _SHARE * len(lines)]
    if not stop_words(language) and not written:
        frequent = _frequent(lines)
        return lambda _: frequent
    return lambda line: _empty(_language(line, written, language))


@cache
def _empty(language: str) -> frozenset[str]:
    """What says nothing of a picture; with the words by which people ask for pictures: a caption shows its picture."""
    return stop_words(language) | filler_words(language)


def function_words_of(words: Sequence[str], language: str) -> frozenset[str]:
    """The function words of a few words that belong together, such as a query; it may be in another language.

    >>> sorted({"ein", "hund", "im", "schnee"} & function_words_of(["ein", "hund", "im", "schnee"], "en"))
    ['ein', 'im']
    """
    return stop_words(_language(words, LISTED, language))


def _language(line: Sequence[str], languages: Sequence[str], usual: str) -> str:
    """The language whose list has the most words of a line; the usual one if no other has more."""
    words = set(line)
    telling = words - _AMBIGUOUS
    n_usual = len(words & stop_words(usual))
    n_of = {name: len(telling & stop_words(name)) for name in languages}
    most = max(n_of.values(), default=0)
    return max(n_of, key=n_of.__getitem__) if most > n_usual and most >= _TELLING else usual


def _frequent(lines: Sequence[Sequence[str]]) -> frozenset[str]:
    if len(lines) < _ENOUGH:
        return frozenset()
    n_lines = Counter(word for line in lines for word in set(line))
    return frozenset(
        word for word, number in n_lines.items() if number > _FREQUENT * len(lines) and len(word) <= _SHORT
    )
