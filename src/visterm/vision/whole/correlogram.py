"""Colour correlograms: how often a colour occurs again some pixels away."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.vision._global_inputs import whole_colours
from visterm.vision.colour import to_hsv

#: Colours distinguished: black, six greys, white, and seven hues each at two saturations and two values.
N_COLOURS = 36
#: Distances in pixels: the larger of the horizontal and the vertical distance.
DISTANCES = (1, 3, 5, 7)


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
