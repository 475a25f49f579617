"""The picture files that had neither labels nor other metadata inside when they were read: they are not opened again
until they change.
"""

import os
from array import array
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from visterm.errors import VistermError
from visterm.storage import write_bytes_atomically


class UnlabelledFiles:
    """Files known by their path, size and time, kept in the file ``kept``, eight bytes for each.

    Its name ends in the version of what is read inside pictures: raise it when a reader learns to find more.
    """

    NAME = "unlabelled-2"

    def __init__(self, kept: Path) -> None:
        self._kept = kept
        self._known: set[int] = set()
        self._new: set[int] = set()
        with suppress(OSError, ValueError):
            self._known = set(array("Q", kept.read_bytes()))

    def state_of(self, file: Path) -> int | None:
        """A number for the file as it is now; None if there is none."""
        try:
            status = os.stat(file)  # noqa: PTH116 - called for every file of a collection
        except OSError:
            return None
        looks = f"{status.st_size} {status.st_mtime_ns} {file}"
        return int.from_bytes(blake2b(looks.encode("utf-8", "surrogateescape"), digest_size=8).digest(), "little")

    def __contains__(self, state: int | None) -> bool:
        return state in self._known

    def note(self, state: int | None) -> None:
        """Remember a file, in the state of before it was read, so that a later change is noticed."""
        if state is not None:
            self._new.add(state)

    def keep(self) -> None:
        """Write down what was noted; where that cannot be kept, the files are opened again the next time."""
        if not self._new:
            return
        with suppress(VistermError):
            write_bytes_atomically(self._kept, array("Q", sorted(self._known | self._new)).tobytes())
