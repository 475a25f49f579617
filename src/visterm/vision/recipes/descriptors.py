"""The local descriptors that bags and Fisher vectors are made of, and the base of recipes that encode them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.errors import InputError
from visterm.vision.colour import to_grey, to_lab
from visterm.vision.decode import enlarge
from visterm.vision.encode.codebook import Codebook
from visterm.vision.local.colours import dense_hue, local_colour_statistics
from visterm.vision.local.lbp import lbp_blocks
from visterm.vision.local.regions import region_features, segment
from visterm.vision.local.sift import dense_sift, opponent_sift, root_sift
from visterm.vision.recipes.base import Recipe
from visterm.vision.recipes.training_pictures import TrainingPictures

Described = tuple[NDArray[np.float32], NDArray[np.float32]]

#: Both sides of a picture have at least this many pixels before it is described.
LEAST_SIDE = 64
_LEAST_SIDE = "least_side"
_PALETTE_PIXELS = 100_000
_REGION_ROWS = 20_000
_KINDS = ("sift", "root-sift", "opponent-sift", "lcs", "lab-statistics", "hue")
#: Brings lightness and colour to about the same spread.
_LAB_SCALE = np.array([100, 80, 80], np.float32)
#: Makes a* and b* positive.
_LAB_OFFSET = np.array([0, 128, 128], np.float32)


class LocalDescriptors(ABC):
    """Computes frames (x, y, size in pixels) and descriptors of one picture; some kinds need training first."""

    @abstractmethod
    def describe(self, rgb: NDArray[np.uint8]) -> Described:
        """The frames and descriptors of a picture."""

    def describe_many(self, pictures: Sequence[NDArray[np.uint8]]) -> list[Described]:
        """The same for several pictures; faster than one by one for kinds that work in batches."""
        return [self.describe(rgb) for rgb in pictures]

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The settings, as JSON values."""

    def train(self, pictures: TrainingPictures, seed: int) -> None:  # noqa: B027 - most learn nothing
        """Learn from a sample of the collection."""

    def state(self) -> dict[str, NDArray[Any]]:
        """What was learned."""
        return {}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:  # noqa: B027 - most learn nothing
        """Restore what :meth:`state` returned."""


@dataclass(frozen=True, slots=True)
class DenseGrid(LocalDescriptors):
    """Descriptors of the given kinds side by side, on one grid.

    ``sift``, ``root-sift``, ``opponent-sift``; ``lcs``: local colour statistics, square-rooted and of unit length;
    ``lab-statistics``: the same for CIE Lab, not normalised, so that dark and pale patches differ; ``hue``.
    """

    kinds: tuple[str, ...]
    steps: tuple[int, ...] = (4, 4, 4, 4, 4)
    bin_sizes: tuple[int, ...] = (4, 6, 8, 10, 12)

    def describe(self, rgb: NDArray[np.uint8]) -> Described:
        """Every kind at every position."""
        described: list[Described] = []
        for kind in self.kinds:
            match kind:
                case "sift":
                    described.append(dense_sift(to_grey(rgb), self.steps, self.bin_sizes))
                case "root-sift":
                    frames, descriptors = dense_sift(to_grey(rgb), self.steps, self.bin_sizes)
                    described.append((frames, root_sift(descriptors)))
                case "opponent-sift":
                    described.append(opponent_sift(rgb, self.steps, self.bin_sizes))
                case "lab-statistics":
                    lab = to_lab(rgb) / _LAB_SCALE
                    described.append(local_colour_statistics(lab, self.steps, self.bin_sizes, power=False, l2=False))
                case "lcs":
                    described.append(local_colour_statistics(rgb, self.steps, self.bin_sizes))
                case "hue":
                    described.append(dense_hue(rgb, self.steps, self.bin_sizes))
                case _:
                    raise InputError(f"unknown kind of descriptor {kind!r}: choose from {', '.join(_KINDS)}")
        if len(described) == 1:
            return described[0]
        return described[0][0], np.concatenate([descriptors for _, descriptors in described], axis=1)

    def parameters(self) -> dict[str, Any]:
        """Kinds and grid."""
        return {name: list(value) for name, value in asdict(self).items()}


class PatternBlocks(LocalDescriptors):
    """PAMIR's blocks: half-overlapping squares, each a histogram of local binary patterns and of learned colours.

    The side of a block is a sixth of the picture's longer side (64 pixels of 384, as in the paper), so that every
    picture has about the same number of blocks. Colours are compared in CIE Lab, and histograms by their square roots:
    both give better codewords than RGB and plain shares.
    """

    n_colours = 50
    _palette: NDArray[np.float32] | None = None

    def describe(self, rgb: NDArray[np.uint8]) -> Described:
        """The blocks of a picture."""
        if self._palette is None:
            raise InputError("the recipe learns the colours of blocks from pictures: train it first")
        block = max(16, 2 * round(max(rgb.shape[:2]) / 12))
        frames, histograms = lbp_blocks(rgb, block, palette=self._palette, colours=_unit_lab(rgb))
        return frames, np.sqrt(histograms)

    def parameters(self) -> dict[str, Any]:
        """The size of the palette."""
        return {"blocks_per_side": 6, "n_colours": self.n_colours, "colours": "lab", "histograms": "roots"}

    def train(self, pictures: TrainingPictures, seed: int) -> None:
        """Learn the typical colours."""
        sample = pictures.sample_rows(
            lambda rgb: _unit_lab(rgb).reshape(-1, 3), _PALETTE_PIXELS, seed=seed, description="Sampling colours"
        )
        n_colours = min(self.n_colours, len(np.unique(sample, axis=0)))
        self._palette = np.clip(Codebook(n_colours, random_state=seed).fit(sample).words_, 0, 1)

    def state(self) -> dict[str, NDArray[Any]]:
        """The palette."""
        return {} if self._palette is None else {"palette": self._palette}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore the palette."""
        self._palette = state["palette"]


def _unit_lab(rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
    """CIE Lab from 0 to 1, all three channels on one scale."""
    return np.clip((to_lab(rgb) + _LAB_OFFSET) / np.float32(256), 0, 1)


class SegmentedRegions(LocalDescriptors):
    """The regions of a segmentation, with the features of Barnard et al. scaled to unit deviation."""

    n_regions = 10
    _mean: NDArray[np.float32] | None = None
    _deviation: NDArray[np.float32]

    def describe(self, rgb: NDArray[np.uint8]) -> Described:
        """The regions of a picture; a frame is the centre of a region and the side of a square of the same area."""
        frames, features = self._regions(rgb)
        if self._mean is None:
            raise InputError("the recipe learns the scale of region features from pictures: train it first")
        return frames, (features - self._mean) / self._deviation

    def _regions(self, rgb: NDArray[np.uint8]) -> Described:
        labels = segment(rgb, self.n_regions)
        areas = np.bincount(labels.ravel())
        y, x = np.indices(labels.shape)
        centres = [np.bincount(labels.ravel(), axis.ravel()) / areas for axis in (x, y)]
        return np.stack([*centres, np.sqrt(areas)], axis=1).astype(np.float32), region_features(rgb, labels)

    def parameters(self) -> dict[str, Any]:
        """The number of regions."""
        return {"n_regions": self.n_regions}

    def train(self, pictures: TrainingPictures, seed: int) -> None:
        """Learn the scale of every feature."""
        rows = pictures.sample_rows(
            lambda rgb: self._regions(rgb)[1], _REGION_ROWS, seed=seed, description="Sampling regions"
        )
        self._mean = rows.mean(axis=0, dtype=np.float64).astype(np.float32)
        deviation = rows.std(axis=0, dtype=np.float64).astype(np.float32)
        self._deviation = np.where(deviation > 0, deviation, 1)

    def state(self) -> dict[str, NDArray[Any]]:
        """The scale."""
        return {} if self._mean is None else {"mean": self._mean, "deviation": self._deviation}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore the scale."""
        self._mean, self._deviation = state["mean"], state["deviation"]


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
