"""LDA-C bags of codewords, a line ``n id:count id:count ...`` per picture, and their labels, one number per line.

These are matrices, not pictures: a malformed line is refused, since leaving it out would shift the rows below it.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from visterm.catalogue.records import Reading
from visterm.errors import InputError
from visterm.exchange.readers._files import numbered_lines

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

_MAX_LINE = 2**24
# Nine digits at most, so that every number fits 32 bits.
_BAG = re.compile(r"\d{1,9}(?:\s+\d{1,9}:\d{1,9})*", re.ASCII)
_LABEL = re.compile(r"-?\d{1,9}", re.ASCII)


def read_bags(path: Path, n_codewords: int | None = None) -> csr_array:
    """The (n_pictures, n_codewords) matrix of counts; by default, n_codewords is the largest id plus 1."""
    import numpy as np
    from scipy.sparse import csr_array

    counts, ids, ends = array("i"), array("i"), array("q", [0])
    for number, line in _lines(path):
        if not _BAG.fullmatch(line):
            raise InputError(f"{path}, line {number}: expected a bag 'n id:count id:count ...', found {line[:60]!r}")
        announced, *pairs = line.split()
        bag = [(int(codeword), int(count)) for codeword, _, count in (pair.partition(":") for pair in pairs)]
        if int(announced) != len(bag):
            raise InputError(f"{path}, line {number}: announces {announced} codewords but has {len(bag)}")
        bag_ids = {codeword for codeword, _ in bag}
        if len(bag_ids) < len(bag):
            raise InputError(f"{path}, line {number}: a codeword occurs twice")
        if n_codewords is not None and bag and max(bag_ids) >= n_codewords:
            raise InputError(f"{path}, line {number}: codeword {max(bag_ids)} must be below {n_codewords}")
        ids.extend(codeword for codeword, _ in bag)
        counts.extend(count for _, count in bag)
        ends.append(len(ids))
    columns = np.array(ids, dtype=np.int32)
    width = n_codewords if n_codewords is not None else int(columns.max(initial=-1)) + 1
    bags = csr_array((np.array(counts, dtype=np.int32), columns, np.array(ends)), shape=(len(ends) - 1, width))
    bags.sort_indices()
    return bags


def read_labels(path: Path) -> NDArray[np.intp]:
    """The labels, one whole number per line."""
    import numpy as np

    labels = array("q")
    for number, line in _lines(path):
        if not _LABEL.fullmatch(line):
            raise InputError(f"{path}, line {number}: expected a whole number, found {line[:60]!r}")
        labels.append(int(line))
    return np.array(labels, dtype=np.intp)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The stripped lines with their numbers, without blank lines at the end; an unreadable line is refused."""
    reading = Reading(str(path), "ldac")
    blank = None
    for number, line in numbered_lines(path, reading, max_line=_MAX_LINE):
        if reading.skips:
            break
        if not line.strip():
            blank = blank or number
            continue
        if blank is not None:
            raise InputError(f"{path}, line {blank}: the line is empty")
        yield number, line.strip()
    if reading.skips:
        raise InputError(str(reading.skips[0]))
