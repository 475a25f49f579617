"""Several recipes as one: their features side by side, by name, for methods that weight them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.errors import InputError
from visterm.storage import RowSpec
from visterm.vision.decode import shrink
from visterm.vision.recipes.base import Recipe, of_prefix
from visterm.vision.recipes.training_pictures import TrainingPictures


class CombinedRecipe(Recipe):
    """The outputs of all ``parts``; its name has the form ``bow-1000+globals`` unless it has a ``name`` of its own.

    Pictures are shrunk from ``pixel_budget`` (None: the largest that a part needs) to what each part needs. Without a
    name of its own, it is stored as its parts: ``deep+globals`` uses the features of ``deep`` if they are there.
    """

    def __init__(
        self,
        parts: Sequence[Recipe],
        *,
        name: str | None = None,
        summary: str | None = None,
        pixel_budget: int | None = None,
    ) -> None:
        self.parts = tuple(parts)
        self.is_joined = name is None
        self.name = name or "+".join(part.name for part in self.parts)
        self.summary = summary or "; ".join(part.summary for part in self.parts)
        self.pixel_budget = pixel_budget or max(part.pixel_budget for part in self.parts)
        self.n_training_pictures = max(part.n_training_pictures for part in self.parts)
        self.has_negatives = any(part.has_negatives for part in self.parts)
        self.seconds_per_picture = sum(part.seconds_per_picture for part in self.parts)
        names = [output for part in self.parts for output in part.outputs]
        if len(set(names)) < len(names):
            raise InputError(f"{self.name} cannot be combined: two features have the same name")

    @property
    def outputs(self) -> Mapping[str, RowSpec]:
        """The outputs of all parts."""
        return {output: spec for part in self.parts for output, spec in part.outputs.items()}

    @property
    def stored_parts(self) -> tuple[Recipe, ...]:
        """The parts, unless the recipe has a name of its own."""
        return self.parts if self.is_joined else (self,)

    def parameters(self) -> dict[str, Any]:
        """The parameters of all parts, by name; with the pixels of a part that sees shrunk pictures."""
        return {part.name: [part.version, part.parameters(), *self._shrunk_to(part)] for part in self.parts}

    def _shrunk_to(self, part: Recipe) -> list[int]:
        return [] if self.is_joined or part.pixel_budget == self.pixel_budget else [part.pixel_budget]

    def compute_many(self, pictures: Sequence[NDArray[np.uint8]]) -> list[dict[str, Any]]:
        """The features of all parts for several pictures."""
        rows: list[dict[str, Any]] = [{} for _ in pictures]
        shrunk = {
            budget: [shrink(rgb, budget) for rgb in pictures] for budget in {part.pixel_budget for part in self.parts}
        }
        for part in self.parts:
            for row, of_part in zip(rows, part.compute_many(shrunk[part.pixel_budget]), strict=True):
                row |= of_part
        return rows

    def train(self, pictures: TrainingPictures) -> None:
        """Train each part that learns, with the number of pictures it requests."""
        for part in self.parts:
            if part.n_training_pictures:
                files = pictures.files[: part.n_training_pictures]
                part.train(TrainingPictures(files, pixel_budget=part.pixel_budget))

    def state(self) -> dict[str, NDArray[Any]]:
        """What every part learned."""
        return {f"{part.name}:{key}": value for part in self.parts for key, value in part.state().items()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore what every part learned."""
        for part in self.parts:
            if own := of_prefix(state, f"{part.name}:"):
                part.restore(own)
