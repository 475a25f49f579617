"""Filters of pictures: blurring, and sums around the points of a lattice."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


def smooth(picture: NDArray[np.float32], sigma: float) -> NDArray[np.float32]:
    """``picture`` blurred by a Gaussian of ``sigma`` pixels, cut at four sigma; the border is repeated outwards."""
    from visterm.vision import _kernels_filters

    radius = math.ceil(4 * sigma)
    if radius == 0 or picture.size == 0:
        return picture
    taps = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    blurred = np.empty_like(picture)
    _kernels_filters.convolve_both(picture, (taps / taps.sum()).astype(np.float32), blurred)
    return blurred


def triangle(bin_size: int) -> NDArray[np.float32]:
    """Weights that fall linearly from one at a pixel to zero ``bin_size`` pixels away: bilinear interpolation.

    >>> triangle(2)
    array([0.5, 1. , 0.5], dtype=float32)
    """
    return (1 - np.abs(np.arange(1 - bin_size, bin_size)) / bin_size).astype(np.float32)


def coverage(length: int, offset: float) -> tuple[int, NDArray[np.float64]]:
    """How much of each pixel lies in an interval of ``length`` pixels that begins ``offset`` from a pixel's centre.

    Returns the distance to the first pixel touched, and the shares.

    >>> coverage(2, -1.0)
    (-1, array([0.5, 1. , 0.5]))
    >>> coverage(3, -1.5)
    (-1, array([1., 1., 1.]))
    """
    first = math.floor(offset + 0.5)
    last = math.ceil(offset + length - 0.5)
    pixels = np.arange(first, last + 1)
    return first, np.minimum(pixels + 0.5, offset + length) - np.maximum(pixels - 0.5, offset)


def sample(
    lanes: NDArray[Any],
    taps: tuple[NDArray[Any], NDArray[Any]],
    first: tuple[int, int],
    spacing: int,
    shape: tuple[int, int],
    *,
    repeat_border: bool,
) -> NDArray[Any]:
    """Weighted sums of ``lanes`` (height, width, n_lanes) around every ``spacing``-th pixel: (\\*shape, n_lanes).

    ``taps`` and the distance ``first`` of their first pixel are given for the vertical and for the horizontal
    direction. Pixels beyond the border repeat the border pixel if ``repeat_border``, else they are zero.
    """
    from visterm.vision import _kernels_filters

    out = np.zeros((*shape, lanes.shape[2]), lanes.dtype)
    if out.size:
        vertical, horizontal = (np.ascontiguousarray(each, lanes.dtype) for each in taps)
        _kernels_filters.sample_both(lanes, vertical, horizontal, *first, spacing, repeat_border, out)
    return out
