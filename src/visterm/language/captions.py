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
from visterm.language.useful_words import UsefulWords


@dataclass(frozen=True, slots=True)
class CaptionWords:
    """The tags of each caption, the number of captions that have each tag, and the same of words that made no tag."""

    tags: list[list[str]]
    kept: Counter[str]
    others: Counter[str]


@dataclass(frozen=True, slots=True)
class CaptionTokenizer:
    """Makes tags of captions.

    A tag is one of the ``phrases``, or a word that is in at least ``min_count`` captions and not in ``stop_words``
    (None: those of the ``language``, an ISO 639 code). A plural counts as its singular, also in phrases; in languages
    other than English, every form counts as the dictionary form. With ``useful_only``, English verbs, adjectives and
    vague words make no tags, and frequent pairs such as *traffic light* make one more tag.

    >>> tokenizer = CaptionTokenizer(phrases=("tall building",))
    >>> tokenizer.tags(["Boats near tall buildings.", "A boat, a tall building and the sea"])
    [['boat', 'tall building'], ['boat', 'tall building']]
    >>> CaptionTokenizer(language="fr").tags(["Les chevaux près de l'eau", "un cheval dans l'eau"])
    [['cheval', 'eau'], ['cheval', 'eau']]
    >>> CaptionTokenizer(min_count=1).tags(["A man wearing a white hat rides a horse"])
    [['man', 'hat', 'horse']]
    """

    stop_words: frozenset[str] | None = None
    min_count: int = 2
    phrases: tuple[str, ...] = ()
    language: str = "en"
    useful_only: bool = True

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
        return self.read(captions).tags

    def read(self, captions: Iterable[str]) -> CaptionWords:
        """The tags of captions, and the words that made no tag."""
        captions = list(captions)
        learned = self._learned(captions)
        bags = self._folded(captions, learned)
        always = {" ".join(self._tokens(phrase)) for phrase in self.phrases}
        kept: Counter[str] = Counter()
        others: Counter[str] = Counter()
        for word, count in Counter(word for bag in bags for word in bag).items():
            useful = learned is None or " " in word or word in always or learned.useful(word)
            (kept if useful and count >= self.min_count else others)[word] = count
        return CaptionWords([[word for word in bag if word in kept] for bag in bags], kept, others)

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

    def _learned(self, captions: list[str]) -> UsefulWords | None:
        """What the captions tell about their words; None if any word may be a tag."""
        if not self.useful_only or self.language != "en":
            return None
        return UsefulWords.learn(captions, self._tokens, self._form, self._ignored)

    def _folded(self, captions: list[str], learned: UsefulWords | None) -> list[list[str]]:
        """The distinct words of each caption; plurals are folded using the words of all captions."""
        table = self._phrase_table()
        bags = [list(dict.fromkeys(self._words(caption, table, learned))) for caption in captions]
        known = {word for bag in bags for word in bag}
        folded = {word: word if " " in word else singular(word, known, self.language) for word in known}
        # Folding may give a stop word: others, ones.
        folded = {word: form for word, form in folded.items() if form not in self._ignored}
        return [list(dict.fromkeys(folded[word] for word in bag if word in folded)) for bag in bags]

    def _words(
        self, caption: str, phrases: dict[tuple[str, ...], str], learned: UsefulWords | None = None
    ) -> Iterator[str]:
        """The words and phrases of a caption; those of ``phrases`` stand for their words, learned ones beside them."""
        tokens = self._tokens(caption)
        forms = [self._form(token) for token in tokens] if phrases or learned else []
        lengths = sorted({len(phrase) for phrase in phrases}, reverse=True)
        pairs = learned.phrases if learned is not None else {}
        position, silent = 0, set[int]()
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
                    silent.update(position + i for i in pairs[pair])
                if position not in silent and self._says_something(tokens[position]):
                    yield tokens[position]
                position += 1

    def _phrase_table(self) -> dict[tuple[str, ...], str]:
        """Phrases by the forms of their words; a phrase's tag is its words in lower case."""
        return {tuple(map(self._form, tokens)): " ".join(tokens) for tokens in map(self._tokens, self.phrases)}

    def _form(self, token: str) -> str:
        return singular(token, language=self.language)

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
