"""Features of the whole picture, and where its colours are."""

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar, get_args

import numpy as np
from numpy.typing import NDArray

from visterm.storage import RowSpec
from visterm.vision.colour import to_grey
from visterm.vision.local.lbp import N_PATTERNS, lbp_codes
from visterm.vision.recipes.base import Recipe
from visterm.vision.whole.colours import ColourSpace, colour_correlogram, colour_histogram, grid_colour_moments
from visterm.vision.whole.structure import edge_direction_histogram, gist, haar_wavelet


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
    def outputs(self) -> Mapping[str, RowSpec]:
        """One dense feature each."""
        return {name: RowSpec(n_dims) for name, n_dims in self._dims.items()}

    def compute(self, rgb: NDArray[np.uint8]) -> dict[str, Any]:
        """All of them from one decoded picture."""
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


class PlacedHistograms(Recipe):
    """Colours and patterns in three horizontal stripes, GIST and the whole picture's colours, by name.

    Sky is above and grass below: where the colours are says something about what a picture shows (Makadia et al., ECCV
    2008; Guillaumin et al., ICCV 2009).
    """

    name = "placed-histograms"
    summary = "GIST, colours, and colours and patterns in three horizontal stripes"
    seconds_per_picture = 0.03
    _N_STRIPES = 3
    _BINS = (12, 12, 12)

    @property
    def outputs(self) -> Mapping[str, RowSpec]:
        """GIST is dense; colours are sparse, since a picture has only few of them."""
        n_colours = self._N_STRIPES * math.prod(self._BINS)
        colours = {f"{space}-stripes": RowSpec(n_colours, sparse=True) for space in ("hsv", "lab", "rgb")}
        patterns = RowSpec(self._N_STRIPES * N_PATTERNS)
        return {"gist": RowSpec(512), "hsv": RowSpec(4096, sparse=True), **colours, "lbp-stripes": patterns}

    def parameters(self) -> dict[str, Any]:
        """Stripes and boxes."""
        return {"n_stripes": self._N_STRIPES, "bins": list(self._BINS)}

    def compute(self, rgb: NDArray[np.uint8]) -> dict[str, Any]:
        """All of them from one decoded picture."""
        from scipy.sparse import csr_array

        found: dict[str, Any] = {"gist": gist(rgb), "hsv": csr_array(colour_histogram(rgb, "hsv")[None])}
        for space in get_args(ColourSpace):
            found[f"{space}-stripes"] = _colours_of_stripes(rgb, space, self._N_STRIPES, self._BINS)
        return found | {"lbp-stripes": _patterns_of_stripes(rgb, self._N_STRIPES)}


class PlacedColours(Recipe):
    """The colours of a picture: HSV histograms of all and of three horizontal stripes, and a colour correlogram.

    Of the cheap features these three got a weight beside a network's and Fisher vectors; Lab and RGB histograms, local
    binary patterns, GIST and edge directions got almost none.
    """

    name = "placed-colours"
    summary = "colours, colours in three horizontal stripes, and a colour correlogram"
    seconds_per_picture = 0.007
    _N_STRIPES = 3
    _BINS = (12, 12, 12)

    def __init__(self, *, pixel_budget: int) -> None:
        self.pixel_budget = pixel_budget

    @property
    def outputs(self) -> Mapping[str, RowSpec]:
        """The histograms are sparse, since a picture has only few colours."""
        stripes = RowSpec(self._N_STRIPES * math.prod(self._BINS), sparse=True)
        return {"hsv": RowSpec(4096, sparse=True), "hsv-stripes": stripes, "correlogram": RowSpec(144)}

    def parameters(self) -> dict[str, Any]:
        """Stripes and boxes."""
        return {"n_stripes": self._N_STRIPES, "bins": list(self._BINS)}

    def compute(self, rgb: NDArray[np.uint8]) -> dict[str, Any]:
        """All from one decoded picture."""
        from scipy.sparse import csr_array

        return {
            "hsv": csr_array(colour_histogram(rgb, "hsv")[None]),
            "hsv-stripes": _colours_of_stripes(rgb, "hsv", self._N_STRIPES, self._BINS),
            "correlogram": colour_correlogram(rgb),
        }


def _colours_of_stripes(rgb: NDArray[np.uint8], space: ColourSpace, n_stripes: int, bins: tuple[int, int, int]) -> Any:
    """The colour histograms of horizontal stripes side by side, as a sparse row; a stripe without pixels is zero."""
    from scipy.sparse import csr_array

    histograms = np.zeros((n_stripes, math.prod(bins)), np.float32)
    stripes = [stripe for stripe in np.array_split(rgb, n_stripes) if stripe.size]
    for row, stripe in enumerate(stripes):
        histograms[row] = colour_histogram(stripe, space, bins)
    return csr_array(histograms.reshape(1, -1))


def _patterns_of_stripes(rgb: NDArray[np.uint8], n_stripes: int) -> NDArray[np.float32]:
    """Shares of local binary patterns in each of the horizontal stripes."""
    stripes = np.array_split(lbp_codes(to_grey(rgb)), n_stripes)
    counts = [np.bincount(stripe.ravel(), minlength=N_PATTERNS) for stripe in stripes]
    patterns = np.concatenate(counts).astype(np.float32)
    return patterns / np.float32(max(1, patterns.sum()))
