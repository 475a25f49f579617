"""Links files to pictures: decides whether a file is new, moved, copied or changed.

A picture is known by its content and by its place. A file with known content belongs to the picture that has it,
wherever the file is. A file with new content at a known place is an edited picture, which keeps its id and its labels.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from visterm.catalogue import identity, log
from visterm.catalogue.pictures import Examined
from visterm.catalogue.removals import forget_removal, is_removed, was_removed

#: The outcome of adding a file: a new picture, the same file again, a moved file, another file of the same picture, a
#: file whose content has changed, or a file left out because a person removed it.
Outcome = Literal["added", "unchanged", "moved", "copy", "changed", "removed"]


class FileKeeper:
    """Records files in the catalogue's tables, inside the caller's transaction.

    Files that a person removed are left out, unless they are wanted ``again``.
    """

    def __init__(self, connection: log.Connection, root: Path, now: int, *, again: bool = False) -> None:
        self._connection, self._root, self._now, self._again = connection, root, now, again
        #: Paths and hashes of files that a person had removed and now wants again.
        self._let_in = set[str]()

    def add_all(self, files: Iterable[tuple[Examined, str]]) -> Counter[Outcome]:
        """Record files with their stored paths, and count the outcomes.

        Those at known places come first, and of these, or of the others, those whose content is known: which file was
        copied from which must not depend on the order of names. Removed pictures at the places of others come last,
        for the others may have moved.
        """
        in_turn = sorted(files, key=lambda each: (self._picture_at(each[1]) is None, self._picture_of(each[0]) is None))
        back = {path for file, path in in_turn if self._is_removed_at_known_place(file, path)}
        outcomes = Counter(self._add(file, path) for file, path in in_turn if path not in back)
        outcomes.update(self._add_removed(file, path) for file, path in in_turn if path in back)
        return outcomes

    def _add_removed(self, file: Examined, path: str) -> Outcome:
        """Record a removed picture at the place of another; it is no edit of the other where that has moved."""
        if self._picture_of(file) is None and len(self._paths(self._picture_at(path))) > 1:
            identity.forget_paths(self._connection, [path])
        return self._add(file, path)

    def _add(self, file: Examined, path: str) -> Outcome:
        """Record ``file`` under its stored ``path``; returns the outcome."""
        # To take a removal back is a person's decision, so that it can be undone.
        with log.level(self._connection, log.Level.FILES):
            if self._again and self._is_let_in(file, path):
                return self._record(file, path)
        return self._record(file, path)

    def _is_let_in(self, file: Examined, path: str) -> bool:
        """Whether the file comes back because a person wants it again, itself or another one that holds the same."""
        self._let_in |= forget_removal(self._connection, file, path)
        return not self._let_in.isdisjoint((path, file.sha256, file.pixels))

    def _record(self, file: Examined, path: str) -> Outcome:
        before = self._picture_at(path)
        if before is None and was_removed(self._connection, file, path):
            return "removed"
        picture = self._picture_of(file)
        outcome: Outcome
        if picture is not None:
            if before not in (None, picture):
                identity.remember_version(self._connection, before, path, self._now)
            outcome = "unchanged" if picture == before else self._link(picture, known=before is not None)
        elif before is not None:
            picture, outcome = self._replace(before, file, path), "changed"
        else:
            picture, outcome = self._new(file)
        self._connection.execute(
            """INSERT INTO path (path, picture_id, size, mtime_ns) VALUES (?, ?, ?, ?) ON CONFLICT (path) DO UPDATE
               SET picture_id = excluded.picture_id, size = excluded.size, mtime_ns = excluded.mtime_ns, missing = 0""",
            (path, picture, file.size, file.mtime_ns),
        )
        return outcome

    def _is_removed_at_known_place(self, file: Examined, path: str) -> bool:
        """Whether a file holds what a person removed, at the place of a picture that is in the catalogue."""
        known = self._picture_at(path) is not None and self._picture_of(file) is None
        return known and is_removed(self._connection, file, path)

    def _picture_of(self, file: Examined) -> int | None:
        """The picture that has the content of a file now."""
        return self._connection.value("SELECT id FROM picture WHERE sha256 = ?", file.sha256)

    def _picture_at(self, path: str) -> int | None:
        """The picture whose file is known at ``path``."""
        return self._connection.value("SELECT picture_id FROM path WHERE path = ?", path)

    def _insert(self, file: Examined) -> int:
        return identity.new_picture(self._connection, _content(file), self._now)

    def _new(self, file: Examined) -> tuple[int, Outcome]:
        """The picture of a file whose path and content are new.

        A picture whose files are all gone may have moved here while another program wrote metadata into it. The earlier
        content of an edited picture is a picture of its own, with the same labels.
        """
        for known in self._connection.values("SELECT id FROM picture WHERE pixels = ? ORDER BY id", file.pixels):
            paths = self._paths(known)
            if paths and all(is_gone(self._root / path) for path in paths):
                self._update(known, file, paths[0])
                identity.forget_paths(self._connection, paths)
                return known, "moved"
        edited = self._connection.value(
            "SELECT picture_id FROM version JOIN picture ON id = picture_id WHERE version.sha256 = ? ORDER BY id DESC",
            file.sha256,
        )
        picture = self._insert(file)
        if edited is not None:
            self._copy_labels(edited, picture)
        return picture, "added"

    def _replace(self, before: int, file: Examined, path: str) -> int:
        """The picture of a file whose content changed: it stays the same picture, whatever a person did to it.

        If it is one of several copies, it becomes a picture of its own, with the same labels. It remembers what it was,
        so that a person can say that it is another picture.
        """
        if len(self._paths(before)) == 1:
            self._update(before, file, path)
            return before
        picture = self._insert(file)
        identity.remember_version(self._connection, picture, path, self._now, of=before)
        self._copy_labels(before, picture)
        return picture

    def _update(self, picture: int, file: Examined, path: str) -> None:
        """Give a picture new content, and remember the content that it had."""
        identity.remember_version(self._connection, picture, path, self._now)
        pixels = self._connection.value("SELECT pixels FROM picture WHERE id = ?", picture)
        identity.set_content(self._connection, picture, _content(file))
        if file.pixels is None or file.pixels != pixels:
            identity.forget_suggestions(self._connection, picture)

    def _copy_labels(self, before: int, picture: int) -> None:
        self._connection.execute(
            """UPDATE picture SET (split, caption, caption_source) =
               (SELECT split, caption, caption_source FROM picture WHERE id = ?) WHERE id = ?""",
            (before, picture),
        )
        identity.give_labels(self._connection, before, picture)

    def _link(self, picture: int, *, known: bool) -> Outcome:
        """A known picture at another path: moved if one of its earlier files is gone, else a copy."""
        others = self._paths(picture)
        gone = [other for other in others if is_gone(self._root / other)]
        identity.forget_paths(self._connection, gone)
        if known:
            return "changed"
        return "moved" if gone or not others else "copy"

    def _paths(self, picture: int | None) -> list[str]:
        return self._connection.values("SELECT path FROM path WHERE picture_id = ? ORDER BY path", picture)


def _content(file: Examined) -> list[object]:
    return [getattr(file, column) for column in log.CONTENT]


def is_gone(file: Path) -> bool:
    """Whether ``file`` certainly does not exist; False if its folder cannot be entered."""
    try:
        file.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False
