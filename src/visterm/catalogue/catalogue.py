"""The catalogue: which pictures there are, where their files are, and who says what about them."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self
from uuid import uuid4

from visterm.catalogue import (
    backups,
    connections,
    filing,
    identity,
    importing,
    inventory,
    listing,
    log,
    removals,
    schema,
)
from visterm.catalogue.acts import TagsAre
from visterm.catalogue.history import History
from visterm.catalogue.labels import Kind
from visterm.catalogue.metadata import read_columns
from visterm.catalogue.pictures import Examined, Picture, read_block, read_pictures
from visterm.catalogue.places import Places, posix
from visterm.catalogue.records import IMPORT, PERSON, Reading, Record, import_source
from visterm.catalogue.sayings import Sayings
from visterm.errors import InputError
from visterm.language import check_language

if TYPE_CHECKING:
    from visterm.catalogue.truth import Truth  # imports NumPy: who only labels needs none

#: Formats of labels that are not in one file: what they say of a picture stands in it, beside it, or in its path.
BESIDE_PICTURES = ("xmp", "captions", "folders")
#: The language of a collection that names none.
LANGUAGE = "en"


class Catalogue(Sayings):
    """The truth about a collection, in one SQLite file.

    ``file`` must exist; :meth:`create` makes it. Paths are stored in POSIX form, relative to ``root`` if inside it, so
    that the collection can move as a whole. Any number of threads may use a catalogue: each has its own connection, and
    readers never wait for a writer. Every method is one transaction; :meth:`transaction` combines several calls.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with Catalogue.create(folder / "catalogue.sqlite", root=folder) as catalogue:
    ...     catalogue.counts().n_pictures
    0
    """

    def __init__(self, file: Path, *, root: Path) -> None:
        super().__init__(file)
        self.root = root.resolve()
        self._places = Places(root, self._connections.mine)
        self._twins: tuple[tuple[int, int], set[str]] = (-1, -1), set()
        #: What was changed, by whom and when, and its undoing.
        self.history = History(lambda: self._connection, self.transaction, self._stamp)

    @classmethod
    def create(cls, file: Path, *, root: Path) -> Self:
        """Open the catalogue in ``file``, or make it; only for a place where there has never been one."""
        if not file.exists():
            connections.create(file)
        return cls(file, root=root)

    # Pictures and their files

    def pictures(self, *, state: str | None = None) -> Iterator[Picture]:
        """All pictures in order of id, or those in ``state`` (``ok``, ``unreadable``), read in blocks."""
        with schema.sqlite_errors(self.file):
            yield from read_pictures(self._connection, state=state)

    def picture(self, reference: str | Path) -> Picture | None:
        """The picture at a path or with a content hash (at least 8 of its hexadecimal digits), None when unknown.

        A relative path is taken from the collection's root first, then from the working directory.
        """
        with schema.sqlite_errors(self.file):
            ids = self._places.ids_of(reference)
            return read_block(self._connection, ids[0], ids[0])[0] if ids else None

    def pictures_with_ids(self, ids: Iterable[int]) -> list[Picture]:
        """The pictures with these ids, in their order; unknown ids are left out."""
        with schema.sqlite_errors(self.file):
            return [picture for number in ids for picture in read_block(self._connection, number, number)]

    def file_of(self, picture: Picture) -> Path:
        """The first of the picture's files that exists."""
        for path in picture.paths:
            if os.path.isfile(self.root / path):  # noqa: PTH113 - Path.is_file() raises in a folder without permission
                return self.root / path
        places = ", ".join(picture.paths) or "no place"
        raise InputError(f"the file of picture {picture.sha256[:12]} is missing; it was last seen at {places}")

    def known_files(self, under: Path | None = None) -> dict[str, tuple[int, int]]:
        """Size and modification time (ns) of every catalogued file, or of those at or below ``under``."""
        with schema.sqlite_errors(self.file):
            return {path: (size, mtime_ns) for path, size, mtime_ns, _ in self._places.files(under)}

    def known_path(self, reference: str | Path) -> str | None:
        """The stored path of a catalogued file, as a person names it; None if there is none."""
        return self._read(lambda _: self._places.known_path(reference))

    def twin_files(self) -> set[str]:
        """The files that only their bytes tell from one of another picture: size and time are the same."""
        version, (before, twins) = self.version(), self._twins
        if before != version and (before[1] == version[1] or self.relabelled_since(before[1]) is None):
            twins = self._read(lambda _: self._places.twins())
        self._twins = version, twins  # kept until anything but labels changes
        return twins

    def edited_pictures(self) -> list[str]:
        """The content hashes of the pictures that have had another content, the newest first."""
        return self._read(identity.edited)

    def contents(self) -> tuple[dict[str, str], set[str], set[str]]:
        """The content hash of every file, those of all pictures, and those that they, or removed ones, had earlier."""
        return self._read(identity.contents)

    def missing_files(self, under: Path | None = None) -> set[str]:
        """The catalogued files that were gone at the last check."""
        with schema.sqlite_errors(self.file):
            return {path for path, _, _, missing in self._places.files(under) if missing}

    def unreadable(self) -> Iterator[tuple[str, str]]:
        """Path and reason of every file that is not a usable picture."""
        yield from self._read(inventory.unreadable)

    def stored_path(self, path: str | Path) -> str:
        """The form in which the catalogue stores ``path``."""
        return self._places.stored_path(path)

    def add(self, examined: Iterable[Examined], *, again: bool = False) -> Counter[filing.Outcome]:
        """Record files that were read, those that a person removed only if wanted ``again``; counts the outcomes."""
        what = "add removed files again" if again else "keep the labels of edited copies"
        with self.transaction(what, who=PERSON if again else IMPORT):
            keeper = filing.FileKeeper(self._connection, self.root, self._stamp(), again=again)
            return keeper.add_all((file, self.stored_path(file.path)) for file in examined)

    def mark_missing(self, paths: Iterable[str]) -> int:
        """Record that files are gone; returns how many of them were known.

        The last file of a picture is remembered, with all labels: the disk may only be unplugged. Of several that are
        gone at once, it is the one whose path is first.
        """
        with self.transaction():
            return sum(identity.mark_missing(self._connection, path) for path in sorted(paths, reverse=True))

    def mark_present(self, paths: Iterable[str]) -> None:
        """Record that files are back, unchanged."""
        with self.transaction():
            self._connection.executemany("UPDATE path SET missing = 0 WHERE path = ?", [(path,) for path in paths])

    def forget_replaced(self) -> int:
        """Delete pictures whose last file was replaced by another picture, unless somebody said something of them."""
        with self.transaction():
            return identity.forget_replaced(self._connection, self._stamp())

    def without_file(self, limit: int = 100) -> list[identity.WithoutFile]:
        """The pictures that have no file, those with most labels of people and imports first."""
        return self._read(identity.without_file, limit)

    def separate(self, path: str | Path) -> Picture:
        """Say that the file at ``path`` is another picture now, not an edited one; returns the new picture.

        The labels stay with the earlier content, which has no file then.
        """
        with self.transaction(f"make {path} a new picture"), log.level(self._connection, log.Level.FILES):
            try:
                new = identity.separate(self._connection, self._known(path), self._stamp())
            except InputError as error:
                raise InputError(f"{path}: {error}") from error
            return read_block(self._connection, new, new)[0]

    def attach(self, record: str | Path, file: str | Path) -> Picture:
        """Give a picture that has no file the catalogued ``file``, with the labels of both; returns the picture."""
        with self.transaction(f"attach {record} to {file}"), log.level(self._connection, log.Level.FILES):
            number = self._known(record)
            try:
                identity.attach(self._connection, number, self._known(file), self._stamp())
            except InputError as error:
                raise InputError(f"{record}: {error}") from error
            return read_block(self._connection, number, number)[0]

    def remove(self, references: Iterable[str | Path]) -> removals.Forgotten:
        """Forget files, whole folders, or pictures by content hash; returns what was forgotten.

        A picture and its labels are forgotten with its last file. No file is touched. Adding a folder again leaves the
        removed files out.
        """
        references = list(references)
        shown = ", ".join(map(str, references[:3])) + (" and others" if len(references) > 3 else "")
        with self.transaction(f"remove {shown}"), log.level(self._connection, log.Level.FILES):
            pictures, removed = set[int](), dict[str, int]()
            for reference in references:
                files = self._places.files(self.root / reference) or self._places.files(Path(reference))
                ids = [] if files else self._places.ids_of(reference)
                if not files and not ids:
                    raise InputError(f"{reference}: no such file, folder or picture in the catalogue")
                paths = [path for path, *_ in files] or self._places.paths_of(ids[0])
                removed |= removals.remove_files(self._connection, paths, self._stamp())
                pictures.update(ids)
            return removals.forget_pictures(self._connection, pictures | set(removed.values()), removed)

    def removed_files(self) -> dict[str, tuple[int, int]]:
        """Size and modification time (ns) of every file that a person removed."""
        return self._read(removals.removed_files)

    def removed_names(self) -> set[str]:
        """The paths and the hashes of every file that a person removed."""
        return self._read(removals.removed_names)

    # What label sources say; for what people say, see visterm.catalogue.sayings

    def apply(
        self,
        records: Iterable[Record],
        *,
        base: Path,
        source: str = IMPORT,
        reading: Reading,
        tags_are: TagsAre | None = None,
    ) -> None:
        """Write the labels of a label source; its paths are relative to ``base`` and may not leave it.

        This is one transaction. A row is skipped, with the reason in ``reading``, if it names no catalogued picture, or
        repeats or contradicts an earlier row. An import replaces what the same label file, or the same kind of metadata
        of pictures below ``base``, said before: what it no longer says is withdrawn. ``tags_are`` says whether the tags
        of a row are all that its picture has; by default, it is as when the source was read last, at first complete.
        """
        base_text = posix(base)
        if source == IMPORT:
            place = "" if reading.format in BESIDE_PICTURES else f" {self.stored_path(reading.source)}"
            source = import_source(f"{reading.format}{place}")
        with self.transaction(f"read {reading.source} ({reading.format})", who=IMPORT):
            importing.RecordWriter(
                self._connection,
                source,
                self._stamp(),
                find_picture=lambda path: self._places.find_under(base_text, path),
                holds=lambda picture: self._places.holds_all(base_text, picture),
                identity=self.identity,
                reading=reading,
                tags_are=tags_are,
            ).apply(records)

    def is_source(self, file: Path) -> bool:
        """Whether labels of the table ``file`` were read earlier."""
        names = [import_source(f"{format} {self.stored_path(file)}") for format in ("table", "parquet")]
        return bool(self._read(log.Connection.value, "SELECT 1 FROM source WHERE name IN (?, ?)", *names))

    def derive_tags(self, tokenizer: importing.Tokenizer, *, tags_are: TagsAre | None = None) -> int:
        """Give every captioned picture the tags that ``tokenizer`` finds in its caption; returns how many."""
        with self.transaction("make tags of captions", who=IMPORT):
            return importing.derive_tags(self._connection, tokenizer, self._stamp(), tags_are)

    def captions(self) -> list[str]:
        """The captions of the pictures, in order of picture id."""
        return self._read(importing.read_captions)

    def labelled_before(self, ids: Iterable[int], kind: Kind, time: datetime) -> set[int]:
        """Those of the pictures that people or imports gave a class, or tags, before ``time``."""
        from visterm.catalogue.truth import labelled_before

        return self._read(labelled_before, ids, kind, round(1e6 * time.timestamp()))

    # The whole

    def setting(self, name: str) -> str | None:
        """What the collection is like, such as its language; None if nobody has said."""
        return self._read(lambda connection: connection.value("SELECT value FROM setting WHERE name = ?", name))

    def set(self, name: str, value: str) -> None:
        """Say what the collection is like."""
        with self.transaction():
            self._connection.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (name, value))

    @property
    def language(self) -> str:
        """The language of captions and file names, an ISO 639 code."""
        return self.setting("language") or LANGUAGE

    @language.setter
    def language(self, code: str) -> None:
        check_language(code)
        self.set("language", code)

    @property
    def identity(self) -> str:
        """A name of this catalogue that no other has, by which it recognises what it wrote itself."""
        known = "SELECT value FROM setting WHERE name = 'identity'"
        if (name := self._read(log.Connection.value, known)) is None:
            with self.transaction():
                self._connection.execute("INSERT OR IGNORE INTO setting VALUES ('identity', ?)", (uuid4().hex,))
                name = self._connection.value(known)
        return str(name)

    def mark_exported(self, pictures: Iterable[Picture]) -> None:
        """Note that the labels of ``pictures`` are written beside them."""
        ids = [(picture.id,) for picture in pictures]
        with self.transaction():
            self._connection.executemany("INSERT OR IGNORE INTO exported VALUES (?)", ids)

    def truth(self) -> "Truth":
        """What people and imports say about the readable pictures, as arrays to train on."""
        from visterm.catalogue.truth import read_truth

        return self._read(read_truth)

    def relabelled(self, known: "Truth", ids: Iterable[int]) -> "Truth":
        """``known`` with the labels of the pictures ``ids`` read again."""
        from visterm.catalogue.truth import relabelled

        return self._read(relabelled, known, ids)

    def listing(self) -> listing.Listing:
        """The sizes of all readable pictures, and when they were added."""
        return self._read(listing.read_listing)

    def metadata_columns(self, ids: Iterable[int]) -> dict[str, list[object]]:
        """The metadata of some pictures as columns, each in the order of ``ids``."""
        return self._read(read_columns, ids)

    def said(self, ids: Iterable[int] | None = None) -> dict[int, int]:
        """Who said something of the pictures, as :class:`~visterm.catalogue.listing.Said` flags by picture id."""
        return self._read(listing.read_said, ids)

    def counts(self) -> inventory.Counts:
        """The numbers of pictures, files, labels, classes and tags."""
        return self._read(inventory.count)

    def backup(self, file: Path) -> None:
        """Write everything to ``file``, which must be new; consistent while others write."""
        if file.exists():
            raise InputError(f"{file} exists already: name a new file for the backup")
        self._read(backups.copy, file)

    # Inside

    def _known(self, reference: str | Path) -> int:
        """The id of a picture that must be known."""
        ids = self._places.ids_of(reference)
        if not ids:
            raise InputError(f"{reference}: no such picture in the catalogue")
        return ids[0]
