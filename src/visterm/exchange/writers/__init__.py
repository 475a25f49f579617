"""Writers of labels: XMP sidecars, tables, COCO-style JSON."""

from __future__ import annotations

import errno
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from visterm.catalogue.records import Skipped
from visterm.compute import progress
from visterm.errors import InputError, VistermError

if TYPE_CHECKING:
    from visterm.catalogue.pictures import Picture

#: The formats that :func:`export` writes.
FORMATS = ("csv", "tsv", "jsonl", "parquet", "coco", "xmp")

_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


@dataclass(slots=True)
class Export:
    """What an export wrote, or would write: files, pictures, and what was left out with the reason.

    ``n_unchanged`` counts sidecars that were already up to date.
    """

    format: str
    files: list[Path] = field(default_factory=list)
    n_pictures: int = 0
    n_unchanged: int = 0
    skipped: list[Skipped] = field(default_factory=list)


def export(pictures: Iterable[Picture], destination: Path, format: str, *, dry_run: bool = False) -> Export:
    """Write the labels of ``pictures`` in one of :data:`FORMATS`; with ``dry_run`` only say what would be written.

    ``destination`` is the file to write; it appears whole or not at all. For ``xmp`` it is the collection's root, and
    the labels are merged into a sidecar beside each existing file of a picture. A sidecar that cannot be read or
    written is skipped with the reason, but a full disk ends the export. Only accepted labels go to sidecars.
    """
    if format not in FORMATS:
        raise InputError(f"unknown export format {format!r}: choose one of {', '.join(FORMATS)}")
    if format == "xmp":
        return _export_sidecars(pictures, destination, dry_run=dry_run)
    if destination.is_dir():
        raise InputError(f"{destination} is a folder: give the name of the {format} file to write")
    return _export_file(pictures, destination, format, dry_run=dry_run)


def _export_file(pictures: Iterable[Picture], file: Path, format: str, *, dry_run: bool) -> Export:
    from visterm.exchange.writers.coco import write_coco
    from visterm.exchange.writers.table import write_table

    if dry_run:
        n_pictures = sum(1 for picture in pictures if picture.paths)
    else:
        n_pictures = write_coco(pictures, file) if format == "coco" else write_table(pictures, file, format)
    return Export(format, files=[file], n_pictures=n_pictures)


def _export_sidecars(pictures: Iterable[Picture], root: Path, *, dry_run: bool) -> Export:
    if not root.is_dir():
        raise InputError(f"{root} is not a folder: sidecars are written to the folder of the pictures")
    done = Export("xmp")
    with progress.task("Writing sidecars") as bar:
        for picture in pictures:
            files = [root / path for path in picture.paths if (root / path).is_file()]
            for file in files:
                _export_sidecar(picture, file, done, dry_run=dry_run)
            if files:
                done.n_pictures += 1
            else:
                name = next(iter(picture.paths), picture.sha256)
                done.skipped.append(Skipped(name, f"the picture is not in {root}"))
            bar.advance()
    return done


def _export_sidecar(picture: Picture, file: Path, done: Export, *, dry_run: bool) -> None:
    from visterm.exchange.writers.xmp import merged_sidecar
    from visterm.storage import write_bytes_atomically

    tags = [label.name for label in picture.tags if label.state == "accepted"]
    class_name = picture.class_label.name if picture.class_label else None
    try:
        sidecar, contents = merged_sidecar(file, tags, caption=picture.caption, class_name=class_name)
        if contents is not None and not dry_run:
            write_bytes_atomically(sidecar, contents)
    except VistermError as error:
        if isinstance(error.__cause__, OSError) and error.__cause__.errno in _DISK_FULL:
            raise
        done.skipped.append(Skipped(str(file), str(error)))
        return
    if contents is not None:
        done.files.append(sidecar)
    else:
        done.n_unchanged += sidecar.exists()
