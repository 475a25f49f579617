"""Local colour statistics: mean and deviation of each colour in the 4 x 4 cells of patches on a regular grid."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.vision._filters import coverage, sample
from visterm.vision.colour import colour_picture
from visterm.vision.local.grid import CELLS, Grid, count_patches, gather, grids, stack_frames, with_rows

#: Values per cell: mean and deviation of red, green and blue.
_STATISTICS = 6
#: Variances below this share of the mean square are rounding, not texture.
_ROUNDING = 1e-12


def local_colour_statistics(
    rgb: ArrayLike,
    step: int | Sequence[int] = 4,
    bin_sizes: Sequence[int] = (4, 6, 8, 10, 12),
    *,
    power: bool = True,
    l2: bool = True,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Colour descriptors of the patches of :func:`~visterm.vision.local.sift.dense_sift`, row by row.

    Clinchant et al., ImagEVAL 2007. ``rgb`` is (height, width, 3), ``uint8`` from 0 to 255 or float from 0 to 1.
    ``power`` takes signed square roots; ``l2`` then scales rows to length one (black patches stay zero). Both together
    were best in Lapin et al., CVPR 2014. Cells are squares of ``bin_size`` pixels. A pixel on the edge of a cell counts
    by the share inside; parts of a cell outside the picture do not count.

    Returns ``frames`` (n, 3), centre x, y and side in pixels, and ``descriptors`` (n, 96). Value
    ``(4 * row + column) * 6 + colour`` is the mean of red, green or blue in a cell; the value 3 places later is its
    deviation.

    >>> orange = np.full((20, 20, 3), (255, 128, 0), np.uint8)
    >>> frames, descriptors = local_colour_statistics(orange, bin_sizes=[4], power=False, l2=False)
    >>> frames[0].tolist(), descriptors.shape, descriptors[0, :6].round(3).tolist()
    ([6.0, 6.0, 16.0], (4, 96), [1.0, 0.5019999742507935, 0.0, 0.0, 0.0, 0.0])
    """
    picture = colour_picture(rgb)
    all_grids = grids(picture.shape[:2], step, bin_sizes)
    # Sums of squares are accurate enough in float64 to be subtracted from each other.
    colours = picture.astype(np.float64)
    lanes = np.concatenate((colours, colours**2, np.ones((*picture.shape[:2], 1))), axis=2)
    descriptors = np.empty((count_patches(all_grids), CELLS * CELLS * _STATISTICS), np.float32)
    for grid, rows in with_rows(all_grids):
        gather(_statistics(lanes, grid), grid, descriptors[rows].reshape(*grid.shape, CELLS, CELLS, _STATISTICS))
    if power:
        np.copysign(np.sqrt(np.abs(descriptors)), descriptors, out=descriptors)
    if l2:
        lengths = np.sqrt(np.einsum("ij,ij->i", descriptors, descriptors))
        descriptors /= np.where(lengths > 0, lengths, np.float32(1))[:, None]
    return stack_frames(all_grids), descriptors


def _statistics(lanes: NDArray[np.float64], grid: Grid) -> NDArray[np.float32]:
    """Means and deviations of cells at every point of the grid's lattice."""
    first, taps = coverage(grid.bin_size, -grid.bin_size / 2)
    sums = sample(lanes, (taps, taps), (first, first), grid.spacing, grid.lattice_shape, repeat_border=False)
    sums /= sums[..., 6:].copy()
    means, squares = sums[..., :3], sums[..., 3:6]
    variances = squares - means**2
    deviations = np.sqrt(np.where(variances > _ROUNDING * squares, variances, 0))
    return np.concatenate((means, deviations), axis=2, dtype=np.float32)
