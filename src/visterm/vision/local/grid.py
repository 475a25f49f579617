"""The positions of dense descriptors: patches of 4 x 4 square cells on a regular grid, one grid per cell size.

Coordinates are those of pixel centres: pixel ``[y, x]`` is at ``(x, y)`` and the picture spans ``-0.5`` to
``width - 0.5``. The centre of every cell lies on a pixel. So the outermost patches extend beyond the picture by half a
cell, and a picture has room for a patch if it is larger than three cells in both directions. This is the grid of
VLFeat's ``dsift``. All dense descriptors of a picture use it, so their rows belong to the same patches.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from math import gcd
from operator import index

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.errors import InputError

#: Cells per side of a patch.
CELLS = 4


@dataclass(frozen=True, slots=True)
class Grid:
    """``n_rows`` x ``n_columns`` patches, ``step`` pixels apart, of 4 x 4 cells of ``bin_size`` pixels."""

    step: int
    bin_size: int
    n_rows: int
    n_columns: int

    @classmethod
    def over(cls, shape: tuple[int, int], step: int, bin_size: int) -> "Grid":
        """The grid that covers a picture of ``shape`` (height, width).

        >>> Grid.over((100, 200), step=4, bin_size=6)
        Grid(step=4, bin_size=6, n_rows=21, n_columns=46)
        """
        rows, columns = (max(0, (side - 1 - (CELLS - 1) * bin_size) // step + 1) for side in shape)
        return cls(step, bin_size, rows, columns) if rows and columns else cls(step, bin_size, 0, 0)

    @property
    def n_patches(self) -> int:
        """How many patches there are."""
        return self.n_rows * self.n_columns

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of patches."""
        return self.n_rows, self.n_columns

    @property
    def spacing(self) -> int:
        """The largest spacing of a lattice from pixel (0, 0) that contains every cell centre of every patch."""
        return gcd(self.step, self.bin_size)

    @property
    def lattice_shape(self) -> tuple[int, int]:
        """Rows and columns of that lattice."""
        reach = (CELLS - 1) * self.bin_size
        rows, columns = (((n - 1) * self.step + reach) // self.spacing + 1 for n in self.shape)
        return rows, columns

    def frames(self) -> NDArray[np.float32]:
        """One row per patch, row by row from the top left: x and y of its centre, and its side, in pixels."""
        offset = 0.5 * (CELLS - 1) * self.bin_size
        y, x = np.mgrid[: self.n_rows, : self.n_columns].astype(np.float32) * np.float32(self.step) + np.float32(offset)
        side = np.full(self.n_patches, CELLS * self.bin_size, np.float32)
        return np.column_stack((x.ravel(), y.ravel(), side))


def grids(shape: tuple[int, int], step: int | Sequence[int], bin_sizes: Sequence[int]) -> list[Grid]:
    """The grids of a picture of ``shape``, one per bin size; ``step`` is one number for all, or one for each."""
    sizes = _positive_integers(bin_sizes, "bin_sizes")
    if isinstance(step, Sequence | np.ndarray):
        steps = _positive_integers(step, "step")
        if len(steps) != len(sizes):
            raise InputError(f"{len(steps)} steps do not match {len(sizes)} bin sizes: give one step, or one for each")
        return [Grid.over(shape, *pair) for pair in zip(steps, sizes, strict=True)]
    (one,) = _positive_integers([step], "step")
    return [Grid.over(shape, *pair) for pair in zip(repeat(one), sizes, strict=False)]


def stack_frames(all_grids: Sequence[Grid]) -> NDArray[np.float32]:
    """The frames of all grids, one grid after the other."""
    return np.concatenate([grid.frames() for grid in all_grids])


def count_patches(all_grids: Sequence[Grid]) -> int:
    """How many patches all grids have together."""
    return sum(grid.n_patches for grid in all_grids)


def with_rows(all_grids: Sequence[Grid]) -> Iterator[tuple[Grid, slice]]:
    """Every grid that has patches, with their rows among the patches of all grids."""
    end = 0
    for grid in all_grids:
        if grid.n_patches:
            start, end = end, end + grid.n_patches
            yield grid, slice(start, end)


def gather(lattice: NDArray[np.float32], grid: Grid, out: NDArray[np.float32], weights: ArrayLike = 1.0) -> None:
    """Fill ``out`` (n_rows, n_columns, 4, 4, n_lanes) with the cells of every patch of ``grid`` from its lattice.

    A cell is multiplied by the ``weights`` of its row and of its column.
    """
    from visterm.vision import _kernels_filters

    of_cells = np.broadcast_to(np.asarray(weights, np.float32), CELLS).copy()
    _kernels_filters.gather_cells(lattice, grid.step // grid.spacing, grid.bin_size // grid.spacing, of_cells, out)


def _positive_integers(values: Sequence[int], name: str) -> list[int]:
    try:
        numbers = [index(value) for value in values]
    except TypeError as error:
        raise InputError(f"{name} must be whole numbers of pixels, not {values!r}") from error
    if not numbers or min(numbers) < 1:
        raise InputError(f"{name} must be positive whole numbers of pixels, not {values!r}")
    return numbers
