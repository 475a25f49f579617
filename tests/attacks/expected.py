"""What should be true of a collection, as the documentation says: pictures, files, who said what, and its history.

A small model in plain dictionaries. It is written from docs/history.md, docs/guide.md and docs/formats.md, and shares
no code with visterm. The log is in ``expected_log.py``, labels and words are in ``expected_words.py``, files and the
table are here. ``model.py`` lets it and the real program do the same and compares them.

Everything that the catalogue should know is in one dictionary, ``known``. Its keys:

- ``("file", path)``: the record whose file is there, whether the file is missing, and its stamp;
- ``("picture", record)``: the content that the record has now; ``("earlier", record, content)``: when it had another;
- ``("removed", path)``: the content that a person removed there, and its stamp;
- ``("word", number)``: kind, name, and whether it is dropped; ``("alias", kind, name)``: the word that it stands for;
- ``("label", record, word, source)``: ``accepted`` or ``rejected``; ``("caption", record)``: the text;
- ``("suggestion", record, word)``: version of the model, score, and when it was said;
- ``("way", kind, name)``: the words that another name has stood for since it became one, by merges of these words;
- ``("merged", kind, name)``: what a merged word was, and had.

A content is a number; two files with the same number hold the same bytes. A stamp is the time of a file: it is new
with each write, and a moved file keeps it.
"""

from __future__ import annotations

from collections.abc import Iterable

from expected_log import ACCEPTED, FILES, IMPORT, WORDS, Refused, Row
from expected_words import Words


class Expected(Words):
    """The model. Its methods are the commands; ``disk`` is what lies in the folder."""

    # Files

    def unseen(self) -> set[str]:
        """The files that are not as the catalogue last saw them."""
        return {path for path in {*self.disk, *self.files()} if self._stamp_seen(path) != self._stamp_now(path)}

    def _stamp_now(self, path: str) -> int | None:
        return self.disk[path][1] if path in self.disk else None

    def _stamp_seen(self, path: str) -> int | None:
        """That of the file as it was when it was last looked at; None if it was missing."""
        _, missing, stamp = self.known.get(("file", path), (0, True, 0))
        removed = self.known.get(("removed", path))
        return removed[1] if removed and ("file", path) not in self.known else None if missing else stamp

    def remove(self, paths: Iterable[str]) -> None:
        """Forget files; a picture and what was said of it go with its last file."""
        with self.action(FILES):
            for path in paths:
                record, _, stamp = self.known["file", path]
                self._set(("removed", path), (self.known["picture", record], stamp))
                self._remember(record)
                self._set(("file", path), None)
                if not self.paths(record):
                    self._forget(record)

    def _forget(self, record: int) -> None:
        for key in list(self.known):
            if key[0] in ("label", "caption", "suggestion") and key[1] == record:
                self._set(key, None)
        self._set(("picture", record), None)

    def _remember(self, record: int, content: int | None = None) -> None:
        """That the record had the content that it has now, or another one."""
        self._moment += 1
        self._set(("earlier", record, self.known["picture", record] if content is None else content), self._moment)

    def add(self, *, again: bool = False) -> None:
        """``visterm add``: look at all files, then read the table."""
        self._scan(sorted(self.disk, key=lambda path: ("/" in path, path)), again=again)
        for path, record in sorted(self.files().items(), reverse=True):  # the first place of a picture stays
            if path not in self.disk and not self.known["file", path][1]:
                self._write(("file", path), (record, True, self.known["file", path][2]))
                if self.present(record):
                    self._leave(path)
        if self.table is not None:
            with self.action():
                self._read(self.table)

    def as_new(self, path: str) -> None:
        """``visterm add --as-new``: the file is another picture now; its labels stay with its earlier content."""
        self._scan([path])
        if path not in self.files():
            raise Refused
        with self.action(FILES):
            record = self.files()[path]
            present = self.known["picture", record]
            contents = [(time, key[2]) for key, time in self._all("earlier", record) if key[2] != present]
            if not contents:
                raise Refused
            earlier = max(contents)[1]
            other = self.record_of(earlier)
            if other is not None:
                self._give(record, other)
                return
            self._set(("picture", record), earlier)
            new = self._insert(present)
            for own in self.paths(record):
                self._set(("file", own), (new, *self.known["file", own][1:]))

    def _give(self, giver: int, taker: int) -> None:
        """What was said of one picture, and not of the other, is said of the other alone."""
        for key, state in self._all("label", giver):
            to = ("label", taker, *key[2:])
            kind = self.known["word", key[2]][0]
            if to not in self.known and not self._has_class(taker, kind, key[3], state):
                self._set(to, state)
            self._set(key, None)
        if caption := self.known.get(("caption", giver)):
            self._set(("caption", taker), self.known.get(("caption", taker), caption))
            self._set(("caption", giver), None)
        for key, _ in self._all("suggestion", giver):
            self._write(key, None)

    def _scan(self, paths: Iterable[str], *, again: bool = False) -> None:
        """Look at the files that changed: first at known places, there and elsewhere first at known contents.

        So a file that was edited in place stays the same picture, also if its original was saved elsewhere before.
        Removed pictures at the places of others come last: where the other one has moved, they are no edit of it.
        """
        with self.action():
            changed = [path for path in paths if self._is_changed(path, again=again)]
            places = self.files().keys() & changed
            let_in: set[str | int] = set()
            back = [path for path in changed if path in places and self._is_removed(path)]
            changed = [path for path in changed if path not in back]
            for there, known in ((True, True), (True, False), (False, True), (False, False)):
                now = [p for p in changed if (p in places) == there and (self._is_known_content(p) or not known)]
                changed = [path for path in changed if path not in now]
                for path in now:
                    self._look(path, let_in if again else None)
            for path in back:
                if not self._is_known_content(path) and len(self.paths(self.files()[path])) > 1:
                    self._leave(path)
                self._look(path, let_in if again else None)
        self._forget_unknown()

    def _is_known_content(self, path: str) -> bool:
        return self.record_of(self.disk[path][0]) is not None

    def _is_removed(self, path: str) -> bool:
        """Whether the file holds what a person removed and no picture holds now."""
        content = self.disk[path][0]
        return not self._is_known_content(path) and content in (held for _, (held, _) in self._all("removed"))

    def _is_changed(self, path: str, *, again: bool) -> bool:
        """Whether the file must be read; one that is back as it was is only noted."""
        stamp, seen = self.disk[path][1], self.known.get(("file", path))
        if seen is not None and seen[2] == stamp:
            self._write(("file", path), (seen[0], False, stamp))
            return False
        return self._stamp_seen(path) != stamp or again

    def _look(self, path: str, let_in: set[str | int] | None) -> None:
        """``let_in`` has the paths and contents that come back since a person wants them again, as one action."""
        content = self.disk[path][0]
        if let_in is None:
            self._see(path, *self.disk[path])
            return
        with self.level(FILES):
            for key, (held, _) in self._all("removed"):
                if key[1] == path or held == content:
                    let_in |= {key[1], held, content}
                    self._set(key, None)
        with self.level(WORDS if let_in.isdisjoint((path, content)) else FILES):
            self._see(path, *self.disk[path])

    def _see(self, path: str, content: int, stamp: int) -> None:
        """One file: unchanged, moved, copied, edited or new."""
        before, known = self.files().get(path), self.record_of(content)
        removed = {key[1]: held for key, (held, _) in self._all("removed")}
        if before is None and (removed.get(path) == content or (known is None and content in removed.values())):
            self._write(("removed", path), (content, stamp))
            return
        if known is not None and known != before:  # labels follow the content
            if before is not None:
                self._remember(before)
            for other in self.paths(known):
                if other not in self.disk:
                    self._leave(other)
        elif known is None and before is not None:
            known = self._edited(before, content)
        elif known is None:
            known = self._new(content)
        self._set(("file", path), (known, False, stamp))

    def _edited(self, record: int, content: int) -> int:
        """The same picture with other pixels; one of several copies becomes a picture of its own."""
        if len(self.paths(record)) > 1:
            new = self._insert(content)
            self._remember(new, self.known["picture", record])
            self._copy(record, new)
            return new
        self._remember(record)
        self._set(("picture", record), content)
        for key, _ in self._all("suggestion", record):
            self._write(key, None)
        return record

    def _new(self, content: int) -> int:
        """A new picture; if it is what another one was before an edit, it has the same labels."""
        was = [key[1] for key, _ in self._all("earlier") if key[2] == content and ("picture", key[1]) in self.known]
        record = self._insert(content)
        if was:
            self._copy(max(was), record)
        return record

    def _insert(self, content: int) -> int:
        """A picture that was removed and comes back is the record that it was."""
        gone = [
            key[1] for key, _ in self._all("earlier") if key[2] == content and ("picture", key[1]) not in self.known
        ]
        used = [key[1] for key in self.known if key[0] in ("picture", "earlier")]
        record = max(gone) if gone else max(used, default=0) + 1
        self._set(("picture", record), content)
        return record

    def _copy(self, giver: int, taker: int) -> None:
        for key, state in self._all("label", giver):
            self._set(("label", taker, *key[2:]), state)
        if caption := self.known.get(("caption", giver)):
            self._set(("caption", taker), caption)

    def _leave(self, path: str) -> None:
        """A file is gone from its place; the table may go on naming the picture so."""
        self.former[path] = self.known["file", path][0]
        self._set(("file", path), None)

    def _forget_unknown(self) -> None:
        """Records without a place of which nobody ever said anything."""
        for record in self.records():
            said = any(key[0] in ("label", "caption") and key[1] == record for key in self.known)
            if not self.paths(record) and not said and record not in self.logged:
                self._remember(record)
                self._forget(record)

    # The table

    def _read(self, rows: Iterable[Row]) -> None:
        """What the table says replaces what it said before, except of pictures whose files are missing."""
        unsaid = {key for key, _ in self._all("label") if key[3] == IMPORT}
        classes: dict[int, str] = {}
        captioned: set[int] = set()
        for row in rows:
            record = self._named(row.path)
            if record is None:
                continue
            said = [("tag", tag) for tag in row.tags] + ([("class", row.class_name)] if row.class_name else [])
            unsaid -= {("label", record, self.word(*name), IMPORT) for name in said}
            if row.class_name and self._contradicts(classes.get(record), row.class_name):
                continue
            if row.class_name:
                self._say(record, "class", row.class_name, ACCEPTED, IMPORT)
                classes[record] = row.class_name
            for tag in row.tags:
                self._say(record, "tag", tag, ACCEPTED, IMPORT)
            if row.caption:
                self._caption(record, row.caption, captioned)
        for key in unsaid:
            if self.present(key[1]) and self.present(key[1]) == self.paths(key[1]):
                self._set(key, None)

    def _contradicts(self, before: str | None, name: str) -> bool:
        return before is not None and self.word("class", before) != self._make_word("class", name)

    def _named(self, path: str) -> int | None:
        """The picture that is there, or was there last; None if it is unknown or was removed."""
        if path in self.files():
            return self.files()[path]
        former = self.former.get(path)
        return None if ("removed", path) in self.known or ("picture", former) not in self.known else former

    def _caption(self, record: int, text: str, captioned: set[int]) -> None:
        """Several rows about one picture are lines of one caption."""
        if record in captioned:
            lines = self.known["caption", record].split("\n")
            text = "\n".join(lines if text in lines else [*lines, text])
        captioned.add(record)
        self._set(("caption", record), text)
