"""Dense SIFT: histograms of gradient directions in the 4 x 4 cells of patches on a regular grid."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.errors import InputError
from visterm.vision._filters import sample, smooth, triangle
from visterm.vision.colour import colour_picture, grey_picture, to_opponent
from visterm.vision.local.grid import CELLS, Grid, count_patches, gather, grids, stack_frames, with_rows

#: Directions per cell.
DIRECTIONS = 8
#: Standard deviation of the Gaussian window over a patch, in cells.
_WINDOW = 2.0


def dense_sift(
    grey: ArrayLike,
    step: int | Sequence[int] = 4,
    bin_sizes: Sequence[int] = (4, 6, 8, 10, 12),
    *,
    magnification: float | None = 6.0,
    fast: bool = True,
    contrast_threshold: float = 0.005,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """SIFT descriptors of upright patches of 4 ``bin_sizes`` pixels, ``step`` pixels apart.

    ``grey`` is (height, width), ``uint8`` from 0 to 255 or float from 0 to 1. For cells of ``bin_size`` pixels, the
    picture is first blurred to the scale at which SIFT keypoints have such cells: by a Gaussian of
    ``sqrt((bin_size / magnification)^2 - 1/4)`` pixels, since a picture is assumed to have a blur of half a pixel
    already; None means no blur. Gradients are weighted by a Gaussian window around the centre of the patch: with
    ``fast``, whole cells by the mean of the window over them, else every gradient separately, at several times the
    cost. Patches whose mean gradient is not above ``contrast_threshold`` get a descriptor of zeros.

    Returns ``frames`` (n, 3), the centre x, y and the side of every patch in pixels (see
    :mod:`visterm.vision.local.grid`), and ``descriptors`` (n, 128). Bin ``(4 * row + column) * 8 + direction`` belongs
    to the cell at ``row`` and ``column`` of the patch, counted from the top left, and to gradients towards brighter
    pixels that point ``direction * 45`` degrees from right towards down. Descriptors have length one after clipping at
    0.2. Order, positions and values follow VLFeat's ``dsift``.

    >>> picture = np.tile(np.arange(0, 256, 8, dtype=np.uint8), (32, 1))  # brighter to the right
    >>> frames, descriptors = dense_sift(picture, bin_sizes=[8], magnification=None)
    >>> frames
    array([[12., 12., 32.],
           [16., 12., 32.],
           [12., 16., 32.],
           [16., 16., 32.]], dtype=float32)
    >>> descriptors.shape, np.unique(descriptors.nonzero()[1] % 8).tolist()
    ((4, 128), [0])
    """
    picture = grey_picture(grey)
    if magnification is not None and not magnification > 0:
        raise InputError(f"the magnification must be a positive number, or None for no blur, not {magnification}")
    if not contrast_threshold >= 0:
        raise InputError(f"the contrast threshold must be zero or positive, not {contrast_threshold}")
    from visterm.vision.local import _kernels_patches

    all_grids = grids(picture.shape, step, bin_sizes)
    descriptors = np.empty((count_patches(all_grids), CELLS * CELLS * DIRECTIONS), np.float32)
    energy, energy_sigma = np.empty((*picture.shape, DIRECTIONS), np.float32), None
    for grid, rows in with_rows(all_grids):
        sigma = 0.0 if magnification is None else max(0.0, (grid.bin_size / magnification) ** 2 - 0.25) ** 0.5
        if sigma != energy_sigma:
            _kernels_patches.oriented_energy(smooth(picture, sigma), energy)
            energy_sigma = sigma
        fill = _fill_flat if fast else _fill_gaussian
        fill(energy, grid, descriptors[rows].reshape(*grid.shape, CELLS, CELLS, DIRECTIONS))
        side = (CELLS - 1) * grid.bin_size + 1
        _kernels_patches.normalise(descriptors[rows], contrast_threshold * side**2)
    return stack_frames(all_grids), descriptors


def root_sift(descriptors: ArrayLike) -> NDArray[np.float32]:
    """Descriptors whose dot products are the Hellinger kernel of the given ones: square roots of shares of the sum.

    Arandjelovic & Zisserman, CVPR 2012. Descriptors of zeros stay zero.

    >>> root_sift(np.array([[1, 3], [0, 0]], np.float32)).tolist()
    [[0.5, 0.8660253882408142], [0.0, 0.0]]
    """
    histograms = np.asarray(descriptors, np.float32)
    if histograms.size and not histograms.min() >= 0:
        raise InputError("RootSIFT takes the square root of descriptors: none may be negative or NaN")
    sums = histograms.sum(axis=-1, keepdims=True)
    return np.sqrt(histograms / np.where(sums > 0, sums, np.float32(1)))


def opponent_sift(
    rgb: ArrayLike, step: int | Sequence[int] = 4, bin_sizes: Sequence[int] = (4, 6, 8, 10, 12)
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """RootSIFT of the intensity and of the two opponent colours side by side, at the patches of :func:`dense_sift`.

    Van de Sande, Gevers & Snoek, PAMI 2010. ``rgb`` is (height, width, 3), ``uint8`` from 0 to 255 or float from 0 to
    1. Returns ``frames`` (n, 3) and ``descriptors`` (n, 384) of at most unit length.

    >>> opponent_sift(np.zeros((32, 32, 3), np.uint8), bin_sizes=[8])[1].shape
    (4, 384)
    """
    red_green, yellow_blue, intensity = np.moveaxis(to_opponent(colour_picture(rgb)), 2, 0)
    described = [dense_sift(channel, step, bin_sizes) for channel in (intensity, red_green, yellow_blue)]
    rows = np.concatenate([root_sift(descriptors) for _, descriptors in described], axis=1)
    rows /= np.float32(3**0.5)
    return described[0][0], rows


def _fill_flat(energy: NDArray[np.float32], grid: Grid, out: NDArray[np.float32]) -> None:
    """Histograms of cells with overlapping triangular weights, shared between patches; each cell has one weight."""
    size = grid.bin_size
    taps, first = triangle(size), 1 - size
    lattice = sample(energy, (taps, taps), (first, first), grid.spacing, grid.lattice_shape, repeat_border=True)
    gather(lattice, grid, out, [_window(size, cell).mean() for cell in range(CELLS)])


def _fill_gaussian(energy: NDArray[np.float32], grid: Grid, out: NDArray[np.float32]) -> None:
    """Histograms in which every gradient is weighted by the Gaussian window: each of the 16 cells has its own taps."""
    size = grid.bin_size
    taps = [triangle(size) * _window(size, cell) for cell in range(CELLS)]
    for row in range(CELLS):
        for column in range(CELLS):
            first = (row * size + 1 - size, column * size + 1 - size)
            out[:, :, row, column] = sample(
                energy, (taps[row], taps[column]), first, grid.step, grid.shape, repeat_border=True
            )


def _window(bin_size: int, cell: int) -> NDArray[np.float64]:
    """The Gaussian window of a patch at the pixels less than ``bin_size`` from the centre of its ``cell``-th cell."""
    from_patch_centre = np.arange(1 - bin_size, bin_size) + bin_size * (cell - 0.5 * (CELLS - 1))
    return np.asarray(np.exp(-0.5 * (from_patch_centre / (bin_size * _WINDOW)) ** 2))
