"""The places of a network's last feature map as local descriptors."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute.rows import slices
from visterm.errors import InputError
from visterm.vision.encode.descriptor_pca import DescriptorPCA
from visterm.vision.network.efficientnet_lite import EfficientNetLite
from visterm.vision.recipes.base import learned
from visterm.vision.recipes.descriptors import Described, LocalDescriptors
from visterm.vision.recipes.training_pictures import TrainingPictures

#: Rows of 1,280 numbers that the axes are learned from: 100 MB.
_SAMPLE = 20_000
_BATCH = 16


class NetworkGrid(LocalDescriptors):
    """The vectors of the places of the last feature map, of length one, projected on ``n_axes`` principal axes."""

    def __init__(self, network: EfficientNetLite, n_axes: int) -> None:
        self.network = network
        self.n_axes = n_axes
        self._pca: DescriptorPCA | None = None

    def describe(self, rgb: NDArray[np.uint8]) -> Described:
        """The places of one picture, row by row."""
        return self.describe_many([rgb])[0]

    def describe_many(self, pictures: Sequence[NDArray[np.uint8]]) -> list[Described]:
        """The places of several pictures; the network sees them in batches."""
        if self._pca is None:
            raise InputError("the recipe learns the axes of the network's places from pictures: train it first")
        described: list[Described] = []
        for batch in slices(len(pictures), _BATCH):
            part = pictures[batch]
            described += [
                (self._frames(rgb.shape, rows), self._pca.transform(rows))
                for rgb, rows in zip(part, self._places(part), strict=True)
            ]
        return described

    def _places(self, pictures: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """(n_pictures, n_places, n_dims) of length one."""
        maps = self.network.maps(self.network.preprocessing.batch(pictures))
        rows = maps.reshape(*maps.shape[:2], -1).transpose(0, 2, 1)
        lengths = np.linalg.norm(rows, axis=2, keepdims=True)
        return np.ascontiguousarray(rows / np.where(lengths > 0, lengths, np.float32(1)))

    def _frames(self, shape: tuple[int, ...], rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """The centres of the squares of a picture that the places look at, and the side of a square of that area."""
        side = round(len(rows) ** 0.5)
        crop = self.network.preprocessing.crop
        y, x = ((1 - crop) / 2 + crop * (index.ravel() + 0.5) / side for index in np.indices((side, side)))
        height, width = shape[:2]
        size = np.full(len(rows), (height * width) ** 0.5 * crop / side)
        return np.stack([x * width - 0.5, y * height - 0.5, size], axis=1).astype(np.float32).clip(0)

    def parameters(self) -> dict[str, Any]:
        """The network, how pictures are prepared for it, and the number of axes."""
        return {
            "network": self.network.fingerprint,
            "preprocessing": asdict(self.network.preprocessing),
            "n_axes": self.n_axes,
        }

    def train(self, pictures: TrainingPictures, seed: int) -> None:
        """Learn the axes; a small collection gets fewer."""
        rows = pictures.sample_rows(
            lambda rgb: self._places([rgb])[0], _SAMPLE, seed=seed, description="Sampling the network's places"
        )
        self._pca = DescriptorPCA(min(self.n_axes, len(rows))).fit(rows)

    def state(self) -> dict[str, NDArray[Any]]:
        """The axes."""
        return {} if self._pca is None else learned(self._pca)

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore the axes."""
        self._pca = DescriptorPCA(len(state["components_"]))
        vars(self._pca).update(state)
