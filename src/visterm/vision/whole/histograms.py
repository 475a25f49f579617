"""Joint colour histograms: which colours a picture has, wherever they are."""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import index
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.errors import InputError
from visterm.vision._global_inputs import whole_colours
from visterm.vision.colour import to_hsv, to_lab

ColourSpace = Literal["hsv", "rgb", "lab"]
_MOST_BINS = 2**24

#: Conversion, and the lowest and highest value of each of the three channels. Those of Lab enclose all of sRGB.
_SPACES: dict[str, tuple[Callable[[ArrayLike], NDArray[np.float32]], NDArray[np.float32], NDArray[np.float32]]] = {
    "hsv": (to_hsv, np.zeros(3, np.float32), np.ones(3, np.float32)),
    "rgb": (np.asarray, np.zeros(3, np.float32), np.ones(3, np.float32)),
    "lab": (to_lab, np.array([0, -87, -108], np.float32), np.array([100, 99, 95], np.float32)),
}


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
