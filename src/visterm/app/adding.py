"""Pictures and their labels into the catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from visterm.app.workspace import Workspace
from visterm.catalogue.records import Reading, Skipped
from visterm.catalogue.scan import AddReport, add_folder
from visterm.compute import progress
from visterm.errors import InputError
from visterm.exchange.readers import find_labels, open_labels
from visterm.language.captions import CaptionTokenizer


@dataclass(slots=True)
class Addition:
    """What adding did: the account of the files, of every label source, and the tags made of captions."""

    files: AddReport
    readings: list[Reading] = field(default_factory=list)
    n_caption_tags: int = 0

    @property
    def skipped(self) -> list[Skipped]:
        """Everything left out, files first."""
        return [*self.files.skipped, *(skip for reading in self.readings for skip in reading.skipped)]


class _Rehearsal(Exception):  # noqa: N818 - nothing went wrong
    """Ends a transaction without keeping it."""


def add(
    workspace: Workspace,
    folders: Sequence[Path],
    *,
    labels: Sequence[Path] = (),
    format: str | None = None,
    look_for_labels: bool = True,
    caption_tags: bool | None = None,
    tokenizer: CaptionTokenizer | None = None,
    dry_run: bool = False,
) -> Addition:
    """Bring the catalogue in step with ``folders`` and read their labels.

    Labels that lie with the pictures (``metadata.csv`` and the like, captions, XMP) are found unless told not to;
    ``labels`` names further sources, in ``format`` if it is not to be guessed. With ``caption_tags`` captions become
    tags; when it is None, they do where a source has captions and no tags. ``dry_run`` changes nothing.
    """
    if dry_run:
        addition = Addition(AddReport())
        with suppress(_Rehearsal), workspace.catalogue.transaction():
            addition = add(
                workspace,
                folders,
                labels=labels,
                format=format,
                look_for_labels=look_for_labels,
                caption_tags=caption_tags,
                tokenizer=tokenizer,
            )
            raise _Rehearsal
        return addition
    for folder in folders:
        if not folder.exists():
            raise InputError(f"there is nothing at {folder}: name an existing folder or picture")
    addition = Addition(add_folder(workspace.catalogue, folders))
    sources: list[tuple[Path, str | None]] = []
    if look_for_labels:
        sources += [found for folder in folders if folder.is_dir() for found in find_labels(folder)]
    sources += [(path, format) for path in labels]
    for path, name in dict.fromkeys(sources):
        reading = read_labels(workspace, path, name)
        if reading.n_pictures or reading.skipped or path in labels:
            addition.readings.append(reading)
    if caption_tags is None:
        caption_tags = any(reading.n_captions and not reading.tags for reading in addition.readings)
    if caption_tags:
        addition.n_caption_tags = workspace.catalogue.derive_tags(tokenizer or CaptionTokenizer())
    return addition


def read_labels(workspace: Workspace, path: Path, format: str | None = None) -> Reading:
    """Read one label source into the catalogue, all of it or, where the source itself is unusable, nothing."""
    reading, base, records = open_labels(path, format)
    with progress.task(f"Reading {path.name}"):
        workspace.catalogue.apply(records, base=base, reading=reading)
    return reading


def remove(workspace: Workspace, references: Sequence[str | Path], *, dry_run: bool = False) -> int:
    """Forget files, folders or pictures by content hash; returns how many pictures went with their labels."""
    n_removed = 0
    with suppress(_Rehearsal), workspace.catalogue.transaction():
        n_removed = workspace.catalogue.remove(references)
        if dry_run:
            raise _Rehearsal
    return n_removed
