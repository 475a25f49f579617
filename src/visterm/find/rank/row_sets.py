"""Sets of rows, each in order: what is in all, in any, and which rows are members."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from visterm.collection.evidence import Rows, no_rows

#: Below this many rows, each is looked up; from it on, all members are marked first.
_FEW = 500


def in_all(lists: Sequence[Rows]) -> Rows | None:
    """The rows that are in every list; None if there is no list."""
    if not lists:
        return None
    rows, *others = sorted(lists, key=len)
    for other in others:
        rows = rows[among(rows, other)]
    return rows


def in_any(lists: Sequence[Rows | None]) -> Rows | None:
    """The rows that are in at least one list; None if a list is not known."""
    known = [rows for rows in lists if rows is not None]
    return in_either(*known) if len(known) == len(lists) else None


def in_either(*lists: Rows) -> Rows:
    """The rows that are in at least one of the lists, in order.

    >>> in_either(np.array([2, 5]), np.array([1, 2]))
    array([1, 2, 5])
    """
    filled = [rows for rows in lists if len(rows)]
    if len(filled) < 2:
        return filled[0] if filled else no_rows()
    rows = np.sort(np.concatenate(filled))
    return rows[np.append(True, rows[1:] != rows[:-1])]


def among(rows: Rows, members: Rows) -> NDArray[np.bool_]:
    """Which of ``rows`` are in ``members``; ``members`` must be sorted.

    >>> among(np.array([3, 1]), np.array([1, 2]))
    array([False,  True])
    """
    if not len(members) or not len(rows):
        return np.zeros(len(rows), np.bool_)
    # mutants: not: both ways find the same members; which is faster changes at about this number
    if len(rows) < _FEW:
        places = np.minimum(np.searchsorted(members, rows), len(members) - 1)
        return members[places] == rows
    # mutants: 1 -> 2 (2): one more mark, which no row uses
    marked = np.zeros(max(int(rows.max()), int(members[-1])) + 1, np.bool_)
    marked[members] = True
    return marked[rows]
