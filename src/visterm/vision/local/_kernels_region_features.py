"""Compiled parts of region features: sums over regions, their boundaries and hulls, and oriented filters."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from visterm.compute.compiled import compiled


@compiled
def add_moments(
    regions: NDArray[np.int32], plane: NDArray[np.float32], sums: NDArray[np.float64], squares: NDArray[np.float64]
) -> None:
    """Add every pixel of ``plane`` to the sum, and its square to the sum of squares, of its region.

    NumPy: ``np.add.at(sums, regions, plane); np.add.at(squares, regions, plane.astype(float) ** 2)``.
    """
    height, width = regions.shape
    for y in range(height):
        for x in range(width):
            value = np.float64(plane[y, x])
            sums[regions[y, x]] += value
            squares[regions[y, x]] += value * value


@compiled
def boundary_lengths(regions: NDArray[np.int32], n: int) -> NDArray[np.float64]:
    """How many sides of pixels each region shares with other regions or with the outside of the picture."""
    height, width = regions.shape
    lengths = np.zeros(n)
    for y in range(height):
        for x in range(width):
            region = regions[y, x]
            for ny, nx in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
                if not (0 <= ny < height and 0 <= nx < width) or regions[ny, nx] != region:
                    lengths[region] += 1
    return lengths


@compiled
def hull_areas(regions: NDArray[np.int32], n: int) -> NDArray[np.float64]:
    """Areas of the convex hulls of the regions; pixels are unit squares."""
    height, width = regions.shape
    # The outermost corners of each region on each line between rows; if there are none, left is beyond right.
    left, right = np.full((n, height + 1), width + 1), np.full((n, height + 1), -1)
    for y in range(height):
        for x in range(width):
            region = regions[y, x]
            for line in (y, y + 1):
                left[region, line] = min(left[region, line], x)
                right[region, line] = max(right[region, line], x + 1)
    areas = np.empty(n)
    lines = np.empty(height + 1, np.int64)
    for region in range(n):
        n_lines = 0
        for line in range(height + 1):
            if left[region, line] <= right[region, line]:
                lines[n_lines] = line
                n_lines += 1
        taken = lines[:n_lines]
        # Mirrored, the right side becomes a left side: the area lies between the two.
        areas[region] = -_left_of_hull(left[region], taken) - _left_of_hull(-right[region], taken)
    return areas


@compiled
def _left_of_hull(corners: NDArray[np.int64], lines: NDArray[np.int64]) -> float:
    """The area between x = 0 and the left side of the convex hull of the points (``corners[y]``, y), y in ``lines``."""
    chain = np.empty(len(lines), np.int64)
    n_chain = 0
    for y in lines:
        while n_chain > 1:
            y0, y1 = chain[n_chain - 2], chain[n_chain - 1]
            # A corner on the straight line between its neighbours, or right of it, is inside.
            if (corners[y1] - corners[y0]) * (y - y0) < (corners[y] - corners[y0]) * (y1 - y0):
                break
            n_chain -= 1
        chain[n_chain] = y
        n_chain += 1
    area = 0.0
    for k in range(n_chain - 1):
        area += 0.5 * (corners[chain[k]] + corners[chain[k + 1]]) * (chain[k + 1] - chain[k])
    return area


@compiled(fastmath={"contract"})
def oriented_energy(blurred: NDArray[np.float32], sigma: float, angle: float, out: NDArray[np.float32]) -> None:
    """The root of the summed squares of first and second derivative along ``angle``, in units of ``sigma`` pixels.

    Derivatives are central differences of the ``blurred`` picture, its border repeated outwards.
    """
    height, width = blurred.shape
    along_x, along_y = math.cos(angle) * sigma, math.sin(angle) * sigma
    first_x, first_y = np.float32(0.5 * along_x), np.float32(0.5 * along_y)
    second_xx, second_yy = np.float32(along_x * along_x), np.float32(along_y * along_y)
    second_xy = np.float32(0.5 * along_x * along_y)  # twice the mixed derivative, a quarter of the four corners
    for y in range(height):
        above, row, below = blurred[max(y - 1, 0)], blurred[y], blurred[min(y + 1, height - 1)]
        for x in range(width):
            west, east = max(x - 1, 0), min(x + 1, width - 1)
            first = first_x * (row[east] - row[west]) + first_y * (below[x] - above[x])
            second = (
                second_xx * (row[east] - 2 * row[x] + row[west])
                + second_yy * (below[x] - 2 * row[x] + above[x])
                + second_xy * (below[east] - below[west] - above[east] + above[west])
            )
            out[y, x] = math.sqrt(first * first + second * second)
