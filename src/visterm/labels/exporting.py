"""Labels out of the catalogue, into files other programs read."""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from visterm.catalogue.healing import heal
from visterm.collection.holdings import Holdings
from visterm.errors import InputError, UsageError, VistermError
from visterm.exchange.writers import Exported
from visterm.exchange.writers import export as write
from visterm.exchange.writers.sidecars import pictures_within
from visterm.storage import write_text_atomically

#: The format of a file by its ending.
_ENDINGS = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".parquet": "parquet", ".json": "coco"}


def export(
    holdings: Holdings,
    destination: Path | None = None,
    *,
    format: str | None = None,
    suggestions: float | None = None,
    hierarchy: str | None = None,
    dry_run: bool = False,
) -> Exported:
    """Write all labels with their sources and scores to a file, or as XMP sidecars beside the pictures.

    Without ``format``, the ending of ``destination`` decides. For sidecars, ``destination`` is a folder: only pictures
    in it get sidecars, beside them; without it, all pictures do. ``suggestions`` is a score: suggestions of models with
    at least that score are written, too. Visterm does not read them back from sidecars. ``hierarchy`` is a keyword
    below which sidecars show the class. A file that exists is replaced; with ``dry_run``, the document says whether it
    would be.
    """
    if destination is None and format != "xmp":
        raise UsageError(f"name the {format or 'csv'} file to write")
    if format is None:
        format = _ENDINGS.get((destination or Path()).suffix.lower())
        if format is None:
            raise UsageError(
                f"the ending of {destination} names no format; use {', '.join(_ENDINGS)}, or name the format"
            )
    if format == "xmp" and not dry_run:  # before the first sidecar is written, so that none is ever taken for an import
        heal(holdings.catalogue, holdings.catalogue.known_files())  # a sidecar belongs to the picture that is there
        chosen = pictures_within(holdings.catalogue.pictures(), holdings.folder, destination)
        holdings.catalogue.mark_exported(chosen)
    written = _Written(holdings)
    replaces = format != "xmp" and destination is not None and written.is_strange(destination)
    done = write(
        holdings.catalogue.pictures(),
        destination,
        format,
        root=holdings.folder,
        suggestions=suggestions,
        hierarchy=hierarchy,
        catalogue=holdings.catalogue.identity,
        dry_run=dry_run,
    )
    if format == "xmp" and destination is not None and not done.n_pictures and not done.skipped:
        raise InputError(f"the collection has no picture in {destination}: name a folder that you have added")
    if format != "xmp" and not dry_run:
        written.note(done.files)
    return replace(done, replaces=replaces)


def without_exports(holdings: Holdings, files: Iterable[Path]) -> list[Path]:
    """Those of ``files`` that no export of this workspace wrote, or that were changed since."""
    written = _Written(holdings)
    return [file for file in files if written.is_strange(file)]


class _Written:
    """The files that exports of a workspace wrote, with the size and time that each had then."""

    def __init__(self, holdings: Holdings) -> None:
        self._list = holdings.state / "exports.json"
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
