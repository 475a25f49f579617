"""Words as people write them, brought to one form, and the nearest known ones where a word is unknown."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping

from visterm.language.english import singular

_ASCII_WORDS = re.compile(r"[0-9A-Za-z_]+")


def key(text: str) -> str:
    """Lower case, composed, words of letters, marks, digits and pictographs separated by single spaces.

    >>> key("Tall-Building, CAFE\u0301!")
    'tall building café'
    """
    if text.isascii():
        return " ".join(_ASCII_WORDS.findall(text)).lower()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join("".join(c if c == "_" or _is_of_word(c) else " " for c in folded).split())


def file_key(path: str) -> str:
    """The words of a file's name and folders, without its ending.

    >>> file_key("Norway 2019/IMG_0042-red boat.jpg")
    'norway 2019 img 0042 red boat'
    """
    folders, _, name = path.rpartition("/")
    stem = name.rpartition(".")[0] or name
    return " ".join(key(f"{folders} {stem}").replace("_", " ").split())


def folded(name: str) -> str:
    """A key without the difference between one and many: its words as singulars.

    >>> folded("tall buildings")
    'tall building'
    """
    return " ".join(singular(word) for word in name.split())


def distance(a: str, b: str, at_most: int) -> int:
    """How many letters must be added, dropped, changed or swapped with their neighbour to turn ``a`` into ``b``.

    Distances above ``at_most`` are told as ``at_most + 1`` (Damerau-Levenshtein, optimal string alignment).

    >>> distance("bech", "beach", 2), distance("sunest", "sunset", 2), distance("cat", "boat", 1)
    (1, 1, 2)
    """
    if abs(len(a) - len(b)) > at_most:
        return at_most + 1
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, letter in enumerate(a, start=1):
        row = [i]
        for j, other in enumerate(b, start=1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > at_most:
            return at_most + 1
        before, last = last, row
    return min(last[-1], at_most + 1)


class Speller:
    """Finds the known words nearest an unknown one; of equally near ones the more frequent come first.

    One letter may be wrong in words of up to five, two in longer ones; words of one or two letters have no near ones.

    >>> Speller({"beach": 9, "bench": 2, "boat": 5}).nearest("baech")
    ['beach']
    """

    def __init__(self, counts: Mapping[str, int]) -> None:
        self._words = [(word, _letters(word), count) for word, count in counts.items() if len(word) > 2]

    def nearest(self, word: str, n_best: int = 3) -> list[str]:
        """The nearest known words, nearest first."""
        if len(word) < 3:
            return []
        at_most = 1 if len(word) <= 5 else 2
        letters = _letters(word)
        near = []
        for known, own, count in self._words:
            # Each wrong letter changes at most two of the letters that occur.
            if abs(len(known) - len(word)) <= at_most and (own ^ letters).bit_count() <= 2 * at_most:
                apart = distance(word, known, at_most)
                if apart <= at_most:
                    near.append((apart, -count, known))
        return [known for *_, known in sorted(near)[:n_best]]


def rows_by_word(texts: Iterable[str | None]) -> dict[str, list[int]]:
    """For every word, the numbers of the texts (already keys) that have it, in order."""
    rows: dict[str, list[int]] = {}
    for row, text in enumerate(texts):
        if text:
            for word in dict.fromkeys(text.split(" ")):
                rows.setdefault(word, []).append(row)
    return rows


def _letters(word: str) -> int:
    """Which letters occur, as bits."""
    bits = 0
    for letter in word:
        bits |= 1 << (ord(letter) & 63)
    return bits


def _is_of_word(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] in "LMN" or category == "So"
