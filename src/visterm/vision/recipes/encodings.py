"""Bags of codewords and Fisher vectors: encodings of the local descriptors of a picture."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.errors import InputError
from visterm.storage import RowSpec
from visterm.vision.decode import PIXEL_BUDGET
from visterm.vision.encode.codebook import Codebook
from visterm.vision.encode.descriptor_pca import DescriptorPCA
from visterm.vision.encode.gmm import DiagonalGMM, FisherEncoder
from visterm.vision.encode.pyramid import SpatialPyramid
from visterm.vision.recipes.base import learned, of_prefix
from visterm.vision.recipes.combined import CombinedRecipe
from visterm.vision.recipes.descriptors import DenseGrid, LocalDescriptors, LocalRecipe
from visterm.vision.recipes.training_pictures import TrainingPictures

_SEED = 0
_DESCRIPTORS_PER_WORD = 10
_CODEBOOK = "codebook."
_DESCRIPTORS = "descriptors."


@dataclass(eq=False)
class BagRecipe(LocalRecipe):
    """Counts of the ``n_words`` codewords of a codebook learned from the collection, in every cell of a pyramid.

    Each descriptor counts for its ``n_nearest`` codewords. A codeword needs at least ten descriptors: a small
    collection gets fewer codewords, but still ``n_words`` columns.
    """

    name: str
    summary: str
    descriptors: LocalDescriptors
    n_words: int
    _: KW_ONLY
    cells: str = "1x1"
    n_nearest: int = 1
    max_sample: int = 200_000
    n_training_pictures: int = 1000
    pixel_budget: int = PIXEL_BUDGET
    seconds_per_picture: float = 0.02
    _codebook: Codebook | None = field(default=None, init=False, repr=False)

    @property
    def pyramid(self) -> SpatialPyramid:
        """The cells of a picture that are counted separately."""
        return SpatialPyramid(self.cells)

    @property
    def outputs(self) -> Mapping[str, RowSpec]:
        """One bag: the counts of every cell, side by side."""
        return {self.name: RowSpec(self.pyramid.n_cells * self.n_words, "int32", sparse=True)}

    def parameters(self) -> dict[str, Any]:
        """Descriptors and codebook."""
        return {
            "descriptors": self.descriptors.parameters(),
            "n_words": self.n_words,
            "cells": self.cells,
            "max_sample": self.max_sample,
            "n_training_pictures": self.n_training_pictures,
        } | ({"n_nearest": self.n_nearest} if self.n_nearest > 1 else {})

    def train(self, pictures: TrainingPictures) -> None:
        """Train the descriptors, then learn the codewords."""
        self.descriptors.train(pictures, _SEED)
        self.learn(self._sampled(pictures, self.max_sample, _SEED))

    def learn(self, rows: NDArray[np.float32]) -> None:
        """Learn the codewords from descriptors."""
        n_words = min(self.n_words, max(1, len(rows) // _DESCRIPTORS_PER_WORD))
        self._codebook = Codebook(n_words, random_state=_SEED).fit(rows)

    def codewords(self, rgb: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        """The frames of a picture and the nearest codeword of each, for drawing what the bag counts."""
        frames, rows, (height, width, *_) = self.described(rgb)
        scale = np.array([rgb.shape[1] / width, rgb.shape[0] / height, max(rgb.shape[:2]) / max(height, width)])
        # The centre of the first pixel is at zero.
        shift = np.array([0.5, 0.5, 0.0])
        return ((frames + shift) * scale - shift).astype(np.float32), self._trained().assign(rows)

    def compute_many(self, pictures: Sequence[NDArray[np.uint8]]) -> list[dict[str, Any]]:
        """Compute descriptors, find their codewords, count."""
        self._trained()
        return [{self.name: self.encode(*described)} for described in self.described_many(pictures)]

    def encode(self, frames: NDArray[np.float32], rows: NDArray[np.float32], shape: tuple[int, ...]) -> Any:
        """The bag of a picture of the given shape from its descriptors."""
        from scipy.sparse import csr_array

        codebook = self._trained()
        n_nearest = min(self.n_nearest, len(codebook.words_))
        words = codebook.assign(rows)[:, None] if n_nearest == 1 else codebook.soft_assign(rows, n_nearest)
        cells = self.pyramid.cell_ids(frames, width=shape[1], height=shape[0])
        columns, counts = np.unique(cells[:, :, None] * self.n_words + words, return_counts=True)
        n_columns = self.pyramid.n_cells * self.n_words
        return csr_array((counts.astype(np.int32), columns, [0, len(columns)]), shape=(1, n_columns))

    def state(self) -> dict[str, NDArray[Any]]:
        """The codewords, and what the descriptors learned."""
        if self._codebook is None:
            return {}
        own = {_DESCRIPTORS + key: value for key, value in self.descriptors.state().items()}
        return learned(self._codebook, _CODEBOOK) | own | self._size_state()

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore codewords and descriptors."""
        codebook = Codebook(len(state[_CODEBOOK + "words_"]), random_state=_SEED)
        vars(codebook).update(of_prefix(state, _CODEBOOK))
        if own := of_prefix(state, _DESCRIPTORS):
            self.descriptors.restore(own)
        self._restore_size(state)
        self._codebook = codebook

    def _trained(self) -> Codebook:
        if self._codebook is None:
            raise InputError(f"the recipe {self.name!r} learns its codewords from pictures: train it first")
        return self._codebook


@dataclass(eq=False)
class FisherRecipe(LocalRecipe):
    """The improved Fisher vector of descriptors projected by PCA to ``n_axes``, under ``n_components`` Gaussians.

    The vector has 2 x n_components x n_axes entries for each cell of the pyramid; every cell is square-rooted and of
    unit length.
    """

    name: str
    summary: str
    descriptors: LocalDescriptors
    _: KW_ONLY
    n_axes: int
    n_components: int
    max_sample: int = 250_000
    pixel_budget: int = PIXEL_BUDGET
    seconds_per_picture: float = 0.1
    _pca: DescriptorPCA | None = field(default=None, init=False, repr=False)
    _gmm: DiagonalGMM | None = field(default=None, init=False, repr=False)
    has_negatives = True
    n_training_pictures = 1000
    pyramid = SpatialPyramid("1x1+3x1")

    @property
    def outputs(self) -> Mapping[str, RowSpec]:
        """One dense vector in half precision: its entries are square roots, accurate to three digits at best."""
        return {self.name: RowSpec(self.pyramid.n_cells * 2 * self.n_components * self.n_axes, "float16")}

    def parameters(self) -> dict[str, Any]:
        """Descriptors, axes, Gaussians, cells."""
        return {
            "descriptors": self.descriptors.parameters(),
            "n_axes": self.n_axes,
            "n_components": self.n_components,
            "cells": self.pyramid.cells,
            "max_sample": self.max_sample,
            "n_training_pictures": self.n_training_pictures,
        }

    def train(self, pictures: TrainingPictures) -> None:
        """Learn the axes, then the mixture, from one sample."""
        self.learn(self._sampled(pictures, self.max_sample, _SEED))

    def learn(self, rows: NDArray[np.float32]) -> None:
        """Learn axes and mixture from descriptors."""
        self._pca = DescriptorPCA(self.n_axes).fit(rows)
        self._gmm = DiagonalGMM(self.n_components, random_state=_SEED).fit(self._pca.transform(rows))

    def compute(self, rgb: NDArray[np.uint8]) -> dict[str, Any]:
        """Compute descriptors, project them, encode every cell."""
        self._trained()
        return {self.name: self.encode(*self.described(rgb))}

    def encode(self, frames: NDArray[np.float32], rows: NDArray[np.float32], shape: tuple[int, ...]) -> Any:
        """The vector of a picture of the given shape from its descriptors."""
        pca, gmm = self._trained()
        vector = self.pyramid.encode(FisherEncoder(gmm), pca.transform(rows), frames, width=shape[1], height=shape[0])
        return vector.astype(np.float16)

    def state(self) -> dict[str, NDArray[Any]]:
        """Axes and mixture."""
        if self._pca is None or self._gmm is None:
            return {}
        return learned(self._pca, "pca.") | learned(self._gmm, "gmm.") | self._size_state()

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore axes and mixture."""
        pca, gmm = DescriptorPCA(self.n_axes), DiagonalGMM(self.n_components, random_state=_SEED)
        vars(pca).update(of_prefix(state, "pca."))
        vars(gmm).update(of_prefix(state, "gmm."))
        self._restore_size(state)
        self._pca, self._gmm = pca, gmm

    def _trained(self) -> tuple[DescriptorPCA, DiagonalGMM]:
        if self._pca is None or self._gmm is None:
            raise InputError(f"the recipe {self.name!r} learns its mixture from pictures: train it first")
        return self._pca, self._gmm


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
