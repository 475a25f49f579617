"""The base of recipes of local descriptors: pictures that are too small for a patch are enlarged first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.vision.decode import enlarge
from visterm.vision.recipes.base import Recipe
from visterm.vision.recipes.descriptors import Described, LocalDescriptors
from visterm.vision.recipes.training_pictures import TrainingPictures

#: Both sides of a picture have at least this many pixels before it is described.
LEAST_SIDE = 64
_LEAST_SIDE = "least_side"


class LocalRecipe(Recipe):
    """Encodes the ``descriptors`` of a picture, which has at least ``LEAST_SIDE`` pixels on each side.

    The least side is part of what a recipe learned: recipes that learned when pictures were not yet enlarged go on
    without, and their hash stays the same.
    """

    descriptors: LocalDescriptors
    _least_side: NDArray[np.int64] | None = None

    def described(self, rgb: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.float32], tuple[int, ...]]:
        """Frames and descriptors of a picture, and the shape it had when they were computed."""
        return self.described_many([rgb])[0]

    def described_many(
        self, pictures: Sequence[NDArray[np.uint8]]
    ) -> list[tuple[NDArray[np.float32], NDArray[np.float32], tuple[int, ...]]]:
        """Frames, descriptors and shapes of several pictures."""
        large = [self.seen(rgb) for rgb in pictures]
        described: Sequence[Described] = self.descriptors.describe_many(large)
        return [(frames, rows, rgb.shape) for (frames, rows), rgb in zip(described, large, strict=True)]

    def seen(self, rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The picture as it is described: enlarged if it is small. Frames are places in it."""
        return enlarge(rgb, 0 if self._least_side is None else int(self._least_side[0]))

    def _sampled(self, pictures: TrainingPictures, max_sample: int, seed: int) -> NDArray[np.float32]:
        """Descriptors to learn from; pictures are enlarged from now on."""
        self._least_side = np.array([LEAST_SIDE])
        return pictures.sample_rows(
            lambda rgb: self.described(rgb)[1],
            max_sample,
            seed=seed,
            description=f"Sampling descriptors for {self.name}",
        )

    def _size_state(self) -> dict[str, NDArray[Any]]:
        return {} if self._least_side is None else {_LEAST_SIDE: self._least_side}

    def _restore_size(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._least_side = state.get(_LEAST_SIDE)
