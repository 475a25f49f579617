"""What a feature store has committed: its files, and where in them the row of each picture is."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.errors import InputError
from visterm.storage._arrays.growing import GrowingArray
from visterm.storage._arrays.manifest import Manifest
from visterm.storage._arrays.rows import MappedRows, row_files

#: A sha256 has this many bytes.
DIGEST_BYTES = 32


class Files:
    """The files of one generation: the key of each row, the rows, and the numbers of the rows that were removed.

    A key that occurs again has been given a new row. Rows are removed by number, so that removing a picture and adding
    it again needs no order between the two files.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.keys = GrowingArray(folder / f"{manifest.generation}.keys.npy", "|u1", DIGEST_BYTES)
        self.removed = GrowingArray(folder / f"{manifest.generation}.removed.npy", "<i8")
        self.rows = row_files(folder, manifest.generation, manifest.spec)

    def arrays(self, manifest: Manifest) -> list[tuple[GrowingArray, int]]:
        """Every array with the length that counts."""
        rows = self.rows.arrays(manifest.n_rows, manifest.n_values)
        return [(self.keys, manifest.n_rows), (self.removed, manifest.n_removed), *rows]

    def append(self, digests: NDArray[np.uint8], rows: Any, manifest: Manifest) -> Manifest:
        """Write prepared rows behind those of ``manifest``; returns the manifest that makes them count."""
        self.keys.extend(digests, start=manifest.n_rows)
        return replace(
            manifest,
            n_values=self.rows.extend(rows, n_rows=manifest.n_rows, n_values=manifest.n_values),
            n_rows=manifest.n_rows + len(digests),
            keys_crc32=zlib.crc32(digests.tobytes(), manifest.keys_crc32),
        )


@dataclass(frozen=True, slots=True)
class State:
    """What ``manifest`` refers to; ``index`` has the position of each picture's row."""

    manifest: Manifest
    files: Files
    mapped: MappedRows
    index: dict[str, int]

    @classmethod
    def load(cls, folder: Path, manifest: Manifest, *, since: State | None = None) -> State:
        """Map the rows and read the keys; of a state that only grew ``since``, the new ones, into the same index."""
        if since is not None and not _grew(since.manifest, manifest):
            since = None
        known = since.manifest if since else Manifest(manifest.spec, manifest.recipe, manifest.generation)
        files = since.files if since else Files(folder, manifest)
        mapped = files.rows.map(manifest.n_rows, manifest.n_values)
        digests = files.keys.map(manifest.n_rows)
        removed = files.removed.map(manifest.n_removed)[known.n_removed :]
        fresh = digests[known.n_rows :]
        if zlib.crc32(fresh.data, known.keys_crc32) != manifest.keys_crc32:
            raise _damaged(folder, "its keys fail their checksum")
        if len(removed) and not 0 <= removed.min() <= removed.max() < manifest.n_rows:
            raise _damaged(folder, "rows were removed that it does not have")

        index = since.index if since else {}
        index.update(zip(_hex(fresh), range(known.n_rows, manifest.n_rows), strict=True))
        for key, position in zip(_hex(digests[removed]), removed.tolist(), strict=True):
            if index.get(key) == position:  # else it was added again
                del index[key]
        return cls(manifest, files, mapped, index)

    @property
    def n_dead(self) -> int:
        """How many rows were replaced or removed."""
        return self.manifest.n_rows - len(self.index)

    def keys(self) -> list[str]:
        """All keys, in the order of their rows."""
        return sorted(self.index, key=self.index.__getitem__)

    def check(self) -> None:
        """Raise an :class:`InputError` where a row cannot be where the files say it is."""
        self.mapped.sizes(np.arange(self.manifest.n_rows))


def _grew(before: Manifest, after: Manifest) -> bool:
    return (
        before.generation == after.generation and before.n_rows <= after.n_rows and before.n_removed <= after.n_removed
    )


def _hex(digests: NDArray[np.uint8]) -> list[str]:
    text = digests.tobytes().hex()
    return [text[start : start + 2 * DIGEST_BYTES] for start in range(0, len(text), 2 * DIGEST_BYTES)]


def _damaged(folder: Path, how: str) -> InputError:
    return InputError(f"{folder} is damaged, {how}: delete it to have the features computed again")
