"""Compiled parts of edge detection: gradients, their ridges, and following edges from strong to weak pixels."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from visterm.compute.compiled import compiled

WEAK, STRONG = 1, 2


@compiled
def gradients(grey: NDArray[np.float32], dx: NDArray[np.float32], dy: NDArray[np.float32]) -> None:
    """Central differences to the right and downwards; the border is repeated outwards, which halves them there."""
    height, width = grey.shape
    for y in range(height):
        above, row, below = grey[max(y - 1, 0)], grey[y], grey[min(y + 1, height - 1)]
        for x in range(width):
            dy[y, x] = np.float32(0.5) * (below[x] - above[x])
        for x in range(width):
            dx[y, x] = np.float32(0.5) * (row[min(x + 1, width - 1)] - row[max(x - 1, 0)])


@compiled
def ridges(
    dx: NDArray[np.float32], dy: NDArray[np.float32], weak: float, strong: float, strength: NDArray[np.uint8]
) -> None:
    """Mark as WEAK or STRONG the pixels whose gradient is larger than one pixel ahead and behind, along the gradient.

    Of two equal pixels, the one on the darker side is marked, so that an edge is one pixel wide.
    """
    height, width = dx.shape
    lengths = np.sqrt(dx * dx + dy * dy)
    for y in range(height):
        for x in range(width):
            length = lengths[y, x]
            if length < weak:
                continue
            right, down = dx[y, x] / length, dy[y, x] / length
            ahead, behind = _at(lengths, y + down, x + right), _at(lengths, y - down, x - right)
            # Both are interpolated from rounded values: ignore a difference in the last digits.
            margin = np.float32(1e-5) * length
            if length >= ahead - margin and length > behind + margin:
                strength[y, x] = STRONG if length >= strong else WEAK


@compiled
def _at(plane: NDArray[np.float32], y: float, x: float) -> float:
    """``plane`` interpolated linearly between pixels; zero outside."""
    height, width = plane.shape
    top, left = math.floor(y), math.floor(x)
    total = 0.0
    for row, row_share in ((top, top + 1 - y), (top + 1, y - top)):
        for column, column_share in ((left, left + 1 - x), (left + 1, x - left)):
            if 0 <= row < height and 0 <= column < width:
                total += row_share * column_share * plane[row, column]
    return total


@compiled
def follow(strength: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Pixels that are STRONG, or WEAK and connected to a strong one by marked pixels, also diagonally."""
    height, width = strength.shape
    edges = np.zeros(strength.shape, np.bool_)
    waiting = np.empty(strength.size, np.int64)
    n_waiting = 0
    for y in range(height):
        for x in range(width):
            if strength[y, x] == STRONG:
                edges[y, x] = True
                waiting[n_waiting] = y * width + x
                n_waiting += 1
    while n_waiting:
        n_waiting -= 1
        y, x = waiting[n_waiting] // width, waiting[n_waiting] % width
        for ny in range(max(y - 1, 0), min(y + 2, height)):
            for nx in range(max(x - 1, 0), min(x + 2, width)):
                if strength[ny, nx] and not edges[ny, nx]:
                    edges[ny, nx] = True
                    waiting[n_waiting] = ny * width + nx
                    n_waiting += 1
    return edges
