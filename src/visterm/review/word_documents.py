"""The documents of new words: words suggested for pictures without labels, and questions about one new word."""

from __future__ import annotations

from dataclasses import dataclass

from visterm.collection.rows import Columns, PictureRow
from visterm.documents.document import Document


@dataclass(frozen=True)
class SuggestedWord:
    """A word for pictures that look alike; those that it fits best come first.

    ``fit`` says how well it fits: words below 2.5 are not suggested.
    """

    word: str
    fit: float
    pictures: Columns


@dataclass(frozen=True)
class SuggestedWords(Document):
    """Words for pictures without labels, the best fit first; a picture has at most one.

    ``unlabelled`` counts the pictures without labels that were looked at.
    """

    words: list[SuggestedWord]
    unlabelled: int


@dataclass(frozen=True)
class DeclinedWords(Document):
    """The words that a person does not want to be suggested."""

    declined: list[str]


@dataclass(frozen=True)
class WordQuestions(Document):
    """Pictures to decide about: do they show ``word``? The most useful first; ``asked`` has the probability.

    ``yes`` and ``no`` count the answers that people gave so far; after ``enough`` of them, ``likely`` are the other
    pictures that show it with a probability of at least 0.3 (before, it is empty). ``left`` counts the pictures without
    an answer.
    """

    word: str
    questions: list[PictureRow]
    yes: int
    no: int
    enough: int
    left: int
    likely: Columns
