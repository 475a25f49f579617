"""Pascal VOC: an XML file for each picture; object names become tags, and their boxes become regions."""

from collections.abc import Iterator
from pathlib import Path

from visterm.catalogue.records import Reading, Record
from visterm.exchange.readers._entries import make_record
from visterm.exchange.readers._files import base as folder_of
from visterm.exchange.readers._xml import Element, annotation_files, first_annotation, text_at


def detect(path: Path) -> bool:
    """Whether the file, or one of the first files of the folder, has an object with a ``<bndbox>``."""
    root = first_annotation(path)
    return root is not None and root.find("object/bndbox") is not None


def base(path: Path) -> Path:
    """``JPEGImages`` beside the folder of annotations if there is one, else the folder of annotations."""
    folder = folder_of(path)
    pictures = folder.parent / "JPEGImages"
    return pictures if pictures.is_dir() else folder


def read(path: Path, reading: Reading) -> Iterator[Record]:
    """A record for each annotation file."""
    folder = folder_of(path)
    for file, root in annotation_files(path, reading):
        relative = file.relative_to(folder)
        name = text_at(root, "filename")
        objects = [(text_at(element, "name"), element.find("bndbox")) for element in root.findall("object")]
        if record := make_record(
            reading,
            relative.as_posix(),
            name and (relative.parent / name).as_posix(),
            tags=[name for name, _ in objects],
            regions=[(name, _box(bounds)) for name, bounds in objects if bounds is not None],
        ):
            yield record


def _box(bounds: Element) -> tuple[object, ...]:
    """Left, top, right, bottom: VOC counts pixels from 1 and includes the last one."""
    left, top, right, bottom = (text_at(bounds, tag) for tag in ("xmin", "ymin", "xmax", "ymax"))
    try:
        return max(0.0, float(left or "") - 1), max(0.0, float(top or "") - 1), right, bottom
    except ValueError:
        return left, top, right, bottom
