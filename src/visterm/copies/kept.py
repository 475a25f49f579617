"""What was found of copies, kept so that new pictures are compared once: derived data, named by content hashes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.copies.comparing import Pairs
from visterm.storage import make_folder, write_bytes_atomically

#: Raised when the same pictures would give other pairs.
_VERSION = "1"


@dataclass(frozen=True, eq=False)
class Found:
    """The pictures that were compared, by content hash, the pairs that are copies, and when each was taken.

    Rows of ``pairs`` are places in ``keys``. ``taken`` is in seconds, NaN where nobody knows.
    """

    keys: tuple[str, ...]
    pairs: Pairs
    taken: NDArray[np.float64]

    @classmethod
    def nothing(cls) -> Found:
        """Before anything was compared."""
        return cls((), Pairs.none(), np.empty(0))

    def of(self, keys: Sequence[str]) -> Found:
        """What was found of some of the pictures, in the order in which they were compared."""
        wanted = set(keys)
        kept = np.array([key in wanted for key in self.keys], np.bool_)
        if kept.all():
            return self
        place = np.cumsum(kept) - 1
        pairs = self.pairs.select(kept[self.pairs.first] & kept[self.pairs.second])
        moved = Pairs(place[pairs.first], place[pairs.second], pairs.agreement)
        return Found(tuple(key for key in self.keys if key in wanted), moved, self.taken[kept])


def read(file: Path, recipe: str) -> Found:
    """What was found with a recipe of this hash; nothing if the file is not there, of another recipe, or damaged."""
    from safetensors import SafetensorError, safe_open

    if not file.exists():
        return Found.nothing()
    try:
        with safe_open(file, framework="numpy") as stored:
            if stored.metadata() != {"version": _VERSION, "recipe": recipe}:
                return Found.nothing()
            arrays = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118 - it is no mapping
        pairs = Pairs(arrays["first"].astype(np.int64), arrays["second"].astype(np.int64), arrays["agreement"])
        keys = tuple(bytes(row).hex() for row in arrays["digests"])
        sizes = {len(pairs.first), len(pairs.second), len(pairs.agreement)}
        places = np.concatenate([pairs.first, pairs.second])
        fits = len(sizes) == 1 and len(arrays["taken"]) == len(keys) and arrays["digests"].shape[1:] == (32,)
        if not fits or (len(places) and not 0 <= places.min() <= places.max() < len(keys)):
            return Found.nothing()
        return Found(keys, pairs, arrays["taken"])
    except (SafetensorError, OSError, KeyError):
        return Found.nothing()


def write(file: Path, found: Found, recipe: str) -> None:
    """Keep what was found."""
    from safetensors.numpy import save

    digests: NDArray[Any] = np.frombuffer(bytes.fromhex("".join(found.keys)), np.uint8).reshape(-1, 32)
    arrays: dict[str, NDArray[Any]] = {
        "digests": digests,
        "first": found.pairs.first.astype(np.int32),
        "second": found.pairs.second.astype(np.int32),
        "agreement": found.pairs.agreement.astype(np.float32),
        "taken": found.taken,
    }
    make_folder(file.parent)
    write_bytes_atomically(file, save(arrays, {"version": _VERSION, "recipe": recipe}))
