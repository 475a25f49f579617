"""LabelMe: an XML file for each picture; object names become tags, and the boxes around outlines become regions."""

from collections.abc import Iterator
from pathlib import Path

from visterm.catalogue.records import Reading, Record
from visterm.exchange.readers._entries import make_record
from visterm.exchange.readers._files import base as folder_of
from visterm.exchange.readers._xml import Element, annotation_files, first_annotation, text_at


def detect(path: Path) -> bool:
    """Whether the file, or one of the first files of the folder, has an object with a ``<polygon>``."""
    root = first_annotation(path)
    return root is not None and root.find("object/polygon") is not None


def base(path: Path) -> Path:
    """``Images`` beside the folder of annotations if there is one, else the folder of annotations."""
    return _images(path) or folder_of(path)


def read(path: Path, reading: Reading) -> Iterator[Record]:
    """A record for each annotation file; deleted objects are left out."""
    folder = folder_of(path)
    has_images = _images(path) is not None
    for file, root in annotation_files(path, reading):
        relative = file.relative_to(folder)
        name = text_at(root, "filename")
        # Images/FOLDER/picture mirrors Annotations/FOLDER/picture.xml; without Images, pictures are beside their XML.
        parent = (text_at(root, "folder") or "") if has_images else relative.parent.as_posix()
        objects = [
            (text_at(element, "name"), element.find("polygon"))
            for element in root.findall("object")
            if text_at(element, "deleted") != "1"
        ]
        if record := make_record(
            reading,
            relative.as_posix(),
            name and f"{parent}/{name}".lstrip("/"),
            tags=[name for name, _ in objects],
            regions=[(name, _box(polygon)) for name, polygon in objects if polygon is not None],
        ):
            yield record


def _images(path: Path) -> Path | None:
    """``Images`` beside ``Annotations`` or beside a folder in it."""
    folder = folder_of(path)
    return next((up / "Images" for up in (folder.parent, folder.parent.parent) if (up / "Images").is_dir()), None)


def _box(polygon: Element) -> tuple[float, ...]:
    """The smallest box around the points; an empty tuple if they are not numbers."""
    try:
        points = [(float(point.findtext("x") or ""), float(point.findtext("y") or "")) for point in polygon.iter("pt")]
    except ValueError:
        return ()
    if not points:
        return ()
    columns, rows = zip(*points, strict=True)
    return min(columns), min(rows), max(columns), max(rows)
