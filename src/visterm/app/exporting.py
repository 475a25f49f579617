"""Labels out of the catalogue, into files other programs read."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from visterm.app.document import Document
from visterm.catalogue.records import Skipped
from visterm.errors import InputError, UsageError, VistermError
from visterm.exchange.writers import SidecarExample
from visterm.exchange.writers import export as write
from visterm.exchange.writers.sidecars import pictures_within
from visterm.storage import write_text_atomically

if TYPE_CHECKING:
    from visterm.app.workspace import Workspace


#: The format of a file by its ending.
_ENDINGS = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".parquet": "parquet", ".json": "coco"}


@dataclass(frozen=True)
class SidecarFolder:
    """How many sidecars an export writes in a folder."""

    folder: Path
    sidecars: int


@dataclass(frozen=True)
class Exported(Document):
    """What an export wrote, or would write.

    ``replaces`` says that the file existed already, and is not as the last export of this workspace left it.
    For sidecars: ``n_new`` of the files did not exist before, ``n_unchanged`` others already said everything,
    ``n_failed`` cannot be written (``skipped`` has the reasons), ``folders`` says where they are, ``example`` is one.
    ``n_needless`` files of pictures need no sidecar, as they have no labels.
    """

    format: str
    files: list[Path]
    n_pictures: int
    n_unchanged: int
    skipped: list[Skipped]
    dry_run: bool
    n_new: int = 0
    n_failed: int = 0
    folders: list[SidecarFolder] = field(default_factory=list)
    example: SidecarExample | None = None
    replaces: bool = False
    n_needless: int = 0


def export(
    workspace: Workspace,
    destination: Path | None = None,
    *,
    format: str | None = None,
    suggestions: float | None = None,
    hierarchy: str | None = None,
    dry_run: bool = False,
) -> Exported:
    """Write all labels with their sources and scores to a file, or as XMP sidecars beside the pictures.

    Without ``format``, the ending of ``destination`` decides. For sidecars, ``destination`` is a folder: only pictures
    in it get sidecars, beside them; without it, all pictures do, wherever they are. With ``suggestions``, what models
    suggest with at least that score is written, too, also to sidecars, where Visterm itself does not read it back.
    ``hierarchy`` is a keyword below which sidecars show the class. A file that exists is replaced; with ``dry_run``,
    the answer tells whether it would be.
    """
    if destination is None and format != "xmp":
        raise UsageError(f"name the {format or 'csv'} file to write")
    if format is None:
        format = _ENDINGS.get((destination or Path()).suffix.lower())
        if format is None:
            raise UsageError(
                f"{destination}: the ending names no format; use {', '.join(_ENDINGS)}, or name the format"
            )
    if format == "xmp" and not dry_run:  # before the first sidecar is written, so that none is ever taken for an import
        chosen = pictures_within(workspace.catalogue.pictures(), workspace.folder, destination)
        workspace.catalogue.mark_exported(chosen)
    written = _Written(workspace)
    replaces = format != "xmp" and destination is not None and written.is_strange(destination)
    done = write(
        workspace.catalogue.pictures(),
        destination,
        format,
        root=workspace.folder,
        suggestions=suggestions,
        hierarchy=hierarchy,
        catalogue=workspace.catalogue.identity,
        dry_run=dry_run,
    )
    if format == "xmp" and destination is not None and not done.n_pictures and not done.skipped:
        raise InputError(f"the collection has no picture in {destination}: name a folder that you have added")
    if format != "xmp" and not dry_run:
        written.note(done.files)
    return Exported(
        done.format,
        done.files,
        done.n_pictures,
        done.n_unchanged,
        done.skipped,
        dry_run,
        done.n_new,
        done.n_failed,
        _folders(done.files) if format == "xmp" else [],
        done.example,
        replaces,
        done.n_needless,
    )


def without_exports(workspace: Workspace, files: Iterable[Path]) -> list[Path]:
    """Those of ``files`` that no export of this workspace wrote, or that were changed since."""
    written = _Written(workspace)
    return [file for file in files if written.is_strange(file)]


class _Written:
    """The files that exports of a workspace wrote, with the size and time that each had then."""

    def __init__(self, workspace: Workspace) -> None:
        self._list = workspace.state / "exports.json"
        self._files: dict[str, list[int]] = {}
        with suppress(OSError, ValueError):
            known = json.loads(self._list.read_text(encoding="utf-8"))
            self._files = known if isinstance(known, dict) else {}

    def is_strange(self, file: Path) -> bool:
        """Whether there is a file of somebody else, or one that somebody has changed since."""
        return file.exists() and self._files.get(os.path.realpath(file)) != _looks(file)

    def note(self, files: Iterable[Path]) -> None:
        """Remember files that were just written; where that cannot be kept, the next export asks."""
        self._files |= {os.path.realpath(file): _looks(file) for file in files}
        still = {name: looks for name, looks in self._files.items() if Path(name).exists()}
        with suppress(VistermError):
            write_text_atomically(self._list, json.dumps(still))


def _looks(file: Path) -> list[int]:
    status = file.stat()
    return [status.st_size, status.st_mtime_ns]


def _folders(sidecars: list[Path]) -> list[SidecarFolder]:
    """The folders of sidecars, those with most first."""
    return [SidecarFolder(folder, number) for folder, number in Counter(file.parent for file in sidecars).most_common()]
