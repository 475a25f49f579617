"""Writers of labels: XMP sidecars, tables, COCO-style JSON."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from visterm.catalogue.records import Skipped
from visterm.compute import progress
from visterm.errors import InputError, VistermError

if TYPE_CHECKING:
    from visterm.catalogue.pictures import Label, Picture

#: The formats that :func:`export` writes.
FORMATS = ("csv", "tsv", "jsonl", "parquet", "coco", "xmp")

_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


@dataclass(slots=True)
class Export:
    """What an export wrote, or would write: files, pictures, and what was left out with the reason.

    ``n_unchanged`` counts sidecars that were already up to date; ``example`` says what the first of the others gets.
    """

    format: str
    files: list[Path] = field(default_factory=list)
    n_pictures: int = 0
    n_unchanged: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    example: str = ""


def export(
    pictures: Iterable[Picture],
    destination: Path,
    format: str,
    *,
    suggestions: float | None = None,
    hierarchy: str | None = None,
    catalogue: str | None = None,
    dry_run: bool = False,
) -> Export:
    """Write the labels of ``pictures`` in one of :data:`FORMATS`; with ``dry_run`` only say what would be written.

    ``destination`` is the file to write; it appears whole or not at all. For ``xmp`` it is the collection's root, and
    the labels are merged into a sidecar beside each existing file of a picture. A sidecar that cannot be read or
    written is skipped with the reason, but a full disk ends the export.

    Tables hold all suggestions of models in columns of their own; with ``suggestions``, only those of at least that
    score. Sidecars and COCO hold suggestions only then. ``hierarchy`` is the keyword above the class in sidecars,
    ``catalogue`` the identity of the catalogue that they name as their writer.
    """
    if format not in FORMATS:
        raise InputError(f"unknown export format {format!r}: choose one of {', '.join(FORMATS)}")
    if hierarchy is not None and format != "xmp":
        raise InputError(f"a hierarchy of keywords is written to xmp only, not to {format}")
    if suggestions is not None:
        if not 0 <= suggestions <= 1:
            raise InputError(f"the least score of suggestions is between 0 and 1, not {suggestions}")
        pictures = _with_suggestions(pictures, suggestions)
    if format == "xmp":
        options = _SidecarOptions(hierarchy, suggestions is not None, catalogue)
        return _export_sidecars(pictures, destination, options, dry_run=dry_run)
    if destination.is_dir():
        raise InputError(f"{destination} is a folder: give the name of the {format} file to write")
    return _export_file(pictures, destination, format, suggestions=suggestions is not None, dry_run=dry_run)


def _with_suggestions(pictures: Iterable[Picture], at_least: float) -> Iterator[Picture]:
    """The pictures without suggestions of a lower score."""

    def kept(labels: Iterable[Label]) -> tuple[Label, ...]:
        return tuple(label for label in labels if label.state != "suggested" or (label.score or 0.0) >= at_least)

    for picture in pictures:
        yield replace(picture, classes=kept(picture.classes), tags=kept(picture.tags))


def best_suggested_class(picture: Picture) -> Label | None:
    """The class that a model suggests with the highest score."""
    return max(
        (label for label in picture.classes if label.state == "suggested"),
        key=lambda label: -1.0 if label.score is None else label.score,
        default=None,
    )


def _export_file(pictures: Iterable[Picture], file: Path, format: str, *, suggestions: bool, dry_run: bool) -> Export:
    from visterm.exchange.writers.coco import write_coco
    from visterm.exchange.writers.table import write_table

    if dry_run:
        n_pictures = sum(1 for picture in pictures if picture.paths)
    else:
        n_pictures = (
            write_coco(pictures, file, suggestions=suggestions)
            if format == "coco"
            else write_table(pictures, file, format)
        )
    return Export(format, files=[file], n_pictures=n_pictures)


@dataclass(frozen=True, slots=True)
class _SidecarOptions:
    hierarchy: str | None
    suggestions: bool
    catalogue: str | None


def _export_sidecars(pictures: Iterable[Picture], root: Path, options: _SidecarOptions, *, dry_run: bool) -> Export:
    if not root.is_dir():
        raise InputError(f"{root} is not a folder: sidecars are written to the folder of the pictures")
    done = Export("xmp")
    with progress.task("Writing sidecars") as bar:
        for picture in pictures:
            files = [root / path for path in picture.paths if (root / path).is_file()]
            for file in files:
                _export_sidecar(picture, file, done, options, dry_run=dry_run)
            if files:
                done.n_pictures += 1
            else:
                name = next(iter(picture.paths), picture.sha256)
                done.skipped.append(Skipped(name, f"the picture is not in {root}"))
            bar.advance()
    return done


def _export_sidecar(picture: Picture, file: Path, done: Export, options: _SidecarOptions, *, dry_run: bool) -> None:
    from visterm.exchange.writers.xmp import merged_sidecar
    from visterm.storage import write_bytes_atomically

    tags = [label.name for label in picture.tags if label.state == "accepted"]
    class_name = picture.class_label.name if picture.class_label else None
    suggested = _suggested_names(picture) if options.suggestions else []
    try:
        sidecar, contents = merged_sidecar(
            file,
            tags,
            caption=picture.caption,
            class_name=class_name,
            hierarchy=options.hierarchy,
            suggestions=suggested,
            catalogue=options.catalogue,
        )
        if contents is not None and not dry_run:
            write_bytes_atomically(sidecar, contents)
    except VistermError as error:
        if isinstance(error.__cause__, OSError) and error.__cause__.errno in _DISK_FULL:
            raise
        done.skipped.append(Skipped(str(file), str(error)))
        return
    if contents is not None:
        done.files.append(sidecar)
        said = {"class": [class_name] if class_name else [], "tags": tags, "suggestions": suggested}
        parts = [f"{what} {', '.join(names)}" for what, names in said.items() if names]
        done.example = done.example or f"{sidecar.name}: {'; '.join(parts) or 'no labels any more'}"
    else:
        done.n_unchanged += sidecar.exists()


def _suggested_names(picture: Picture) -> list[str]:
    """What models suggest where people and imports have not decided."""
    best = best_suggested_class(picture) if picture.class_label is None else None
    return [
        *(label.name for label in picture.tags if label.state == "suggested"),
        *(() if best is None else (best.name,)),
    ]
