"""Adds pictures and their labels to the catalogue, and removes them."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import get_args

from visterm.catalogue.acts import TagsAre
from visterm.catalogue.healing import heal
from visterm.catalogue.places import posix
from visterm.catalogue.records import PERSON, LabelSource, Reading, Record, Skipped
from visterm.catalogue.scan import Files, add_folder
from visterm.collection.holdings import Holdings
from visterm.compute import progress
from visterm.documents.document import Document
from visterm.errors import InputError, UsageError
from visterm.exchange.readers import check_unicode, find_labels, find_tables, names_pictures, open_labels, open_pictures
from visterm.exchange.unlabelled import UnlabelledFiles
from visterm.labels.exporting import without_exports
from visterm.language.captions import MIN_COUNT, CaptionTokenizer


@dataclass(frozen=True)
class Addition(Document):
    """What adding did with the files, with every label source, and with the words of captions.

    ``caption_words`` words and phrases became tags and gave ``caption_tags`` labels; ``other_words`` can only be
    searched. ``other_formats`` counts picture files that Visterm cannot read, by their ending, such as ``.heic``.
    ``notes`` are remarks about labels that were read. ``tables`` may hold labels, but have never been read.
    ``stray_keywords`` (with their number of pictures) are inside the files of one or two pictures of a collection whose
    tags come from elsewhere: search finds them, but no model learns them until a person says what they are.
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
    stray_keywords: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Removal(Document):
    """How many pictures were forgotten, and how many labels of people with them; no file is touched.

    ``copies`` counts forgotten files whose pictures stay, because they have other files; ``stay`` has one file each.
    ``action`` is the number of this step in the history; None if nothing changed.
    """

    removed: int
    dry_run: bool
    said: int = 0
    copies: int = 0
    stay: list[str] = field(default_factory=list)
    action: int | None = None


@dataclass(frozen=True)
class Attached(Document):
    """The picture that has got a file again: its content hash, its files, and how many labels it has."""

    sha256: str
    paths: list[str]
    labels: int


class _Rehearsal(Exception):  # noqa: N818 - nothing went wrong
    """Ends a transaction without keeping it."""


@dataclass(frozen=True)
class AddOptions:
    """How pictures and labels are added.

    With ``look_for_labels``, labels found with the pictures (``metadata.csv`` and the like, captions, XMP) are read.
    ``labels`` names further sources; ``format`` is their format if it should not be guessed. The format ``folders``
    makes each sub-folder a class. With ``caption_tags``, captions become tags; by default they do if a source has
    captions but no tags. A word becomes a tag if at least ``min_count`` captions have it; ``phrases`` always do.
    ``tags_are`` says whether the tags that a source gives are all that fit a picture (``complete``) or some of them
    (``partial``); by default it is as when the source was read last, at first complete.
    Pictures that were removed stay out unless ``again`` is true. An edited file stays the same picture with its labels;
    ``as_new`` says that the named files are other pictures now, even if they were added before.
    """

    labels: Sequence[Path] = ()
    format: str | None = None
    look_for_labels: bool = True
    caption_tags: bool | None = None
    min_count: int = MIN_COUNT
    phrases: Sequence[str] = ()
    tags_are: TagsAre | None = None
    again: bool = False
    as_new: bool = False
    dry_run: bool = False


def add(holdings: Holdings, folders: Sequence[Path], options: AddOptions) -> Addition:
    """Add the pictures of ``folders`` (by default the workspace's own), note what changed, and read their labels."""
    for folder in folders:
        check_unicode(folder)
        if not folder.exists():
            raise InputError(f"there is nothing at {folder}: name an existing folder or picture")
    if options.tags_are not in (None, *get_args(TagsAre)):
        raise UsageError(f"tags are {' or '.join(get_args(TagsAre))}, not {options.tags_are!r}")
    if options.as_new and (not folders or any(not file.is_file() for file in folders)):
        raise UsageError("name the files that show another picture now; a folder cannot be added as new")
    folders = list(folders) or [holdings.folder]
    if options.format == "folders" and not options.labels:
        options = replace(options, labels=folders)
    elif options.format is not None and not options.labels:
        raise UsageError(f"the format {options.format!r} is for a source of labels: name that source, too")
    with suppress(_Rehearsal):
        if not options.dry_run:
            return _add(holdings, folders, options)
        with holdings.catalogue.transaction():
            done = _add(holdings, folders, options)
            raise _Rehearsal
    return replace(done, dry_run=True)


def _add(holdings: Holdings, folders: Sequence[Path], options: AddOptions) -> Addition:
    report = add_folder(holdings.catalogue, folders, again=options.again)
    for file in folders if options.as_new else ():
        holdings.catalogue.separate(file)
    places: list[tuple[Path, str | None]] = []
    if options.look_for_labels:
        for folder in filter(Path.is_dir, folders):
            places += find_labels(folder, report.skipped)
    places += [(path, options.format) for path in options.labels]
    unlabelled = UnlabelledFiles(holdings.state / UnlabelledFiles.NAME)
    sources = [open_labels(path, name, unlabelled) for path, name in dict.fromkeys(places)]
    if options.look_for_labels:
        sources[:0] = open_pictures(path for path in dict.fromkeys(folders) if path.is_file())
    named = {str(path) for path in options.labels}
    readings, told = [], {skip.where for skip in report.skipped}
    for reading, base, records in sources:
        _apply(holdings, reading, base, records, options.tags_are)
        reading.leave_out(told, base)
        asked_for = reading.source in named and options.format in (None, reading.format)
        if reading.pictures or reading.skips or reading.withdrawn or asked_for:
            readings.append(reading)
    if not options.dry_run:
        unlabelled.keep()
    caption_tags = options.caption_tags
    if caption_tags is None:
        caption_tags = any(reading.captions and not reading.tags for reading in readings)
    language, phrases = holdings.catalogue.language, tuple(options.phrases)
    words = _Remembering(CaptionTokenizer(min_count=options.min_count, phrases=phrases, language=language))
    n_caption_tags = holdings.catalogue.derive_tags(words, tags_are=options.tags_are) if caption_tags else 0
    return Addition(
        dry_run=False,
        files=report.files,
        labels=list(readings),
        caption_tags=n_caption_tags,
        skipped=[*report.skipped, *(skip for reading in readings for skip in reading.skips)],
        caption_words=words.n_kept,
        other_words=words.n_others,
        other_formats=dict(report.other_formats.most_common()),
        notes=[note for reading in readings for note in reading.notes],
        tables=_unread_tables(holdings, folders, places, readings) if options.look_for_labels else [],
        stray_keywords=holdings.catalogue.stray_keywords(),
    )


def _unread_tables(
    holdings: Holdings,
    folders: Sequence[Path],
    places: Sequence[tuple[Path, str | None]],
    readings: Sequence[Reading],
) -> list[str]:
    """The tables beside the pictures that may hold labels, have never been read, and are no exports.

    If labels were found, only tables that name pictures: a collection may have tables about anything.
    """
    read = {posix(path) for path, _ in places}
    tables = dict.fromkeys(table for folder in folders for table in find_tables(folder))
    unread = [table for table in tables if posix(table) not in read and not holdings.catalogue.is_source(table)]
    return [str(table) for table in without_exports(holdings, unread) if not readings or names_pictures(table)]


class _Remembering:
    """A tokenizer that remembers how many words became tags, and how many did not."""

    def __init__(self, tokenizer: CaptionTokenizer) -> None:
        self._tokenizer = tokenizer
        self.n_kept = self.n_others = 0

    def tags(self, captions: Iterable[str]) -> list[list[str]]:
        words = self._tokenizer.read(captions)
        self.n_kept, self.n_others = len(words.kept), len(words.others)
        return words.tags


def _apply(
    holdings: Holdings, reading: Reading, base: Path, records: Iterator[Record], tags_are: TagsAre | None
) -> None:
    """Read one label source into the catalogue; if the source itself is unusable, read nothing of it."""
    with progress.task(f"Reading {Path(reading.source).name}"):
        holdings.catalogue.apply(records, base=base, reading=reading, tags_are=tags_are)


def remove(holdings: Holdings, references: Sequence[str | Path], *, dry_run: bool = False) -> Removal:
    """Forget files, folders or pictures by content hash, with their labels."""
    heal(holdings.catalogue, references)
    with suppress(_Rehearsal), holdings.catalogue.transaction():
        before = holdings.catalogue.counts().label_sources.get(PERSON, 0)
        done = holdings.catalogue.remove(references)
        n_said = before - holdings.catalogue.counts().label_sources.get(PERSON, 0)
        if dry_run:
            raise _Rehearsal
    action = None if dry_run else holdings.catalogue.history.made
    return Removal(done.n_pictures, dry_run, n_said, done.n_copies, list(done.stay), action)


def attach(holdings: Holdings, record: str | Path, file: Path) -> Attached:
    """Give a record that has lost its file the new file ``file``; the labels of both are united."""
    if not file.is_file():
        raise InputError(f"there is no file {file}: name the file that is the picture now")
    add_folder(holdings.catalogue, [file])
    done = holdings.catalogue.attach(record, file.absolute())
    said = [label for label in (*done.classes, *done.tags) if label.state != "suggested"]
    return Attached(done.sha256, list(done.paths), len(said))
