"""COCO files, captions and instances: categories become tags, boxes become regions, captions become lines.

The format lists pictures and annotations separately, so the whole file except outlines is held in memory, which takes
several times its size. If a picture's own entry has ``class`` or a list ``image_tags``, these are its labels.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from visterm.catalogue.records import Reading, Record
from visterm.errors import InputError
from visterm.exchange.readers._entries import is_split, make_record, parse_json
from visterm.exchange.readers._files import MAX_FILE_BYTES
from visterm.storage.opening import open_regular

_PROBED_BYTES = 2**16


def detect(path: Path) -> bool:
    """Whether the file begins like a COCO file."""
    if path.suffix.lower() != ".json":
        return False
    try:
        with open_regular(path) as file:
            head = file.read(_PROBED_BYTES)
    except (InputError, OSError):
        return False
    return (
        head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
        and re.search(rb'"(images|annotations)"\s*:', head) is not None
    )


def base(path: Path) -> Path:
    """A folder NAME near ``instances_NAME.json`` if there is one, else the folder of the file."""
    name = path.stem.rpartition("_")[2]
    near = (path.parent, path.parent.parent, path.parent.parent / "images")
    return next((folder / name for folder in near if name and (folder / name).is_dir()), path.parent)


def read(path: Path, reading: Reading) -> Iterator[Record]:
    """A record for each listed picture, even if it has no annotations."""
    try:
        with open_regular(path, MAX_FILE_BYTES) as file:
            content = parse_json(file.read(), object_hook=_without_outline)
    except InputError as error:
        raise InputError(f"{path} cannot be read as COCO: {error}") from None
    if not isinstance(content, dict) or not isinstance(content.get("images"), list):
        raise InputError(f"{path} is not a COCO file: expected an object with a list 'images'")
    said = _annotations(path, content, reading)
    part = re.sub(r"\d+$", "", path.stem.rpartition("_")[2])
    known_ids = set()
    for position, image in enumerate(content["images"], start=1):
        where = f"{path.name}, image {position}"
        if not isinstance(image, dict) or not isinstance(image.get("id"), int | str):
            reading.skip(where, "not an object with an id")
            continue
        known_ids.add(image["id"])
        about = said.get(image["id"], _Said())
        listed = image.get("image_tags")
        record = make_record(
            reading,
            where,
            image.get("file_name"),
            class_name=image.get("class"),
            tags=listed if isinstance(listed, list) else about.tags,
            caption="\n".join(about.captions),
            split=part if is_split(part) else None,
            regions=about.regions,
        )
        for problem in about.problems:
            reading.skip(*problem, picture=record.path if record else None)
        if record:
            yield record
    for image_id, about in said.items():
        if image_id not in known_ids:
            reading.skip(f"{path.name}, {about.where}", f"the image {image_id!r:.40} is not listed")


@dataclass(slots=True)
class _Said:
    """The annotations of one picture."""

    where: str = ""
    tags: list[object] = field(default_factory=list)
    captions: list[str] = field(default_factory=list)
    regions: list[tuple[object, object]] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)


def _annotations(path: Path, content: dict[str, object], reading: Reading) -> dict[int | str, _Said]:
    listed = content.get("categories")
    categories = {
        category["id"]: category.get("name")
        for category in (listed if isinstance(listed, list) else [])
        if isinstance(category, dict) and isinstance(category.get("id"), int | str)
    }
    said: dict[int | str, _Said] = defaultdict(_Said)
    entries = content.get("annotations")
    for position, annotation in enumerate(entries if isinstance(entries, list) else [], start=1):
        where = f"annotation {position}"
        image_id = annotation.get("image_id") if isinstance(annotation, dict) else None
        if not isinstance(image_id, int | str):
            reading.skip(f"{path.name}, {where}", "not an object with an image_id")
            continue
        about = said[image_id]
        about.where = about.where or where
        if isinstance(annotation.get("caption"), str):
            about.captions.append(annotation["caption"])
        category = annotation.get("category_id")
        if category is None:
            continue
        if not isinstance(category, int | str) or category not in categories:
            about.problems.append((f"{path.name}, {where}", f"the category {category!r:.40} is not listed"))
            continue
        about.tags.append(categories[category])
        if (box := annotation.get("bbox")) is not None:
            about.regions.append((categories[category], _corners(box)))
    return said


def _without_outline(entry: dict[str, object]) -> dict[str, object]:
    """Drop the outline at once: outlines make up most of the file and are not needed."""
    entry.pop("segmentation", None)
    return entry


def _corners(box: object) -> object:
    """Left, top, width, height as left, top, right, bottom; anything else stays, to be refused with its name later."""
    if not isinstance(box, list) or len(box) != 4 or not all(isinstance(value, int | float) for value in box):
        return box
    left, top, width, height = box
    return left, top, left + width, top + height
