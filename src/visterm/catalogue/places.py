"""Finds catalogued files and pictures by how people and label sources name them: a path, a folder, a content hash."""

import os
import posixpath
import re
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from visterm.catalogue.log import Connection
from visterm.catalogue.removals import is_removed_path
from visterm.errors import InputError

_HASH_PREFIX = re.compile(r"[0-9a-f]{8,64}")
_ABSOLUTE = "/*" if os.sep == "/" else "?:/*"


class Places:
    """The files of a catalogue whose collection has the folder ``root``; ``connection`` gives that of the thread."""

    def __init__(self, root: Path, connection: Callable[[], Connection]) -> None:
        self.root, self._connect = root.resolve(), connection
        # the root may also be given by a path through a symbolic link
        self._root_prefixes = tuple({posix(name).rstrip("/") + "/": None for name in (self.root, root)})

    def stored_path(self, path: str | Path) -> str:
        """The form in which the catalogue stores ``path``: POSIX, relative to the root if inside it."""
        text = posix(path)
        for prefix in self._root_prefixes:
            if text.startswith(prefix):
                return text.removeprefix(prefix)
        return text

    def files(self, under: Path | None) -> list[tuple[str, int, int, int]]:
        """Path, size, mtime and missing flag of every file at or below ``under``."""
        if under is None:
            return self._connection.execute("SELECT path, size, mtime_ns, missing FROM path").fetchall()
        folder = posix(under).rstrip("/") + "/"
        holds_root = any(prefix.startswith(folder) for prefix in self._root_prefixes)
        stored = self.stored_path(under).rstrip("/")
        return self._connection.execute(
            """SELECT path, size, mtime_ns, missing FROM path WHERE path = ?1
               UNION ALL SELECT path, size, mtime_ns, missing FROM path WHERE path > ?1 || '/' AND path < ?1 || '0'
               UNION ALL SELECT path, size, mtime_ns, missing FROM path WHERE ?2 AND path NOT GLOB ?3""",
            (stored, holds_root, _ABSOLUTE),  # "0" follows "/", and relative paths are inside the root
        ).fetchall()

    def ids_of(self, reference: str | Path) -> list[int]:
        """The id of the picture at a path, or with a content hash, present or earlier, that begins like this."""
        path = self.known_path(reference)
        if path is not None and (known := self._picture_id(path)) is not None:
            return [known]
        digits = str(reference).lower()
        if not _HASH_PREFIX.fullmatch(digits):
            return []
        ids = self._connection.values(
            """SELECT id FROM picture WHERE sha256 >= ?1 AND sha256 < ?2
               UNION SELECT picture_id FROM version WHERE sha256 >= ?1 AND sha256 < ?2
               AND EXISTS (SELECT 1 FROM picture WHERE id = picture_id)
               AND NOT EXISTS (SELECT 1 FROM picture WHERE picture.sha256 = version.sha256) LIMIT 2""",
            digits,
            digits + "g",
        )
        if len(ids) > 1:
            raise InputError(f"several pictures have a content hash that begins with {digits}: give more digits")
        return ids

    def paths_of(self, picture_id: int) -> list[str]:
        """The paths of a picture."""
        return self._connection.values("SELECT path FROM path WHERE picture_id = ?", picture_id)

    def holds_all(self, base: str, picture_id: int) -> bool:
        """Whether the picture has files, all of them are present, and all are in the folder ``base``."""
        found = self._connection.execute(
            "SELECT path, missing FROM path WHERE picture_id = ?", (picture_id,)
        ).fetchall()
        folder = base.rstrip("/") + "/"
        return bool(found) and all(
            not missing and posix(self.root / path).startswith(folder) for path, missing in found
        )

    def find_under(self, base: str, path: str) -> int | None:
        """The picture at ``path``, as named by a label source in the folder ``base``; None if a person removed it.

        If no file is there, it is the picture whose file was there last.
        """
        full = posixpath.normpath(posixpath.join(base, path))
        if not full.startswith(base.rstrip("/") + "/"):
            raise InputError("the path leads out of the folder that the labels belong to")
        forms = dict.fromkeys((full, unicodedata.normalize("NFC", full), unicodedata.normalize("NFD", full)))
        with suppress(ValueError):  # a NUL, or a name that is not Unicode
            for find in (self._at, self._formerly_at):  # a file that is there now counts first
                for form in forms:
                    known, picture = find(self.stored_path(form))
                    if known:
                        return picture
        raise InputError("no such picture in the catalogue")

    def _at(self, path: str) -> tuple[bool, int | None]:
        """Whether the file at ``path`` is known, and its picture; None if a person removed it."""
        picture = self._picture_id(path)
        return picture is not None or is_removed_path(self._connection, path), picture

    def _formerly_at(self, path: str) -> tuple[bool, int | None]:
        """Whether a file was at ``path`` before it was moved, and its picture; None if a person removed it since."""
        row = self._connection.execute(
            "SELECT picture.id FROM former LEFT JOIN picture ON picture.id = picture_id WHERE path = ?", (path,)
        ).fetchone()
        return row is not None, None if row is None else row[0]

    def known_path(self, reference: str | Path) -> str | None:
        """The stored path of ``reference``, if it is known."""
        try:
            candidates = [self.stored_path(self.root / reference), self.stored_path(reference)]
            return next((path for path in candidates if self._picture_id(path) is not None), None)
        except ValueError:  # a NUL, or a name that is not Unicode: no such path
            return None

    def twins(self) -> set[str]:
        """The paths of files that have the size and the time of a file of another picture."""
        paths = self._connection.values(
            """SELECT path FROM path JOIN (SELECT size, mtime_ns FROM path GROUP BY size, mtime_ns
               HAVING min(picture_id) < max(picture_id)) USING (size, mtime_ns)"""
        )
        return set(paths)

    def _picture_id(self, path: str) -> int | None:
        number: int | None = self._connection.value("SELECT picture_id FROM path WHERE path = ?", path)
        return number

    @property
    def _connection(self) -> Connection:
        return self._connect()


def posix(path: str | Path) -> str:
    """``path`` made absolute and free of ``.`` and ``..``, with forward slashes."""
    text = os.path.abspath(path)  # noqa: PTH100 - Path.absolute() keeps '..', resolve() follows links
    return text if os.sep == "/" else text.replace(os.sep, "/")
