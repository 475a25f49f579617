"""Fisher vectors of SIFT and local colour statistics over a spatial pyramid (Lapin, Schiele & Hein, CVPR 2014)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.errors import InputError
from visterm.storage import RowSpec
from visterm.vision.decode import PIXEL_BUDGET
from visterm.vision.encode.descriptor_pca import DescriptorPCA
from visterm.vision.encode.fisher import FisherEncoder
from visterm.vision.encode.gmm import DiagonalGMM
from visterm.vision.encode.pyramid import SpatialPyramid
from visterm.vision.recipes.base import learned, of_prefix
from visterm.vision.recipes.descriptors import LocalDescriptors, LocalRecipe
from visterm.vision.recipes.training_pictures import TrainingPictures

_SEED = 0


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
