"""Compiled inner loops of the top-k solver. Each names its NumPy equivalent, and the tests compare both.

``f`` are the scores (n_classes, n_pictures); the coefficients of the expansion are
``theta[j, i] = C_i (1[j = y_i] sum_j p[j, i] - p[j, i])``.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute.compiled import compiled
from visterm.margin.solver.arrays import Block, PictureDuals

Array = NDArray[Any]

#: The most halvings of the interval in which a threshold lies.
_HALVINGS = 200
#: Rounding errors of the interval, relative to the threshold, and of a sum that is 1.
_INTERVAL_ROUNDING, _SUM_ROUNDING = 1e-15, 1e-14


@compiled
def project_top_k(b: Array, k: int, rho: float, out: Array) -> None:
    """The minimiser of ``|p - b|^2 + rho (sum p)^2`` with ``0 <= p <= sum(p) / k`` and ``sum(p) <= 1``, exactly.

    Sorted, the largest ``n_top`` entries lie at the cap ``s / k``, the next ``n_middle`` at ``b - t``, the rest at 0.
    """
    m = len(b)
    order = _descending(b)
    top_k = 0.0
    for i in range(k):
        top_k += b[order[i]]
    out[:] = 0.0
    # mutants: <= -> <: for a sum of exactly 0 the minimiser has the sum 0 as well
    if top_k <= 0.0:  # no feasible direction gains
        return
    t, s = _inside(b, order, k, rho)
    # mutants: >= -> >: at a sum of exactly 1 both thresholds give the same point
    if s >= 1.0:
        s = 1.0
        t = _on_the_edge(b, order, k)
    cap = s / k
    for i in range(m):
        out[i] = min(max(b[i] - t, 0.0), cap)


@compiled
def _descending(b: Array) -> Array:
    """The places of the largest entry, the second largest and so on, by heap sort; in NumPy ``argsort(-b)``."""
    order = np.arange(len(b))
    for root in range(len(b) // 2 - 1, -1, -1):
        _sink(b, order, root, len(b))
    for end in range(len(b) - 1, 0, -1):
        order[0], order[end] = order[end], order[0]
        _sink(b, order, 0, end)
    return order


@compiled
def _sink(b: Array, heap: Array, root: int, size: int) -> None:
    """Move one place of a heap below all places with smaller entries."""
    place = heap[root]
    child = 2 * root + 1
    while child < size:
        if child + 1 < size and b[heap[child + 1]] < b[heap[child]]:
            child += 1
        if b[place] <= b[heap[child]]:
            break
        heap[root] = heap[child]
        root, child = child, 2 * child + 1
    heap[root] = place


@compiled
def _inside(b: Array, order: Array, k: int, rho: float) -> tuple[float, float]:
    """Threshold and sum of the minimiser without the bound on the sum.

    First no entry lies at the cap. If the largest one below it would exceed it, it belongs there, and so on.
    """
    m = len(b)
    total_top = 0.0
    for n_top in range(k):
        steep, free = rho + n_top / (k * k), 1.0 - n_top / k
        total_middle = 0.0
        for n_middle in range(1, m - n_top + 1):
            total_middle += b[order[n_top + n_middle - 1]]
            # free s + n_middle t = total_middle;  free t = (rho + n_top / k^2) s - total_top / k
            s = (free * total_middle + n_middle * total_top / k) / (free * free + n_middle * steep)
            t = (steep * s - total_top / k) / free
            # mutants: <= -> <: an entry that equals the threshold is 0 either way
            if n_top + n_middle < m and b[order[n_top + n_middle]] <= t:
                break  # the next entry is zero
        # mutants: <= -> <: an entry that equals the cap is at the cap either way
        if b[order[n_top]] - t <= s / k:
            break
        total_top += b[order[n_top]]
    return t, s


@compiled
def _on_the_edge(b: Array, order: Array, k: int) -> float:
    """The threshold ``t`` with ``sum(clip(b - t, 0, 1 / k)) = 1``: the sum falls piecewise linearly in ``t``."""
    m = len(b)
    cap = 1.0 / k
    # mutants: 1.0 -> 2.0: a longer interval also contains the threshold; halving it only takes a step more
    left, right = b[order[m - 1]] - 1.0, b[order[0]]
    for _ in range(_HALVINGS):
        t = 0.5 * (left + right)
        total, n_free = 0.0, 0
        for i in range(m):
            value = b[i] - t
            # mutants: >= -> >: a value that equals the cap is added either way
            if value >= cap:
                total += cap
            # mutants: > -> >=: a value of 0 adds nothing, and halving goes on if the exact threshold counts it
            elif value > 0.0:
                total += value
                n_free += 1
        # mutants: > -> >=: a threshold whose sum is exactly 1 stays an end of the interval
        if total > 1.0:
            left = t
        else:
            right = t
        if n_free > 0:  # exact, if no entry changes its piece
            exact = t + (total - 1.0) / n_free
            if left <= exact <= right:
                check = 0.0
                for i in range(m):
                    check += min(max(b[i] - exact, 0.0), cap)
                if abs(check - 1.0) <= _SUM_ROUNDING:
                    return exact
        # mutants: * -> /, 1.0 -> 2.0, + -> -: the interval cannot become shorter than rounding errors; more halvings do
        #   not change the threshold
        if right - left <= _INTERVAL_ROUNDING * (1.0 + abs(t)):
            break
    return 0.5 * (left + right)


@compiled
def ascend_pictures(block: Block, order: Array, at: PictureDuals, k: int) -> None:
    """One exact step for all dual variables of each picture of a block, visited in the given order.

    In NumPy, for each i with ``row = rows[i]``, ``own = y[row]`` and ``q = C[row] G[i, i]``: ``b = (1 + f[:, i] -
    f[own, i]) / q + p[:, row] + p[:, row].sum()`` of the other classes, ``p[:, row] = project_top_k(b, k, 1)``, and
    with the change of theta that follows ``delta[:, i] += change`` and ``f += outer(change, G[i])``.
    """
    G, rows, f, delta = block
    p, y, C = at
    n_classes, size = f.shape
    target = np.empty(n_classes - 1)
    best = np.empty_like(target)
    change = np.empty(n_classes, f.dtype)
    for i in order:
        row = rows[i]
        own, q = y[row], float(C[row]) * G[i, i]
        if q <= 0.0:
            continue
        total = 0.0
        for j in range(n_classes):
            total += p[j, row]
        place = 0
        for j in range(n_classes):
            if j != own:  # scores without the picture's own part
                target[place] = (1.0 + f[j, i] - f[own, i]) / q + p[j, row] + total
                place += 1
        project_top_k(target, k, 1.0, best)
        place, moved = 0, 0.0
        for j in range(n_classes):
            if j == own:
                continue
            step = best[place] - p[j, row]
            change[j] = -C[row] * step
            moved += step
            p[j, row] = best[place]
            place += 1
        change[own] = C[row] * moved
        for j in range(n_classes):
            if change[j] != 0.0:
                delta[j, i] += change[j]
                for other in range(size):
                    f[j, other] += change[j] * G[i, other]


@compiled
def picture_values(f: Array, p: Array, y: Array, k: int, losses: Array, gains: Array) -> None:
    """``losses[i] = max(0, mean of the k largest of 1 + f_j - f_y over j != y)`` and ``gains[i] = sum(p[:, i])``."""
    n_classes, n = f.shape
    largest = np.empty(k)
    for i in range(n):
        largest[:] = -np.inf  # in descending order
        total = 0.0
        for j in range(n_classes):
            total += p[j, i]
            if j == y[i]:
                continue
            slack = 1.0 + f[j, i] - f[y[i], i]
            place = k
            # mutants: < -> <=: equal slacks may come in any order
            while place > 0 and largest[place - 1] < slack:
                if place < k:
                    largest[place] = largest[place - 1]
                place -= 1
            if place < k:
                largest[place] = slack
        gains[i] = total
        top = 0.0
        for place in range(k):
            top += largest[place]
        losses[i] = max(0.0, top / k)
