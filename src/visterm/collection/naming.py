"""What a model's names are called today: here a rename or a merge changes a name, and a dropped one disappears."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from visterm.catalogue.labels import Kind
    from visterm.collection.moment import Frame

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class CurrentNames:
    """The ``names`` of today, each once, and for each of the model's columns its place among them; -1 if dropped."""

    names: list[str]
    places: NDArray[np.intp]

    @classmethod
    def of(cls, frame: Frame | None, kind: Kind, given: Sequence[str]) -> CurrentNames:
        """Today's names of a model's names; without a collection, these themselves."""
        current = list(given) if frame is None else frame.current_names(kind, tuple(given))
        names = list(dict.fromkeys(name for name in current if name))
        place = {name: number for number, name in enumerate(names)}
        return cls(names, np.array([place.get(name, -1) for name in current], np.intp))

    def largest(self, values: Floats) -> Floats:
        """Values of the model's columns as values of today's names; of merged names the largest counts.

        >>> CurrentNames(["tree", "sea"], np.array([0, 1, 0, -1])).largest(np.array([[0.85, 0.1, 0.9, 0.7]]))
        array([[0.9, 0.1]])
        """
        return self._reduced(np.maximum, values)

    def lowest(self, values: Floats) -> Floats:
        """The same of the smallest value."""
        return self._reduced(np.minimum, values)

    def summed(self, values: Floats) -> Floats:
        """The same of the sum: a picture has one class, so the probabilities of merged classes add up."""
        return self._reduced(np.add, values)

    def _reduced(self, rule: np.ufunc, values: Floats) -> Floats:
        if np.array_equal(self.places, np.arange(len(self.names))):  # nothing was merged or dropped
            return values
        order = np.argsort(self.places, kind="stable")[np.count_nonzero(self.places < 0) :]
        if not len(order):
            return values[..., :0]
        starts = np.searchsorted(self.places[order], np.arange(len(self.names)))
        return np.asarray(rule.reduceat(values[..., order], starts, axis=-1))
