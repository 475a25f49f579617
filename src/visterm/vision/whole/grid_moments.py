"""Colour moments on a grid: the distribution of colours in each part of a picture, in three numbers per channel."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.vision._global_inputs import spans, whole_colours
from visterm.vision.colour import to_lab

#: Cells per side of the grid.
GRID = 5


def grid_colour_moments(rgb: ArrayLike) -> NDArray[np.float32]:
    """Mean, deviation and skewness of L*, a* and b* in each cell of a 5 x 5 grid: 225 numbers.

    Stricker & Orengo, "Similarity of color images", 1995: the square root of the second and the cube root of the third
    central moment, so that all three are in units of colour. Entries are ordered by row and column of the cell,
    channel, moment. If a picture is smaller than the grid, neighbouring cells share pixels. ``rgb`` is (height,
    width, 3), ``uint8`` from 0 to 255 or float from 0 to 1.

    >>> white = grid_colour_moments(np.full((10, 10, 3), 255, np.uint8)).reshape(5, 5, 3, 3)
    >>> bool(np.allclose(white[..., 0, :], [100, 0, 0], atol=1e-3))
    True
    """
    lab = to_lab(whole_colours(rgb)).astype(np.float64)
    height, width, _ = lab.shape
    moments = np.empty((GRID, GRID, 3, 3))
    for i, rows in enumerate(spans(height, GRID)):
        for j, columns in enumerate(spans(width, GRID)):
            pixels = lab[rows, columns].reshape(-1, 3)
            mean = pixels.mean(axis=0)
            centred = pixels - mean
            squares = centred * centred
            third = np.einsum("pc,pc->c", squares, centred) / len(pixels)
            moments[i, j] = np.column_stack((mean, np.sqrt(squares.mean(axis=0)), np.cbrt(third)))
    return moments.astype(np.float32).ravel()
