"""Writes the labels of a label source to the pictures of the catalogue, in one stream.

What a source says replaces what it said before: a label that it no longer gives is withdrawn. The labels of people and
of other sources stay.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Protocol

from visterm.catalogue import log
from visterm.catalogue.acts import Act, TagsAre
from visterm.catalogue.labels import LabelWriter, clean_name, find_term
from visterm.catalogue.metadata import write_metadata
from visterm.catalogue.records import IMPORT, Reading, Record, Region, import_source
from visterm.errors import InputError

MAX_CAPTION = 100_000


class Tokenizer(Protocol):
    """Turns captions into tags."""

    def tags(self, captions: Iterable[str]) -> list[list[str]]:
        """The tags of every caption, in order."""


class RecordWriter:
    """Applies the records of one source, within the caller's transaction.

    Several rows about one picture are combined: tags and regions are united, and captions become lines of one caption.
    A row that repeats an earlier one, or contradicts its class or split, is skipped with the reason. ``holds`` says
    whether all files of a picture are here and belong to what the source is about; otherwise nothing is withdrawn.
    The rows of a picture together describe it if one of them gives tags and ``tags_are`` complete.
    """

    def __init__(
        self,
        connection: log.Connection,
        source: str,
        time: int,
        *,
        find_picture: Callable[[str], int | None],
        holds: Callable[[int], bool],
        identity: str,
        reading: Reading,
        tags_are: TagsAre | None = None,
    ) -> None:
        self._connection, self._reading, self._find_picture = connection, reading, find_picture
        self._identity = identity
        self._labels = LabelWriter(connection, source, time, _act_of(connection, source, tags_are))
        self._earlier = Statements(connection, self._labels.source_id, holds)
        self._n_own_skips = 0
        self._rows: set[int] = set()  # hashes: a set of the records themselves would hold the whole source
        self._classes: dict[int, str] = {}
        self._splits: dict[int, str] = {}
        self._captioned: set[int] = set()
        self._outlined: set[int] = set()

    def apply(self, records: Iterable[Record]) -> None:
        """Write the labels of ``records``; what cannot be used is skipped with the reason."""
        reading = self._reading
        n_read_badly = reading.n_unplaced
        for record in records:
            if not record.labels_something:
                self._note_metadata(record)
                continue
            n_bad = reading.n_unplaced - self._n_own_skips  # a bad row may be about the same picture as the next one
            with self._skipping(record, row=True):
                self._apply(record, whole=n_bad == n_read_badly)
            n_read_badly = n_bad
        self._labels.flush()
        self._reading.new += self._labels.n_changed
        if self._labels.rank == 1:
            read_whole = reading.n_unplaced == self._n_own_skips
            about = reading.about
            silent = about or () if read_whole else ()  # also those of which it says nothing any more
            for path in reading.partly.union(silent):
                with suppress(InputError):
                    self._earlier.name(self._find_picture(path), whole=path not in reading.partly)
            self._reading.withdrawn += self._earlier.withdraw(unnamed=about is None and read_whole)

    def _apply(self, record: Record, *, whole: bool) -> None:
        """Write one record; if it was not read ``whole``, nothing is withdrawn from its picture."""
        picture = self._find_picture(record.path)
        if picture is None:  # a person removed it
            return
        self._note_metadata(record, picture)
        self._earlier.name(picture, whole=whole)
        for tag in record.tags:
            self._earlier.keep(picture, "tag", tag)
        if record.class_name is not None:
            self._earlier.keep(picture, "class", record.class_name)
        record = self._without_echo(picture, record)
        if hash(record) in self._rows:
            raise InputError("the row repeats an earlier row, so it is counted once")
        self._rows.add(hash(record))
        class_name = None if record.class_name is None else clean_name(record.class_name)
        split = None if record.split is None else clean_name(record.split)
        self._refuse_contradiction(picture, class_name, split)
        if class_name is not None:
            self._labels.put(picture, "class", class_name)
            self._classes[picture] = class_name
        if split is not None:
            self._reading.new += self._connection.execute(
                "UPDATE picture SET split = ?1 WHERE id = ?2 AND split IS NOT ?1", (split, picture)
            ).rowcount
            self._splits[picture] = split
        for tag in record.tags:
            with self._skipping(record):
                self._labels.put(picture, "tag", tag)
        if record.tags and self._labels.act is Act.DESCRIBED:
            self._earlier.describe(picture)
            self._labels.describe([picture])
        if record.caption is not None and record.caption.strip():
            with self._skipping(record):
                self._caption(picture, clean_text(record.caption))
        if record.parts:
            record = replace(record, regions=(*record.regions, *self._in_pixels(picture, record.parts)))
        if record.regions:
            self._earlier.keep_regions(picture)
            self._regions(picture, record)

    def _note_metadata(self, record: Record, picture: int | None = None) -> None:
        """Write what the file says besides its labels; a file that is no picture of the catalogue says nothing."""
        with suppress(InputError):
            number = self._find_picture(record.path) if picture is None else picture
            if number is not None and record.metadata is not None:
                write_metadata(self._connection, number, record.metadata)

    def _without_echo(self, picture: int, record: Record) -> Record:
        """The record without what this catalogue wrote itself, as long as it knows the picture since then.

        Otherwise a label that a person withdrew would come back from the file to which it was exported.
        """
        echo, exported = record.echo, "SELECT 1 FROM exported WHERE picture_id = ?"
        if echo is None or echo.catalogue != self._identity or not self._connection.value(exported, picture):
            return record
        return replace(
            record,
            class_name=None if record.class_name == echo.class_name else record.class_name,
            tags=tuple(tag for tag in record.tags if tag not in echo.tags),
        )

    def _refuse_contradiction(self, picture: int, class_name: str | None, split: str | None) -> None:
        before = self._classes.get(picture)
        if before and class_name and self._labels.term("class", class_name) != self._labels.term("class", before):
            raise InputError(
                f"the class is {class_name!r} here but {before!r} in an earlier row; the earlier row counts"
            )
        before = self._splits.get(picture)
        if before and split and split != before:
            raise InputError(f"the split is {split!r} here but {before!r} in an earlier row; the earlier row counts")

    @contextmanager
    def _skipping(self, record: Record, *, row: bool = False) -> Iterator[None]:
        """Skip what is bad and report one line: the whole ``row``, or only a tag, caption or region of it."""
        try:
            yield
        except InputError as error:
            self._n_own_skips += 1
            if row:
                self._reading.discount(record)
            self._reading.skip(_printable(record.path), str(error))

    def _caption(self, picture: int, caption: str) -> None:
        """Set the caption, unless a higher-ranking source has set it; another row of the same source adds a line."""
        if picture in self._captioned:
            before = self._connection.value("SELECT caption FROM picture WHERE id = ?", picture) or ""
            lines = before.split("\n")
            caption = before if caption in lines else "\n".join([*lines, caption])
        self._captioned.add(picture)
        self._reading.new += self._connection.execute(
            """UPDATE picture SET caption = ?1, caption_source = ?2 WHERE id = ?3 AND caption IS NOT ?1 AND
               coalesce((SELECT rank FROM source WHERE id = caption_source), 0) <= ?4""",
            (caption, self._labels.source_id, picture, self._labels.rank),
        ).rowcount

    def _in_pixels(self, picture: int, parts: Iterable[Region]) -> list[Region]:
        """Shares of the picture as its file stores it, as pixels of the picture as a person sees it."""
        size = "SELECT width, height, coalesce(orientation, 1) FROM picture WHERE id = ? AND width IS NOT NULL"
        found = self._connection.execute(size, (picture,)).fetchone()
        return [] if found is None else [upright(part, *found) for part in parts]

    def _regions(self, picture: int, record: Record) -> None:
        """Replace the source's regions of the picture; another row of the same source adds to them."""
        rows: list[tuple[int, float, float, float, float]] = []
        for region in record.regions:
            with self._skipping(record):
                rows.append(self._region_row(region))
        if picture not in self._outlined:
            self._outlined.add(picture)
            of_source = (picture, self._labels.source_id)
            before = self._connection.execute(
                """SELECT term_id, left, top, right, bottom FROM region
                   WHERE picture_id = ? AND source_id = ? ORDER BY id""",
                of_source,
            ).fetchall()
            if before == rows:
                return
            self._connection.execute("DELETE FROM region WHERE picture_id = ? AND source_id = ?", of_source)
        self._connection.executemany(
            """INSERT INTO region (picture_id, source_id, term_id, left, top, right, bottom)
               VALUES (?, ?, ?, ?, ?, ?, ?)""",
            [(picture, self._labels.source_id, *row) for row in rows],
        )
        self._reading.new += len(rows)

    def _region_row(self, region: Region) -> tuple[int, float, float, float, float]:
        box = (float(region.left), float(region.top), float(region.right), float(region.bottom))
        if not all(map(math.isfinite, box)) or box[0] >= box[2] or box[1] >= box[3]:
            raise InputError(f"the region {region.name!r} has no area: {box}")
        return (self._labels.term("tag", region.name), *box)


class Statements:
    """What a source said earlier, and has not said again yet.

    Labels that were imported before sources were told apart belong to whichever source says them again.
    """

    def __init__(self, connection: log.Connection, source: int, holds: Callable[[int], bool]) -> None:
        self._connection, self._source, self._holds = connection, source, holds
        of_source = "SELECT picture_id, term_id FROM label WHERE source_id = ?"
        self._unsaid = set(connection.execute(of_source, (source,)).fetchall())
        self._nameless = connection.value("SELECT id FROM source WHERE name = ? AND id != ?", IMPORT, source)
        self._unclaimed = set(connection.execute(of_source, (self._nameless,)).fetchall())
        self._terms: dict[tuple[str, str], int | None] = {}
        self._named: set[int] = set()
        self._partly: set[int] = set()
        self._outlined = set(connection.values("SELECT DISTINCT picture_id FROM region WHERE source_id = ?", source))
        self._described = set(connection.values("SELECT picture_id FROM described WHERE source_id = ?", source))

    def name(self, picture: int | None, *, whole: bool) -> None:
        """The source names the picture, unless it was removed; ``whole`` if all that it says of it could be read."""
        if picture is None:
            return
        self._named.add(picture)
        if not whole:
            self._partly.add(picture)

    def keep(self, picture: int, kind: str, name: str) -> None:
        """The source still says this."""
        if (kind, name) not in self._terms:
            found = None
            with suppress(InputError):
                found = find_term(self._connection, kind, clean_name(name))
            self._terms[kind, name] = None if found is None else found[0]
        label = (picture, self._terms[kind, name])
        self._unsaid.discard(label)
        if label in self._unclaimed:
            self._unclaimed.discard(label)
            with log.level(self._connection, log.Level.NOTHING):  # nothing that anybody says changes
                self._connection.execute(
                    "UPDATE OR IGNORE label SET source_id = ? WHERE picture_id = ? AND term_id = ? AND source_id = ?",
                    (self._source, *label, self._nameless),
                )

    def keep_regions(self, picture: int) -> None:
        """The source says where things are in the picture; these regions replace its earlier ones."""
        self._outlined.discard(picture)
        if self._nameless is not None:
            with log.level(self._connection, log.Level.NOTHING):
                self._connection.execute(
                    "UPDATE region SET source_id = ? WHERE picture_id = ? AND source_id = ?",
                    (self._source, picture, self._nameless),
                )

    def describe(self, picture: int) -> None:
        """The source still says which tags are all that the picture has."""
        self._described.discard(picture)
        if self._nameless is not None:
            with log.level(self._connection, log.Level.NOTHING):
                self._connection.execute(
                    "UPDATE OR IGNORE described SET source_id = ? WHERE picture_id = ? AND source_id = ?",
                    (self._source, picture, self._nameless),
                )

    def withdraw(self, *, unnamed: bool) -> int:
        """Delete what the source has not said again; of pictures that it did not name only if ``unnamed``.

        Returns how many labels were deleted.
        """
        gone = {picture for picture, _ in self._unsaid} | self._outlined | self._described
        gone = {picture for picture in gone - self._partly if unnamed or picture in self._named}
        gone = {picture for picture in gone if self._holds(picture)}
        unsaid = [(*label, self._source) for label in sorted(self._unsaid) if label[0] in gone]
        self._connection.executemany("DELETE FROM label WHERE picture_id = ? AND term_id = ? AND source_id = ?", unsaid)
        self._connection.executemany(
            "DELETE FROM region WHERE picture_id = ? AND source_id = ?",
            [(picture, self._source) for picture in sorted(self._outlined & gone)],
        )
        self._connection.executemany(
            "DELETE FROM described WHERE picture_id = ? AND source_id = ?",
            [(picture, self._source) for picture in sorted(self._described & gone)],
        )
        return len(unsaid)


def upright(part: Region, width: int, height: int, orientation: int) -> Region:
    """A region in shares of a stored picture, in pixels of the same picture turned upright by its orientation.

    >>> upright(Region("left half", 0.0, 0.0, 0.5, 1.0), width=600, height=400, orientation=6)  # turned right
    Region(name='left half', left=0.0, top=0.0, right=600.0, bottom=200.0)
    """
    left, top, right, bottom = part.left, part.top, part.right, part.bottom
    if orientation in (2, 3, 7, 8):  # mirrored from left to right, as stored
        left, right = 1 - right, 1 - left
    if orientation in (3, 4, 6, 7):
        top, bottom = 1 - bottom, 1 - top
    if orientation >= 5:
        left, top, right, bottom = top, left, bottom, right
    return Region(part.name, left * width, top * height, right * width, bottom * height)


def derive_tags(connection: log.Connection, tokenizer: Tokenizer, time: int, tags_are: TagsAre | None) -> int:
    """Write the tags that ``tokenizer`` finds in captions, as imported tags, within the caller's transaction."""
    tags = tokenizer.tags(read_captions(connection))
    ids = connection.values("SELECT id FROM picture WHERE caption IS NOT NULL ORDER BY id")
    source = import_source("captions")
    writer = LabelWriter(connection, source, time, _act_of(connection, source, tags_are))
    n_tags = writer.put_all(
        (picture, "tag", tag, "accepted", None) for picture, names in zip(ids, tags, strict=True) for tag in names
    )
    tagged = [picture for picture, names in zip(ids, tags, strict=True) if names]
    if writer.act is Act.DESCRIBED:
        writer.describe(tagged)
    else:
        for picture in tagged:
            writer.withdraw_description(picture)
    return n_tags


def _act_of(connection: log.Connection, source: str, tags_are: TagsAre | None) -> Act:
    """The act by which a label source gives tags; if nobody says it, that of the last time."""
    if tags_are is None:
        partly = """SELECT 1 FROM label JOIN source ON source.id = source_id JOIN term ON term.id = term_id
                    WHERE source.name = ? AND kind = 'tag' AND act = ? LIMIT 1"""
        tags_are = "partial" if connection.value(partly, source, int(Act.SAID)) else "complete"
    return Act.DESCRIBED if tags_are == "complete" else Act.SAID


def read_captions(connection: log.Connection) -> list[str]:
    """The captions of all captioned pictures, in order of picture id."""
    return connection.values("SELECT caption FROM picture WHERE caption IS NOT NULL ORDER BY id")


def clean_text(caption: str) -> str:
    """A caption without surrounding white space; raises :class:`InputError` if it is too long or no valid text."""
    caption = caption.strip()
    if len(caption) > MAX_CAPTION:
        raise InputError(f"the caption has {len(caption)} characters; at most {MAX_CAPTION} are allowed")
    if "\0" in caption or caption != _printable(caption):
        raise InputError("the caption contains invalid Unicode")
    return caption


def _printable(text: str) -> str:
    """``text`` with invalid Unicode made visible, so that it can be stored and shown."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
