"""Tells which words of English captions make useful tags: nouns and frequent phrases, not 'wearing' or 'white'.

Lists decide the frequent words. The captions themselves decide the rest, by where a word stands. A noun ends a group of
words (*a wooden bench near*), an adjective stands inside one, a verb stands before an article (*rides a horse*), or
ends in s after a singular (*a dog barks at*).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from visterm.language.english_lists import (
    ACTIVITIES,
    DETERMINERS,
    FORMS_OF_BE,
    NOUNS,
    SINGULAR_DETERMINERS,
    THINGS_TOO,
    UNHELPFUL,
    verb_of,
)

#: A pair of words is a phrase from this number of captions on.
MIN_PHRASE = 3
#: A pair is a phrase if this share of the captions that have one of its words have the pair.
_PHRASE_SHARE = 0.25
#: A word that never ends a group is part of a phrase if this share of its captions have one and the same pair.
_FIXED_SHARE = 0.6
#: A word of a phrase makes no tag of its own there if this share of its captions have the phrase.
_SUBSUMED_SHARE = 0.8
#: A word in fewer places than this is a noun, unless it acts as a verb only.
_MIN_PLACES = 3
#: A noun ends a group in at least this share of its places.
_NOUN_SHARE = 0.25

_CLAUSE = re.compile(r"[.,;:!?()\[\]\"\n\r|/]+")

Tokens = Callable[[str], list[str]]


@dataclass(slots=True)
class Places:
    """How often a word ends a group of nouns, stands inside one, is said of something, or acts as a verb.

    ``determined`` counts the groups it ends that begin with an article or number.
    """

    ends: int = 0
    determined: int = 0
    inside: int = 0
    said_of: int = 0
    acts: int = 0

    @property
    def total(self) -> int:
        """All places."""
        return self.ends + self.inside + self.said_of + self.acts


@dataclass(frozen=True, slots=True)
class UsefulWords:
    """What the captions of a collection tell about their words, in the forms that tags have."""

    places: dict[str, Places] = field(default_factory=dict)
    #: Pairs of words that are one tag; for each, the words (0, 1) that make no tag of their own beside it.
    phrases: dict[tuple[str, str], frozenset[int]] = field(default_factory=dict)

    @classmethod
    def learn(
        cls, captions: Iterable[str], tokens: Tokens, form: Callable[[str], str], stop_words: frozenset[str]
    ) -> UsefulWords:
        """Read all captions of a collection; ``tokens`` splits a text, and ``form`` gives the form of a token."""
        learned = cls()
        pairs: Counter[tuple[str, str]] = Counter()
        n_captions: Counter[str] = Counter()
        for caption in captions:
            found: set[tuple[str, str]] = set()
            words: set[str] = set()
            for clause in filter(None, map(tokens, _CLAUSE.split(caption))):
                for group in _groups(clause, stop_words):
                    forms = [form(word) for word in group.words]
                    if group.verb is not None:
                        learned._at(form(group.verb)).acts += 1
                    learned._note(group, forms)
                    words.update(forms)
                    # the first word of a compound is in the singular: 'traffic lights', but 'parents watch'
                    singular = [word == token for word, token in zip(forms, group.words, strict=True)]
                    found.update(pair for pair, fits in zip(pairwise(forms), singular, strict=False) if fits)
            pairs.update(found)
            n_captions.update(words)
        learned._find_phrases(pairs, n_captions)
        return learned

    def useful(self, word: str) -> bool:
        """Whether a word in the form of a tag says what is in a picture."""
        if word in UNHELPFUL:
            return False
        if word in ACTIVITIES or word in NOUNS:
            return True
        places = self.places.get(word, Places())
        verb = verb_of(word)
        if verb is not None and word in THINGS_TOO:
            return not places.total or places.ends > places.acts + places.said_of
        if word.endswith("ly") and len(word) > 4:
            return False
        if verb is not None or (word.endswith(("ing", "ed")) and len(word) > 4):
            return 2 * places.determined > places.total
        if places.total < _MIN_PLACES:
            return not places.acts or places.ends > 0
        return places.ends >= _NOUN_SHARE * places.total and places.ends >= places.acts

    def _note(self, group: _Group, forms: list[str]) -> None:
        last = len(forms) - 1
        if last < 0:
            return
        if group.last_acts(plural=forms[last] != group.words[last]):
            self._at(forms[last]).acts += 1
            last -= 1
        elif last == 0 and group.before in FORMS_OF_BE:
            self._at(forms[last]).said_of += 1
            return
        if last < 0:
            return
        place = self._at(forms[last])
        place.ends += 1
        place.determined += group.before in DETERMINERS
        for word in forms[:last]:
            self._at(word).inside += 1

    def _at(self, word: str) -> Places:
        return self.places.setdefault(word, Places())

    def _find_phrases(self, pairs: Counter[tuple[str, str]], n_captions: Counter[str]) -> None:
        for (first, second), number in sorted(pairs.items()):
            if number < MIN_PHRASE or first in UNHELPFUL or first == second or not self.useful(second):
                continue
            shares = number / n_captions[first], number / n_captions[second]
            fixed = shares[0] >= _FIXED_SHARE and verb_of(first) is None and not first.endswith(("ed", "ly"))
            if fixed or (self.useful(first) and max(shares) >= _PHRASE_SHARE):
                self.phrases[first, second] = frozenset(i for i in (0, 1) if shares[i] >= _SUBSUMED_SHARE)


@dataclass(frozen=True, slots=True)
class _Group:
    """Words that stand together between function words and verbs (none between two of these), and what is around.

    ``verb`` is the word after the group if it is a verb.
    """

    words: list[str]
    before: str | None
    after: str | None
    verb: str | None

    def last_acts(self, *, plural: bool) -> bool:
        """Whether the last word is a verb: before an article, or in s after a singular ('a dog barks')."""
        if self.after in DETERMINERS and (len(self.words) > 1 or self.before not in DETERMINERS):
            return True
        return plural and len(self.words) > 1 and self.before in SINGULAR_DETERMINERS


def _groups(clause: list[str], stop_words: frozenset[str]) -> Iterator[_Group]:
    words: list[str] = []
    before: str | None = None
    for place, token in enumerate(clause):
        is_function_word = token in stop_words or token in DETERMINERS or token in FORMS_OF_BE
        previous = words[-1] if words else before
        following = clause[place + 1] if place + 1 < len(clause) else None
        if not is_function_word and not _is_verb(token, previous, following, stop_words):
            words.append(token)
            continue
        yield _Group(words, before, token, None if is_function_word else token)
        words, before = [], token
    yield _Group(words, before, None, None)


def _is_verb(token: str, previous: str | None, following: str | None, stop_words: frozenset[str]) -> bool:
    """Whether a token between two others is certainly a verb."""
    if token in NOUNS:
        return False
    verb = verb_of(token)
    nominal = previous in DETERMINERS or previous in UNHELPFUL  # 'a walk', 'a long walk'
    if verb is not None:
        return not nominal and not (verb in THINGS_TOO and token in (verb, f"{verb}s", f"{verb}es"))
    if token.endswith(("ing", "ed")) and len(token) > 4:
        return not nominal and (previous in FORMS_OF_BE or following is None or following in stop_words)
    return False
