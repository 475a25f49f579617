"""Links files to pictures: decides whether a file is new, moved, copied or changed."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any, Literal

from visterm.catalogue.pictures import Examined
from visterm.catalogue.removals import forget_removal, was_removed

#: The outcome of adding a file: a new picture, the same file again, a moved file, another file of the same picture, a
#: file whose content has changed, or a file left out because a person removed it.
Outcome = Literal["added", "unchanged", "moved", "copy", "changed", "removed"]


class FileKeeper:
    """Records files in the catalogue's tables, inside the caller's transaction.

    Files that a person removed are left out, unless they are wanted ``again``.
    """

    def __init__(self, connection: sqlite3.Connection, root: Path, now: int, *, again: bool = False) -> None:
        self._connection, self._root, self._now, self._again = connection, root, now, again

    def add(self, file: Examined, path: str) -> Outcome:
        """Record ``file`` under its stored ``path``; returns the outcome."""
        before = self._one("SELECT picture_id FROM path WHERE path = ?", path)
        if self._again:
            forget_removal(self._connection, file, path)
        elif before is None and was_removed(self._connection, file, path):
            return "removed"
        picture = self._one("SELECT id FROM picture WHERE sha256 = ?", file.sha256)
        if picture is None:
            outcome: Outcome = "added" if before is None else "changed"
            picture = self._insert(file) if before is None else self._replace(before, file)
        else:
            outcome = "unchanged" if picture == before else self._link(picture, known=before is not None)
        self._connection.execute(
            """INSERT INTO path (path, picture_id, size, mtime_ns) VALUES (?, ?, ?, ?) ON CONFLICT (path) DO UPDATE
               SET picture_id = excluded.picture_id, size = excluded.size, mtime_ns = excluded.mtime_ns, missing = 0""",
            (path, picture, file.size, file.mtime_ns),
        )
        return outcome

    def _insert(self, file: Examined) -> int:
        columns = "id, sha256, pixels, size, width, height, orientation, state, reason, added"
        inserted = self._connection.execute(
            f"INSERT INTO picture ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",  # noqa: S608
            (self._free_id(file), *_values(file), self._now),
        )
        return int(inserted.fetchone()[0])

    def _free_id(self, file: Examined) -> int:
        """The id of a new picture: that of the removed picture which it was, or one that no picture has had."""
        before = self._one(
            """SELECT picture_id FROM version WHERE sha256 = ? AND picture_id NOT IN (SELECT id FROM picture)
               ORDER BY picture_id DESC LIMIT 1""",
            file.sha256,
        )
        if before is not None:
            return int(before)
        (number,) = self._connection.execute(
            """SELECT 1 + max((SELECT coalesce(max(id), 0) FROM picture),
                              (SELECT coalesce(max(picture_id), 0) FROM version))"""
        ).fetchone()
        return int(number)

    def _replace(self, before: int, file: Examined) -> int:
        """The picture of a file whose content changed; it stays the same picture if only the metadata changed.

        Other programs write keywords and ratings into files. The picture then keeps its labels.
        """
        same_pixels = file.pixels is not None and file.pixels == self._one(
            "SELECT pixels FROM picture WHERE id = ?", before
        )
        if not same_pixels:
            return self._insert(file)
        n_files = self._one("SELECT count(*) FROM path WHERE picture_id = ?", before)
        if n_files == 1:
            self._connection.execute(
                """UPDATE picture SET sha256 = ?, pixels = ?, size = ?, width = ?, height = ?, orientation = ?,
                   state = ?, reason = ? WHERE id = ?""",
                (*_values(file), before),
            )
            return before
        # One of several copies changed: it becomes a picture of its own, with the same labels.
        picture = self._insert(file)
        self._connection.execute(
            """UPDATE picture SET (split, caption, caption_source) =
               (SELECT split, caption, caption_source FROM picture WHERE id = ?) WHERE id = ?""",
            (before, picture),
        )
        for table, columns in (
            ("label", "term_id, source_id, state, score, time, sequence"),
            ("region", "term_id, source_id, left, top, right, bottom"),
        ):
            self._connection.execute(
                f"INSERT INTO {table} (picture_id, {columns}) SELECT ?, {columns} FROM {table} "  # noqa: S608 - constants
                "WHERE picture_id = ?",
                (picture, before),
            )
        return picture

    def _link(self, picture: int, *, known: bool) -> Outcome:
        """A known picture at another path: moved if one of its earlier files is gone, else a copy."""
        others = self._connection.execute("SELECT path FROM path WHERE picture_id = ?", (picture,)).fetchall()
        gone = [(other,) for (other,) in others if is_gone(self._root / other)]
        self._connection.executemany("DELETE FROM path WHERE path = ?", gone)
        if known:
            return "changed"
        return "moved" if gone or not others else "copy"

    def _one(self, query: str, value: object) -> Any:
        row = self._connection.execute(query, (value,)).fetchone()
        return None if row is None else row[0]


def _values(file: Examined) -> tuple[object, ...]:
    return (
        file.sha256,
        file.pixels,
        file.size,
        file.width,
        file.height,
        file.orientation,
        file.state,
        file.reason,
    )


def is_gone(file: Path) -> bool:
    """Whether ``file`` certainly does not exist; False if its folder cannot be entered."""
    try:
        file.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False
