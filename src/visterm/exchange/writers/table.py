"""Tables of labels, one row per picture: CSV and TSV for spreadsheets, JSON lines and Parquet for programs.

``class`` and ``tags`` hold the accepted labels, ``suggested_...`` and ``rejected_...`` the others. The columns of
sources and scores have the same order as those of names. Pictures are named as in the catalogue, relative to the
collection's root: placed in that folder, the table reads back (:mod:`visterm.exchange.readers.table`) with the same
labels.

In CSV and TSV, a list is one cell with ``; `` between its items, such as ``boat; sea``. If an item contains one of
``|``, ``;``, ``,`` or could be mistaken otherwise, the cell is a JSON list instead. Text that begins with ``=``, ``+``,
``-`` or ``@``, which a spreadsheet may take for a formula, has a mark ``'`` before it; Visterm reads it without.
"""

import csv
import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from visterm.catalogue.pictures import Label, Picture
from visterm.errors import InputError, MissingExtraError
from visterm.exchange.formulas import with_mark
from visterm.storage import replacing

#: The columns in order, with the kind of value each holds.
COLUMNS = {
    "file_name": "text",
    "class": "text",
    "tags": "texts",
    "caption": "text",
    "split": "text",
    "suggested_class": "text",
    "suggested_tags": "texts",
    "rejected_classes": "texts",
    "rejected_tags": "texts",
    "class_source": "text",
    "class_score": "number",
    "tag_sources": "texts",
    "tag_scores": "numbers",
    "suggested_class_source": "text",
    "suggested_class_score": "number",
    "suggested_tag_sources": "texts",
    "suggested_tag_scores": "numbers",
    "rejected_class_sources": "texts",
    "rejected_tag_sources": "texts",
    "regions": "regions",
    "sha256": "text",
}
FORMATS = ("csv", "tsv", "jsonl", "parquet")
_BATCH_ROWS = 1000

Row = dict[str, Any]


def write_table(pictures: Iterable[Picture], file: Path, format: str = "csv") -> int:
    """Write a row for each picture to ``file``, whole or not at all; returns the number of rows.

    A picture without a file has a row if it is labelled; its ``file_name`` is empty, its ``sha256`` names it.
    """
    if format not in FORMATS:
        raise InputError(f"unknown table format {format!r}: choose one of {', '.join(FORMATS)}")
    rows = (table_row(picture) for picture in pictures if has_row(picture))
    with replacing(file) as temporary:
        if format == "parquet":
            return _write_parquet(rows, temporary)
        if format == "jsonl":
            return _write_json_lines(rows, temporary)
        return _write_separated(rows, temporary, delimiter="\t" if format == "tsv" else ",")


def has_row(picture: Picture) -> bool:
    """Whether a table has a row for the picture."""
    return bool(picture.paths or picture.classes or picture.tags or picture.caption)


def table_row(picture: Picture) -> Row:
    """The row of a picture, by column."""
    suggested_class = picture.suggested_class
    rejected_classes = [label for label in picture.classes if label.state == "rejected"]
    accepted, suggested, rejected = (
        [label for label in picture.tags if label.state == state] for state in ("accepted", "suggested", "rejected")
    )
    values: Row = {
        "file_name": picture.paths[0] if picture.paths else None,
        "caption": picture.caption,
        "split": picture.split,
        "rejected_classes": [label.name for label in rejected_classes],
        "rejected_class_sources": [label.source for label in rejected_classes],
        "rejected_tags": [label.name for label in rejected],
        "rejected_tag_sources": [label.source for label in rejected],
        "regions": [
            {"name": region.name, "box": [region.left, region.top, region.right, region.bottom]}
            for region in picture.regions
        ],
        "sha256": picture.sha256,
        **_class_cells("", picture.class_label),
        **_class_cells("suggested_", suggested_class),
        **_tag_cells("", accepted),
        **_tag_cells("suggested_", suggested),
    }
    return {column: values[column] for column in COLUMNS}


def _class_cells(prefix: str, label: Label | None) -> Row:
    return {
        f"{prefix}class": None if label is None else label.name,
        f"{prefix}class_source": None if label is None else label.source,
        f"{prefix}class_score": None if label is None else label.score,
    }


def _tag_cells(prefix: str, labels: list[Label]) -> Row:
    return {
        f"{prefix}tags": [label.name for label in labels],
        f"{prefix}tag_sources": [label.source for label in labels],
        f"{prefix}tag_scores": [label.score for label in labels],
    }


def _write_separated(rows: Iterator[Row], file: Path, *, delimiter: str) -> int:
    # The byte order mark tells spreadsheets that this is UTF-8.
    with file.open("w", encoding="utf-8-sig", newline="") as stream:
        table = csv.DictWriter(stream, list(COLUMNS), delimiter=delimiter, lineterminator="\n")
        table.writeheader()
        n_rows = 0
        for row in rows:
            table.writerow({column: _cell(value) for column, value in row.items()})
            n_rows += 1
    return n_rows


def _cell(value: Any) -> Any:
    """A list as text with ``; `` between its items, or as JSON where that could be misread; nothing for nothing.

    >>> _cell(["boat", "sea"]), _cell(["Bath, Somerset", "sea"]), _cell([0.9, None]), _cell([None])
    ('boat; sea', '["Bath, Somerset", "sea"]', '0.9; ', '')
    """
    if isinstance(value, str):
        return with_mark(value)
    if not isinstance(value, list):
        return value
    if all(item is None for item in value):
        return ""
    if any(isinstance(item, dict) or (isinstance(item, str) and not _is_plain(item)) for item in value):
        return json.dumps(value, ensure_ascii=False)
    text = "; ".join("" if item is None else str(item) for item in value)
    return with_mark(text) if isinstance(value[0], str) else text


def _is_plain(item: str) -> bool:
    """Whether an item of a list reads back from text with separators as it is, and is no formula to a spreadsheet."""
    return (
        bool(item) and item == item.strip() and item[0] not in "[=+-@" and not any(sign in item for sign in "|;,\n\r")
    )


def _write_json_lines(rows: Iterator[Row], file: Path) -> int:
    n_rows = 0
    with file.open("w", encoding="utf-8", newline="\n") as stream:
        for row in rows:
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
            n_rows += 1
    return n_rows


def _write_parquet(rows: Iterator[Row], file: Path) -> int:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("pyarrow", "parquet", "writing Parquet") from error

    text, number = pyarrow.string(), pyarrow.float64()
    types = {
        "text": text,
        "texts": pyarrow.list_(text),
        "number": number,
        "numbers": pyarrow.list_(number),
        "regions": pyarrow.list_(pyarrow.struct([("name", text), ("box", pyarrow.list_(number))])),
    }
    schema = pyarrow.schema([(column, types[kind]) for column, kind in COLUMNS.items()])
    n_rows = 0
    with parquet.ParquetWriter(file, schema) as table:
        while batch := list(islice(rows, _BATCH_ROWS)):
            table.write_batch(pyarrow.RecordBatch.from_pylist(batch, schema))
            n_rows += len(batch)
    return n_rows
