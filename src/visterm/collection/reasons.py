"""Why a picture is in a list: the words it matches and who says so, and the regions that counted for a model."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

#: The named region holds at least this share of what counted.
_MOST = 0.6
#: A region larger than this share is called the whole picture. A region counts if hiding it costs this share of the
#: probability.
_WHOLE, _LEAST_FALL = 0.6, 0.02


@dataclass(slots=True)
class Reason:
    """Why a picture matches a word, and who says so.

    ``by`` is "tag", "class", "caption" or "file name" if people said so, or else "model", "look" or "no tags"; it is
    "nobody" if nothing is known of the word and the picture.
    """

    word: str
    by: str
    probability: float
    excluded: bool = False


@dataclass(frozen=True, slots=True)
class Regions:
    """How much each cell of a grid over a picture counted: rows from top to bottom, shares that sum to 1.

    A cell counts by how much the log-probability falls when the region around it is hidden, beyond the median fall over
    all regions. ``fall`` is the share of the probability that is lost by hiding the most important region. If no region
    counts by itself, it is 0 and so are all shares.

    >>> print(Regions(((0.0, 0.0, 0.0), (0.1, 0.0, 0.0), (0.7, 0.2, 0.0)), fall=0.5))
    seen mostly at the lower left: 11% of the picture gives 70% of the reason
    """

    shares: tuple[tuple[float, ...], ...]
    fall: float

    @property
    def any_counts(self) -> bool:
        """Whether a region counts by itself."""
        return self.fall >= _LEAST_FALL

    def box(self) -> tuple[int, int, int, int]:
        """The smallest rectangle of cells with most of what counts: rows from, to (exclusive), columns from, to."""
        sums = np.pad(np.cumsum(np.cumsum(self.shares, axis=0), axis=1), ((1, 0), (1, 0)))
        n_rows, n_columns = np.shape(self.shares)
        boxes = [
            ((bottom - top) * (right - left), -held, (top, bottom, left, right))
            for top, left in product(range(n_rows), range(n_columns))
            for bottom, right in product(range(top + 1, n_rows + 1), range(left + 1, n_columns + 1))
            if (held := sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]) >= _MOST
        ]
        return min(boxes)[2] if boxes else (0, n_rows, 0, n_columns)

    def __str__(self) -> str:
        n_rows, n_columns = np.shape(self.shares)
        top, bottom, left, right = self.box()
        area = (bottom - top) * (right - left) / (n_rows * n_columns)
        if not self.any_counts or area > _WHOLE:
            return "seen in the picture as a whole: no part decides alone"
        held = float(np.sum(np.array(self.shares)[top:bottom, left:right]))
        down = ("upper", "middle", "lower")[min(2, int(3 * (top + bottom) / 2 / n_rows))]
        across = ("left", "middle", "right")[min(2, int(3 * (left + right) / 2 / n_columns))]
        where = {("middle", "middle"): "middle", ("upper", "middle"): "top", ("lower", "middle"): "bottom"}
        where |= {("middle", side): side for side in ("left", "right")}
        named = where.get((down, across), f"{down} {across}")
        at = "in" if named == "middle" else "at"
        return f"seen mostly {at} the {named}: {area:.0%} of the picture gives {held:.0%} of the reason"
