"""Compiled parts of features of the whole picture: correlograms, edges and GIST."""

import math

import numpy as np
from numpy.typing import NDArray

from visterm.compute.compiled import compiled

#: Where red, orange, yellow, green, cyan, blue and purple end, as a share of the circle; then red begins again.
_HUE_ENDS = (22 / 360, 45 / 360, 70 / 360, 155 / 360, 186 / 360, 278 / 360, 330 / 360)
WEAK, STRONG = 1, 2


@compiled
def name_colours(hsv: NDArray[np.float32], names: NDArray[np.uint8]) -> None:
    """The number of each pixel's colour, as in :func:`visterm.vision.whole.colours.named_colours`."""
    height, width, _ = hsv.shape
    for y in range(height):
        for x in range(width):
            hue, saturation, value = hsv[y, x, 0], hsv[y, x, 1], hsv[y, x, 2]
            if value < np.float32(0.2):
                names[y, x] = 0
            elif saturation < np.float32(0.2):
                names[y, x] = 7 if value >= np.float32(0.8) else int(10 * value - 1)
            else:
                n_ended = 0
                for end in _HUE_ENDS:
                    n_ended += hue > end
                kind = 2 * (saturation >= np.float32(0.65)) + (value >= np.float32(0.7))
                names[y, x] = 8 + 4 * (n_ended % 7) + kind


@compiled
def count_pairs(colours: NDArray[np.uint8], distance: int, same: NDArray[np.int64], met: NDArray[np.int64]) -> None:
    """Count pairs of pixels ``distance`` apart, by the colour of the first: those of the ``same`` colour, all ``met``.

    The loop takes one neighbour at a time for a whole row of pixels, so that one instruction compares many.
    """
    height, width = colours.shape
    alike = np.empty(width, np.uint8)  # at most 8 * distance neighbours: a byte suffices up to a distance of 31
    for y in range(height):
        alike[:] = 0
        for dy in range(-distance, distance + 1):
            if 0 <= y + dy < height:
                step = 1 if abs(dy) == distance else 2 * distance
                for dx in range(-distance, distance + 1, step):
                    start, end = max(0, -dx), min(width, width - dx)
                    if start < end:
                        add_equal(colours[y, start:end], colours[y + dy, start + dx : end + dx], alike[start:end])
        rows, inner_rows = _within(y, distance, height), _within(y, distance - 1, height)
        for x in range(width):
            ring = rows * _within(x, distance, width) - inner_rows * _within(x, distance - 1, width)
            same[colours[y, x]] += alike[x]
            met[colours[y, x]] += ring


@compiled
def add_equal(one: NDArray[np.uint8], other: NDArray[np.uint8], counts: NDArray[np.uint8]) -> None:
    """``counts += one == other``."""
    for x in range(len(counts)):
        counts[x] += np.uint8(one[x] == other[x])


@compiled
def _within(place: int, reach: int, length: int) -> int:
    """How many of ``length`` positions are at most ``reach`` away from ``place``."""
    return min(place + reach, length - 1) - max(place - reach, 0) + 1


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


@compiled(fastmath={"contract"})
def add_magnitudes(
    response: NDArray[np.complex64], margin: int, cell_of: NDArray[np.int64], sums: NDArray[np.float32]
) -> None:
    """Add ``abs(response[margin + y, margin + x])`` to ``sums[cell_of[y], cell_of[x]]`` for all y, x of ``cell_of``.

    NumPy: ``np.add.at(sums, (cell_of[:, None], cell_of), np.abs(response[margin:-margin, margin:-margin]))``.
    """
    side = len(cell_of)
    magnitudes = np.empty(side, np.float32)
    for y in range(side):
        row = response[margin + y, margin : margin + side]
        for x in range(side):
            magnitudes[x] = math.sqrt(row[x].real * row[x].real + row[x].imag * row[x].imag)
        cells = sums[cell_of[y]]
        for x in range(side):
            cells[cell_of[x]] += magnitudes[x]
