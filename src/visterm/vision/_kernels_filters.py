"""Compiled filters: separable convolution of pictures, and of pictures of several lanes sampled on a lattice."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute.compiled import compiled


@compiled(fastmath={"contract"})
def convolve_both(picture: NDArray[np.float32], taps: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    """Convolve columns, then rows, of ``picture`` with symmetric odd ``taps``; border pixels are repeated outwards.

    NumPy: ``ndimage.correlate1d(ndimage.correlate1d(picture, taps, 0, mode="nearest"), taps, 1, mode="nearest")``.
    """
    height, width = picture.shape
    radius = len(taps) // 2
    column = np.empty(width + 2 * radius, np.float32)
    for y in range(height):
        inner = column[radius : radius + width]
        for x in range(width):
            inner[x] = taps[radius] * picture[y, x]
        for k in range(1, radius + 1):
            above, below, tap = picture[max(y - k, 0)], picture[min(y + k, height - 1)], taps[radius + k]
            for x in range(width):
                inner[x] += tap * (above[x] + below[x])
        column[:radius] = inner[0]
        column[radius + width :] = inner[width - 1]
        row = out[y]
        for x in range(width):
            row[x] = taps[radius] * column[radius + x]
        for k in range(1, radius + 1):
            left, right, tap = column[radius - k :], column[radius + k :], taps[radius + k]
            for x in range(width):
                row[x] += tap * (left[x] + right[x])


@compiled(fastmath={"contract"})
def sample_both(
    lanes: NDArray[Any],
    vertical: NDArray[Any],
    horizontal: NDArray[Any],
    first_row: int,
    first_column: int,
    spacing: int,
    repeat_border: bool,
    out: NDArray[Any],
) -> None:
    """Add to ``out[i, j]`` the lanes around pixel (i, j) * ``spacing``, weighted by the taps of both directions.

    Tap k belongs to the pixel ``first + k`` away. Pixels outside the picture repeat its border if ``repeat_border``,
    else they are zero. Only the samples are computed, each as a plain sum of products, so no rounding accumulates.
    """
    height, width, n_lanes = lanes.shape
    n_rows, n_columns, _ = out.shape
    summed = np.empty((width, n_lanes), lanes.dtype)
    # Pixels are sorted into `spacing` phases, so that one tap meets contiguous pixels for all samples of a row.
    n_steps = (len(horizontal) - 1) // spacing + n_columns
    phases = np.zeros((spacing, n_steps * n_lanes), lanes.dtype)
    for i in range(n_rows):
        summed[:] = 0
        for k in range(len(vertical)):
            y = i * spacing + first_row + k
            if repeat_border or 0 <= y < height:
                add_scaled(vertical[k], lanes[min(max(y, 0), height - 1)].ravel(), summed.ravel())
        for phase in range(spacing):
            for step in range(n_steps):
                x = step * spacing + phase + first_column
                if repeat_border or 0 <= x < width:
                    pixel, place = summed[min(max(x, 0), width - 1)], phases[phase, step * n_lanes :]
                    for lane in range(n_lanes):
                        place[lane] = pixel[lane]
        row = out[i].ravel()
        for k in range(len(horizontal)):
            add_scaled(horizontal[k], phases[k % spacing, k // spacing * n_lanes :], row)


@compiled(fastmath={"contract"})
def add_scaled(factor: float, source: NDArray[Any], target: NDArray[Any]) -> None:
    """``target += factor * source[: len(target)]``, in one pass."""
    for i in range(len(target)):
        target[i] += factor * source[i]


@compiled(fastmath={"contract"})
def gather_cells(
    lattice: NDArray[np.float32], step: int, reach: int, weights: NDArray[np.float32], out: NDArray[np.float32]
) -> None:
    """Collect the cells of every patch, weighted by their row and column, from cells sampled on a lattice.

    Patches are ``step`` and the cells of a patch ``reach`` lattice points apart. NumPy:
    ``out[i, j, a, b] = weights[a] * weights[b] * lattice[i * step + a * reach, j * step + b * reach]``.
    """
    n_rows, n_columns, n_cells, _, n_lanes = out.shape
    for i in range(n_rows):
        for j in range(n_columns):
            for a in range(n_cells):
                for b in range(n_cells):
                    cell, place = lattice[i * step + a * reach, j * step + b * reach], out[i, j, a, b]
                    weight = weights[a] * weights[b]
                    for lane in range(n_lanes):
                        place[lane] = weight * cell[lane]
