"""Finds pairs of nouns in English captions that name one thing: traffic light, tennis racket."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from visterm.language.english_lists import ACTIVITIES, DETERMINERS, FORMS_OF_BE, NOUNS, THINGS_TOO, UNHELPFUL, verb_of

#: A pair of words is a phrase from this number of captions on.
MIN_PHRASE = 5
#: A pair is a phrase if this share of the captions that have its rarer word have the pair.
_PHRASE_SHARE = 0.25

_CLAUSE = re.compile(r"[.,;:!?()\[\]\"\n\r|/]+")

Tokens = Callable[[str], list[str]]
Pair = tuple[str, str]


def find_phrases(
    captions: Iterable[str], tokens: Tokens, form: Callable[[str], str], stop_words: frozenset[str]
) -> frozenset[Pair]:
    """The pairs of words that are one tag, beside their words, in the forms that tags have.

    ``tokens`` splits a text, and ``form`` gives the form of a token. Both words are nouns that stand together between
    function words and verbs.
    """
    pairs: Counter[Pair] = Counter()
    n_captions: Counter[str] = Counter()
    for caption in captions:
        found: set[Pair] = set()
        words: set[str] = set()
        for clause in filter(None, map(tokens, _CLAUSE.split(caption))):
            words.update(map(form, clause))
            for group in _groups(clause, stop_words):
                # the first word of a compound is in the singular: 'traffic lights', but 'parents watch'
                found.update((first, form(second)) for first, second in pairwise(group) if form(first) == first)
        pairs.update(pair for pair in found if pair[0] != pair[1])
        n_captions.update(words)
    return frozenset(
        (first, second)
        for (first, second), number in pairs.items()
        if number >= MIN_PHRASE and number >= _PHRASE_SHARE * min(n_captions[first], n_captions[second])
    )


def _groups(clause: list[str], stop_words: frozenset[str]) -> Iterator[list[str]]:
    """The nouns that stand together."""
    words: list[str] = []
    for place, token in enumerate(clause):
        previous = clause[place - 1] if place else None
        following = clause[place + 1] if place + 1 < len(clause) else None
        if _is_noun(token, previous, following, stop_words):
            words.append(token)
        else:
            yield words
            words = []
    yield words


def _is_noun(token: str, previous: str | None, following: str | None, stop_words: frozenset[str]) -> bool:
    """Whether a token between two others is probably a noun."""
    if token in NOUNS or token in ACTIVITIES:
        return True
    if token in stop_words or token in UNHELPFUL or token in DETERMINERS or token in FORMS_OF_BE:
        return False
    verb = verb_of(token)
    if verb is None:
        return not token.endswith(("ing", "ed", "ly"))
    is_thing = verb in THINGS_TOO and token in (verb, f"{verb}s", f"{verb}es")
    return is_thing and following not in DETERMINERS and previous not in FORMS_OF_BE
