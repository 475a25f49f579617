"""What fits into memory: which tags are learned, from how many pictures, and on how many it is measured.

What a method itself keeps differs; these are the sizes of what every method needs. They are known before work starts.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from visterm.compute import memory, progress
from visterm.documents.wording import counted
from visterm.learn import Dataset
from visterm.vision.recipes.base import Recipe

#: The bytes of a score of a held-out picture for a tag, with its probabilities and what is computed of them.
_SCORE = 48
#: Tags are measured on at least this many pictures before any tag is left out.
_FEWEST_MEASURED = 500
#: More held-out pictures make figures no better, and leave fewer to learn from.
_MOST_MEASURED = 10_000
#: Numbers that a method keeps of each tag, at most: one for every dimension or landmark, in a few copies.
_NUMBERS_OF_TAG = 2048 * 3
#: The index has two bytes of every picture for each tag, and is mapped twice while it grows.
_INDEX = 4
#: Features are in memory as they are read, as the part that is learned from, and inside the method, prepared as well.
_COPIES = 4
#: A row of a bag of codewords has at most about this many entries of eight bytes.
_ENTRIES = 1000
#: From fewer pictures nothing worth having is learned.
_FEWEST = 200


def affordable_tags(data: Dataset, left: int) -> Dataset:
    """The data with as many of the most frequent tags as fit into the memory that is ``left``.

    Of the others, search finds what people said.
    """
    n_tags, of_tag = len(data.tag_names), bytes_of_tag(len(data))
    n_fit = left // of_tag
    if n_tags <= n_fit:
        return data
    if not n_fit:
        raise memory.TooLittleMemoryError(f"learning {counted(n_tags, 'tag')}", of_tag * n_tags, left)
    _say(
        f"the {n_fit} most frequent of {n_tags} tags are learned: all would need about "
        f"{memory.in_words(of_tag * n_tags)} of memory, and {memory.in_words(left)} may be used (--memory);"
        " search finds the others where people gave them"
    )
    return data.with_tags(np.sort(np.argsort(-data.tag_counts, kind="stable")[:n_fit]))


def bytes_of_tag(n_pictures: int) -> int:
    """What must be left for each tag: with as much again for features, and its part of the index."""
    learned = _SCORE * min(_FEWEST_MEASURED, n_pictures) + 4 * min(_NUMBERS_OF_TAG, 3 * n_pictures)
    return 2 * learned + _INDEX * n_pictures


def affordable_rows(rows: NDArray[np.intp], recipe: Recipe) -> NDArray[np.intp]:
    """Those of the pictures in ``rows`` whose features fit: all, or a sample that is always the same."""
    of_row = _COPIES * sum(
        min(_ENTRIES, spec.n_dims) * 8 if spec.sparse else 4 * spec.n_dims for spec in recipe.outputs.values()
    )
    left = memory.left()
    n_fit = left // of_row
    if len(rows) <= n_fit:
        return rows
    if n_fit < _FEWEST:
        what = f"learning from {counted(len(rows), 'picture')} with {recipe.name} features"
        raise memory.TooLittleMemoryError(what, of_row * len(rows), left)
    _say(
        f"{n_fit} of {len(rows)} pictures are used for learning: all would need about "
        f"{memory.in_words(of_row * len(rows))} of memory, and {memory.in_words(left)} may be used (--memory)"
    )
    return np.sort(np.random.default_rng(0).choice(rows, n_fit, replace=False))


def affordable_measured(n_tags: int) -> int:
    """On how many pictures tags can be measured."""
    return max(_FEWEST_MEASURED, memory.left() // 2 // (_SCORE * max(1, n_tags)))


def most_measured(n_tags: int) -> int:
    """How many pictures are held out at most."""
    return min(_MOST_MEASURED, affordable_measured(n_tags))


@lru_cache(maxsize=64)
def _say(text: str) -> None:
    """A note, once."""
    progress.note(text)
