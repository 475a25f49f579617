"""Numba kernels for approximate nearest neighbours: trees of random cuts, then neighbours of neighbours.

A kernel writes only to the lists of its own rows. So shards of rows can run at the same time, and the result does not
depend on the number of shards.
"""

from typing import Any, NamedTuple

import numpy as np

from visterm.compute.compiled import SUMS, compiled

#: No row: an empty place of a list.
EMPTY = -1
#: Knuth's linear congruential generator modulo 2**64, whose low bits are not used.
_FACTOR, _ADDEND, _LOW_BITS = 6364136223846793005, 1442695040888963407, 33
#: A cut leaves more than one in this many rows on either side, or is replaced.
_UNEVEN = 20


class Lists(NamedTuple):
    """For every row, the nearest rows found so far, nearest first, each (n_rows, n_neighbors)."""

    found: Any  # or EMPTY
    squared: Any  # their squared distances
    is_new: Any  # whether they were found in the last round


class Neighbours(NamedTuple):
    """For every row, the rows that it lists or that list it, and whether that is new; or EMPTY."""

    rows: Any
    is_new: Any


@compiled(fastmath=SUMS)
def apart(a: Any, b: Any) -> Any:
    """``((a - b) ** 2).sum()``."""
    total = np.float32(0)
    for d in range(a.shape[0]):
        difference = a[d] - b[d]
        total += difference * difference
    return total


@compiled
def insert(found: Any, squared: Any, is_new: Any, row: int, distance: float) -> bool:
    """Insert ``row`` into one list unless it is there already or too far; ties are ordered by row."""
    k = found.shape[0]
    # mutants: > -> >= (2): a row that is there already is refused in any case
    if distance > squared[k - 1] or (distance == squared[k - 1] and row > found[k - 1]):
        return False
    for place in range(k):
        if found[place] == row:
            return False
    place = k - 1
    # mutants: > -> >= (3): the row is not in the list
    while place > 0 and (squared[place - 1] > distance or (squared[place - 1] == distance and found[place - 1] > row)):
        squared[place] = squared[place - 1]
        found[place] = found[place - 1]
        is_new[place] = is_new[place - 1]
        place -= 1
    squared[place] = distance
    found[place] = row
    is_new[place] = True
    return True


@compiled
def _draw(state: Any, n: int) -> int:
    """A random number below ``n``; advances the state."""
    state[0] = state[0] * np.uint64(_FACTOR) + np.uint64(_ADDEND)
    return int((state[0] >> np.uint64(_LOW_BITS)) % np.uint64(n))


@compiled(fastmath=SUMS)
def _sides(rows: Any, part: Any, a: int, b: int, side: Any) -> int:
    """``side``: which rows of ``part`` are nearer to row b than to row a; returns how many."""
    normal = rows[a] - rows[b]
    middle = np.float32(0)
    for d in range(rows.shape[1]):
        middle += normal[d] * (rows[a, d] + rows[b, d]) / 2
    n_left = 0
    for at in range(part.shape[0]):
        value = np.float32(0)
        row = part[at]
        for d in range(rows.shape[1]):
            value += normal[d] * rows[row, d]
        # mutants: < -> <=: rows exactly on a cut may go to either side; a cut between copies is replaced
        side[at] = value < middle
        n_left += side[at]
    return n_left


@compiled
def cut(rows: Any, leaf_size: int, seed: int, order: Any) -> Any:
    """Cut the rows in two, again and again, until parts have at most ``leaf_size`` rows; returns the ends of leaves.

    A cut lies halfway between two random rows. ``order`` is filled with the rows, leaf by leaf.
    """
    # mutants: 2 -> 3, + -> -, 1 -> 2: another state of the generator for each seed
    state = np.array([2 * seed + 1], np.uint64)
    n = rows.shape[0]
    for i in range(n):
        order[i] = i
    ends = np.empty(n, np.int64)
    n_leaves = 0
    firsts, lasts = np.empty(n, np.int64), np.empty(n, np.int64)  # of the parts that wait
    firsts[0], lasts[0] = 0, n
    height = 1
    side = np.empty(n, np.bool_)
    room = np.empty(n, order.dtype)
    while height > 0:
        height -= 1
        first, last = firsts[height], lasts[height]
        size = last - first
        if size <= leaf_size:
            ends[n_leaves] = last
            n_leaves += 1
            continue
        a, b = order[first + _draw(state, size)], order[first + _draw(state, size)]
        n_left = _sides(rows, order[first:last], a, b, side[first:last])
        # A cut that leaves nearly all rows on one side, as with copies, is replaced by a random one.
        if _UNEVEN * min(n_left, size - n_left) <= size:
            for at in range(first, last):
                swap = at + _draw(state, last - at)
                order[at], order[swap] = order[swap], order[at]
            # mutants: // -> /: kept in an array of integers, which drops the half
            middle_at = first + size // 2
        else:
            left, right = first, first + n_left
            for at in range(first, last):
                if side[at]:
                    room[left] = order[at]
                    left += 1
                else:
                    room[right] = order[at]
                    right += 1
            order[first:last] = room[first:last]
            middle_at = first + n_left
        # The left part is cut next, so that leaves end in the order of their rows.
        firsts[height], lasts[height] = middle_at, last
        firsts[height + 1], lasts[height + 1] = first, middle_at
        height += 2
    return ends[:n_leaves].copy()


@compiled
def compare_leaves(rows: Any, order: Any, ends: Any, first: int, last: int, lists: Lists) -> None:
    """Offer every row of the leaves ``first`` to ``last`` to the other rows of its leaf."""
    for leaf in range(first, last):
        start = ends[leaf - 1] if leaf else 0
        for at in range(start, ends[leaf]):
            i = order[at]
            for other in range(start, ends[leaf]):
                j = order[other]
                if i != j:
                    insert(lists.found[i], lists.squared[i], lists.is_new[i], j, apart(rows[i], rows[j]))


@compiled
def reverse_lists(forward: Neighbours, backward: Neighbours) -> None:
    """``backward.rows[j]``: the first rows that list j, new entries before old ones, as many as the array holds."""
    n, k = forward.rows.shape
    room = backward.rows.shape[1]
    filled = np.zeros(n, np.int64)
    backward.rows[:] = EMPTY
    backward.is_new[:] = False
    for wanted in (True, False):
        for i in range(n):
            for place in range(k):
                j = forward.rows[i, place]
                if j >= 0 and forward.is_new[i, place] == wanted and filled[j] < room:
                    backward.rows[j, filled[j]] = i
                    backward.is_new[j, filled[j]] = wanted
                    filled[j] += 1


@compiled
def _offer(rows: Any, i: int, j: int, j_new: bool, known: Neighbours, seen: Any, lists: Lists) -> int:
    """Offer to i the rows that j knows, if one of the two links is new."""
    n_inserted = 0
    for place in range(known.rows.shape[1]):
        candidate = known.rows[j, place]
        if candidate < 0 or candidate == i or not (j_new or known.is_new[j, place]) or seen[candidate] == i:
            continue
        seen[candidate] = i
        distance = apart(rows[i], rows[candidate])
        if insert(lists.found[i], lists.squared[i], lists.is_new[i], candidate, distance):
            n_inserted += 1
    return n_inserted


@compiled
def compare_neighbours(
    rows: Any, start: int, stop: int, forward: Neighbours, backward: Neighbours, lists: Lists
) -> int:
    """Offer to each of the rows ``start`` to ``stop`` the neighbours of its neighbours; returns how many were taken.

    Neighbours are the rows that it lists and that list it, before this round. Rows that are taken go to ``lists``,
    marked as new.
    """
    n_inserted = 0
    seen = np.full(rows.shape[0], EMPTY, np.int64)
    for i in range(start, stop):
        lists.is_new[i] = False
        for place in range(forward.rows.shape[1]):
            j = forward.rows[i, place]
            if j < 0:
                continue
            j_new = forward.is_new[i, place]
            n_inserted += _offer(rows, i, j, j_new, forward, seen, lists)
            n_inserted += _offer(rows, i, j, j_new, backward, seen, lists)
        for place in range(backward.rows.shape[1]):
            j = backward.rows[i, place]
            if j < 0:
                continue
            if seen[j] != i:
                seen[j] = i
                if insert(lists.found[i], lists.squared[i], lists.is_new[i], j, apart(rows[i], rows[j])):
                    n_inserted += 1
            n_inserted += _offer(rows, i, j, backward.is_new[i, place], forward, seen, lists)
    return n_inserted
