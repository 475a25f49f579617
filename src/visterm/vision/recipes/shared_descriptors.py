"""Several encodings of the same descriptors, which are computed only once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.vision.recipes.bags import BagRecipe
from visterm.vision.recipes.combined import CombinedRecipe
from visterm.vision.recipes.descriptors import DenseGrid, LocalRecipe
from visterm.vision.recipes.fisher import FisherRecipe
from visterm.vision.recipes.training_pictures import TrainingPictures

_SEED = 0


class SharedDescriptors(CombinedRecipe, LocalRecipe):
    """Bags and Fisher vectors of one grid of descriptors, all learned from one sample of them."""

    parts: tuple[BagRecipe | FisherRecipe, ...]

    def __init__(self, name: str, descriptors: DenseGrid, encodings: Sequence[BagRecipe | FisherRecipe]) -> None:
        super().__init__(encodings, name=name)
        self.descriptors = descriptors

    def train(self, pictures: TrainingPictures) -> None:
        """Every encoding learns from the same descriptors."""
        rows = self._sampled(pictures, max(part.max_sample for part in self.parts), _SEED)
        for part in self.parts:
            part.learn(rows)

    def compute_many(self, pictures: Sequence[NDArray[np.uint8]]) -> list[dict[str, Any]]:
        """Compute descriptors once, encode them in every way."""
        return [{part.name: part.encode(*each) for part in self.parts} for each in self.described_many(pictures)]

    def state(self) -> dict[str, NDArray[Any]]:
        """What every encoding learned."""
        learned = super().state()
        return learned | self._size_state() if learned else {}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore what every encoding learned."""
        self._restore_size(state)
        super().restore(state)
