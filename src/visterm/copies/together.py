"""Which pictures must not be parted when some are held out: those of one group of copies or one series."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visterm.copies import finding
from visterm.copies.grouping import groups

if TYPE_CHECKING:
    from visterm.collection.opened import Opened


def group_numbers(opened: Opened, ids: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """For each picture id, a number that only the pictures of its group have; None if no group was found."""
    known = finding.found(opened)
    found = [group.ids for group in groups(opened, known).groups if len(group.ids) > 1]
    if not found:
        return None
    numbers = np.arange(len(ids))
    place = {int(number): row for row, number in enumerate(ids.tolist())}
    for members in found:  # series come last: they hold the copies of their pictures
        rows = [place[number] for number in members if number in place]
        numbers[rows] = min(rows, default=0)
    return numbers
