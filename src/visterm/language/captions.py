"""Makes tags of captions: the words that say what is in the picture, each reduced to one form.

This works for languages that put spaces between words. If :func:`~visterm.language.stop_lists.stop_words` has no list
for a language, you can pass one.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from visterm.errors import InputError
from visterm.language.forms import check_language, singular
from visterm.language.stop_lists import stop_words


@dataclass(frozen=True, slots=True)
class CaptionTokenizer:
    """Makes tags of captions.

    A tag is one of the ``phrases``, or a word that is in at least ``min_count`` captions and not in ``stop_words``
    (None: those of the ``language``, an ISO 639 code). With ``fold_plurals``, a plural counts as its singular, also in
    phrases; in languages other than English, every form counts as the dictionary form.

    >>> tokenizer = CaptionTokenizer(phrases=("tall building",))
    >>> tokenizer.tags(["Boats near tall buildings.", "A boat, a tall building and the sea"])
    [['boat', 'tall building'], ['boat', 'tall building']]
    >>> CaptionTokenizer(language="fr").tags(["Les chevaux près de l'eau", "un cheval dans l'eau"])
    [['cheval', 'eau'], ['cheval', 'eau']]
    """

    stop_words: frozenset[str] | None = None
    min_count: int = 2
    phrases: tuple[str, ...] = ()
    fold_plurals: bool = True
    language: str = "en"

    def __post_init__(self) -> None:
        if self.min_count < 1:
            raise InputError(f"min_count must be at least 1, not {self.min_count}")
        check_language(self.language)
        if empty := [phrase for phrase in self.phrases if not self._tokens(phrase)]:
            raise InputError(f"the phrase {empty[0]!r} has no words")

    def words(self, caption: str) -> list[str]:
        """The words and phrases of one caption, in order and in lower case, without stop words; plurals stay.

        >>> CaptionTokenizer().words("The dog's 2 red-brown puppies don't sleep")
        ['dog', 'red-brown', 'puppies', 'sleep']
        """
        return list(self._words(caption, self._phrase_table()))

    def tags(self, captions: Iterable[str]) -> list[list[str]]:
        """The distinct tags of each caption, in order of appearance."""
        bags = self._folded(captions)
        kept = self._kept(bags)
        return [[word for word in bag if word in kept] for bag in bags]

    def vocabulary(self, captions: Iterable[str]) -> Counter[str]:
        """The tags, with the number of captions that have each."""
        return self._kept(self._folded(captions))

    @property
    def _ignored(self) -> frozenset[str]:
        return stop_words(self.language) if self.stop_words is None else self.stop_words

    def _tokens(self, text: str) -> list[str]:
        """The words of a text; except in English, a stop word before an apostrophe is cut off: l'eau gives eau."""
        tokens = _tokens(text)
        if self.language == "en":
            return tokens
        elided = stop_words(self.language)
        return [
            rest if rest and start in elided else token for token in tokens for start, _, rest in [token.partition("'")]
        ]

    def _kept(self, bags: list[list[str]]) -> Counter[str]:
        counts = Counter(word for bag in bags for word in bag)
        return Counter({word: count for word, count in counts.items() if count >= self.min_count})

    def _folded(self, captions: Iterable[str]) -> list[list[str]]:
        """The distinct words of each caption; plurals are folded using the words of all captions."""
        table = self._phrase_table()
        bags = [list(dict.fromkeys(self._words(caption, table))) for caption in captions]
        if not self.fold_plurals:
            return bags
        known = {word for bag in bags for word in bag}
        folded = {word: word if " " in word else singular(word, known, self.language) for word in known}
        # Folding may give a stop word: others, ones.
        folded = {word: form for word, form in folded.items() if form not in self._ignored}
        return [list(dict.fromkeys(folded[word] for word in bag if word in folded)) for bag in bags]

    def _words(self, caption: str, phrases: dict[tuple[str, ...], str]) -> Iterator[str]:
        tokens = self._tokens(caption)
        forms = [self._form(token) for token in tokens] if phrases else []
        lengths = sorted({len(phrase) for phrase in phrases}, reverse=True)
        position = 0
        while position < len(tokens):
            for length in lengths:
                if phrase := phrases.get(tuple(forms[position : position + length])):
                    yield phrase
                    position += length
                    break
            else:
                if self._says_something(tokens[position]):
                    yield tokens[position]
                position += 1

    def _phrase_table(self) -> dict[tuple[str, ...], str]:
        """Phrases by the forms of their words; a phrase's tag is its words in lower case."""
        return {tuple(map(self._form, tokens)): " ".join(tokens) for tokens in map(self._tokens, self.phrases)}

    def _form(self, token: str) -> str:
        return singular(token, language=self.language) if self.fold_plurals else token

    def _says_something(self, token: str) -> bool:
        if token in self._ignored or not any(map(str.isalpha, token)):
            return False
        # A single letter is not a word, but a single ideograph (category Lo) may be.
        return len(token) > 1 or unicodedata.category(token) == "Lo"


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
