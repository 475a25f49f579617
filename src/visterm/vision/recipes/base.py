"""The interface of every recipe: a named, hashed chain from a picture to one or several features."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from visterm.storage import RowSpec
from visterm.vision.decode import PIXEL_BUDGET
from visterm.vision.recipes.training_pictures import TrainingPictures

#: About how many different codewords a picture's bag has; for estimates of size only.
_WORDS_PER_BAG = 200


class Recipe(ABC):
    """A chain from a picture to numbers.

    ``parameters()``, ``version`` and, for recipes that learn from the collection (a codebook, a mixture), ``state()``
    determine the numbers completely. The hash covers all of them, so stored features are never mistaken for those of
    another recipe.
    """

    #: The name that users type, and one line about the recipe.
    name: str
    summary: str
    #: Increased whenever the same parameters give other numbers than before.
    version: ClassVar[int] = 1
    #: Pictures are decoded to at most this many pixels.
    pixel_budget: int = PIXEL_BUDGET
    #: How many pictures of the collection the recipe learns from; 0: nothing to learn.
    n_training_pictures: int = 0
    #: Whether features may be negative; some methods take counts and histograms only.
    has_negatives: bool = False
    #: The type that the hash names for dense features, if they are now stored in another precision: rows of both stay
    #: valid together.
    hashed_dtype: ClassVar[str | None] = None
    #: Processor time for one picture of 100,000 pixels, measured; for estimates only.
    seconds_per_picture: float = 0.01
    #: The hash that was computed last.
    _hashed: "_Hashed | None" = None

    @property
    @abstractmethod
    def outputs(self) -> Mapping[str, RowSpec]:
        """The features computed together, by name."""

    @property
    def stored_parts(self) -> tuple["Recipe", ...]:
        """The recipes whose features are stored for this one: itself, or those that it joins."""
        return (self,)

    @property
    def whole(self) -> "Recipe":
        """The recipe that computes the features of this one, and with them those of others, which cost no more."""
        return self

    # A recipe defines one of the next two methods.

    def compute(self, rgb: NDArray[np.uint8]) -> dict[str, Any]:
        """The features of one upright (height, width, 3) picture: a dense row or a (1, n_dims) CSR row each."""
        return self.compute_many([rgb])[0]

    def compute_many(self, pictures: Sequence[NDArray[np.uint8]]) -> list[dict[str, Any]]:
        """The features of several pictures; faster than one by one for recipes that work in batches."""
        return [self.compute(rgb) for rgb in pictures]

    def parameters(self) -> dict[str, Any]:
        """The settings that determine the result, as JSON values."""
        return {}

    def train(self, pictures: TrainingPictures) -> None:  # noqa: B027 - most recipes learn nothing
        """Learn from a sample of the collection."""

    def state(self) -> dict[str, NDArray[Any]]:
        """What was learned, as named arrays."""
        return {}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:  # noqa: B027 - most recipes learn nothing
        """Restore what :meth:`state` returned."""

    @property
    def bytes_per_picture(self) -> int:
        """About how many bytes the features of a picture take on disk."""
        return sum(
            min(spec.n_dims, _WORDS_PER_BAG) * 8 if spec.sparse else spec.n_dims * np.dtype(spec.dtype).itemsize
            for spec in self.outputs.values()
        )

    def hashed_outputs(self) -> dict[str, list[Any]]:
        """What the hash covers of the outputs."""
        return {
            name: [spec.n_dims, self.hashed_dtype or spec.dtype, spec.sparse] for name, spec in self.outputs.items()
        }

    @property
    def hash(self) -> str:
        """Sixteen hexadecimal digits that change whenever the numbers could change; learned arrays are hashed once."""
        settings = [self.name, self.version, self.pixel_budget, self.parameters(), self.hashed_outputs()]
        text = json.dumps(settings, sort_keys=True)
        state = sorted(self.state().items())
        if self._hashed is None or not self._hashed.is_of(text, state):
            self._hashed = _Hashed(text, state, _hash(text, state))
        return self._hashed.hash


def learned(estimator: object, prefix: str = "") -> dict[str, NDArray[Any]]:
    """What an estimator learned: its attributes that end in ``_``, by name after ``prefix``."""
    return {prefix + name: value for name, value in vars(estimator).items() if name.endswith("_")}


def of_prefix(state: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """The entries whose names begin with ``prefix``, without it."""
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}


@dataclass(frozen=True, slots=True)
class _Hashed:
    """A hash and its input: the settings and the learned arrays themselves, which nobody changes in place."""

    settings: str
    state: list[tuple[str, NDArray[Any]]]
    hash: str

    def is_of(self, settings: str, state: list[tuple[str, NDArray[Any]]]) -> bool:
        """Whether this hash belongs to the input; a recipe that was trained again or restored has other arrays."""
        return (
            self.settings == settings
            and len(self.state) == len(state)
            and all(a == b and x is y for (a, x), (b, y) in zip(self.state, state, strict=True))
        )


def _hash(settings: str, state: list[tuple[str, NDArray[Any]]]) -> str:
    digest = hashlib.sha256(settings.encode())
    for name, array in state:
        digest.update(f"{name}{array.shape}{array.dtype.str}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]
