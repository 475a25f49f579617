"""The records of label sources, and the report of reading them."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from visterm.catalogue.metadata import Metadata

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
    of it that a catalogue wrote; for that catalogue it is no news. ``metadata`` are all that the picture's file and its
    sidecars say besides; None for a source that has none. ``parts`` are named regions as shares of the picture as its
    file stores it, from 0 to 1.
    """

    path: str
    class_name: str | None = None
    tags: tuple[str, ...] = ()
    caption: str | None = None
    split: str | None = None
    regions: tuple[Region, ...] = ()
    echo: Echo | None = None
    metadata: Metadata | None = field(default=None, compare=False)
    parts: tuple[Region, ...] = field(default=(), compare=False)

    @property
    def labels_something(self) -> bool:
        """Whether it says more of the picture than its metadata."""
        return bool(self.class_name or self.tags or self.caption or self.split or self.regions or self.parts)


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something left out of an import: its place, and the reason."""

    where: str
    reason: str

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


@dataclass(slots=True)
class LabelSource:
    """One source of labels: the number of pictures that it names, and of the labels that it gives them.

    ``source`` and ``format`` together tell who states the labels. ``new`` counts what was not known before;
    ``withdrawn`` counts labels that the source no longer has.
    """

    source: str
    format: str
    pictures: int = 0
    classes: int = 0
    tags: int = 0
    captions: int = 0
    regions: int = 0
    skipped: int = 0
    new: int = 0
    withdrawn: int = 0


class Reading(LabelSource):
    """A source of labels while it is read: also the names that it gives, and what was skipped with the reason.

    ``notes`` are remarks about what was read all the same. If the source is about some pictures of its folder only,
    ``about`` has their paths, and its silence about another one means nothing.
    """

    def __init__(self, source: str, format: str, *, about: tuple[str, ...] | None = None) -> None:
        super().__init__(source, format)
        self.about = about
        self.class_names: Counter[str] = Counter()
        self.tag_names: Counter[str] = Counter()
        #: The first :data:`MAX_SKIPPED_KEPT` skipped entries.
        self.skips: list[Skipped] = []
        self.notes: list[Skipped] = []
        #: The pictures of which something was skipped, and the number of skipped entries whose picture is unknown.
        self.partly: set[str] = set()
        self.n_unplaced = 0
        #: The usable rows of each picture, by the hash of its path: the paths themselves would take much memory.
        self._rows: Counter[int] = Counter()

    def skip(self, where: str, reason: str, *, picture: str | None = None) -> None:
        """Record that something at ``where`` was left out; ``picture`` is the path that it is about, where known."""
        self.skipped += 1
        if picture is None:
            self.n_unplaced += 1
        else:
            self.partly.add(picture)
        if len(self.skips) < MAX_SKIPPED_KEPT:
            self.skips.append(Skipped(where, reason))

    def leave_out(self, told: Collection[str], base: Path) -> None:
        """Forget what was skipped of files in ``base`` that have been ``told`` already: their pixels were skipped."""
        kept = [skip for skip in self.skips if str(base / skip.where) not in told]
        self.skipped -= len(self.skips) - len(kept)
        self.skips = kept

    def count(self, records: Iterator[Record]) -> Iterator[Record]:
        """Pass ``records`` through and count their contents."""
        for record in records:
            if record.labels_something:
                self._count(record, 1)
            yield record

    def discount(self, record: Record) -> None:
        """A counted record turned out to be of no use."""
        if record.labels_something:
            self._count(record, -1)

    def _count(self, record: Record, change: int) -> None:
        self.pictures = _change(self._rows, [hash(record.path)], change)
        self.classes = _change(self.class_names, [record.class_name] if record.class_name is not None else [], change)
        self.tags = _change(self.tag_names, record.tags, change)
        self.captions += change * (record.caption is not None)
        self.regions += change * (len(record.regions) + len(record.parts))


def _change(counter: Counter[T], items: Iterable[T], change: int) -> int:
    """Count each of ``items`` once more or less; how many different ones there are now.

    ``-=`` would look through the whole counter every time.
    """
    for item in items:
        counter[item] += change
        if counter[item] <= 0:
            del counter[item]
    return len(counter)
