"""Compiled parts of segmentation: finding superpixels that touch, and merging the most similar ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from visterm.compute.compiled import compiled


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
