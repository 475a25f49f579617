"""The picture half of an image-text pair: how pictures are prepared, as its settings say, and its ONNX model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute.rows import unit
from visterm.errors import InputError
from visterm.pairs import Pair, Tower
from visterm.pairs.parts import CONFIG, PICTURES, PREPARATION
from visterm.pairs.tower import PIXELS
from visterm.vision.network.preprocessing import Preprocessing, ResizeThenCut

#: Pillow's numbers of filters, which the settings name.
_FILTERS = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")
_BICUBIC = 3
_AGAIN = "export the pair again with optimum"


class PairPictures:
    """Pictures as vectors of length one beside those of texts, by the pair ``pair``: a network for a recipe."""

    def __init__(self, pair: Pair, *, device: str | None = None) -> None:
        self.preprocessing = preprocessing_of(pair.settings(PREPARATION))
        self.n_dims = pair.trial.n_dims
        self.fingerprint = pair.fingerprint(PICTURES, PREPARATION, CONFIG)
        self.tower = Tower(pair, PICTURES, device)

    def embed(self, batch: NDArray[np.float32], *, seconds: float | None = None) -> NDArray[np.float32]:
        """Run the model; ``seconds`` is the most that one run may take."""
        return unit(self.tower.run({PIXELS: batch}, seconds=seconds))

    def check(self) -> None:
        """Raises an error if the model does not take pictures of the size that the settings name."""
        self.tower.check()
        size = self.preprocessing.size
        taken = self.tower.shape(PIXELS)[1:]
        if any(isinstance(side, int) and side != wanted for side, wanted in zip(taken, (3, size, size), strict=True)):
            raise InputError(
                f"{self.tower.name} takes pictures of {taken}, but {PREPARATION} prepares [3, {size}, {size}]: {_AGAIN}"
            )


def preprocessing_of(settings: Mapping[str, Any]) -> Preprocessing:
    """What a ``preprocessor_config.json`` says, in the words of the image processors of CLIP and SigLIP.

    >>> clip = {"size": {"shortest_edge": 224}, "crop_size": 224, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    >>> preprocessing_of(clip)
    ResizeThenCut(size=224, mean=(127.5, 127.5, 127.5), deviation=(127.5, 127.5, 127.5), crop=1.0, squash=False,
        resampling='bicubic')
    """
    for name in ("do_pad", "do_flip_channel_order", "do_thumbnail"):
        if settings.get(name):
            raise InputError(f"{PREPARATION} asks for {name}, which is not supported: take another pair")
    if not settings.get("do_resize", True):
        raise InputError(f"{PREPARATION} does not resize pictures, so they would have any size: {_AGAIN}")
    cut = settings.get("crop_size") if settings.get("do_center_crop", "crop_size" in settings) else None
    size, crop, keeps_shape = _sizes(settings.get("size"), cut)
    mean, deviation = _colours(settings)
    number = settings.get("resample", _BICUBIC)
    if type(number) is not int or not 0 <= number < len(_FILTERS):
        raise InputError(f"{PREPARATION} names the unknown filter {number!r}: {_AGAIN}")
    make = ResizeThenCut if keeps_shape else Preprocessing
    return make(size, mean, deviation, crop=crop, squash=not keeps_shape, resampling=_FILTERS[number])


def _sizes(resized: Any, cut: Any) -> tuple[int, float, bool]:
    """The side of the prepared picture, its part of the resized side, and whether resizing keeps the picture's shape.

    A single number is the shorter side where the centre is cut out afterwards, and otherwise both sides.
    """
    if isinstance(resized, dict) and set(resized) == {"shortest_edge"}:
        side, keeps_shape = resized["shortest_edge"], True
    elif isinstance(resized, dict):
        side, keeps_shape = _square(resized), False
    else:
        side, keeps_shape = resized, cut is not None
    size = side if cut is None else _square(cut) if isinstance(cut, dict) else cut
    if type(side) is not int or type(size) is not int or not 0 < size <= side or (keeps_shape and cut is None):
        told = f"size {resized!r}" + ("" if cut is None else f" and crop_size {cut!r}")
        raise InputError(f"{PREPARATION} has {told}: only squares cut from a resized picture are supported")
    return size, size / side, keeps_shape


def _square(sides: Mapping[str, Any]) -> Any:
    """The side of a square given by height and width; None if it is none."""
    height = sides.get("height")
    return height if set(sides) == {"height", "width"} and height == sides["width"] else None


def _colours(settings: Mapping[str, Any]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Means and deviations on the scale 0 to 255: a value v becomes (v * rescale_factor - mean) / deviation."""
    factor = settings.get("rescale_factor", 1 / 255) if settings.get("do_rescale", True) else 1.0
    mean, deviation = [0.0] * 3, [1.0] * 3
    if settings.get("do_normalize", True):
        mean, deviation = settings.get("image_mean", []), settings.get("image_std", [])
    try:
        scaled = [tuple(float(value) / float(factor) for value in values) for values in (mean, deviation)]
    except (TypeError, ValueError, ZeroDivisionError) as error:
        raise InputError(f"{PREPARATION} has no usable rescale_factor, image_mean and image_std: {_AGAIN}") from error
    if any(len(values) != 3 for values in scaled):
        raise InputError(f"{PREPARATION} has no usable image_mean and image_std: {_AGAIN}")
    return scaled[0], scaled[1]
