"""The low-level features of NUS-WIDE (``Train_Normalized_EDH.dat`` and the like): numbers, one line per picture.

Its tag files (``Train_Tags81.txt``) have the same layout and contain 0 and 1. These are matrices, not pictures: a
malformed line is refused, since leaving it out would shift the rows below it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from visterm.catalogue.records import Reading
from visterm.errors import InputError
from visterm.exchange.readers._files import numbered_lines

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: A larger matrix is refused unless the caller allows it.
MAX_BYTES = 2**32


def read_matrix(path: Path, *, max_bytes: int = MAX_BYTES) -> NDArray[np.float32]:
    """The (n_pictures, n_dims) matrix of finite numbers in the file."""
    import numpy as np

    reading = Reading(str(path), "nuswide")
    rows: list[NDArray[np.float32]] = []
    n_bytes = 0
    for number, line in numbered_lines(path, reading):
        if reading.skipped:
            break
        try:
            with np.errstate(over="ignore"):
                row = np.array(line.split(), dtype=np.float32)
        except ValueError as error:
            raise InputError(f"{path}, line {number}: expected numbers, found {line[:60].strip()!r}") from error
        if not len(row) or (rows and len(row) != len(rows[0])):
            expected = f"{len(rows[0])} numbers as in the first line" if rows else "numbers"
            raise InputError(f"{path}, line {number}: expected {expected}, found {len(row)}")
        if not np.isfinite(row).all():
            raise InputError(f"{path}, line {number}: a number is not finite")
        n_bytes += row.nbytes
        if n_bytes > max_bytes:
            raise InputError(f"{path} has more than {max_bytes} bytes: give a larger max_bytes to read it")
        rows.append(row)
    if reading.skipped:
        raise InputError(str(reading.skipped[0]))
    if not rows:
        raise InputError(f"{path} is empty: expected numbers, one line per picture")
    return np.stack(rows)
