"""Recipes made of other recipes: several side by side, and one whose long features are compressed."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute.eigenvectors import axes_between
from visterm.errors import InputError
from visterm.storage import RowSpec
from visterm.vision.decode import shrink
from visterm.vision.recipes.base import Recipe, of_prefix
from visterm.vision.recipes.training_pictures import TrainingPictures

Floats = NDArray[np.float32]
_INNER = "inner:"
_AXES = ".axes"


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
        return tuple(one for part in self.parts for one in part.stored_parts) if self.is_joined else (self,)

    def parameters(self) -> dict[str, Any]:
        """The parameters of all parts, by name; with the pixels of a part that sees shrunk pictures."""
        return {part.name: [part.version, part.parameters(), *self._shrunk_to(part)] for part in self.parts}

    def hashed_outputs(self) -> dict[str, list[Any]]:
        """Those of all parts."""
        return {output: hashed for part in self.parts for output, hashed in part.hashed_outputs().items()}

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


class CompressedRecipe(Recipe):
    """The features of ``inner``; those with more than ``n_axes`` numbers are projected onto that many axes.

    Sparse features are histograms: their entries are first square-rooted and scaled to unit length, so that their inner
    products are those of the Hellinger kernel. The axes are the main ones of the training pictures, not centred, so
    that inner products are kept as far as possible; of fewer training pictures than axes, they are kept exactly, and
    the other axes are zero.
    """

    has_negatives = True

    def __init__(self, inner: Recipe, *, n_axes: int = 256, n_training_pictures: int = 1000) -> None:
        self.inner = inner
        self.name, self.summary = inner.name, inner.summary
        self.n_axes = n_axes
        self.pixel_budget = inner.pixel_budget
        self.n_training_pictures = max(n_training_pictures, inner.n_training_pictures)
        self.seconds_per_picture = inner.seconds_per_picture
        self._keep({})

    @property
    def outputs(self) -> Mapping[str, RowSpec]:
        """Those of the inner recipe, none with more than ``n_axes`` numbers."""
        return {
            name: RowSpec(self.n_axes) if name in self._long() else spec for name, spec in self.inner.outputs.items()
        }

    def parameters(self) -> dict[str, Any]:
        """The parameters of the inner recipe, and the number of axes."""
        return {
            "inner": self.inner.parameters(),
            "n_axes": self.n_axes,
            "n_training_pictures": self.n_training_pictures,
        }

    def train(self, pictures: TrainingPictures) -> None:
        """Let the inner recipe learn, then find the axes of its features."""
        files = pictures.files[: self.n_training_pictures]
        self.inner.train(TrainingPictures(files[: self.inner.n_training_pictures], pixel_budget=self.pixel_budget))
        seen = TrainingPictures(files, pixel_budget=self.pixel_budget)
        rows = list(seen.map(self._long_rows, f"Finding the main axes of {self.name}"))
        if not rows:
            raise InputError(f"the recipe {self.name!r} learns from pictures, but none can be decoded")
        self._keep({name: _main_axes(np.stack([row[name] for row in rows]), self.n_axes) for name in self._long()})

    def compute_many(self, pictures: Sequence[NDArray[np.uint8]]) -> list[dict[str, Any]]:
        """The compressed features of several pictures."""
        if not self._axes:
            raise InputError(f"the recipe {self.name!r} learns its axes from pictures: train it first")
        rows = [dict(row) for row in self.inner.compute_many(pictures)]
        for name, axes in self._single_axes.items() if rows else ():
            # All pictures at once: the axes are read from memory once.
            for row, short in zip(rows, np.stack([_dense(row[name]) for row in rows]) @ axes.T, strict=True):
                row[name] = short
        return rows

    def state(self) -> dict[str, NDArray[Any]]:
        """What the inner recipe learned, and the axes."""
        learned: dict[str, NDArray[Any]] = {_INNER + key: value for key, value in self.inner.state().items()}
        return learned | {name + _AXES: axes for name, axes in self._axes.items()} if self._axes else {}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore what :meth:`state` returned."""
        self.inner.restore(of_prefix(state, _INNER))
        self._keep({name: state[name + _AXES] for name in self._long()})

    def _keep(self, axes: dict[str, NDArray[np.float16]]) -> None:
        """Keep the axes, and a copy in single precision to compute with."""
        self._axes = axes
        self._single_axes = {name: of_feature.astype(np.float32) for name, of_feature in axes.items()}

    def _long(self) -> list[str]:
        return [name for name, spec in self.inner.outputs.items() if spec.n_dims > self.n_axes]

    def _long_rows(self, rgb: NDArray[np.uint8]) -> dict[str, Floats]:
        row = self.inner.compute(rgb)
        return {name: _dense(row[name]) for name in self._long()}


def _dense(row: Any) -> Floats:
    """A row as a dense vector; a histogram as roots of unit length."""
    if not hasattr(row, "toarray"):
        return np.asarray(row, np.float32)
    roots = np.sqrt(row.toarray()[0].astype(np.float32))
    length = float(np.linalg.norm(roots))
    return np.asarray(roots / length if length else roots, np.float32)


def _main_axes(rows: Floats, n_axes: int) -> NDArray[np.float16]:
    """(n_axes, n_dims) the directions of the largest inner products, from the Gram matrix of the rows."""
    products = rows.astype(np.float64) @ rows.T.astype(np.float64)
    _, found = axes_between(products, min(n_axes, len(rows)), lambda weights: (weights.T @ rows).T, noise=1e-9)
    axes = np.zeros((n_axes, rows.shape[1]), np.float16)
    axes[: found.shape[1]] = found.T
    return axes
