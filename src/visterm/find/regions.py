"""Which regions of a picture counted for a model: hiding an important region lowers the probability most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.collection.reasons import Regions
from visterm.compute.parallel import map_shards
from visterm.contracts import Features
from visterm.features import one_or_several, stacked
from visterm.vision.recipes.base import Recipe

Floats = NDArray[np.floating[Any]]

#: A picture is divided into about this many cells, as square as possible.
_N_CELLS = 24
#: Features are computed for about this many versions of a picture.
N_VERSIONS = 1 + _N_CELLS
#: A hidden region is this many cells wide and high; the part beyond one cell is its soft edge, half on either side.
_WIDTH = 1.5
#: A hidden region is blurred by this share of a cell: its colours stay about the same, its content is lost.
_BLUR = 0.5
#: Features are computed for this many copies at a time.
_COPIES = 8


def regions_of(
    recipe: Recipe, pictures: Sequence[NDArray[np.uint8]], believe: Callable[[int, Features], Floats]
) -> list[Regions]:
    """Which regions count in each of ``pictures``; they must be decoded with the recipe's pixel budget.

    ``believe(i, X)`` gives the log-probabilities of the versions of picture ``i``, the rows of ``X``: first the picture
    as it is, then with one region hidden each. Features are computed with the recipe of the picture and not stored.
    """
    cells = [list(product(*map(range, grid_of(rgb)))) for rgb in pictures]
    tasks = [
        (i, places[start : start + _COPIES])
        for i, places in enumerate(cells)
        for start in range(0, len(places), _COPIES)
    ]

    def described(task: tuple[int, Sequence[tuple[int, ...]]]) -> list[dict[str, Any]]:
        i, places = task
        return recipe.compute_many(hidden(pictures[i], places))

    rows = [recipe.compute_many([rgb]) for rgb in pictures]
    for (i, _), some in zip(tasks, map_shards(described, tasks, description="Looking at regions"), strict=True):
        rows[i] += some
    return [
        _shares(believe(i, one_or_several(stacked(recipe, of_one))), grid_of(rgb))
        for i, (rgb, of_one) in enumerate(zip(pictures, rows, strict=True))
    ]


def grid_of(rgb: NDArray[np.uint8]) -> tuple[int, int]:
    """How many rows and columns of about square cells a picture has.

    >>> grid_of(np.zeros((200, 300, 3), np.uint8)), grid_of(np.zeros((300, 200, 3), np.uint8))
    ((4, 6), (6, 4))
    """
    height, width = rgb.shape[:2]
    n_rows = min(max(1, round((_N_CELLS * height / width) ** 0.5)), _N_CELLS, height)
    return n_rows, min(max(1, round(_N_CELLS / n_rows)), width)


def hidden(rgb: NDArray[np.uint8], places: Sequence[tuple[int, ...]]) -> list[NDArray[np.uint8]]:
    """For each cell (row, column), the picture with the region around that cell blurred beyond recognition."""
    from PIL import Image, ImageFilter

    grid, size = grid_of(rgb), rgb.shape[:2]
    image = Image.fromarray(rgb)
    blurred = image.filter(ImageFilter.GaussianBlur(_BLUR * size[0] / grid[0]))
    copies = []
    for place in places:
        down, across = (_profile(length, cell, n) for length, cell, n in zip(size, place, grid, strict=True))
        mask = Image.fromarray(np.rint(255 * np.outer(down, across)).astype(np.uint8))
        copies.append(np.asarray(Image.composite(blurred, image, mask)))
    return copies


def _profile(length: int, cell: int, n_cells: int) -> Floats:
    """How much each row or column of pixels is hidden: fully in the middle of the region, less towards its edges."""
    apart = np.abs((np.arange(length) + 0.5) * n_cells / length - cell - 0.5)  # from the middle of the cell, in cells
    edge = _WIDTH - 1
    return np.clip((_WIDTH / 2 + edge / 2 - apart) / edge, 0.0, 1.0)


def _shares(log_p: Floats, grid: tuple[int, int]) -> Regions:
    falls = float(log_p[0]) - np.asarray(log_p[1:], np.float64)
    falls = np.maximum(falls - max(0.0, float(np.median(falls))), 0.0)
    total = float(falls.sum())
    shares = (falls / total if total > 0 else falls).reshape(grid)
    return Regions(tuple(tuple(row) for row in shares.tolist()), float(-np.expm1(-falls.max())))
