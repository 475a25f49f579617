"""Remembers the files that a person removed, so that adding their folder again does not bring them back.

A removed file is known by its path and by what it held. A copy or a moved file of a removed picture stays out, and so
does one whose metadata another program has changed. All functions here work within the caller's transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from visterm.catalogue.identity import remember_version
from visterm.catalogue.pictures import Examined


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What a removal forgot: pictures, and copies of pictures that have other files; ``stay`` has one of each."""

    n_pictures: int
    n_copies: int
    stay: tuple[str, ...]


def remove_files(connection: sqlite3.Connection, paths: Iterable[str], now: int) -> dict[str, int]:
    """Forget the files at ``paths`` and remember that a person removed them; returns the id of each one's picture."""
    rows = [(path,) for path in paths]
    pictures = {
        path: int(number)
        for (path,) in rows
        for (number,) in connection.execute("SELECT picture_id FROM path WHERE path = ?", (path,))
    }
    connection.executemany(
        """INSERT OR REPLACE INTO removed SELECT path, sha256, pixels, path.size, mtime_ns
           FROM path JOIN picture ON id = picture_id WHERE path = ?""",
        rows,
    )
    for picture in set(pictures.values()):  # if it is added again, it gets its id again
        (path,) = connection.execute("SELECT min(path) FROM path WHERE picture_id = ?", (picture,)).fetchone()
        remember_version(connection, picture, path, now)
    connection.executemany("DELETE FROM path WHERE path = ?", rows)
    return pictures


def forget_pictures(connection: sqlite3.Connection, pictures: Iterable[int], files: Mapping[str, int]) -> Forgotten:
    """Forget those of ``pictures`` that have no file left; ``files`` were removed, each with its picture's id."""
    numbers = sorted(set(pictures))
    first = "SELECT path FROM path WHERE picture_id = ? ORDER BY missing, path LIMIT 1"
    found = {number: connection.execute(first, (number,)).fetchone() for number in numbers}
    gone = [(number,) for number, row in found.items() if row is None]
    connection.executemany("DELETE FROM picture WHERE id = ?", gone)
    stay = {number: str(row[0]) for number, row in found.items() if row is not None}
    return Forgotten(len(gone), sum(number in stay for number in files.values()), tuple(stay.values()))


def was_removed(connection: sqlite3.Connection, file: Examined, path: str) -> bool:
    """Whether the new file at ``path`` holds what a person removed; its path is then remembered, too.

    A copy of a picture that is in the catalogue counts as removed only at the path where it was removed.
    """
    (found,) = connection.execute(
        """SELECT EXISTS (SELECT 1 FROM removed WHERE path = ?1 AND (sha256 = ?2 OR pixels = ?3))
               OR (EXISTS (SELECT 1 FROM removed WHERE sha256 = ?2 OR pixels = ?3)
                   AND NOT EXISTS (SELECT 1 FROM picture WHERE sha256 = ?2 OR pixels = ?3))""",
        (path, file.sha256, file.pixels),
    ).fetchone()
    if found:
        connection.execute(
            "INSERT OR REPLACE INTO removed VALUES (?, ?, ?, ?, ?)",
            (path, file.sha256, file.pixels, file.size, file.mtime_ns),
        )
    return bool(found)


def is_remembered(connection: sqlite3.Connection, file: Examined, path: str) -> bool:
    """Whether a removal is remembered of the file at ``path``, or of whatever holds the same."""
    (found,) = connection.execute(
        "SELECT EXISTS (SELECT 1 FROM removed WHERE path = ?1 OR sha256 = ?2 OR pixels = ?3)",
        (path, file.sha256, file.pixels),
    ).fetchone()
    return bool(found)


def forget_removal(connection: sqlite3.Connection, file: Examined, path: str) -> None:
    """Let the file at ``path``, and whatever holds the same, be added again."""
    connection.execute(
        "DELETE FROM removed WHERE path = ?1 OR sha256 = ?2 OR pixels = ?3", (path, file.sha256, file.pixels)
    )


def removed_files(connection: sqlite3.Connection) -> dict[str, tuple[int, int]]:
    """Size and modification time (ns) of every removed file, by path."""
    rows = connection.execute("SELECT path, size, mtime_ns FROM removed")
    return {path: (size, mtime_ns) for path, size, mtime_ns in rows}


def is_removed_path(connection: sqlite3.Connection, path: str) -> bool:
    """Whether the file at ``path`` was removed."""
    return connection.execute("SELECT 1 FROM removed WHERE path = ?", (path,)).fetchone() is not None
