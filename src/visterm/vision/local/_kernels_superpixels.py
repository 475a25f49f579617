"""Compiled parts of superpixels: k-means of colour and position, and connected parts of its result."""

from __future__ import annotations

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
