"""Words for groups of look-alikes: what a network sees in them, and how near they are to each word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from visterm.calibration import standardised

Floats = NDArray[np.floating[Any]]

#: How much nearness to a word counts, in deviations, beside what a network sees; and where no network names anything.
_NEAR, _NEAR_ALONE = 0.5, 2.0
#: The share of what a network sees in all pictures that is subtracted: a dog among dogs is still a dog, but less news.
_USUAL = 0.5
#: The logarithm of what a network sees has an end.
_LEAST_SEEN = 1e-3
#: A word that fits a group less than this is not suggested; nor is one that fits fewer pictures.
_LEAST_FIT, _LEAST_PICTURES = 2.5, 3
#: A picture of a group gets its word if the word fits it at least this share as well as the group.
_AS_WELL = 0.8


class Named(NamedTuple):
    """The number of a word, how well it fits, and the rows of its pictures, the best first."""

    word: int
    fit: float
    rows: NDArray[np.intp]


def fits(near: Floats, seen: Floats) -> Floats:
    """(n_words, n_pictures): how well words fit pictures.

    ``near`` is how near pictures lie to words; ``seen``, how probably a network sees what a word takes in. A word that
    takes in many kinds of things, such as *dog*, is seen where any of them is; so it wins over its kinds.
    """
    own = np.log1p(seen / _LEAST_SEEN)
    by_text = np.stack([standardised(row) for row in near]) if len(near) else near
    counts = _NEAR if seen.any() else _NEAR_ALONE
    return np.asarray(counts * by_text + own - _USUAL * own.mean(axis=1, keepdims=True))


def named_groups(fit: Floats, groups: Sequence[NDArray[np.intp]]) -> list[Named]:
    """The word that fits each group best, the best fit first; groups with the same word are one.

    ``groups`` are rows of pictures, the columns of ``fit``.
    """
    if not len(fit) or not groups:
        return []
    mean = np.stack([fit[:, rows].mean(axis=1) for rows in groups])
    best = mean.argmax(axis=1)
    named = []
    for word in np.unique(best).tolist():
        own = [number for number in np.flatnonzero(best == word).tolist() if mean[number, word] >= _LEAST_FIT]
        rows = np.concatenate([np.empty(0, np.intp), *(groups[number] for number in own)])
        if not len(rows):
            continue
        of_all = float(fit[word, rows].mean())
        rows = rows[fit[word, rows] >= _AS_WELL * of_all]
        if len(rows) >= _LEAST_PICTURES:
            named.append(Named(word, of_all, rows[np.argsort(-fit[word, rows], kind="stable")]))
    return sorted(named, key=lambda each: -each.fit)
