"""Prepares a picture for a network: its middle, at one size, with shifted and scaled colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visterm.errors import InputError

if TYPE_CHECKING:
    from PIL import Image

_FILTERS = ("nearest", "box", "bilinear", "hamming", "bicubic", "lanczos")
#: Larger than the input of any published network: a larger value is a mistake and would fill the memory.
_MAX_SIZE = 2048


@dataclass(frozen=True, slots=True)
class Preprocessing:
    """From an upright RGB picture of any size to a (3, ``size``, ``size``) array.

    The central square with sides of ``crop`` times the picture's shorter side (``squash``: the central part with sides
    of ``crop`` times both sides, squeezed into a square) is resized once, with Pillow's antialiased ``resampling``
    filter. Each channel then becomes (value - mean) / deviation, both on the scale 0 to 255. Cutting before resizing
    gives the same result as "resize the shorter side to size / crop, then cut the centre", at a cost that does not grow
    with the picture's length. The defaults are those that most networks trained on ImageNet expect.

    >>> Preprocessing(size=2, mean=(127,) * 3, deviation=(128,) * 3)(np.full((5, 9, 3), 255, np.uint8))[0]
    array([[1., 1.],
           [1., 1.]], dtype=float32)
    """

    size: int = 224
    mean: tuple[float, ...] = (123.675, 116.28, 103.53)
    deviation: tuple[float, ...] = (58.395, 57.12, 57.375)
    crop: float = 0.875
    squash: bool = False
    resampling: str = "bicubic"

    def __post_init__(self) -> None:
        if type(self.size) is not int or not 0 < self.size <= _MAX_SIZE:
            raise InputError(f"a network's input has a side of 1 to {_MAX_SIZE} pixels, not {self.size!r}")
        for what, values in (("mean", self.mean), ("deviation", self.deviation)):
            if len(values) != 3 or not np.isfinite(values).all():
                raise InputError(f"the {what} must be three finite numbers, for R, G and B, not {values!r}")
        if min(self.deviation) <= 0:
            raise InputError(f"deviations must be positive, not {self.deviation!r}")
        if not 0 < self.crop <= 1:
            raise InputError(f"the crop is a share of the picture's side: above 0 and at most 1, not {self.crop!r}")
        if self.resampling not in _FILTERS:
            raise InputError(f"unknown resampling filter {self.resampling!r}: choose one of {', '.join(_FILTERS)}")

    def __call__(self, rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
        """The prepared picture, channels first."""
        from PIL import Image

        if rgb.ndim != 3 or rgb.shape[2] != 3 or rgb.dtype != np.uint8 or not rgb.size:
            raise InputError(f"a picture must be a (height, width, 3) array of uint8, not {rgb.shape} of {rgb.dtype}")
        resized = self._square(Image.fromarray(rgb), Image.Resampling[self.resampling.upper()])
        values = np.asarray(resized, np.float32) - np.asarray(self.mean, np.float32)
        return np.ascontiguousarray((values / np.asarray(self.deviation, np.float32)).transpose(2, 0, 1))

    def _square(self, picture: Image.Image, filter: Image.Resampling) -> Image.Image:
        """The part of the picture that is kept, at the right size."""
        shorter = min(picture.size)
        kept_width, kept_height = (self.crop * (side if self.squash else shorter) for side in picture.size)
        left, top = (picture.width - kept_width) / 2, (picture.height - kept_height) / 2
        return picture.resize((self.size, self.size), filter, box=(left, top, left + kept_width, top + kept_height))

    def batch(self, pictures: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """The prepared pictures, (n_pictures, 3, size, size)."""
        prepared = np.empty((len(pictures), 3, self.size, self.size), np.float32)
        for place, rgb in zip(prepared, pictures, strict=True):
            place[...] = self(rgb)
        return prepared


@dataclass(frozen=True, slots=True)
class ResizeThenCut(Preprocessing):
    """The same in two steps with whole pixels, as published image processors do it: exactly their numbers.

    The shorter side is resized to ``size / crop`` pixels and the longer one in proportion; then the centre is cut out.
    In one step, the cut may lie up to half a pixel beside this one.
    """

    def _square(self, picture: Image.Image, filter: Image.Resampling) -> Image.Image:
        shorter = min(picture.size)
        width, height = (int(round(self.size / self.crop) * side / shorter) for side in picture.size)
        left, top = (width - self.size) // 2, (height - self.size) // 2
        return picture.resize((width, height), filter).crop((left, top, left + self.size, top + self.size))
