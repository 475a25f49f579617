"""Completes what a person types into the search box: tags, classes, and the fields of the query language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from visterm.collection.holdings import Holdings
from visterm.documents.document import Document
from visterm.find.words.query import FIELDS, UNTAGGED
from visterm.language import unaccented

_FIELDS = (*(f"{field}:" for field in FIELDS if field != "is"), f"is:{UNTAGGED}")
_MOST = 8


@dataclass(frozen=True)
class Completion:
    """A word that begins like the last one, what it is, and how many pictures have it."""

    text: str
    kind: Literal["tag", "class", "field"]
    pictures: int = 0


@dataclass(frozen=True)
class Completions(Document):
    """Ways to go on, the most frequent first. ``start`` is where the completed word begins in the text."""

    start: int
    found: list[Completion]


def complete(holdings: Holdings, text: str) -> Completions:
    """What the last word of ``text`` may become."""
    start = max(text.rfind(" "), text.rfind("("), text.rfind("-")) + 1
    word = _plain(text[start:])
    only, name = None, word
    for field in ("tag", "class"):
        if word.startswith(f"{field}:"):
            only, name = field, word[len(field) + 1 :].lstrip('"')
    if not word:
        return Completions(start, [])
    view = holdings.views.newest()
    truth = view.collection.truth
    counts = np.bincount(truth.tags[view.rows].indices, minlength=len(truth.tag_names))
    known: list[Completion] = []
    if only in (None, "tag"):
        known += [Completion(tag, "tag", int(n)) for tag, n in zip(truth.tag_names, counts, strict=True) if n]
    if only in (None, "class"):
        of_class = np.bincount(view.classes[view.classes >= 0], minlength=len(view.class_names))
        known += [Completion(c, "class", int(n)) for c, n in zip(view.class_names, of_class, strict=True) if n]
    plain = {each: _plain(each.text) for each in known}
    begun = (each for each in known if any(part.startswith(name) for part in (plain[each], *plain[each].split())))
    found = [each for each in begun if plain[each] != name]
    found.sort(key=lambda each: (not plain[each].startswith(name), -each.pictures, each.text))
    fields = [Completion(field, "field") for field in _FIELDS if field.startswith(word) and field != word]
    return Completions(start, [*found[:_MOST], *fields])


def _plain(text: str) -> str:
    return unaccented(text.casefold())
