"""The folder of a feature store: its manifest, its files, and the position of each picture's row in them."""

import re
import secrets
import zlib
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from visterm.features._keys import DIGEST_BYTES, KeyIndex
from visterm.storage import ArrayFile, ArrayFolder, MappedRows, RowSpec, damaged, row_files


@dataclass(frozen=True, slots=True)
class Manifest:
    """The state of a store. Every change replaces it as a whole.

    The names of the files in use begin with ``generation``. Their first ``n_rows`` keys and rows, ``n_values`` entries
    of sparse rows and ``n_removed`` tombstones are valid.
    """

    spec: RowSpec
    recipe: str
    generation: str
    n_rows: int = 0
    n_values: int = 0
    n_removed: int = 0
    keys_crc32: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.recipe, str):
            raise TypeError("the recipe is not a text")
        if not isinstance(self.generation, str) or not re.fullmatch("[0-9a-f]{8}", self.generation):
            raise ValueError("the generation is not eight hex digits")
        for name in ("n_rows", "n_values", "n_removed", "keys_crc32"):
            value = getattr(self, name)
            if type(value) is not int or not 0 <= value < 2**48:
                raise ValueError(f"{name} is {value!r}")


class Files:
    """The files of one generation: the key of each row, the rows, and the numbers of the rows that were removed.

    If a key occurs twice, the later row replaces the earlier one. Rows are removed by number, so that a picture can be
    removed and added again without an order between the two files.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.keys = ArrayFile(folder / f"{manifest.generation}.keys.npy", "|u1", DIGEST_BYTES)
        self.removed = ArrayFile(folder / f"{manifest.generation}.removed.npy", "<i8")
        self.rows = row_files(folder, manifest.generation, manifest.spec)

    def arrays(self, manifest: Manifest) -> list[tuple[ArrayFile, int]]:
        """Every array with its valid length."""
        rows = self.rows.arrays(manifest.n_rows, manifest.n_values)
        return [(self.keys, manifest.n_rows), (self.removed, manifest.n_removed), *rows]

    def append(self, digests: NDArray[np.uint8], rows: Any, manifest: Manifest) -> Manifest:
        """Write prepared rows after those of ``manifest``; returns the manifest that includes them."""
        self.keys.extend(digests, start=manifest.n_rows)
        return replace(
            manifest,
            n_values=self.rows.extend(rows, n_rows=manifest.n_rows, n_values=manifest.n_values),
            n_rows=manifest.n_rows + len(digests),
            keys_crc32=zlib.crc32(digests.tobytes(), manifest.keys_crc32),
        )

    def remove(self, positions: NDArray[np.int64], manifest: Manifest) -> Manifest:
        """Write tombstones for rows after those of ``manifest``; returns the manifest that includes them."""
        self.removed.extend(positions, start=manifest.n_removed)
        return replace(manifest, n_removed=manifest.n_removed + len(positions))


@dataclass(frozen=True, slots=True)
class State:
    """What ``manifest`` refers to: its files, mapped rows, and the row of each key."""

    manifest: Manifest
    files: Files
    mapped: MappedRows
    keys: KeyIndex

    @property
    def n_dead(self) -> int:
        """How many rows were replaced or removed."""
        return self.manifest.n_rows - len(self.keys)


class FeatureFolder(ArrayFolder[Manifest, State]):
    """The files of a feature store. Arrays grow at their ends; a compaction writes a new generation of them."""

    format: ClassVar[str] = "visterm features"
    absent: ClassVar[str] = "there are no features"
    other: ClassVar[str] = "other features"
    file_names: ClassVar[re.Pattern[str]] = re.compile(r"[0-9a-f]{8}\.(keys|removed|rows|ends|columns|values)\.npy")

    @classmethod
    def parse(cls, found: dict[str, Any]) -> Manifest:
        """The manifest of these JSON values."""
        return Manifest(RowSpec(**found["spec"]), *(found[field.name] for field in fields(Manifest)[1:]))

    @staticmethod
    def about_of(manifest: Manifest) -> object:
        """The shape of the features, and the recipe that computed them."""
        return described(manifest.spec, manifest.recipe)

    @staticmethod
    def tokens(manifest: Manifest) -> set[str]:
        """The generation in use."""
        return {manifest.generation}

    def arrays(self, manifest: Manifest) -> list[tuple[ArrayFile, int]]:
        """Every array with its valid length."""
        return Files(self.path, manifest).arrays(manifest)

    def load(self, manifest: Manifest, since: tuple[Manifest, State] | None) -> State:
        """Map the rows and the keys; if the store only grew ``since``, only the new keys go into the checksum."""
        known = Manifest(manifest.spec, manifest.recipe, manifest.generation)
        if since is not None and since[0].generation == manifest.generation:
            before = since[0]
            known = before if before.n_rows <= manifest.n_rows and before.n_removed <= manifest.n_removed else known
        files = Files(self.path, manifest)
        mapped = files.rows.map(manifest.n_rows, manifest.n_values)
        digests = files.keys.map(manifest.n_rows)
        removed = files.removed.map(manifest.n_removed)
        if zlib.crc32(digests[known.n_rows :].data, known.keys_crc32) != manifest.keys_crc32:
            raise damaged(files.keys.path, "its keys fail their checksum")
        if len(removed) and not 0 <= removed.min() <= removed.max() < manifest.n_rows:
            raise damaged(files.removed.path, "it removes rows that do not exist")
        return State(manifest, files, mapped, KeyIndex(np.asarray(digests), np.asarray(removed)))

    def verify(self, state: State) -> None:
        """Check that every row can be where the files say it is."""
        state.mapped.sizes(np.arange(state.manifest.n_rows))

    def new_generation(self, spec: RowSpec, recipe: str) -> tuple[Files, Manifest]:
        """Empty files under new names; no manifest refers to them yet."""
        manifest = Manifest(spec, recipe, generation=secrets.token_hex(4))
        files = Files(self.path, manifest)
        for array, _ in files.arrays(manifest):
            array.create()
        return files, manifest


def described(spec: RowSpec, recipe: str) -> str:
    """The contents of a store, in words."""
    return f"{spec} by {recipe!r}"
