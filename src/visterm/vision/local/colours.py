"""Dense colours: histograms of hue, and statistics of colours, of patches on a regular grid."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.errors import InputError
from visterm.vision._filters import coverage, sample
from visterm.vision.colour import colour_picture, to_opponent
from visterm.vision.local.grid import CELLS, Grid, count_patches, gather, grids, stack_frames, with_rows

#: Values per cell: mean and deviation of red, green and blue.
_STATISTICS = 6
#: Variances below this share of the mean square are rounding, not texture.
_ROUNDING = 1e-12


def dense_hue(
    rgb: ArrayLike,
    step: int | Sequence[int] = 4,
    bin_sizes: Sequence[int] = (4, 6, 8, 10, 12),
    *,
    n_hues: int = 36,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Hue histograms of the patches of :func:`~visterm.vision.local.sift.dense_sift`, row by row.

    Van de Weijer & Schmid, ECCV 2006. The lower the saturation, the less certain the hue, so every pixel is weighted by
    its saturation. It counts for the two nearest hues, in proportion to its nearness. A pixel on the edge of a patch
    counts by the share inside; parts of the patch outside the picture do not count. ``rgb`` is (height, width, 3),
    ``uint8`` from 0 to 255 or float from 0 to 1.

    Returns ``frames`` (n, 3), centre x, y and side in pixels, and ``histograms`` (n, ``n_hues``) of length one, or
    zeros if there is no colour. Hue k is k / ``n_hues`` of a turn in the plane of opponent colours, from yellow (0) via
    red and blue to green.

    >>> yellow = np.full((13, 13, 3), (200, 200, 0), np.uint8)
    >>> dense_hue(yellow, bin_sizes=[4], n_hues=4)[1].tolist()
    [[1.0, 0.0, 0.0, 0.0]]
    """
    if n_hues < 2:
        raise InputError(f"a hue histogram needs at least 2 hues, not {n_hues}")
    picture = colour_picture(rgb)
    all_grids = grids(picture.shape[:2], step, bin_sizes)
    lanes = _shared_saturation(picture, n_hues)
    histograms = np.empty((count_patches(all_grids), n_hues), np.float32)
    for grid, rows in with_rows(all_grids):
        first, taps = coverage(CELLS * grid.bin_size, -grid.bin_size / 2)
        sums = sample(lanes, (taps, taps), (first, first), grid.step, grid.shape, repeat_border=False)
        histograms[rows] = sums.reshape(-1, n_hues)
    lengths = np.sqrt(np.einsum("ij,ij->i", histograms, histograms))
    histograms /= np.where(lengths > 0, lengths, np.float32(1))[:, None]
    return stack_frames(all_grids), histograms


def _shared_saturation(picture: NDArray[np.float32], n_hues: int) -> NDArray[np.float32]:
    """The saturation of every pixel, shared between the two nearest of ``n_hues`` hues."""
    first_opponent, second_opponent, _ = np.moveaxis(to_opponent(picture), 2, 0)
    saturation = np.hypot(first_opponent, second_opponent)
    position = np.arctan2(first_opponent, second_opponent) * np.float32(n_hues / (2 * math.pi)) % np.float32(n_hues)
    below = np.floor(position).astype(np.int64)
    share = position - below
    lanes = np.zeros((*saturation.shape, n_hues), np.float32)
    np.put_along_axis(lanes, (below % n_hues)[..., None], ((1 - share) * saturation)[..., None], axis=2)
    np.put_along_axis(lanes, ((below + 1) % n_hues)[..., None], (share * saturation)[..., None], axis=2)
    return lanes


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
