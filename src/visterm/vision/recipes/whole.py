"""Features of the whole picture, computed together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from visterm.vision.recipes.base import Recipe
from visterm.vision.spec import FeatureSpec


class GlobalsRecipe(Recipe):
    """GIST, colour histograms, correlogram, colour moments, edge directions and Haar wavelets, by name."""

    name = "globals"
    summary = "eight features of the whole picture: GIST, histograms, correlogram, moments, edges, wavelets"
    seconds_per_picture = 0.04
    _dims: ClassVar[dict[str, int]] = {
        "gist": 512,
        "hsv": 4096,
        "rgb": 4096,
        "lab": 4096,
        "correlogram": 144,
        "moments": 225,
        "edges": 73,
        "haar": 4032,
    }

    @property
    def outputs(self) -> Mapping[str, FeatureSpec]:
        """One dense feature each."""
        return {name: FeatureSpec(n_dims) for name, n_dims in self._dims.items()}

    def compute(self, rgb: NDArray[np.uint8]) -> dict[str, Any]:
        """All of them from one decoded picture."""
        from visterm.vision.correlogram import colour_correlogram
        from visterm.vision.edges import edge_direction_histogram
        from visterm.vision.gist import gist
        from visterm.vision.grid_moments import grid_colour_moments
        from visterm.vision.haar import haar_wavelet
        from visterm.vision.histograms import colour_histogram

        return {
            "gist": gist(rgb),
            "hsv": colour_histogram(rgb, "hsv"),
            "rgb": colour_histogram(rgb, "rgb"),
            "lab": colour_histogram(rgb, "lab"),
            "correlogram": colour_correlogram(rgb),
            "moments": grid_colour_moments(rgb),
            "edges": edge_direction_histogram(rgb),
            "haar": haar_wavelet(rgb),
        }
