"""What a person typed, understood as known words."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from visterm.errors import InputError

#: Longer queries are refused: nobody means them.
MAX_CHARACTERS = 1000
#: For so many unknown words the nearest known ones are looked up, each against all tags.
MAX_CORRECTED_WORDS = 10


@dataclass(frozen=True, slots=True)
class Query:
    """The columns of the tags asked for, and the words that are no known tag with the nearest that are."""

    text: str
    tags: tuple[int, ...]
    unknown: dict[str, tuple[str, ...]]


def parse(text: str, tag_names: Sequence[str]) -> Query:
    """Find the known tags in ``text``; tags of several words are found as phrases, the longest first.

    >>> parse("Tall building bech", ["beach", "tall building"])
    Query(text='Tall building bech', tags=(1,), unknown={'bech': ('beach',)})
    """
    if len(text) > MAX_CHARACTERS:
        raise InputError(f"the query has {len(text)} characters; at most {MAX_CHARACTERS} are understood")
    column = {_key(name): i for i, name in reversed(list(enumerate(tag_names)))}
    words = _key(text).split()
    longest = max((key.count(" ") + 1 for key in column), default=1)
    tags: list[int] = []
    unknown: dict[str, tuple[str, ...]] = {}
    at = 0
    while at < len(words):
        for n_words in range(min(longest, len(words) - at), 0, -1):
            phrase = " ".join(words[at : at + n_words])
            if phrase in column:
                tags.append(column[phrase])
                at += n_words
                break
        else:
            word = words[at]
            if word not in unknown:
                near = get_close_matches(word, column, n=3) if len(unknown) < MAX_CORRECTED_WORDS else []
                unknown[word] = tuple(tag_names[column[key]] for key in near)
            at += 1
    return Query(text, tuple(dict.fromkeys(tags)), unknown)


def _key(text: str) -> str:
    """Lower case, composed, words of letters, marks, digits and pictographs separated by single spaces."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join("".join(c if c == "_" or _is_of_word(c) else " " for c in folded).split())


def _is_of_word(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] in "LMN" or category == "So"
