"""Local binary patterns, and histograms of patterns and colours in blocks."""

from operator import index

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.errors import InputError
from visterm.vision.colour import colour_picture, grey_picture, to_grey, unit_rgb

#: Labels of uniform patterns of 8 points: 58 patterns of at most two changes around the circle, and one for the rest.
N_PATTERNS = 59
#: Radius of the circle in pixels.
RADIUS = 2


def lbp_codes(grey: ArrayLike) -> NDArray[np.uint8]:
    """Uniform local binary patterns LBP(8, 2) of a (height, width) picture: labels (height - 4, width - 4).

    Ojala et al., PAMI 2002. Eight points on a circle of radius 2, bilinearly interpolated, are compared with the pixel
    at its centre; bit k is set when the point at k * 45 degrees (from right towards up) is not darker. The 58 patterns
    with at most two changes around the circle are labelled 0 to 57 in increasing order, all others 58. The outermost
    two rows and columns have no complete circle and therefore no label.

    >>> lbp_codes(np.zeros((5, 5)))  # nothing is darker than the centre: the last uniform pattern
    array([[57]], dtype=uint8)
    """
    picture = grey_picture(grey)
    from visterm.vision.local import _kernels_patches

    height, width = (max(0, side - 2 * RADIUS) for side in picture.shape)
    patterns = np.empty((height, width), np.uint8)
    _kernels_patches.circle_patterns(picture.astype(np.float64, order="C"), patterns)
    return _uniform_labels()[patterns]


def lbp_blocks(
    picture: ArrayLike, block: int = 64, *, palette: ArrayLike | None = None, colours: ArrayLike | None = None
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Square blocks with half overlap, each with its histogram of local binary patterns and of colours.

    The visterms of PAMIR (Grangier & Bengio, PAMI 2008) are clusters of these, with a ``palette`` (n_colours, 3) of 50
    typical colours; a pixel counts for the nearest one. ``picture`` is grey (height, width) or RGB (height, width, 3),
    ``uint8`` from 0 to 255 or float from 0 to 1; a palette needs RGB. If the palette's colour space is not RGB,
    ``colours`` is the picture in that space, scaled from 0 to 1.

    Returns ``frames`` (n, 3), centre x, y and side in pixels, row by row from the top left, and ``histograms``
    (n, 59 + n_colours): shares of patterns, then shares of colours.

    >>> red_and_blue = np.array([[1.0, 0, 0], [0, 0, 1.0]])
    >>> frames, histograms = lbp_blocks(np.full((64, 96, 3), (180, 0, 0), np.uint8), palette=red_and_blue)
    >>> frames.tolist(), histograms[:, 59:].tolist()
    ([[31.5, 31.5, 64.0], [63.5, 31.5, 64.0]], [[1.0, 0.0], [1.0, 0.0]])
    """
    array = np.asarray(picture)
    try:
        block = index(block)
    except TypeError as error:
        raise InputError(f"the side of a block must be a whole number of pixels, not {block!r}") from error
    if block <= 2 * RADIUS:
        raise InputError(f"a block of {block} pixels is too small for a pattern: use at least {2 * RADIUS + 1}")
    codes = lbp_codes(to_grey(colour_picture(array)) if array.ndim == 3 else array)
    coloured = array if colours is None else colours
    nearest = None if palette is None else palette_indices(colour_picture(coloured), palette)
    n_colours = 0 if palette is None else len(np.asarray(palette))

    tops, lefts = (range(0, side - block + 1, block // 2) for side in array.shape[:2])
    histograms = np.empty((len(tops) * len(lefts), N_PATTERNS + n_colours), np.float32)
    frames = np.empty((len(histograms), 3), np.float32)
    blocks = ((top, left) for top in tops for left in lefts)
    for i, (top, left) in enumerate(blocks):
        frames[i] = left + (block - 1) / 2, top + (block - 1) / 2, block
        # Codes begin RADIUS pixels into the picture.
        of_block = codes[max(0, top - RADIUS) : top - RADIUS + block, max(0, left - RADIUS) : left - RADIUS + block]
        histograms[i, :N_PATTERNS] = _shares(of_block, N_PATTERNS)
        if nearest is not None:
            histograms[i, N_PATTERNS:] = _shares(nearest[top : top + block, left : left + block], n_colours)
    return frames, histograms


def palette_indices(rgb: ArrayLike, palette: ArrayLike) -> NDArray[np.int64]:
    """For every pixel of ``rgb``, the nearest row of ``palette`` (n_colours, 3); the first one of equals.

    >>> palette_indices(np.zeros((1, 2, 3), np.uint8), [[1.0, 1, 1], [0, 0, 0.2]]).tolist()
    [[1, 1]]
    """
    picture, colours = unit_rgb(rgb), unit_rgb(palette)
    if colours.ndim != 2 or len(colours) == 0:
        raise InputError(f"a palette must have shape (n_colours, 3), not {colours.shape}")
    if colours.min() < 0 or colours.max() > 1:
        raise InputError("a palette of floats must have values from 0 to 1: divide by 255, or pass uint8")
    from visterm.vision.local import _kernels_patches

    nearest = np.empty(picture.shape[:-1], np.int64)
    _kernels_patches.nearest_colours(picture.reshape(-1, 3), np.ascontiguousarray(colours.T), nearest.reshape(-1))
    return nearest


def _shares(labels: NDArray[np.integer], n_labels: int) -> NDArray[np.float64]:
    return np.bincount(labels.ravel(), minlength=n_labels) / labels.size


def _uniform_labels() -> NDArray[np.uint8]:
    """The label of each of the 256 patterns."""
    patterns = np.arange(256)
    turned = (patterns >> 1) | ((patterns & 1) << 7)
    n_changes = np.array([int(changes).bit_count() for changes in patterns ^ turned])
    uniform = n_changes <= 2
    return np.where(uniform, np.cumsum(uniform) - 1, N_PATTERNS - 1).astype(np.uint8)
