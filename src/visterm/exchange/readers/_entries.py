"""Shared by all label readers: turns raw values of any quality into clean records, or gives the reason why not."""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePath, PurePosixPath

from visterm.catalogue.labels import MAX_NAME
from visterm.catalogue.records import Reading, Record, Region
from visterm.errors import InputError

#: The largest coordinate in pixels; no picture is larger.
MAX_COORDINATE = 1e8

#: The columns of a table, each with all its accepted names.
COLUMNS = {
    "file_name": ("file_name", "file", "filename", "path", "image"),
    "class": ("class", "label"),
    "tags": ("tags", "keywords"),
    "caption": ("caption", "text", "description"),
    "split": ("split",),
    "regions": ("regions",),
}
#: Tags in one string are separated by the first of these that it contains.
TAG_SEPARATORS = ("|", ";", ",")

_SPLITS = {"train": "train", "training": "train", "test": "test", "testing": "test"}
_SPLITS |= dict.fromkeys(("val", "valid", "validation", "dev"), "val")

_LINE_BREAKS = re.compile("[\t\n\v\f\r\x85\u2028\u2029]+")
# Lone surrogates come from JSON escapes and undecodable file names; no UTF-8 file or database accepts them.
_UNPRINTABLE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")


def make_record(
    reading: Reading,
    where: str,
    path: object,
    *,
    class_name: object = None,
    tags: Iterable[object] = (),
    caption: object = None,
    split: object = None,
    regions: Iterable[tuple[object, object]] = (),
) -> Record | None:
    """The record of an entry's raw values; regions are (name, (left, top, right, bottom)).

    Without a usable path there is no record. Other unusable values are left out, and the reasons go to ``reading``.
    """
    try:
        file = picture_path(path)
    except InputError as error:
        reading.skip(where, str(error))
        return None

    def usable(what: str, clean: Callable[[object], str | None], value: object) -> str | None:
        try:
            return clean(value)
        except InputError as error:
            reading.skip(where, f"{what}: {error}", picture=file)
            return None

    boxes = []
    for name, box in regions:
        try:
            boxes.append(make_region(name, box))
        except InputError as error:
            reading.skip(where, f"region: {error}", picture=file)
    cleaned = (usable("tag", clean_name, tag) for tag in tags)
    return Record(
        file,
        class_name=usable("class", clean_name, class_name),
        tags=tuple(dict.fromkeys(tag for tag in cleaned if tag is not None)),
        caption=usable("caption", clean_caption, caption),
        split=split_name(usable("split", clean_name, split)),
        regions=tuple(boxes),
    )


def record_from_row(reading: Reading, where: str, row: Mapping[str, object]) -> Record | None:
    """The record of a table's row, whose keys are column names as in :data:`COLUMNS`; other columns are ignored."""
    cells = {
        column: next((row[name] for name in names if row.get(name) is not None), None)
        for column, names in COLUMNS.items()
    }
    if cells["file_name"] is None:
        reading.skip(where, "it has no file_name")
        return None
    file = None
    try:
        file = picture_path(cells["file_name"])
        tags = tags_of_cell(cells["tags"])
        regions = _regions_of_cell(cells["regions"])
    except InputError as error:
        reading.skip(where, str(error), picture=file)
        return None
    return make_record(
        reading,
        where,
        file,
        class_name=cells["class"],
        tags=tags,
        caption=cells["caption"],
        split=cells["split"],
        regions=regions,
    )


def picture_path(value: object) -> str:
    """The path of a picture in POSIX form; backslashes in text become slashes, a path from disk stays as it is.

    >>> picture_path(r"train\\coast\\1.jpg")
    'train/coast/1.jpg'
    """
    if isinstance(value, PurePath):
        path = value.as_posix()
    elif isinstance(value, str) and value.strip():
        path = PurePosixPath(value.strip().replace("\\", "/")).as_posix()
    else:
        raise InputError("it has no file name")
    if _LINE_BREAKS.search(path) or _UNPRINTABLE.search(path):
        raise InputError(f"the file name {path!a:.100} contains control characters")
    return path


def clean_name(value: object) -> str | None:
    """A class, tag or region name without control characters and outer spaces; None if nothing is left.

    >>> clean_name(" tall\\nbuilding\\x00 ")
    'tall building'
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise InputError(f"expected text, found {type(value).__name__}")
    name = _UNPRINTABLE.sub("", _LINE_BREAKS.sub(" ", value)).strip()
    if len(name) > MAX_NAME:
        raise InputError(f"{name[:40]!r}... has {len(name)} characters; at most {MAX_NAME} are allowed")
    return name or None


def clean_caption(value: object) -> str | None:
    """A caption, or a list of captions as lines, without control characters; None if nothing is left.

    >>> clean_caption(["A boat. ", "", "The sea."])
    'A boat.\\nThe sea.'
    """
    if value is None or isinstance(value, float):
        return None
    lines = []
    for caption in value if isinstance(value, list) else [value]:
        if not isinstance(caption, str):
            raise InputError(f"expected text, found {type(caption).__name__}")
        lines += [_UNPRINTABLE.sub("", line).strip() for line in caption.splitlines()]
    return "\n".join(line for line in lines if line) or None


def split_name(name: str | None) -> str | None:
    """``train``, ``test`` or ``val`` for the usual names of these splits; any other name stays.

    >>> split_name("Validation"), split_name("fold 3")
    ('val', 'fold 3')
    """
    return None if name is None else _SPLITS.get(name.lower(), name)


def is_split(name: str) -> bool:
    """Whether ``name`` is a usual name of a train, test or validation split."""
    return name.lower() in _SPLITS


def make_region(name: object, box: object) -> Region:
    """A region called ``name`` from the numbers left, top, right, bottom."""
    cleaned = clean_name(name)
    if cleaned is None:
        raise InputError("it has no name")
    if not isinstance(box, list | tuple) or len(box) != 4:
        raise InputError(f"the box of {cleaned!r} must be four numbers: left, top, right, bottom")
    try:
        left, top, right, bottom = (float(value) for value in box)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"the box of {cleaned!r} must be four numbers") from None
    # In this form, NaN, which compares false with everything, is refused too.
    if not (-MAX_COORDINATE <= left < right <= MAX_COORDINATE and -MAX_COORDINATE <= top < bottom <= MAX_COORDINATE):
        raise InputError(
            f"the box of {cleaned!r} is empty or outside any picture: {left:g}, {top:g}, {right:g}, {bottom:g}"
        )
    return Region(cleaned, left, top, right, bottom)


def tags_of_cell(cell: object) -> list[object]:
    """The tags in a cell: the items of a list or of a JSON list, or the parts of other text.

    Items of a list are never split. Other text is split by the first of ``|``, ``;``, ``,`` that it contains.

    >>> tags_of_cell("sea, sky"), tags_of_cell("salt, pepper|table"), tags_of_cell('["salt, pepper"]')
    (['sea', ' sky'], ['salt, pepper', 'table'], ['salt, pepper'])
    """
    if cell is None or isinstance(cell, float):
        return []
    if isinstance(cell, list):
        return cell
    if not isinstance(cell, str):
        raise InputError(f"tags must be text or a list of texts, not {type(cell).__name__}")
    if cell.lstrip().startswith("["):
        try:
            items = parse_json(cell)
        except InputError:
            items = None
        if isinstance(items, list):
            return items
    separator = next((mark for mark in TAG_SEPARATORS if mark in cell), None)
    return [cell] if separator is None else list(cell.split(separator))


def parse_json(text: str | bytes, object_hook: Callable[[dict[str, object]], object] | None = None) -> object:
    """The value of JSON ``text``; raises :class:`InputError` if anything is wrong with it."""
    try:
        return json.loads(text, object_hook=object_hook)
    except RecursionError:
        raise InputError("the JSON is nested too deeply") from None
    except ValueError as error:  # also integers of thousands of digits, and bytes that are not UTF-8
        raise InputError(f"not valid JSON: {error}") from None


def refuse_twice(path: Path, columns: Sequence[str]) -> None:
    """Refuse a table in which a column that counts is there twice: nobody knows which of them is meant."""
    for name in (name for names in COLUMNS.values() for name in names):
        if columns.count(name) > 1:
            raise InputError(f"{path}: the column {name!r} is there twice: rename or remove one of them")


def _regions_of_cell(cell: object) -> list[tuple[object, object]]:
    if isinstance(cell, str):
        cell = parse_json(cell) if cell.strip() else None
    if cell is None or isinstance(cell, float):
        return []
    if not isinstance(cell, list) or not all(isinstance(item, dict) for item in cell):
        raise InputError('regions must be a list of {"name": ..., "box": [left, top, right, bottom]}')
    return [(item.get("name"), item.get("box")) for item in cell]
