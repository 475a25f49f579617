"""Compiled parts of block descriptors: comparing pixels with the circle around them, and with a palette."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from visterm.compute.compiled import compiled

# A diagonal point of the circle of radius 2 is sqrt(2) pixels away in both directions: this far beyond pixel 1.
_BEYOND = math.sqrt(2) - 1
_NEAR, _SIDE, _FAR = (1 - _BEYOND) ** 2, _BEYOND * (1 - _BEYOND), _BEYOND**2


@compiled
def circle_patterns(grey: NDArray[np.float64], out: NDArray[np.uint8]) -> None:
    """Set bit k if the point of the circle at k * 45 degrees, from right towards up, is not darker than the centre.

    Differences to the centre are interpolated, not values: equal pixels then compare as equal.
    """
    height, width = out.shape
    for y in range(height):
        for x in range(width):
            cy, cx = y + 2, x + 2
            centre = grey[cy, cx]
            pattern = 0
            if grey[cy, cx + 2] >= centre:
                pattern |= 1
            if _diagonal(grey, cy, cx, -1, 1) >= 0:
                pattern |= 2
            if grey[cy - 2, cx] >= centre:
                pattern |= 4
            if _diagonal(grey, cy, cx, -1, -1) >= 0:
                pattern |= 8
            if grey[cy, cx - 2] >= centre:
                pattern |= 16
            if _diagonal(grey, cy, cx, 1, -1) >= 0:
                pattern |= 32
            if grey[cy + 2, cx] >= centre:
                pattern |= 64
            if _diagonal(grey, cy, cx, 1, 1) >= 0:
                pattern |= 128
            out[y, x] = pattern


@compiled
def _diagonal(grey: NDArray[np.float64], y: int, x: int, down: int, right: int) -> float:
    centre = grey[y, x]
    near = grey[y + down, x + right] - centre
    sides = (grey[y + down, x + 2 * right] - centre) + (grey[y + 2 * down, x + right] - centre)
    far = grey[y + 2 * down, x + 2 * right] - centre
    return _NEAR * near + _SIDE * sides + _FAR * far


@compiled
def nearest_colours(pixels: NDArray[np.float32], palette: NDArray[np.float32], out: NDArray[np.int64]) -> None:
    """For each pixel, the nearest colour of the transposed ``palette`` (3, n_colours); the first one of equals.

    NumPy: ``((pixels[:, :, None] - palette) ** 2).sum(axis=1).argmin(axis=1)``.
    """
    red, green, blue = palette[0], palette[1], palette[2]
    n_colours = palette.shape[1]
    distances = np.empty(n_colours, np.float32)
    for i in range(len(pixels)):
        r, g, b = pixels[i, 0], pixels[i, 1], pixels[i, 2]
        for k in range(n_colours):
            dr, dg, db = red[k] - r, green[k] - g, blue[k] - b
            distances[k] = dr * dr + dg * dg + db * db
        nearest = 0
        for k in range(1, n_colours):
            if distances[k] < distances[nearest]:
                nearest = k
        out[i] = nearest
