"""The input of global features: pictures that are checked, not empty, with values from 0 to 1."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.errors import InputError
from visterm.vision.colour import colour_picture, grey_picture, to_grey


def whole_colours(rgb: ArrayLike) -> NDArray[np.float32]:
    """An RGB picture of at least one pixel as float32; values beyond 0 to 1 are clipped."""
    return _clipped(colour_picture(rgb))


def whole_grey(picture: ArrayLike) -> NDArray[np.float32]:
    """The grey levels of a grey (height, width) or RGB picture of at least one pixel; clipped to 0 to 1.

    >>> whole_grey(np.array([[[255, 255, 255]]], np.uint8)).tolist()
    [[1.0]]
    """
    array = np.asarray(picture)
    if array.ndim == 3:
        return np.minimum(to_grey(whole_colours(array)), np.float32(1))
    return _clipped(grey_picture(array))


def squeezed(plane: NDArray[np.float32], side: int) -> NDArray[np.float32]:
    """``plane`` (height, width) resized to a square; shrinking averages, enlarging interpolates linearly."""
    from PIL import Image

    if plane.shape == (side, side):
        return plane
    image = Image.fromarray(np.ascontiguousarray(plane))
    return np.array(image.resize((side, side), Image.Resampling.BILINEAR), np.float32)


def spans(length: int, n_parts: int) -> list[slice]:
    """``length`` pixels in ``n_parts`` consecutive parts of nearly equal size; none is empty, short ones overlap.

    >>> spans(7, 3), spans(1, 2)
    ([slice(0, 2, None), slice(2, 4, None), slice(4, 7, None)], [slice(0, 1, None), slice(0, 1, None)])
    """
    starts = [part * length // n_parts for part in range(n_parts)]
    ends = [(part + 1) * length // n_parts for part in range(n_parts)]
    return [slice(start, max(end, start + 1)) for start, end in zip(starts, ends, strict=True)]


def _clipped(picture: NDArray[np.float32]) -> NDArray[np.float32]:
    if not picture.size:
        raise InputError(f"the picture has no pixels: its shape is {picture.shape}")
    return np.clip(picture, np.float32(0), np.float32(1))
