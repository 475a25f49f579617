"""Compiled parts of dense SIFT and of block descriptors: gradients, binary patterns, and the nearest colours."""

import math

import numpy as np
from numpy.typing import NDArray

from visterm.compute.compiled import compiled

# arctan(t) / t on [0, 1] as a polynomial in t^2, off by less than 2e-8 (Abramowitz & Stegun 4.4.49), times 4 / pi: the
# angle in units of an eighth of a turn, which is the width of an orientation bin.
_ARCTAN = tuple(
    np.float32(coefficient * 4 / math.pi)
    for coefficient in (
        1.0,
        -0.3333314528,
        0.1999355085,
        -0.1420889944,
        0.1065626393,
        -0.0752896400,
        0.0429096138,
        -0.0161657367,
        0.0028662257,
    )
)
_C0, _C1, _C2, _C3, _C4, _C5, _C6, _C7, _C8 = _ARCTAN
# A diagonal point of the circle of radius 2 is sqrt(2) pixels away in both directions: this far beyond pixel 1.
_BEYOND = math.sqrt(2) - 1
_NEAR, _SIDE, _FAR = (1 - _BEYOND) ** 2, _BEYOND * (1 - _BEYOND), _BEYOND**2


@compiled(fastmath={"contract"})
def oriented_energy(grey: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    """Share the length of the gradient at each pixel between the two nearest of eight directions.

    Direction t points t * 45 degrees from right towards down. The gradient is the central difference, one-sided at the
    border. Every gradient lies between an axis (even t) and a diagonal (odd t); the arc tangent of the smaller over the
    larger component says how far. NumPy: ``np.gradient``, ``np.hypot``, ``np.arctan2`` and linear interpolation.
    """
    height, width = grey.shape
    half, one, zero = np.float32(0.5), np.float32(1), np.float32(0)
    right, down = np.empty(width, np.float32), np.empty(width, np.float32)
    to_axis, to_diagonal = np.empty(width, np.float32), np.empty(width, np.float32)
    axis, diagonal = np.empty(width, np.int64), np.empty(width, np.int64)
    for y in range(height):
        here, above, below = grey[y], grey[max(y - 1, 0)], grey[min(y + 1, height - 1)]
        scale = half if 0 < y < height - 1 else one
        for x in range(width):
            down[x] = (below[x] - above[x]) * scale
        for x in range(1, width - 1):
            right[x] = (here[x + 1] - here[x - 1]) * half
        right[0] = here[min(1, width - 1)] - here[0]
        right[width - 1] = here[width - 1] - here[max(width - 2, 0)]
        for x in range(width):
            dx, dy = right[x], down[x]
            wide, tall = abs(dx), abs(dy)
            larger, smaller = max(wide, tall), min(wide, tall)
            t = smaller / larger if larger > zero else zero
            s = t * t
            share = t * (
                _C0 + s * (_C1 + s * (_C2 + s * (_C3 + s * (_C4 + s * (_C5 + s * (_C6 + s * (_C7 + s * _C8)))))))
            )
            share = min(share, one)
            length = math.sqrt(dx * dx + dy * dy)
            to_axis[x] = length * (one - share)
            to_diagonal[x] = length * share
            horizontal = 0 if dx >= zero else 4
            vertical = 2 if dy >= zero else 6
            axis[x] = horizontal if wide >= tall else vertical
            upper = 7 if dx >= zero else 5
            lower = 1 if dx >= zero else 3
            diagonal[x] = lower if dy >= zero else upper
        energy = out[y]
        for x in range(width):
            for direction in range(8):
                energy[x, direction] = zero
            energy[x, axis[x]] = to_axis[x]
            energy[x, diagonal[x]] = to_diagonal[x]


@compiled(fastmath={"contract", "reassoc"})
def normalise(histograms: NDArray[np.float32], least_mass: float) -> None:
    """Scale rows to length one, clip at 0.2, scale again; rows whose sum is not above ``least_mass`` become zero."""
    n_rows, n_dims = histograms.shape
    ceiling, one, zero = np.float32(0.2), np.float32(1), np.float32(0)
    for i in range(n_rows):
        row = histograms[i]
        mass, squares = zero, zero
        for k in range(n_dims):
            mass += row[k]
            squares += row[k] * row[k]
        if mass <= least_mass:
            row[:] = zero
            continue
        scale = one / np.sqrt(squares)
        squares = zero
        for k in range(n_dims):
            value = min(row[k] * scale, ceiling)
            row[k] = value
            squares += value * value
        scale = one / np.sqrt(squares)
        for k in range(n_dims):
            row[k] *= scale


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
