"""The records of label sources, and the report of reading them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

#: Where a label comes from; a model is named ``model NAME@VERSION``.
PERSON, IMPORT = "person", "import"
#: At most this many skipped entries are kept, so that a wholly broken source cannot fill the memory.
MAX_SKIPPED_KEPT = 10_000


def model_source(name: str, version: int) -> str:
    """The source of labels written by version ``version`` of model ``name``.

    >>> model_source("knn-tags", 2)
    'model knn-tags@2'
    """
    return f"model {name}@{version}"


def import_source(origin: str) -> str:
    """The source of labels that were read at ``origin``: a label file, or the pictures' own metadata.

    >>> import_source("table metadata.csv")
    'import table metadata.csv'
    """
    return f"{IMPORT} {origin}"


@dataclass(frozen=True, slots=True)
class Region:
    """A named box in a picture, in pixels: left and top inclusive, right and bottom exclusive."""

    name: str
    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Echo:
    """The labels of a record that the catalogue called ``catalogue`` wrote there itself."""

    catalogue: str
    class_name: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """What one entry of a label source says about one picture.

    ``path`` is the picture's path in POSIX form, relative to the folder that the source is about. ``echo`` is the part
    of it that a catalogue wrote; for that catalogue it is no news.
    """

    path: str
    class_name: str | None = None
    tags: tuple[str, ...] = ()
    caption: str | None = None
    split: str | None = None
    regions: tuple[Region, ...] = ()
    echo: Echo | None = None


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something left out of an import: its place, and the reason."""

    where: str
    reason: str

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


@dataclass(slots=True)
class Reading:
    """The report of reading one label source: what was read, and what was skipped with the reason.

    ``source`` and ``format`` together tell who states the records. ``notes`` are remarks about what was read all the
    same. If the source is about some pictures of its folder only, ``about`` has their paths, and its silence about
    another one means nothing. ``n_new`` statements were new to the catalogue, and ``n_withdrawn`` labels were withdrawn
    because the source no longer has them.
    """

    source: str
    format: str
    classes: Counter[str] = field(default_factory=Counter)
    tags: Counter[str] = field(default_factory=Counter)
    n_captions: int = 0
    n_regions: int = 0
    n_skipped: int = 0
    #: The pictures of which something was skipped, and the number of skipped entries whose picture is unknown.
    partly: set[str] = field(default_factory=set)
    n_unplaced: int = 0
    #: The first :data:`MAX_SKIPPED_KEPT` skipped entries.
    skipped: list[Skipped] = field(default_factory=list)
    notes: list[Skipped] = field(default_factory=list)
    about: tuple[str, ...] | None = None
    n_new: int = 0
    n_withdrawn: int = 0
    #: The usable rows of each picture, by the hash of its path: the paths themselves would take much memory.
    _rows: Counter[int] = field(default_factory=Counter, repr=False)

    @property
    def n_pictures(self) -> int:
        """How many different pictures the usable rows name."""
        return len(self._rows)

    def skip(self, where: str, reason: str, *, picture: str | None = None) -> None:
        """Record that something at ``where`` was left out; ``picture`` is the path that it is about, where known."""
        self.n_skipped += 1
        if picture is None:
            self.n_unplaced += 1
        else:
            self.partly.add(picture)
        if len(self.skipped) < MAX_SKIPPED_KEPT:
            self.skipped.append(Skipped(where, reason))

    def leave_out(self, told: Collection[str], base: Path) -> None:
        """Forget what was skipped of files in ``base`` that have been ``told`` already: their pixels were skipped."""
        kept = [skip for skip in self.skipped if str(base / skip.where) not in told]
        self.n_skipped -= len(self.skipped) - len(kept)
        self.skipped = kept

    def count(self, records: Iterator[Record]) -> Iterator[Record]:
        """Pass ``records`` through and count their contents."""
        for record in records:
            self._rows[hash(record.path)] += 1
            if record.class_name is not None:
                self.classes[record.class_name] += 1
            self.tags.update(record.tags)
            self.n_captions += record.caption is not None
            self.n_regions += len(record.regions)
            yield record

    def discount(self, record: Record) -> None:
        """A counted record turned out to be of no use."""
        _lower(self._rows, [hash(record.path)])
        _lower(self.classes, [record.class_name] if record.class_name is not None else [])
        _lower(self.tags, record.tags)
        self.n_captions -= record.caption is not None
        self.n_regions -= len(record.regions)


def _lower(counter: Counter[T], items: Iterable[T]) -> None:
    """Count each of ``items`` once less; ``-=`` would look through the whole counter every time."""
    for item in items:
        counter[item] -= 1
        if counter[item] <= 0:
            del counter[item]
