"""Remembers the files that a person removed, so that adding their folder again does not bring them back.

A removed file is known by its path and by what it held. A copy or a moved file of a removed picture stays out, and so
does one whose metadata another program has changed. All functions here work within the caller's transaction.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from visterm.catalogue.identity import remember_version
from visterm.catalogue.log import Connection
from visterm.catalogue.pictures import Examined


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What a removal forgot: pictures, and copies of pictures that have other files; ``stay`` has one of each."""

    n_pictures: int
    n_copies: int
    stay: tuple[str, ...]


def remove_files(connection: Connection, paths: Iterable[str], now: int) -> dict[str, int]:
    """Forget the files at ``paths`` and remember that a person removed them; returns the id of each one's picture."""
    rows = [(path,) for path in paths]
    found = {path: connection.value("SELECT picture_id FROM path WHERE path = ?", path) for (path,) in rows}
    pictures = {path: number for path, number in found.items() if number is not None}
    connection.executemany(  # not REPLACE: the log must know what was removed there before
        """INSERT INTO removed SELECT path, sha256, pixels, path.size, mtime_ns
           FROM path JOIN picture ON id = picture_id WHERE path = ? ON CONFLICT (path) DO UPDATE SET
           sha256 = excluded.sha256, pixels = excluded.pixels, size = excluded.size, mtime_ns = excluded.mtime_ns""",
        rows,
    )
    for picture in set(pictures.values()):  # if it is added again, it gets its id again
        path = connection.value("SELECT min(path) FROM path WHERE picture_id = ?", picture)
        remember_version(connection, picture, path, now)
    connection.executemany("DELETE FROM path WHERE path = ?", rows)
    return pictures


def forget_pictures(connection: Connection, pictures: Iterable[int], files: Mapping[str, int]) -> Forgotten:
    """Forget those of ``pictures`` that have no file left; ``files`` were removed, each with its picture's id."""
    numbers = sorted(set(pictures))
    first = "SELECT path FROM path WHERE picture_id = ? ORDER BY missing, path LIMIT 1"
    found = {number: connection.value(first, number) for number in numbers}
    gone = [(number,) for number, path in found.items() if path is None]
    connection.executemany("DELETE FROM picture WHERE id = ?", gone)
    stay = {number: path for number, path in found.items() if path is not None}
    return Forgotten(len(gone), sum(number in stay for number in files.values()), tuple(stay.values()))


def is_removed(connection: Connection, file: Examined, path: str) -> bool:
    """Whether the file at ``path`` holds what a person removed.

    A copy of a picture that is in the catalogue counts as removed only at the path where it was removed.
    """
    found = connection.value(
        """SELECT EXISTS (SELECT 1 FROM removed WHERE path = ?1 AND (sha256 = ?2 OR pixels = ?3))
               OR (EXISTS (SELECT 1 FROM removed WHERE sha256 = ?2 OR pixels = ?3)
                   AND NOT EXISTS (SELECT 1 FROM picture WHERE sha256 = ?2 OR pixels = ?3))""",
        path,
        file.sha256,
        file.pixels,
    )
    return bool(found)


def was_removed(connection: Connection, file: Examined, path: str) -> bool:
    """Whether the new file at ``path`` holds what a person removed; its path is then remembered, too."""
    found = is_removed(connection, file, path)
    if found:
        connection.execute(
            "INSERT OR REPLACE INTO removed VALUES (?, ?, ?, ?, ?)",
            (path, file.sha256, file.pixels, file.size, file.mtime_ns),
        )
    return found


def forget_removal(connection: Connection, file: Examined, path: str) -> set[str]:
    """Let the file at ``path``, and whatever holds the same, be added again.

    Returns the paths and the hashes of what is let in; none if none of it was removed.
    """
    forgotten = connection.execute(
        "DELETE FROM removed WHERE path = ?1 OR sha256 = ?2 OR pixels = ?3 RETURNING path, sha256, pixels",
        (path, file.sha256, file.pixels),
    ).fetchall()
    if not forgotten:
        return set()
    return {name for row in [*forgotten, (file.sha256, file.pixels)] for name in row if name is not None}


def removed_files(connection: Connection) -> dict[str, tuple[int, int]]:
    """Size and modification time (ns) of every removed file, by path."""
    rows = connection.execute("SELECT path, size, mtime_ns FROM removed")
    return {path: (size, mtime_ns) for path, size, mtime_ns in rows}


def removed_names(connection: Connection) -> set[str]:
    """The paths and the hashes of the removed files."""
    rows = connection.execute("SELECT path, sha256, pixels FROM removed")
    return {name for row in rows for name in row if name is not None}


def is_removed_path(connection: Connection, path: str) -> bool:
    """Whether the file at ``path`` was removed."""
    return bool(connection.value("SELECT 1 FROM removed WHERE path = ?", path))
