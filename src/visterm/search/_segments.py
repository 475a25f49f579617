"""The parts of an index: vectors that never change once written, and what of them counts."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.errors import InputError
from visterm.storage.atomic import replacing, write_text_atomically

DTYPES = ("float32", "float16")
MANIFEST = "manifest.json"
FILE_NAME = re.compile(r"[0-9a-f]{16}\.(keys|vectors\.npy|dead\.npy|lists\.npy|centres\.npy)")
_FORMAT, _VERSION = "visterm index", 1


class Keys(list[str]):
    """The keys of a segment's columns, and the column of each."""

    @cached_property
    def columns(self) -> dict[str, int]:
        """The column of every key."""
        return {key: column for column, key in enumerate(self)}


@dataclass(frozen=True, slots=True)
class Lists:
    """How a segment is ordered for quick search: list l holds the columns from ``starts[l]`` to ``starts[l + 1]``."""

    centres: NDArray[np.float32]  # (n_lists, n_rows of the segment)
    starts: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Segment:
    """Vectors as columns, (n_rows, n_pictures): one dimension of all pictures lies together.

    A query of a few words reads a few rows; a query of all dimensions is one product with contiguous rows. ``dead``
    are the columns that were removed or replaced.
    """

    name: str
    keys: Keys
    vectors: NDArray[Any]
    dead: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    dead_name: str = ""
    lists: Lists | None = None

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def alive(self) -> NDArray[np.bool_]:
        """Which columns count."""
        mask = np.ones(len(self), dtype=np.bool_)
        mask[self.dead] = False
        return mask

    def find(self, key: str) -> int | None:
        """The column of ``key``, unless it is dead or not here."""
        column = self.keys.columns.get(key)
        return column if column is not None and self.alive[column] else None

    def without(self, columns: NDArray[np.int64]) -> Segment:
        """The same segment with more columns dead."""
        return replace(self, dead=np.union1d(self.dead, columns), dead_name=secrets.token_hex(8))


def new_segment(keys: Sequence[str], vectors: NDArray[Any]) -> Segment:
    """A segment of these columns, under a new name."""
    return Segment(secrets.token_hex(8), Keys(keys), np.ascontiguousarray(vectors))


def merged(segments: Sequence[Segment]) -> Segment:
    """One segment of the live columns of several, in their order."""
    keys = [key for part in segments for key, alive in zip(part.keys, part.alive.tolist(), strict=True) if alive]
    vectors = np.concatenate([part.vectors[:, part.alive] for part in segments], axis=1)
    return new_segment(keys, vectors)


class Folder:
    """Segments on disk. Files never change; the manifest, replaced in one step, says which of them count."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def seen(self) -> tuple[int, ...]:
        """What tells one manifest from the next."""
        try:
            status = (self.path / MANIFEST).stat()
        except OSError as error:
            raise InputError(f"the index in {self.path} is gone: {error.strerror or error}") from error
        return (status.st_ino, status.st_mtime_ns, status.st_size)

    def about(self) -> dict[str, Any]:
        """The description of the index."""
        about: dict[str, Any] = self._manifest()["about"]
        return about

    def read(self, known: Sequence[Segment] = ()) -> tuple[dict[str, Any], list[Segment]]:
        """The description of the index and its segments; those among ``known`` are not read again."""
        manifest = self._manifest()
        by_name = {(part.name, part.dead_name): part for part in known}
        try:
            parts = [
                by_name.get((entry["name"], entry["dead"])) or self._segment(entry) for entry in manifest["segments"]
            ]
        except FileNotFoundError:
            raise
        except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
            raise self._damaged(error) from error
        return manifest["about"], parts

    def write(self, about: dict[str, Any], segments: Sequence[Segment], known: Sequence[Segment]) -> None:
        """Make ``segments`` the contents of the folder; those among ``known`` are on disk already."""
        on_disk = {part.name for part in known}
        on_disk_dead = {part.dead_name for part in known}
        for part in segments:
            if part.name not in on_disk:
                write_text_atomically(self.path / f"{part.name}.keys", "\n".join(part.keys))
                self._save(f"{part.name}.vectors.npy", part.vectors)
                if part.lists is not None:
                    self._save(f"{part.name}.lists.npy", part.lists.starts)
                    self._save(f"{part.name}.centres.npy", part.lists.centres)
            if part.dead_name and part.dead_name not in on_disk_dead:
                self._save(f"{part.dead_name}.dead.npy", part.dead)
        entries = [
            {"name": part.name, "n": len(part), "dead": part.dead_name, "lists": part.lists is not None}
            for part in segments
        ]
        manifest = {"format": _FORMAT, "version": _VERSION, "about": about, "segments": entries}
        write_text_atomically(self.path / MANIFEST, json.dumps(manifest, indent=1) + "\n")

    def strays(self, segments: Sequence[Segment]) -> list[Path]:
        """Files of the index's own making that no segment refers to."""
        used = {name for part in segments for name in (part.name, part.dead_name)}
        files = [path for path in self.path.iterdir() if FILE_NAME.fullmatch(path.name)]
        return [path for path in files if path.name.partition(".")[0] not in used]

    def mapped(self, segments: Sequence[Segment], known: Sequence[Segment]) -> list[Segment]:
        """The same segments, which are on disk, with vectors mapped instead of held in memory, as known ones are."""
        names = {part.name for part in known}
        return [
            part if part.name in names else replace(part, vectors=self._vectors(part.name, len(part)))
            for part in segments
        ]

    def _vectors(self, name: str, n_pictures: int) -> NDArray[Any]:
        # A view of the map that is a plain array, which is quicker to take parts of; nothing cannot be mapped.
        return np.asarray(self._load(f"{name}.vectors.npy", mapped=n_pictures > 0))

    def _save(self, name: str, array: NDArray[Any]) -> None:
        with replacing(self.path / name) as temporary, temporary.open("r+b") as file:
            np.save(file, array, allow_pickle=False)

    def _segment(self, entry: dict[str, Any]) -> Segment:
        name, dead_name = str(entry["name"]), str(entry["dead"])
        if not re.fullmatch(r"[0-9a-f]{16}", name) or not re.fullmatch(r"([0-9a-f]{16})?", dead_name):
            raise ValueError("a segment has no proper name")
        text = (self.path / f"{name}.keys").read_bytes().decode()
        keys = Keys(text.split("\n") if text else ())
        vectors = self._vectors(name, len(keys))
        dead = self._load(f"{dead_name}.dead.npy").astype(np.int64) if dead_name else np.empty(0, np.int64)
        if vectors.ndim != 2 or vectors.shape[1] != len(keys) or len(keys) != entry["n"]:
            raise ValueError(f"{name} holds {len(keys)} keys and vectors of shape {vectors.shape}")
        if dead.ndim != 1 or (len(dead) and not 0 <= dead.min() <= dead.max() < len(keys)):
            raise ValueError(f"{dead_name} removes columns that {name} does not have")
        lists = self._lists(name, vectors) if entry["lists"] else None
        return Segment(name, keys, vectors, dead, dead_name, lists)

    def _lists(self, name: str, vectors: NDArray[Any]) -> Lists:
        lists = Lists(self._load(f"{name}.centres.npy"), self._load(f"{name}.lists.npy"))
        starts = lists.starts
        if (
            lists.centres.shape != (len(starts) - 1, vectors.shape[0])
            or starts[0] != 0
            or starts[-1] != vectors.shape[1]
            or (np.diff(starts) < 0).any()
        ):
            raise ValueError(f"the lists of {name} do not fit its vectors")
        return lists

    def _load(self, name: str, *, mapped: bool = False) -> NDArray[Any]:
        return np.load(self.path / name, mmap_mode="r" if mapped else None, allow_pickle=False)

    def _manifest(self) -> dict[str, Any]:
        file = self.path / MANIFEST
        try:
            found = json.loads(file.read_bytes())
            if not isinstance(found, dict) or found.get("format") != _FORMAT:
                raise ValueError("not the manifest of an index")
            if found.get("version") != _VERSION:
                raise ValueError(f"format version {found.get('version')!r}, while this program reads {_VERSION}")
            if not isinstance(found.get("about"), dict) or not isinstance(found.get("segments"), list):
                raise ValueError("it does not say what it holds")
        except FileNotFoundError as error:
            raise InputError(f"there is no index in {self.path}: it has no {MANIFEST}") from error
        except OSError as error:
            raise InputError(f"cannot read {file}: {os.strerror(error.errno or 0)}") from error
        except (ValueError, RecursionError) as error:
            raise self._damaged(error) from error
        return found

    def _damaged(self, error: Exception) -> InputError:
        return InputError(f"the index in {self.path} is damaged ({error}): delete the folder to have it made again")
