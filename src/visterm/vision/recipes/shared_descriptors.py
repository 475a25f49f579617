"""Several encodings of the same descriptors, which are computed only once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.storage import RowSpec
from visterm.vision.recipes.bags import BagRecipe
from visterm.vision.recipes.base import of_prefix
from visterm.vision.recipes.descriptors import DenseGrid
from visterm.vision.recipes.fisher import FisherRecipe
from visterm.vision.recipes.local import LocalRecipe
from visterm.vision.recipes.training_pictures import TrainingPictures

_SEED = 0


class SharedDescriptors(LocalRecipe):
    """Bags and Fisher vectors of one grid of descriptors, all learned from one sample of them."""

    def __init__(self, name: str, descriptors: DenseGrid, encodings: Sequence[BagRecipe | FisherRecipe]) -> None:
        self.name = name
        self.descriptors = descriptors
        self.encodings = tuple(encodings)
        self.summary = "; ".join(encoding.summary for encoding in self.encodings)
        self.max_sample = max(encoding.max_sample for encoding in self.encodings)
        self.n_training_pictures = max(encoding.n_training_pictures for encoding in self.encodings)
        self.has_negatives = any(encoding.has_negatives for encoding in self.encodings)
        self.seconds_per_picture = sum(encoding.seconds_per_picture for encoding in self.encodings)

    @property
    def outputs(self) -> Mapping[str, RowSpec]:
        """One output for each encoding."""
        return {output: spec for encoding in self.encodings for output, spec in encoding.outputs.items()}

    def parameters(self) -> dict[str, Any]:
        """The parameters of the encodings, by name."""
        return {encoding.name: [encoding.version, encoding.parameters()] for encoding in self.encodings}

    def train(self, pictures: TrainingPictures) -> None:
        """Every encoding learns from the same descriptors."""
        rows = self._sampled(pictures, self.max_sample, _SEED)
        for encoding in self.encodings:
            encoding.learn(rows)

    def compute(self, rgb: NDArray[np.uint8]) -> dict[str, Any]:
        """Compute descriptors once, encode them in every way."""
        described = self.described(rgb)
        return {encoding.name: encoding.encode(*described) for encoding in self.encodings}

    def state(self) -> dict[str, NDArray[Any]]:
        """What every encoding learned."""
        learned = {f"{e.name}:{key}": value for e in self.encodings for key, value in e.state().items()}
        return learned | self._size_state() if learned else {}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore what every encoding learned."""
        self._restore_size(state)
        for encoding in self.encodings:
            encoding.restore(of_prefix(state, f"{encoding.name}:"))
