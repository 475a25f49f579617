"""Colours and where they are: the simplest useful features of a picture."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from visterm.storage import RowSpec
from visterm.vision.recipes.base import Recipe


class ColourHistogram(Recipe):
    """RGB histograms of the whole picture and of three horizontal stripes, side by side.

    Each histogram has ``levels`` ** 3 bins and sums to one, so that rows of pictures of any size are comparable.
    """

    name = "colour"
    summary = "colour histograms of the whole picture and three stripes"
    seconds_per_picture = 0.004
    levels: ClassVar[int] = 4
    n_stripes: ClassVar[int] = 3

    @property
    def outputs(self) -> Mapping[str, RowSpec]:
        """One dense feature."""
        return {"colour": RowSpec((1 + self.n_stripes) * self.levels**3)}

    def parameters(self) -> dict[str, Any]:
        """Levels per channel and number of stripes."""
        return {"levels": self.levels, "n_stripes": self.n_stripes}

    def compute(self, rgb: NDArray[np.uint8]) -> dict[str, NDArray[np.float32]]:
        """Count the colours."""
        level = rgb.astype(np.uint16) * self.levels >> 8
        bins = (level[..., 0] * self.levels + level[..., 1]) * self.levels + level[..., 2]
        height, n_bins = len(bins), self.levels**3
        # If the picture is less than three pixels high, a stripe still has one row: the nearest.
        edges = [round(i * height / self.n_stripes) for i in range(self.n_stripes + 1)]
        stripes = [bins[min(top, height - 1) : max(bottom, top + 1)] for top, bottom in pairwise(edges)]
        counts = [np.bincount(part.ravel(), minlength=n_bins) / part.size for part in (bins, *stripes)]
        return {"colour": np.concatenate(counts).astype(np.float32)}
