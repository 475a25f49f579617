"""Compiled parts of segmentation (superpixels, and merging those that touch) and of the features of regions."""

import math

import numpy as np
from numpy.typing import NDArray

from visterm.compute.compiled import compiled


@compiled(fastmath={"contract"})
def slic(lab: NDArray[np.float32], spacing: float, compactness: float, n_rounds: int) -> NDArray[np.int32]:
    """Simple linear iterative clustering (Achanta et al., PAMI 2012): labels (height, width), not yet connected.

    Clusters start on a grid of ``spacing`` pixels and take pixels up to that distance. The distance measure is the
    squared difference in colour plus ``compactness``² times the squared difference in position, in units of
    ``spacing``. Of equally near clusters, the first wins.
    """
    height, width, _ = lab.shape
    n_rows, n_columns = max(1, round(height / spacing)), max(1, round(width / spacing))
    n_clusters = n_rows * n_columns
    # Columns: lightness, a*, b*, y, x.
    centres = np.empty((n_clusters, 5), np.float32)
    for k in range(n_clusters):
        y = int((k // n_columns + 0.5) * height / n_rows)
        x = int((k % n_columns + 0.5) * width / n_columns)
        centres[k, :3] = lab[y, x]
        centres[k, 3], centres[k, 4] = y, x
    reach = int(np.ceil(spacing))
    weight = np.float32((compactness / spacing) ** 2)
    labels = np.zeros((height, width), np.int32)
    nearest = np.empty((height, width), np.float32)
    sums = np.empty((n_clusters, 6))
    for _ in range(n_rounds):
        nearest[:] = np.inf
        for k in range(n_clusters):
            lightness, a, b, cy, cx = centres[k]
            for y in range(max(0, int(cy) - reach), min(height, int(cy) + reach + 1)):
                away = (y - cy) * (y - cy)
                for x in range(max(0, int(cx) - reach), min(width, int(cx) + reach + 1)):
                    d0, d1, d2 = lab[y, x, 0] - lightness, lab[y, x, 1] - a, lab[y, x, 2] - b
                    distance = d0 * d0 + d1 * d1 + d2 * d2 + weight * (away + (x - cx) * (x - cx))
                    if distance < nearest[y, x]:
                        nearest[y, x] = distance
                        labels[y, x] = k
        sums[:] = 0
        for y in range(height):
            for x in range(width):
                total = sums[labels[y, x]]
                total[0] += lab[y, x, 0]
                total[1] += lab[y, x, 1]
                total[2] += lab[y, x, 2]
                total[3] += y
                total[4] += x
                total[5] += 1
        for k in range(n_clusters):
            if sums[k, 5] > 0:
                centres[k] = (sums[k, :5] / sums[k, 5]).astype(np.float32)
    return labels


@compiled
def connected(labels: NDArray[np.int32], least: int) -> tuple[NDArray[np.int32], int]:
    """Number the parts of equal label that are connected by pixel sides; returns how many there are.

    Parts of fewer than ``least`` pixels join the part above or left of their first pixel, if there is one.
    """
    height, width = labels.shape
    parts = np.full((height, width), -1, np.int32)
    member = np.empty(labels.size, np.int64)
    n_parts = 0
    for first in range(labels.size):
        y0, x0 = first // width, first % width
        if parts[y0, x0] >= 0:
            continue
        member[0] = first
        parts[y0, x0] = n_parts
        n_members, i = 1, 0
        while i < n_members:
            y, x = member[i] // width, member[i] % width
            i += 1
            for ny, nx in ((y - 1, x), (y, x - 1), (y, x + 1), (y + 1, x)):
                inside = 0 <= ny < height and 0 <= nx < width
                if inside and parts[ny, nx] < 0 and labels[ny, nx] == labels[y0, x0]:
                    parts[ny, nx] = n_parts
                    member[n_members] = ny * width + nx
                    n_members += 1
        if n_members < least and n_parts > 0:
            # Pixels are visited row by row: those above or left of the first one already have a part.
            joined = parts[y0 - 1, x0] if y0 > 0 else parts[y0, x0 - 1]
            for j in range(n_members):
                parts[member[j] // width, member[j] % width] = joined
        else:
            n_parts += 1
    return parts, n_parts


@compiled
def borders(
    labels: NDArray[np.int32], contrast: NDArray[np.float32], length: NDArray[np.float32], strength: NDArray[np.float32]
) -> None:
    """For every two labels, sum the pixel sides they share and the ``contrast`` of the pixels along them."""
    height, width = labels.shape
    for y in range(height):
        for x in range(width):
            i = labels[y, x]
            for ny, nx in ((y, x + 1), (y + 1, x)):
                if ny < height and nx < width and labels[ny, nx] != i:
                    j = labels[ny, nx]
                    step = max(contrast[y, x], contrast[ny, nx])
                    length[i, j] += 1
                    length[j, i] += 1
                    strength[i, j] += step
                    strength[j, i] += step


@compiled
def merge(
    sizes: NDArray[np.float64],
    means: NDArray[np.float64],
    length: NDArray[np.float32],
    strength: NDArray[np.float32],
    n_regions: int,
    least: float,
    flat: float,
) -> NDArray[np.int32]:
    """Merge touching regions, the cheapest pair first, down to ``n_regions``; returns the region of each superpixel.

    ``sizes`` are in pixels, ``means`` (n, n_features) in units comparable between features. When 3 ``n_regions``
    regions are left, all smaller than ``least`` are merged before any other. Pairs that differ by less than ``flat``
    are merged even below ``n_regions``. The given arrays are overwritten.
    """
    n = len(sizes)
    region = np.arange(n).astype(np.int32)
    alive = np.ones(n, np.bool_)
    total = sizes.sum()
    costs = np.full((n, n), np.inf, np.float32)
    for i in range(n):
        for j in range(i):
            if length[i, j] > 0:
                costs[i, j] = costs[j, i] = _cost(i, j, sizes, means, length, strength, total)
    cheapest = np.zeros(n, np.int64)
    for i in range(n):
        cheapest[i] = np.argmin(costs[i])
    n_alive = n
    while n_alive > 1:
        one, smallest = -1, -1
        for i in range(n):
            if alive[i]:
                if one < 0 or costs[i, cheapest[i]] < costs[one, cheapest[one]]:
                    one = i
                if smallest < 0 or sizes[i] < sizes[smallest]:
                    smallest = i
        if n_alive <= 3 * n_regions and sizes[smallest] < least:
            one = smallest
        elif n_alive <= n_regions and _difference(one, cheapest[one], means) > flat:
            break
        other = cheapest[one]
        if other < one:
            one, other = other, one
        share = sizes[other] / (sizes[one] + sizes[other])
        means[one] += share * (means[other] - means[one])
        sizes[one] += sizes[other]
        alive[other] = False
        n_alive -= 1
        for i in range(n):
            if region[i] == other:
                region[i] = one
        _join_borders(one, other, length, strength, costs)
        for j in range(n):
            if length[one, j] > 0:
                costs[one, j] = costs[j, one] = _cost(one, j, sizes, means, length, strength, total)
        for j in range(n):
            if alive[j] and (j == one or length[one, j] > 0 or cheapest[j] == other):
                cheapest[j] = np.argmin(costs[j])
    return region


@compiled
def _join_borders(
    one: int, other: int, length: NDArray[np.float32], strength: NDArray[np.float32], costs: NDArray[np.float32]
) -> None:
    """Region ``one`` gets the borders of ``other``, which has none afterwards."""
    for j in range(len(length)):
        if j != one and length[other, j] > 0:
            length[one, j] += length[other, j]
            length[j, one] = length[one, j]
            strength[one, j] += strength[other, j]
            strength[j, one] = strength[one, j]
        length[other, j] = length[j, other] = 0
        costs[other, j] = costs[j, other] = np.inf


@compiled
def _difference(i: int, j: int, means: NDArray[np.float64]) -> float:
    squared = 0.0
    for f in range(means.shape[1]):
        squared += (means[i, f] - means[j, f]) ** 2
    return np.sqrt(squared)


@compiled
def _cost(
    i: int,
    j: int,
    sizes: NDArray[np.float64],
    means: NDArray[np.float64],
    length: NDArray[np.float32],
    strength: NDArray[np.float32],
    total: float,
) -> float:
    """The geometric mean of the difference of both and the contrast along their border, weighted by size.

    Difference alone cuts a sky that fades from top to bottom; contrast alone lets a region leak through a gap. The root
    of Ward's size factor keeps single superpixels from remaining as regions; the full factor would make all regions
    about equally large.
    """
    ward = sizes[i] * sizes[j] / ((sizes[i] + sizes[j]) * total)
    contrast = strength[i, j] / length[i, j]
    # About the size of the noise is added to both, so that the cost is not zero if one of the two vanishes by chance.
    return np.sqrt(ward * (_difference(i, j, means) + 1) * (contrast + 0.5))


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
