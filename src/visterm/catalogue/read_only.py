"""A catalogue on a disk that cannot be written to, or is full: it can still be read."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from visterm.catalogue import log, schema
from visterm.errors import VistermError

#: What SQLite says where it cannot make the files that it needs beside the database.
_CANNOT_WRITE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)


def connect(file: Path) -> log.Connection:
    """A connection as :func:`visterm.catalogue.schema.connect` makes it; where nothing can be written, only to read."""
    try:
        return schema.connect(file)
    except VistermError as error:
        code = getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF
        if code in _CANNOT_WRITE and file.is_file():
            for option in _options(file):
                try:
                    return _connect(file, option)
                except sqlite3.Error:
                    continue
        raise


def _options(file: Path) -> list[str]:
    """The ways to open ``file``: without its companion files it can be read only if nothing waits in them."""
    waiting = file.with_name(f"{file.name}-wal")
    return ["mode=ro", *(["mode=ro&immutable=1"] if not (waiting.exists() and waiting.stat().st_size) else [])]


def _connect(file: Path, option: str) -> log.Connection:
    connection = sqlite3.connect(
        f"{file.absolute().as_uri()}?{option}",
        uri=True,
        timeout=schema.BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        factory=log.Connection,
    )
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        schema.migrate(connection, file)  # refuses other files, and those that would have to be upgraded
        schema.prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection
