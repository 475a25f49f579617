"""Colours: pictures as grey levels, HSV or CIE Lab.

Pictures are ``uint8`` arrays from 0 to 255 or floating point arrays from 0 to 1; colours are on the last axis, in sRGB.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.errors import InputError

#: Floats beyond this come from damaged data, not from bright exposure, and would overflow when squared.
_LARGEST = 1e6
#: Shares of red, green and blue in grey (ITU-R BT.601).
_LUMA = np.array([0.299, 0.587, 0.114], np.float32)
#: Linear sRGB to CIE XYZ (IEC 61966-2-1), each row divided by that of white (D65).
_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
_XYZ_OF_WHITE = (_XYZ / _XYZ.sum(axis=1, keepdims=True)).astype(np.float32)

_ROOT_2, _ROOT_3, _ROOT_6 = (np.float32(number**0.5) for number in (2, 3, 6))


def unit_rgb(rgb: ArrayLike) -> NDArray[np.float32]:
    """``rgb`` as contiguous float32 from 0 to 1, checked: three finite values on the last axis."""
    array = np.asarray(rgb)
    if array.ndim < 1 or array.shape[-1] != 3:
        raise InputError(f"a colour picture has 3 values on its last axis, but this array has shape {array.shape}")
    return _unit(array)


def colour_picture(rgb: ArrayLike) -> NDArray[np.float32]:
    """``rgb`` as :func:`unit_rgb`, checked to be (height, width, 3)."""
    array = np.asarray(rgb)
    if array.ndim != 3:
        raise InputError(f"a colour picture must have shape (height, width, 3), not {array.shape}")
    return unit_rgb(array)


def grey_picture(grey: ArrayLike) -> NDArray[np.float32]:
    """``grey`` as contiguous float32 from 0 to 1, checked: (height, width), finite values."""
    array = np.asarray(grey)
    if array.ndim != 2:
        raise InputError(f"a grey picture has shape (height, width), not {array.shape}: convert colours with to_grey")
    return _unit(array)


def to_grey(rgb: ArrayLike) -> NDArray[np.float32]:
    """Grey levels from 0 to 1.

    >>> float(to_grey(np.array([255, 255, 255], np.uint8)))
    1.0
    """
    return unit_rgb(rgb) @ _LUMA


def to_opponent(rgb: ArrayLike) -> NDArray[np.float32]:
    """The opponent colours (red against green, yellow against blue) and the intensity: a rotation of the RGB axes.

    >>> to_opponent(np.array([255, 255, 255], np.uint8)).round(2)
    array([0.  , 0.  , 1.73], dtype=float32)
    """
    red, green, blue = np.moveaxis(unit_rgb(rgb), -1, 0)
    axes = ((red - green) / _ROOT_2, (red + green - 2 * blue) / _ROOT_6, (red + green + blue) / _ROOT_3)
    return np.stack(axes, axis=-1)


def to_hsv(rgb: ArrayLike) -> NDArray[np.float32]:
    """Hue (0 up to but not including 1: red, yellow, green, cyan, blue, magenta), saturation and value from 0 to 1.

    >>> to_hsv(np.array([0.0, 0.5, 0.5])).tolist()
    [0.5, 1.0, 0.5]
    """
    red, green, blue = np.moveaxis(unit_rgb(rgb), -1, 0)
    value = np.maximum(np.maximum(red, green), blue)
    spread = value - np.minimum(np.minimum(red, green), blue)
    divisor = np.where(spread > 0, spread, np.float32(1))
    hue = np.select(
        [spread <= 0, value == red, value == green],
        [np.float32(0), (green - blue) / divisor, (blue - red) / divisor + np.float32(2)],
        (red - green) / divisor + np.float32(4),
    )
    hue = hue / np.float32(6) % np.float32(1)
    saturation = spread / np.where(value > 0, value, np.float32(1))
    return np.stack((np.where(hue < 1, hue, np.float32(0)), saturation, value), axis=-1)


def to_lab(rgb: ArrayLike) -> NDArray[np.float32]:
    """CIE L*a*b* under D65: lightness from 0 to 100, a* (green to red) and b* (blue to yellow) around 0.

    >>> to_lab(np.array([255, 255, 255], np.uint8)).round(3).tolist()
    [100.0, 0.0, 0.0]
    """
    unit = unit_rgb(rgb)
    linear = np.where(
        unit <= 0.04045, unit / np.float32(12.92), ((unit + np.float32(0.055)) / np.float32(1.055)) ** np.float32(2.4)
    )
    ratios = linear @ _XYZ_OF_WHITE.T
    # CIE's cube root; below (6/29)^3 it is a straight line.
    x, y, z = np.moveaxis(
        np.where(
            ratios > np.float32((6 / 29) ** 3),
            np.cbrt(ratios),
            ratios * np.float32((29 / 6) ** 2 / 3) + np.float32(4 / 29),
        ),
        -1,
        0,
    )
    return np.stack((116 * y - 16, 500 * (x - y), 200 * (y - z)), axis=-1)


def _unit(array: NDArray[Any]) -> NDArray[np.float32]:
    if array.dtype == np.uint8:
        return array.astype(np.float32, order="C") / np.float32(255)
    if not np.issubdtype(array.dtype, np.floating):
        raise InputError(f"a picture must be an array of uint8 (0 to 255) or floats (0 to 1), not of {array.dtype}")
    if array.size and not (array.min() >= -_LARGEST and array.max() <= _LARGEST):  # NaN fails both
        raise InputError("the picture has values that are not finite (NaN, infinite) or far from 0 to 1")
    return np.ascontiguousarray(array, np.float32)
