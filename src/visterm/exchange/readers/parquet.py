"""Parquet tables with the columns of :mod:`visterm.exchange.readers.table`, read batch by batch."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from visterm.catalogue.records import Reading, Record
from visterm.errors import InputError, MissingExtraError
from visterm.exchange.readers._entries import COLUMNS, record_from_row, refuse_twice
from visterm.exchange.readers._files import MAX_FILE_BYTES
from visterm.exchange.readers._files import base as base
from visterm.storage.opening import open_regular

_BATCH_ROWS = 1024


def detect(path: Path) -> bool:
    """Whether the file has the extension of a Parquet table."""
    return path.suffix.lower() in {".parquet", ".pq"} and path.is_file()


def read(path: Path, reading: Reading) -> Iterator[Record]:
    """The records of the table's rows."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("pyarrow", "parquet", f"reading {path.name}") from error

    try:
        with open_regular(path, MAX_FILE_BYTES) as stream, parquet.ParquetFile(stream) as file:
            columns = _known_columns(path, file.schema_arrow)
            number = 0
            for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=list(columns)):
                for index in range(batch.num_rows):
                    number += 1
                    where = f"{path.name}, row {number}"
                    try:
                        row = {name: batch.column(column)[index].as_py() for column, name in columns.items()}
                    except UnicodeDecodeError:
                        reading.skip(where, "not valid UTF-8")
                        continue
                    except (ValueError, OverflowError) as error:  # a date that Python cannot express
                        reading.skip(where, f"a value cannot be read: {error}")
                        continue
                    if record := record_from_row(reading, where, row):
                        yield record
    except UnicodeDecodeError as error:
        raise InputError(f"{path} cannot be read as Parquet: the name of a column is not valid UTF-8") from error
    except pyarrow.ArrowException as error:
        raise InputError(f"{path} cannot be read as Parquet: {error}") from error


def _known_columns(path: Path, schema: Any) -> dict[str, str]:
    """The table's columns that Visterm knows, with their names in lower case."""
    from pyarrow import types

    refuse_twice(path, [name.lower() for name in schema.names])
    known = {name for names in COLUMNS.values() for name in names}
    columns = {name: name.lower() for name in schema.names if name.lower() in known}
    # The column 'image' of a data set often contains the pictures themselves, not their names.
    for name in [name for name, lower in columns.items() if lower in COLUMNS["file_name"]]:
        if not (types.is_string(schema.field(name).type) or types.is_large_string(schema.field(name).type)):
            del columns[name]
    if not set(columns.values()) & set(COLUMNS["file_name"]):
        raise InputError(f"{path} has no text column 'file_name': its columns are {', '.join(schema.names[:10])}")
    return columns
