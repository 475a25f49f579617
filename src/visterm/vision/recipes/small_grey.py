"""A small grey picture of each picture, and its perceptual hash, by which copies are recognised."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from visterm.storage import RowSpec
from visterm.vision.colour import to_grey
from visterm.vision.recipes.base import Recipe

#: The shares of width and height that are cut off at the beginning and the end: nothing, each corner, all around.
CROPS = (
    ((0.0, 0.0), (0.0, 0.0)),
    ((0.06, 0.0), (0.06, 0.0)),
    ((0.06, 0.0), (0.0, 0.06)),
    ((0.0, 0.06), (0.06, 0.0)),
    ((0.0, 0.06), (0.0, 0.06)),
    ((0.03, 0.03), (0.03, 0.03)),
)
#: Waves in each direction of a hash.
N_WAVES = 6
#: Pictures whose grey levels deviate less are as good as blank: they have no hash.
_BLANK = 2.0


class SmallGrey(Recipe):
    """The grey levels of a picture squeezed into a square, its perceptual hash, and its sharpness.

    The square of ``side`` x ``side`` pixels forgets the shape, so that a picture of another size or shape is compared
    pixel by pixel. The hash holds the ``N_WAVES`` x ``N_WAVES`` lowest cosine waves of the square, and of the square
    cut in five ways (:data:`CROPS`). Each hash has length one and ignores the mean, so neither brightness nor contrast
    changes it; short waves count more than they weigh in pictures. Sharpness is the mean difference of neighbouring
    pixels in the sharpest tenth of the picture: a blurred background counts little.
    """

    name = "small-grey"
    summary = "a small grey picture, a perceptual hash and the sharpness, by which copies are found"
    seconds_per_picture = 0.004
    has_negatives = True
    side: ClassVar[int] = 48

    @property
    def outputs(self) -> Mapping[str, RowSpec]:
        """Grey levels from 0 to 255, the hashes side by side, and one number."""
        n_hash = len(CROPS) * N_WAVES**2
        return {
            "small-grey": RowSpec(self.side**2, dtype="float16"),
            "wave-hash": RowSpec(n_hash, dtype="float16"),
            "sharpness": RowSpec(1),
        }

    def parameters(self) -> dict[str, Any]:
        """The side of the square, the waves and the crops."""
        return {"side": self.side, "n_waves": N_WAVES, "crops": CROPS}

    def compute(self, rgb: NDArray[np.uint8]) -> dict[str, Any]:
        """Shrink the picture, hash it, and look at its edges."""
        from PIL import Image

        grey = 255 * to_grey(rgb)
        small = np.asarray(Image.fromarray(grey).resize((self.side, self.side), Image.Resampling.BILINEAR))
        return {"small-grey": small.ravel(), "wave-hash": wave_hash(small), "sharpness": np.array([_sharpness(grey)])}


def wave_hash(small: NDArray[np.float32]) -> NDArray[np.float32]:
    """The hashes of a square and of its crops, side by side; zero for a blank picture."""
    if small.std() < _BLANK:
        return np.zeros(len(CROPS) * N_WAVES**2, np.float32)
    waves = np.arange(N_WAVES)
    weights = np.hypot(1.0, np.hypot(waves[:, None], waves))
    weights[0, 0] = 0.0  # the mean
    hashes = np.empty((len(CROPS), N_WAVES, N_WAVES))
    for place, (across, down) in enumerate(CROPS):
        found = weights * (_cosines(len(small), down) @ small @ _cosines(len(small), across).T)
        hashes[place] = found / max(float(np.linalg.norm(found)), 1e-6)
    return hashes.ravel().astype(np.float32)


def _cosines(side: int, cut: tuple[float, float]) -> NDArray[np.float64]:
    """(N_WAVES, side) cosine waves over what is left of a side."""
    places = ((np.arange(side) + 0.5) / side - cut[0]) / (1 - cut[0] - cut[1])
    inside = (places >= 0) & (places <= 1)
    waves = np.cos(np.pi * np.arange(N_WAVES)[:, None] * places) * inside
    waves /= np.sqrt((waves**2).sum(axis=1, keepdims=True))
    return waves


def _sharpness(grey: NDArray[np.float32]) -> float:
    if min(grey.shape) < 2:
        return 0.0
    edges = (np.abs(np.diff(grey, axis=0))[:, :-1] + np.abs(np.diff(grey, axis=1))[:-1]).ravel()
    strongest = max(1, edges.size // 10)
    return float(np.partition(edges, -strongest)[-strongest:].mean())
