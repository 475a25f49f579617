"""The folder of an index. The files of a segment never change; a change of the index adds and drops segments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from visterm.search._segments import Keys, Segment
from visterm.search.snapshot import Snapshot
from visterm.storage import ArrayFile, ArrayFolder, damaged, write_text_atomically

#: The number of pictures of a segment is below this.
MAX_PICTURES = 2**48


@dataclass(frozen=True, slots=True)
class About:
    """What the vectors of an index are."""

    n_dims: int
    metric: str
    dtype: str
    about: str

    def __post_init__(self) -> None:
        if type(self.n_dims) is not int or not all(isinstance(t, str) for t in (self.metric, self.dtype, self.about)):
            raise TypeError("its manifest has no valid 'about'")


@dataclass(frozen=True, slots=True)
class Entry:
    """A segment: its name, its number of pictures, and the name of its list of dead columns."""

    name: str
    n: int
    dead: str
    lists: bool = False  # an earlier version sorted segments into lists; they are no longer read
    centred: bool = False  # whether a centre was subtracted, as for euclidean distances; not in an earlier version

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[0-9a-f]{16}", self.name) or not re.fullmatch(r"([0-9a-f]{16})?", self.dead):
            raise ValueError("a segment has an invalid name")
        if type(self.n) is not int or not 0 <= self.n < MAX_PICTURES:
            raise ValueError(f"a segment has an invalid number of pictures: {self.n!r}")


@dataclass(frozen=True, slots=True)
class Manifest:
    """What the vectors of an index are, and its segments."""

    about: About
    segments: tuple[Entry, ...]


class IndexFolder(ArrayFolder[Manifest, Snapshot]):
    """The files of an index: for each segment its keys, its vectors, and the columns removed or replaced since."""

    format: ClassVar[str] = "visterm index"
    absent: ClassVar[str] = "there is no index"
    other: ClassVar[str] = "another index"
    file_names: ClassVar[re.Pattern[str]] = re.compile(
        r"[0-9a-f]{16}\.(keys|vectors\.npy|centre\.npy|dead\.npy|lists\.npy|centres\.npy)"
    )

    def __init__(self, path: Path, about: About) -> None:
        super().__init__(path, asdict(about))
        self._about = about
        self.create(lambda: Manifest(about, ()))

    @classmethod
    def parse(cls, fields: dict[str, Any]) -> Manifest:
        """The manifest that these JSON values hold."""
        return Manifest(About(**fields["about"]), tuple(Entry(**entry) for entry in fields["segments"]))

    @staticmethod
    def about_of(manifest: Manifest) -> object:
        """What the vectors are."""
        return asdict(manifest.about)

    @staticmethod
    def tokens(manifest: Manifest) -> set[str]:
        """The names of segments and of lists of dead columns."""
        return {token for entry in manifest.segments for token in (entry.name, entry.dead) if token}

    def arrays(self, manifest: Manifest) -> list[tuple[ArrayFile, int]]:
        """The vectors of every segment: a row for each dimension."""
        return [(self._vectors(entry.name, entry.n), self._n_rows(entry)) for entry in manifest.segments]

    def others(self, manifest: Manifest) -> list[Path]:
        """The keys of every segment, its centre, and its dead columns."""
        names = [f"{entry.name}.keys" for entry in manifest.segments]
        names += [f"{entry.name}.centre.npy" for entry in manifest.segments if entry.centred]
        names += [f"{entry.dead}.dead.npy" for entry in manifest.segments if entry.dead]
        return [self.path / name for name in names]

    def load(self, manifest: Manifest, since: tuple[Manifest, Snapshot] | None) -> Snapshot:
        """Map all segments; of known segments, read only the columns removed ``since``."""
        known = {} if since is None else {part.name: part for part in since[1].segments}
        parts = []
        for entry in manifest.segments:
            part = known.get(entry.name) or self._segment(entry)
            if part.dead_name != entry.dead:
                part = replace(part, dead=self._dead(entry), dead_name=entry.dead)
            parts.append(part)
        return Snapshot(parts, manifest.about.metric, manifest.about.n_dims)

    def write(self, parts: Sequence[Segment], known: Sequence[Segment]) -> None:
        """Make ``parts`` the contents of the folder; the files of ``known`` parts exist already."""
        names = {part.name for part in known}
        dead_names = {part.dead_name for part in known}
        for part in parts:
            if part.name not in names:
                write_text_atomically(self.path / f"{part.name}.keys", "\n".join(part.keys))
                self._vectors(part.name, len(part)).create(part.vectors)
                if part.centre is not None:
                    self._centre_file(part.name).create(part.centre)
            if part.dead_name and part.dead_name not in dead_names:
                self._dead_file(part.dead_name).create(part.dead)
        entries = (Entry(part.name, len(part), part.dead_name, centred=part.centre is not None) for part in parts)
        self.commit(Manifest(self._about, tuple(entries)))

    def _vectors(self, name: str, n_pictures: int) -> ArrayFile:
        dtype = np.dtype(self._about.dtype).newbyteorder("<").str
        return ArrayFile(self.path / f"{name}.vectors.npy", dtype, n_pictures)

    def _centre_file(self, name: str) -> ArrayFile:
        return ArrayFile(self.path / f"{name}.centre.npy", "<f4")

    def _dead_file(self, name: str) -> ArrayFile:
        return ArrayFile(self.path / f"{name}.dead.npy", "<i8")

    def _n_rows(self, entry: Entry) -> int:
        """Numbers stored per picture: before centres, a euclidean vector was followed by half its squared length."""
        return self._about.n_dims + (self._about.metric == "euclidean" and not entry.centred)

    def _segment(self, entry: Entry) -> Segment:
        """The segment with all its columns alive."""
        file = self.path / f"{entry.name}.keys"
        try:
            text = file.read_bytes().decode()
        except ValueError as error:
            raise damaged(file, error) from error
        keys = Keys(text.split("\n") if text else ())
        # A plain array view of the memory map: slicing it is faster.
        vectors = np.asarray(self._vectors(entry.name, entry.n).map(self._n_rows(entry)))
        if len(keys) != entry.n:
            raise damaged(file, f"it has {len(keys)} keys, but the vectors have shape {vectors.shape}")
        return Segment(entry.name, keys, vectors[: self._about.n_dims], self._centre(entry))

    def _centre(self, entry: Entry) -> NDArray[np.float32] | None:
        """The centre of a segment for euclidean distances; 0 for segments of an earlier version."""
        if self._about.metric != "euclidean":
            return None
        if not entry.centred:
            return np.zeros(self._about.n_dims, np.float32)
        file = self._centre_file(entry.name)
        centre = file.read()
        if len(centre) != self._about.n_dims or not np.isfinite(centre).all():
            raise damaged(file.path, f"it does not hold {self._about.n_dims} numbers")
        return centre

    def _dead(self, entry: Entry) -> NDArray[np.int64]:
        if not entry.dead:
            return np.empty(0, np.int64)
        file = self._dead_file(entry.dead)
        dead = file.read()
        if len(dead) and not 0 <= dead.min() <= dead.max() < entry.n:
            raise damaged(file.path, f"it lists columns that segment {entry.name} does not have")
        return dead
