"""Spatial pyramids: encodings of the parts of a picture, side by side."""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.errors import InputError
from visterm.vision.encode.descriptor_pca import as_descriptors
from visterm.vision.encode.gmm import FisherEncoder

#: More cells are an error: surely a typing mistake, and each cell would have too few descriptors.
MAX_CELLS = 1024


class SpatialPyramid:
    """Cuts a picture into cells; each cell is encoded and normalised separately, all encodings side by side.

    Lazebnik, Schmid and Ponce, "Beyond bags of features", CVPR 2006.

    Parameters
    ----------
    cells
        Levels joined by ``+``, each ROWSxCOLUMNS: ``"1x1+3x1"`` is the whole picture and three horizontal stripes,
        ``"1x1+2x2+4x4"`` the classic pyramid. Cells are numbered level by level, then row by row.

    >>> pyramid = SpatialPyramid("1x1+3x1")
    >>> pyramid.n_cells
    4
    >>> pyramid.cell_ids([[5.0, 10.0], [5.0, 80.0]], width=100, height=90)
    array([[0, 0],
           [1, 3]])
    """

    def __init__(self, cells: str = "1x1+3x1") -> None:
        self.cells = cells

    @property
    def levels(self) -> list[tuple[int, int]]:
        """Rows and columns of each level."""
        levels = []
        for level in self.cells.split("+"):
            match = re.fullmatch(r"\s*([1-9]\d{0,3})x([1-9]\d{0,3})\s*", level, flags=re.ASCII)
            if match is None:
                raise InputError(f"cannot read the cells {self.cells!r}: write ROWSxCOLUMNS+..., such as 1x1+3x1")
            levels.append((int(match[1]), int(match[2])))
        if sum(rows * columns for rows, columns in levels) > MAX_CELLS:
            raise InputError(f"the cells {self.cells!r} are more than {MAX_CELLS}")
        return levels

    @property
    def n_cells(self) -> int:
        """The number of cells of all levels together."""
        return sum(rows * columns for rows, columns in self.levels)

    def cell_ids(self, frames: Any, *, width: float, height: float) -> NDArray[np.int64]:
        """For each level, the cell that contains each frame, (n_levels, n_frames).

        ``frames`` are (n_frames, 2 or more), the first columns x and y in pixels of a ``width`` x ``height`` picture.
        """
        frames = np.asarray(frames, dtype=np.float64)
        if frames.ndim != 2 or frames.shape[1] < 2:
            raise InputError(f"frames must be an (n_frames, 2 or more) array with columns x and y, not {frames.shape}")
        if not (width > 0 and height > 0):
            raise InputError(f"a picture must have positive width and height, not {width} x {height}")
        x, y = frames[:, 0], frames[:, 1]
        if not ((x >= 0) & (x <= width) & (y >= 0) & (y <= height)).all():
            raise InputError(f"frames lie outside the {width} x {height} picture: were they found at another size?")
        ids, first = [], 0
        for rows, columns in self.levels:
            row = np.minimum((y * rows / height).astype(np.int64), rows - 1)
            column = np.minimum((x * columns / width).astype(np.int64), columns - 1)
            ids.append(first + row * columns + column)
            first += rows * columns
        return np.stack(ids)

    def encode(
        self, encoder: FisherEncoder, descriptors: Any, frames: Any, *, width: float, height: float
    ) -> NDArray[np.float32]:
        """The encodings of all cells, (n_cells * encoder.n_dims,); that of an empty cell is zero."""
        rows = as_descriptors(descriptors)
        ids = self.cell_ids(frames, width=width, height=height)
        if ids.shape[1] != len(rows):
            raise InputError(f"{len(rows)} descriptors need {len(rows)} frames, not {ids.shape[1]}")
        encodings = np.zeros((self.n_cells, encoder.n_dims), np.float32)
        if not len(rows):
            return encodings.ravel()
        # Descriptors that share their cell on every level form a piece; the sums of a cell are those of its pieces.
        pieces, piece_of = np.unique(ids, axis=1, return_inverse=True)
        order = np.argsort(piece_of.ravel(), kind="stable")
        ends = np.cumsum(np.bincount(piece_of.ravel()))
        sums = np.stack([encoder.sums(rows[piece]) for piece in np.split(order, ends[:-1])])
        for cell in np.unique(pieces):
            encodings[cell] = encoder.encode_sums(sums[(pieces == cell).any(axis=0)].sum(axis=0))
        return encodings.ravel()
