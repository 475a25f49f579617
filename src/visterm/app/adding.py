"""Pictures and their labels into the catalogue, and out of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from visterm.app.document import Document
from visterm.app.exporting import without_exports
from visterm.catalogue.places import posix
from visterm.catalogue.records import PERSON, Reading, Record, Skipped
from visterm.catalogue.scan import AddReport, add_folder
from visterm.compute import progress
from visterm.errors import InputError, UsageError
from visterm.exchange.readers import find_labels, find_tables, names_pictures, open_labels, open_pictures
from visterm.language.captions import CaptionTokenizer

if TYPE_CHECKING:
    from visterm.app.workspace import Workspace


@dataclass(frozen=True)
class Files:
    """How many files were found, by what became of them.

    ``unreadable`` ones are also counted by what became of them. ``removed`` ones were removed earlier and are left out;
    ``drawn`` ones were drawn by Visterm itself and are left out, too.
    """

    added: int
    unchanged: int
    moved: int
    copies: int
    changed: int
    gone: int
    unreadable: int
    skipped: int
    removed: int = 0
    drawn: int = 0

    @property
    def n_pictures(self) -> int:
        """The files that are in the catalogue now."""
        return self.added + self.unchanged + self.moved + self.copies + self.changed


@dataclass(frozen=True)
class LabelSource:
    """What one source of labels said: how many pictures it names, and what it says of them.

    ``new`` statements were not known before; ``withdrawn`` labels were, and the source no longer has them.
    """

    source: str
    format: str
    pictures: int
    classes: int
    tags: int
    captions: int
    regions: int
    skipped: int
    new: int = 0
    withdrawn: int = 0


@dataclass(frozen=True)
class Addition(Document):
    """What adding did: with the files, with every label source, and with the words of captions.

    ``caption_tags`` labels were made of ``caption_words`` words and phrases; ``other_words`` stay searchable only.
    ``other_formats`` counts files of pictures that Visterm cannot read, by their ending, such as ``.heic``;
    ``notes`` are remarks about labels that were read all the same. ``tables`` may hold labels, but were never read.
    """

    dry_run: bool
    files: Files
    labels: list[LabelSource]
    caption_tags: int
    skipped: list[Skipped]
    caption_words: int = 0
    other_words: int = 0
    other_formats: dict[str, int] = field(default_factory=dict)
    notes: list[Skipped] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Removal(Document):
    """How many pictures were forgotten, and with them how many labels of people; no file is touched.

    ``copies`` were files of pictures that stay, because they have other files: ``stay`` has one of each picture.
    """

    removed: int
    dry_run: bool
    said: int = 0
    copies: int = 0
    stay: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Attached(Document):
    """The picture that has got a file again: its content hash, its files, and how many labels it has."""

    sha256: str
    paths: list[str]
    labels: int


class _Rehearsal(Exception):  # noqa: N818 - nothing went wrong
    """Ends a transaction without keeping it."""


def add(
    workspace: Workspace,
    folders: Sequence[Path] = (),
    *,
    labels: Sequence[Path] = (),
    format: str | None = None,
    look_for_labels: bool = True,
    caption_tags: bool | None = None,
    min_count: int = 2,
    phrases: Sequence[str] = (),
    again: bool = False,
    as_new: bool = False,
    dry_run: bool = False,
) -> Addition:
    """Bring the catalogue in step with ``folders`` (by default the workspace's own) and read their labels.

    Labels found with the pictures (``metadata.csv`` and the like, captions, XMP) are read unless told not to;
    ``labels`` names further sources, in ``format`` if it is not to be guessed. The format ``folders`` makes each
    sub-folder a class. With ``caption_tags`` captions become tags; when it is None, they do where a source has captions
    and no tags. A useful word makes a tag when it is in at least ``min_count`` captions; ``phrases`` always do.
    Pictures that were removed stay out unless they are wanted ``again``. A file that was edited stays the same picture
    with its labels; ``as_new`` says that the files named are other pictures now, also if they were added before.
    """
    for folder in folders:
        if not folder.exists():
            raise InputError(f"there is nothing at {folder}: name an existing folder or picture")
    if as_new and (not folders or any(not file.is_file() for file in folders)):
        raise UsageError("name the files that are other pictures now; a folder cannot be added as new")
    folders = list(folders) or [workspace.folder]
    if format == "folders" and not labels:
        labels = folders
    elif format is not None and not labels:
        raise UsageError(f"the format {format!r} says how to read a source of labels: name that source, too")
    language = workspace.catalogue.language
    tokenizer = CaptionTokenizer(min_count=min_count, phrases=tuple(phrases), language=language)
    with suppress(_Rehearsal):
        if not dry_run:
            return _add(workspace, folders, labels, format, look_for_labels, caption_tags, tokenizer, again, as_new)
        with workspace.catalogue.transaction():
            done = _add(workspace, folders, labels, format, look_for_labels, caption_tags, tokenizer, again, as_new)
            raise _Rehearsal
    return replace(done, dry_run=True)


def _add(
    workspace: Workspace,
    folders: Sequence[Path],
    labels: Sequence[Path],
    format: str | None,
    look_for_labels: bool,
    caption_tags: bool | None,
    tokenizer: CaptionTokenizer,
    again: bool,
    as_new: bool,
) -> Addition:
    files = add_folder(workspace.catalogue, folders, again=again)
    for file in folders if as_new else ():
        workspace.catalogue.separate(file)
    places: list[tuple[Path, str | None]] = []
    if look_for_labels:
        places += [found for folder in folders if folder.is_dir() for found in find_labels(folder)]
    places += [(path, format) for path in labels]
    sources = [open_labels(path, name) for path, name in dict.fromkeys(places)]
    if look_for_labels:
        sources[:0] = open_pictures(path for path in dict.fromkeys(folders) if path.is_file())
    named = {str(path) for path in labels}
    readings = []
    for reading, base, records in sources:
        _apply(workspace, reading, base, records)
        asked_for = reading.source in named and format in (None, reading.format)
        if reading.n_pictures or reading.skipped or reading.n_withdrawn or asked_for:
            readings.append(reading)
    if caption_tags is None:
        caption_tags = any(reading.n_captions and not reading.tags for reading in readings)
    words = _Remembering(tokenizer)
    n_caption_tags = workspace.catalogue.derive_tags(words) if caption_tags else 0
    skipped = [*files.skipped, *(skip for reading in readings for skip in reading.skipped)]
    return Addition(
        False,
        _files(files),
        [_label_source(reading) for reading in readings],
        n_caption_tags,
        skipped,
        words.n_kept,
        words.n_others,
        dict(files.other_formats.most_common()),
        [note for reading in readings for note in reading.notes],
        _unread_tables(workspace, folders, places, readings) if look_for_labels else [],
    )


def _unread_tables(
    workspace: Workspace,
    folders: Sequence[Path],
    places: Sequence[tuple[Path, str | None]],
    readings: Sequence[Reading],
) -> list[str]:
    """The tables beside the pictures that may hold labels, were read neither now nor earlier, and are no exports.

    Where labels were found, only those that name pictures: a collection may have tables about anything.
    """
    read = {posix(path) for path, _ in places}
    tables = dict.fromkeys(table for folder in folders for table in find_tables(folder))
    unread = [table for table in tables if posix(table) not in read and not workspace.catalogue.is_source(table)]
    return [str(table) for table in without_exports(workspace, unread) if not readings or names_pictures(table)]


class _Remembering:
    """A tokenizer that remembers how many words became tags, and how many did not."""

    def __init__(self, tokenizer: CaptionTokenizer) -> None:
        self._tokenizer = tokenizer
        self.n_kept = self.n_others = 0

    def tags(self, captions: Iterable[str]) -> list[list[str]]:
        words = self._tokenizer.read(captions)
        self.n_kept, self.n_others = len(words.kept), len(words.others)
        return words.tags


def _apply(workspace: Workspace, reading: Reading, base: Path, records: Iterator[Record]) -> None:
    """Read one label source into the catalogue, all of it or, where the source itself is unusable, nothing."""
    with progress.task(f"Reading {Path(reading.source).name}"):
        workspace.catalogue.apply(records, base=base, reading=reading)


def remove(workspace: Workspace, references: Sequence[str | Path], *, dry_run: bool = False) -> Removal:
    """Forget files, folders or pictures by content hash, with their labels."""
    with suppress(_Rehearsal), workspace.catalogue.transaction():
        before = workspace.catalogue.counts().label_sources.get(PERSON, 0)
        done = workspace.catalogue.remove(references)
        n_said = before - workspace.catalogue.counts().label_sources.get(PERSON, 0)
        if dry_run:
            raise _Rehearsal
    return Removal(done.n_pictures, dry_run, n_said, done.n_copies, list(done.stay))


def attach(workspace: Workspace, record: str | Path, file: Path) -> Attached:
    """Say that ``file`` is the picture of a record that has lost its file; the labels of both are united."""
    if not file.is_file():
        raise InputError(f"there is no file {file}: name the file that is the picture now")
    add_folder(workspace.catalogue, [file])
    done = workspace.catalogue.attach(record, file.absolute())
    said = [label for label in (*done.classes, *done.tags) if label.state != "suggested"]
    return Attached(done.sha256, list(done.paths), len(said))


def _files(report: AddReport) -> Files:
    return Files(
        report.added,
        report.unchanged,
        report.moved,
        report.copies,
        report.changed,
        report.gone,
        report.unreadable,
        len(report.skipped),
        report.removed,
        report.drawn,
    )


def _label_source(reading: Reading) -> LabelSource:
    return LabelSource(
        reading.source,
        reading.format,
        reading.n_pictures,
        len(reading.classes),
        len(reading.tags),
        reading.n_captions,
        reading.n_regions,
        reading.n_skipped,
        reading.n_new,
        reading.n_withdrawn,
    )
