"""Makes tags of captions: the words that say what is in the picture, each reduced to one form.

This works for languages that put spaces between words. If :func:`~visterm.language.stop_lists.stop_words` has no list
for a language, you can pass one.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from visterm.errors import InputError
from visterm.language.forms import base_form, check_language
from visterm.language.function_words import function_words
from visterm.language.phrases import Pair, find_phrases
from visterm.language.stop_lists import stop_words

#: A word of fewer captions makes no tag: a model learns nothing of one or two pictures.
MIN_COUNT = 3

Ignored = Callable[[Sequence[str]], frozenset[str]]


@dataclass(frozen=True, slots=True)
class CaptionWords:
    """The tags of each caption, the number of captions that have each tag, and the same of words that made no tag."""

    tags: list[list[str]]
    kept: Counter[str]
    others: Counter[str]


@dataclass(frozen=True, slots=True)
class CaptionTokenizer:
    """Makes tags of captions.

    A tag is one of the ``phrases``, or a word of at least ``min_count`` captions that is not in ``stop_words`` (None:
    function words, in the language of each line). All forms of a word are one tag, also in phrases: its singular or
    infinitive in English, in other languages its dictionary form. ``language`` is an ISO 639 code. In English, frequent
    pairs of nouns such as *traffic light* make one more tag, beside their words.

    >>> tokenizer = CaptionTokenizer(phrases=("tall building",), min_count=2)
    >>> tokenizer.tags(["Boats near tall buildings.", "A boat, a tall building and the sea"])
    [['boat', 'tall building'], ['boat', 'tall building']]
    >>> CaptionTokenizer(language="fr", min_count=2).tags(["Les chevaux près de l'eau", "un cheval dans l'eau"])
    [['cheval', 'eau'], ['cheval', 'eau']]
    >>> CaptionTokenizer(min_count=1).tags(["A man wearing a white hat rides a horse"])
    [['man', 'wear', 'white', 'hat', 'ride', 'horse']]
    """

    stop_words: frozenset[str] | None = None
    min_count: int = MIN_COUNT
    phrases: tuple[str, ...] = ()
    language: str = "en"

    def __post_init__(self) -> None:
        if self.min_count < 1:
            raise InputError(f"min_count must be at least 1, not {self.min_count}")
        check_language(self.language)
        if empty := [phrase for phrase in self.phrases if not self._tokens(phrase)]:
            raise InputError(f"the phrase {empty[0]!r} has no words")

    def words(self, caption: str) -> list[str]:
        """The words and phrases of one caption, in order and in lower case, without stop words, in their own forms.

        >>> CaptionTokenizer().words("The dog's 2 red-brown puppies don't sleep")
        ['dog', 'red-brown', 'puppies', 'sleep']
        """
        return list(self._words(caption, self._phrase_table(), self._ignored([caption])))

    def tags(self, captions: Iterable[str]) -> list[list[str]]:
        """The distinct tags of each caption, in order of appearance."""
        return self.read(captions).tags

    def read(self, captions: Iterable[str]) -> CaptionWords:
        """The tags of captions, and the words that made no tag."""
        bags = self._folded(list(captions))
        asked_for = set(self._phrase_table().values())
        kept: Counter[str] = Counter()
        others: Counter[str] = Counter()
        for word, count in Counter(word for bag in bags for word in bag).items():
            (kept if count >= self.min_count or word in asked_for else others)[word] = count
        return CaptionWords([[word for word in bag if word in kept] for bag in bags], kept, others)

    def _ignored(self, captions: list[str]) -> Ignored:
        """What tells the words of a line (as tokens) that say nothing, for the lines of these captions."""
        given = self.stop_words
        if given is not None:
            return lambda _: given
        return function_words([self._tokens(line) for text in captions for line in text.split("\n")], self.language)

    def _tokens(self, text: str) -> list[str]:
        """The words of a text; except in English, a stop word before an apostrophe is cut off: l'eau gives eau."""
        tokens = _tokens(text)
        if self.language == "en":
            return tokens
        elided = stop_words(self.language)
        return [
            rest if rest and start in elided else token for token in tokens for start, _, rest in [token.partition("'")]
        ]

    def _found(self, captions: list[str]) -> frozenset[Pair]:
        """Pairs of words of these captions that are one tag."""
        if self.language != "en":
            return frozenset()
        return find_phrases(captions, self._tokens, self._form, self.stop_words or stop_words())

    def _folded(self, captions: list[str]) -> list[list[str]]:
        """The distinct words of each caption; plurals are folded using the words of all captions."""
        table, ignored, pairs = self._phrase_table(), self._ignored(captions), self._found(captions)
        asked_for = set(table.values())
        bags = [list(dict.fromkeys(self._words(caption, table, ignored, pairs))) for caption in captions]
        known = {word for bag in bags for word in bag}
        folded = {
            word: word if " " in word or word in asked_for else base_form(word, known, self.language) for word in known
        }
        # Folding may give a stop word: others, ones.
        own = ignored([])
        folded = {word: form for word, form in folded.items() if form not in own or word in asked_for}
        return [list(dict.fromkeys(folded[word] for word in bag if word in folded)) for bag in bags]

    def _words(
        self, caption: str, phrases: dict[tuple[str, ...], str], ignored: Ignored, pairs: frozenset[Pair] = frozenset()
    ) -> Iterator[str]:
        """The words and phrases of a caption; those of ``phrases`` stand for their words, ``pairs`` beside them."""
        lengths = sorted({len(phrase) for phrase in phrases}, reverse=True)
        for line in caption.split("\n"):
            tokens = self._tokens(line)
            empty = ignored(tokens)
            forms = [self._form(token) for token in tokens] if phrases or pairs else []
            position = 0
            while position < len(tokens):
                for length in lengths:
                    if phrase := phrases.get(tuple(forms[position : position + length])):
                        yield phrase
                        position += length
                        break
                else:
                    pair = tuple(forms[position : position + 2])
                    if pair in pairs:
                        yield " ".join(pair)
                    if tokens[position] not in empty and _says_something(tokens[position]):
                        yield tokens[position]
                    position += 1

    def _phrase_table(self) -> dict[tuple[str, ...], str]:
        """Phrases by the forms of their words; a phrase's tag is its words in lower case."""
        return {tuple(map(self._form, tokens)): " ".join(tokens) for tokens in map(self._tokens, self.phrases)}

    def _form(self, token: str) -> str:
        return base_form(token, language=self.language)


def _says_something(token: str) -> bool:
    # A single letter is not a word, but a single ideograph (category Lo) may be.
    return any(map(str.isalpha, token)) and (len(token) > 1 or unicodedata.category(token) == "Lo")


class _WordCharacters(dict[int, str]):
    """For ``str.translate``: keeps letters, marks, digits, hyphens and apostrophes; all else becomes a space."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        is_word = unicodedata.category(character)[0] in "LMN" or character in "-'"
        self[code] = character if is_word else " "
        return self[code]


_WORD_CHARACTERS = _WordCharacters({ord("’"): "'", ord("‐"): "-", ord("‑"): "-"})


def _tokens(text: str) -> list[str]:
    """The words of a text: lower case, NFC, hyphens and apostrophes only inside words, without possessive 's."""
    normal = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).lower())
    stripped = (word.strip("'-").removesuffix("'s").rstrip("'-") for word in normal.translate(_WORD_CHARACTERS).split())
    return [word for word in stripped if word]
