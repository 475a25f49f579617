"""Compiled parts of colour correlograms: naming colours, and comparing pixels with the rings around them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from visterm.compute.compiled import compiled

#: Where red, orange, yellow, green, cyan, blue and purple end, as a share of the circle; then red begins again.
_HUE_ENDS = (22 / 360, 45 / 360, 70 / 360, 155 / 360, 186 / 360, 278 / 360, 330 / 360)


@compiled
def name_colours(hsv: NDArray[np.float32], names: NDArray[np.uint8]) -> None:
    """The number of each pixel's colour, as in :func:`visterm.vision.whole.correlogram.named_colours`."""
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
