"""CSV, TSV and JSON-lines tables, one row per picture, including Hugging Face ImageFolder ``metadata`` files.

Columns: ``file_name`` (or file, filename, path, image), ``class`` (label), ``tags`` (keywords), ``caption`` (text,
description), ``split``, ``regions`` (``[{"name": ..., "box": [left, top, right, bottom]}]``); others are ignored.
Tags are a list, a JSON list as text, or text that is split by the first of ``|``, ``;``, ``,`` that it contains.
"""

import csv
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from visterm.catalogue.records import Reading, Record
from visterm.errors import InputError
from visterm.exchange.formulas import without_mark
from visterm.exchange.readers._entries import COLUMNS, parse_json, record_from_row, refuse_twice
from visterm.exchange.readers._files import base as base
from visterm.exchange.readers._files import numbered_lines

DELIMITERS = (",", ";", "\t")

_SEPARATED_SUFFIXES = {".csv", ".tsv"}
_JSON_LINES_SUFFIXES = {".jsonl", ".ndjson"}
#: A file that begins with this many bad lines is not JSON lines.
_PATIENCE = 100


def detect(path: Path) -> bool:
    """Whether the file has the extension of a table; :func:`read` checks its columns."""
    return path.suffix.lower() in _SEPARATED_SUFFIXES | _JSON_LINES_SUFFIXES and path.is_file()


def read(path: Path, reading: Reading) -> Iterator[Record]:
    """The records of the table's rows."""
    if path.suffix.lower() in _JSON_LINES_SUFFIXES:
        return _read_json_lines(path, reading)
    return _read_separated(path, reading)


def _read_json_lines(path: Path, reading: Reading) -> Iterator[Record]:
    n_good = n_bad = 0
    for number, line in numbered_lines(path, reading):
        if not line.strip():
            continue
        where = f"{path.name}, line {number}"
        try:
            row = parse_json(line)
            if not isinstance(row, dict):
                raise InputError(f"expected a JSON object, found {type(row).__name__}")
        except InputError as error:
            reading.skip(where, str(error))
            n_bad += 1
            if not n_good and n_bad >= _PATIENCE:
                break
            continue
        n_good += 1
        if record := record_from_row(reading, where, row):
            yield record
    if n_bad and not n_good:
        raise InputError(f'{path} is not JSON lines: expected {{"file_name": ...}} on each line')


def _read_separated(path: Path, reading: Reading) -> Iterator[Record]:
    lines = _RowLines(numbered_lines(path, reading))
    header = next((line for line in lines if line.strip()), "")
    delimiter, columns = _understand_header(path, header)
    rows = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        lines.start_row()
        try:
            fields = next(rows, None)
        except csv.Error as error:
            never_closed = len(lines.row) > 1
            reading.skip(
                f"{path.name}, line {lines.number}", "a quoted field is never closed" if never_closed else str(error)
            )
            lines.return_all_but_first()
            continue
        if fields is None:
            return
        where = f"{path.name}, line {lines.number}"
        if any(field.strip() for field in fields[len(columns) :]):
            n_fields = f"{len(fields)} fields, but the header has {len(columns)}"
            reading.skip(where, f"{n_fields}: put fields that contain {delimiter!r} in double quotes")
            continue
        row = {column: without_mark(field) for column, field in zip(columns, fields, strict=False) if field.strip()}
        if row and (record := record_from_row(reading, where, row)):
            yield record


def _understand_header(path: Path, header: str) -> tuple[str, list[str]]:
    """The delimiter that splits the header into most columns, and the column names in lower case."""
    try:
        splits = [(delimiter, next(csv.reader([header], delimiter=delimiter), [])) for delimiter in DELIMITERS]
    except csv.Error as error:
        raise InputError(f"{path} has no column 'file_name': the first line cannot be read ({error})") from error
    delimiter, fields = max(splits, key=lambda split: len(split[1]))
    columns = [field.strip().lower() for field in fields]
    if not set(columns) & set(COLUMNS["file_name"]):
        found = ", ".join(repr(column[:40]) for column in columns[:10]) or "nothing"
        raise InputError(f"{path} has no column 'file_name': the first line must name the columns, but has {found}")
    refuse_twice(path, columns)
    return delimiter, columns


class _RowLines:
    """Lines for ``csv.reader`` that can be given back, so that an unclosed quote costs only its own line."""

    def __init__(self, lines: Iterator[tuple[int, str]]) -> None:
        self._lines = lines
        self._returned: deque[tuple[int, str]] = deque()
        self.row: list[tuple[int, str]] = []

    @property
    def number(self) -> int:
        """The number of the first line of the row."""
        return self.row[0][0]

    def start_row(self) -> None:
        self.row.clear()

    def return_all_but_first(self) -> None:
        self._returned.extendleft(reversed(self.row[1:]))

    def __iter__(self) -> "_RowLines":
        return self

    def __next__(self) -> str:
        line = self._returned.popleft() if self._returned else next(self._lines)
        self.row.append(line)
        return line[1]
