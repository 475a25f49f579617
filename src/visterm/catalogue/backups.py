"""Copies of a catalogue: each is one file, whole and consistent while others write."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

from visterm.storage import replacing


def copy(connection: sqlite3.Connection, file: Path) -> None:
    """Write a copy of the database to ``file``, which appears whole or not at all."""
    with replacing(file) as temporary, closing(sqlite3.connect(temporary, isolation_level=None)) as target:
        connection.backup(target)
        target.execute("PRAGMA journal_mode = DELETE")  # one file, nothing beside it


def keep_before_upgrade(connection: sqlite3.Connection, file: Path, version: int) -> Path:
    """Copy the database beside ``file`` before its schema changes, named by its version."""
    kept = file.with_name(f"{file.stem}.version-{version}{file.suffix}")
    copy(connection, kept)
    return kept


def keep_before_restore(file: Path) -> Path:
    """Copy the database beside ``file`` while the caller keeps others from writing; only a person deletes the copy.

    SQLite copies nothing through a connection that is writing, so this is done by another one.
    """
    kept = _next(file, "before-restore")
    with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        copy(connection, kept)
    return kept


def put_aside(file: Path) -> Path:
    """Rename a damaged catalogue, with the files that SQLite keeps beside it."""
    kept = _next(file, "damaged")
    for ending in ("", "-wal", "-shm"):  # without the first, nobody opens the others
        if (beside := file.with_name(file.name + ending)).exists():
            beside.rename(kept.with_name(kept.name + ending))
    return kept


def copies(file: Path) -> list[Path]:
    """The copies of a catalogue that are kept beside it, the newest of each kind last."""
    kinds = ("version", "before-restore", "damaged")
    return [path for kind in kinds for _, path in _copies(file, kind)]


def _next(file: Path, kind: str) -> Path:
    number = 1 + max((number for number, _ in _copies(file, kind)), default=0)
    return file.with_name(f"{file.stem}.{kind}-{number}{file.suffix}")


def _copies(file: Path, kind: str) -> list[tuple[int, Path]]:
    name = re.compile(rf"{re.escape(file.stem)}\.{kind}-(\d+){re.escape(file.suffix)}")
    found = ((name.fullmatch(path.name), path) for path in file.parent.glob("*"))
    return sorted((int(match[1]), path) for match, path in found if match)
