"""Histograms, moments and correlograms: which colours a picture has, in which part, and how near to each other."""

import math
from collections.abc import Callable
from operator import index
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.errors import InputError
from visterm.vision._global_inputs import spans, whole_colours
from visterm.vision.colour import to_hsv, to_lab

ColourSpace = Literal["hsv", "rgb", "lab"]
_MOST_BINS = 2**24

#: Conversion, and the lowest and highest value of each of the three channels. Those of Lab enclose all of sRGB.
_SPACES: dict[str, tuple[Callable[[ArrayLike], NDArray[np.float32]], NDArray[np.float32], NDArray[np.float32]]] = {
    "hsv": (to_hsv, np.zeros(3, np.float32), np.ones(3, np.float32)),
    "rgb": (np.asarray, np.zeros(3, np.float32), np.ones(3, np.float32)),
    "lab": (to_lab, np.array([0, -87, -108], np.float32), np.array([100, 99, 95], np.float32)),
}
#: Cells per side of the grid.
GRID = 5
#: Colours distinguished: black, six greys, white, and seven hues each at two saturations and two values.
N_COLOURS = 36
#: Distances in pixels: the larger of the horizontal and the vertical distance.
DISTANCES = (1, 3, 5, 7)


def colour_histogram(
    rgb: ArrayLike, space: ColourSpace = "hsv", bins: tuple[int, int, int] = (16, 16, 16)
) -> NDArray[np.float32]:
    """Shares of pixels in each of ``bins[0] * bins[1] * bins[2]`` boxes of a colour space, 4096 by default.

    ``rgb`` is (height, width, 3), ``uint8`` from 0 to 255 or float from 0 to 1. Each channel is divided evenly: hue,
    saturation and value from 0 to 1; red, green and blue from 0 to 1; lightness from 0 to 100, a* from -87 to 99 and b*
    from -108 to 95, the extent of sRGB. Box ``(i * bins[1] + j) * bins[2] + k`` is the i-th, j-th and k-th interval.

    >>> halves = np.array([[[0, 0, 0], [255, 0, 0]]], np.uint8)
    >>> colour_histogram(halves, "rgb", bins=(2, 1, 1))
    array([0.5, 0.5], dtype=float32)
    """
    if space not in _SPACES:
        raise InputError(f"the colour space must be one of {', '.join(get_args(ColourSpace))}, not {space!r}")
    try:
        per_channel = [index(number) for number in bins]
    except TypeError as error:
        raise InputError(f"bins must be three whole numbers, not {bins!r}") from error
    if len(per_channel) != 3 or min(per_channel) < 1 or math.prod(per_channel) > _MOST_BINS:
        raise InputError(f"bins must be three positive whole numbers with a product of at most 2**24, not {bins!r}")
    convert, low, high = _SPACES[space]
    limits = np.array(per_channel, np.int32)
    positions = (convert(whole_colours(rgb)).reshape(-1, 3) - low) * (limits / (high - low)).astype(np.float32)
    first, second, third = np.clip(positions.astype(np.int32), 0, limits - 1).T
    boxes = (first * limits[1] + second) * limits[2] + third
    return (np.bincount(boxes, minlength=int(limits.prod())) / len(boxes)).astype(np.float32)


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


def colour_correlogram(rgb: ArrayLike) -> NDArray[np.float32]:
    """The auto-correlogram of 36 colours at distances of 1, 3, 5 and 7 pixels: 144 probabilities.

    Huang et al., "Image indexing using color correlograms", CVPR 1997. Entry ``colour * 4 + d`` is the probability
    that a pixel has the colour (see :func:`named_colours`), given that a pixel at the distance ``DISTANCES[d]`` has it.
    The distance is the larger of the two directions; only pixels in the picture count. The entry is 0 for colours that
    do not occur. ``rgb`` is (height, width, 3), ``uint8`` from 0 to 255 or float from 0 to 1.

    >>> red = np.full((8, 8, 3), (255, 0, 0), np.uint8)
    >>> correlogram = colour_correlogram(red).reshape(36, 4)
    >>> float(correlogram.sum()), int(correlogram.max(axis=1).argmax())
    (4.0, 11)
    """
    from visterm.vision.whole._kernels import count_pairs

    colours = named_colours(rgb)
    same = np.zeros((N_COLOURS, len(DISTANCES)), np.int64)
    met = np.zeros_like(same)
    for d, distance in enumerate(DISTANCES):
        count_pairs(colours, distance, same[:, d], met[:, d])
    return (same / np.maximum(met, 1)).astype(np.float32).ravel()


def named_colours(rgb: ArrayLike) -> NDArray[np.uint8]:
    """The number of each pixel's colour among 36, by the division of HSV of Zhang et al. (TENCON 1999).

    Pixels with a value below 0.2 are black (0). Others with a saturation below 0.2 are one of six greys, in steps of
    0.1 in value (1 to 6), or white (7) from a value of 0.8 up. The rest are ``8 + 4 * hue + 2 * vivid + bright``: hue 0
    to 6 for red, orange, yellow, green, cyan, blue, purple; vivid from a saturation of 0.65, bright from a value of
    0.7. The hues end at 22, 45, 70, 155, 186, 278 and 330 degrees, where red begins again.

    >>> named_colours(np.array([[[0, 0, 0], [255, 255, 255], [0, 0, 255], [90, 60, 60]]], np.uint8)).tolist()
    [[0, 7, 31, 8]]
    """
    from visterm.vision.whole._kernels import name_colours

    hsv = to_hsv(whole_colours(rgb))
    names = np.empty(hsv.shape[:2], np.uint8)
    name_colours(hsv, names)
    return names
