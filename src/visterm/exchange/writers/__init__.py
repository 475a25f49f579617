"""Writers of labels: XMP sidecars, tables, COCO-style JSON."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from visterm.catalogue.pictures import Label, Picture
from visterm.errors import InputError, UsageError
from visterm.exchange.writers.exports import Exported, SidecarExample, SidecarFolder

__all__ = ["FORMATS", "Exported", "SidecarExample", "SidecarFolder", "export"]

#: The formats that :func:`export` writes.
FORMATS = ("csv", "tsv", "jsonl", "parquet", "coco", "xmp")


def export(
    pictures: Iterable[Picture],
    destination: Path | None,
    format: str,
    *,
    root: Path | None = None,
    suggestions: float | None = None,
    hierarchy: str | None = None,
    catalogue: str | None = None,
    dry_run: bool = False,
) -> Exported:
    """Write the labels of ``pictures`` in one of :data:`FORMATS`; with ``dry_run`` only say what would be written.

    ``destination`` is the file to write; it appears whole or not at all. For ``xmp`` it is a folder: the labels of the
    pictures in it are merged into sidecars beside them; None means all pictures. Paths of pictures are relative to
    ``root``, by default that folder. A sidecar that cannot be read or written is skipped with the reason, but a full
    disk ends the export.

    Tables hold all suggestions of models in columns of their own; with ``suggestions``, only those of at least that
    score. Sidecars and COCO hold suggestions only then. ``hierarchy`` is the keyword above the class in sidecars,
    ``catalogue`` the identity of the catalogue that they name as their writer.
    """
    if format not in FORMATS:
        raise UsageError(f"unknown export format {format!r}: choose one of {', '.join(FORMATS)}")
    if hierarchy is not None and format != "xmp":
        raise UsageError(f"a hierarchy of keywords is written to xmp only, not to {format}")
    if suggestions is not None:
        if not 0 <= suggestions <= 1:
            raise UsageError(f"the lowest score of suggestions must lie between 0 and 1, not {suggestions}")
        pictures = _with_suggestions(pictures, suggestions)
    if format == "xmp":
        from visterm.exchange.writers.sidecars import SidecarOptions, export_sidecars

        home = root or destination
        if home is None:
            raise InputError("name the folder of the pictures")
        options = SidecarOptions(hierarchy, suggestions is not None, catalogue)
        return export_sidecars(pictures, home, destination, options, dry_run=dry_run)
    if destination is None:
        raise InputError(f"name the {format} file to write")
    if destination.is_dir():
        raise InputError(f"{destination} is a folder: give the name of the {format} file to write")
    return _export_file(pictures, destination, format, suggestions=suggestions is not None, dry_run=dry_run)


def _with_suggestions(pictures: Iterable[Picture], at_least: float) -> Iterator[Picture]:
    """The pictures without suggestions of a lower score."""

    def kept(labels: Iterable[Label]) -> tuple[Label, ...]:
        return tuple(label for label in labels if label.state != "suggested" or (label.score or 0.0) >= at_least)

    for picture in pictures:
        yield replace(picture, classes=kept(picture.classes), tags=kept(picture.tags))


def _export_file(pictures: Iterable[Picture], file: Path, format: str, *, suggestions: bool, dry_run: bool) -> Exported:
    from visterm.exchange.writers.coco import write_coco
    from visterm.exchange.writers.table import has_row, write_table

    if dry_run:
        n_pictures = sum(bool(picture.paths) if format == "coco" else has_row(picture) for picture in pictures)
    else:
        n_pictures = (
            write_coco(pictures, file, suggestions=suggestions)
            if format == "coco"
            else write_table(pictures, file, format)
        )
    return Exported(format, files=[file], n_pictures=n_pictures, dry_run=dry_run)
