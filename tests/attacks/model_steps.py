"""The steps of a sequence: what the program and the model both do, and how they are compared; see ``model.py``."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from expected import Expected
from expected_log import IMPORT, Refused, Row
from three_faces import CommandFace, ProcessFace, PythonFace, WebFace
from tiny_pictures import picture, sha256

import visterm

#: Words that differ in every letter or so: a search must not take one for a slip of another.
APART = ("harbour", "violin", "cactus", "glacier", "pumpkin")
#: Forms of one word.
FORMS = ("lantern", "lanterns")
TAGS = (*APART, *FORMS)
CLASSES = ("portrait", "kitchen", "diagram")
CAPTIONS = ("orchard", "trombone dusk")
SEARCHED = (*APART, *CLASSES, CAPTIONS[0])
PATHS = ("p0.png", "p1.png", "p2.png", "p3.png", "sub/q0.png", "sub/q1.png")
N_AT_FIRST = 3
MODEL = "model m@{}"


Draw = tuple[str, int, int, int, int]


class Difference(AssertionError):  # noqa: N818 - of the program from the model
    """The program and the model differ; says in what, after which commands."""


class Sequences:
    """One sequence: the model, the folder, the three faces, and what was done so far."""

    def __init__(self, place: Path, *, processes: bool = False) -> None:
        self.folder = place / "pictures"
        (self.folder / "sub").mkdir(parents=True)
        visterm.open(self.folder, create=True).close()
        self.model = Expected()
        self.python, self.web = PythonFace(self.folder), WebFace(self.folder)
        self.cli = ProcessFace(self.folder) if processes else CommandFace(self.folder)
        self.trace: list[str] = []
        self._contents = self._stamp = 0
        self._backups: list[tuple[Path, dict[str, Any]]] = []
        for path in PATHS[:N_AT_FIRST]:
            self._write(path, self._new_content())
        self._add(self.python, again=False)

    def close(self) -> None:
        self.python.close()
        self.web.close()

    # Files

    def _new_content(self) -> int:
        self._contents += 1
        return self._contents

    def _write(self, path: str, content: int, stamp: int | None = None) -> None:
        if stamp is None:
            self._stamp += 1
            stamp = self._stamp
        (self.folder / path).write_bytes(picture(content))
        os.utime(self.folder / path, ns=(stamp * 10**9, stamp * 10**9))
        self.model.disk[path] = (content, stamp)

    def _delete(self, path: str) -> None:
        (self.folder / path).unlink()
        del self.model.disk[path]

    def _change_files(self, kind: int, a: int, b: int) -> None:
        """One change: edit, copy, move, swap, delete, a new picture, or an earlier content again."""
        disk = self.model.disk
        source, target = _pick(sorted(disk), a), _pick(PATHS, b)
        if source is None or kind == 0:
            path = target if source is None or b % 2 else source
            self._note("write a new picture to", path)
            self._write(path, self._new_content())
        elif kind == 1:
            self._note("copy", source, "to", target)
            self._write(target, disk[source][0])
        elif kind == 2 and target != source:
            self._note("move", source, "to", target)
            content, stamp = disk[source]
            self._delete(source)
            self._write(target, content, stamp)
        elif kind == 3 and target in disk and target != source:
            self._note("swap", source, "and", target)
            here, there = disk[source], disk[target]
            self._write(source, *there)
            self._write(target, *here)
        elif kind == 4:
            self._note("delete", source)
            self._delete(source)
        elif kind == 5:
            content = 1 + a % self._contents
            self._note("write picture", content, "again to", target)
            self._write(target, content)

    def change_files(self, a: int, b: int, c: int, face: Any) -> None:
        self._change_files(c % 6, a, b)

    # Commands, each by one of the faces

    def _note(self, *words: object) -> None:
        self.trace.append(" ".join(map(str, words)))

    def _do(self, face: Any, name: str, expected: Callable[[], None], *arguments: Any, **options: Any) -> None:
        """Let the model and one face do the same; both do it, or both refuse."""
        shown = [*map(repr, arguments), *(f"{key}={value!r}" for key, value in options.items())]
        self._note(f"{face.name}: {name}({', '.join(shown)})")
        try:
            expected()
            wanted = True
        except Refused:
            wanted = False
        done = getattr(face, name)(*arguments, **options)
        if done != wanted:
            raise Difference(f"{name} was {'done' if done else 'refused'}: {getattr(face, 'why', '')}")

    def _local(self, face: Any) -> Any:
        """A face that adds and makes backups."""
        return self.cli if face is self.web else face

    def _add(self, face: Any, *, again: bool) -> None:
        self._do(face, "add", lambda: self.model.add(again=again), again=again)

    def add(self, a: int, b: int, c: int, face: Any) -> None:
        # What is undone of an add that both brings files back and finds others changed is in test_undo_files.py.
        self._add(self._local(face), again=a % 4 == 0 and not self.model.unseen())

    def label(self, a: int, b: int, c: int, face: Any) -> None:
        paths = self._nameable()
        if not paths:
            return
        named = list(dict.fromkeys([_pick(paths, a), _pick(paths, a + b % 2)]))
        said: dict[str, Any] = {}
        kind = c % 8
        if kind in (0, 1, 2):
            said["tags"] = (_pick(TAGS, b), *((_pick(TAGS, b + 1),) if kind == 2 else ()))
        elif kind in (3, 4):
            said["no_tags"] = (_pick(TAGS, b),)
        elif kind == 5:
            said |= {"class_name": _pick(CLASSES, b), "tags": (_pick(TAGS, c),)}
        else:
            said["class_name"] = _pick(CLASSES, b)
        self._do(face, "label", lambda: self.model.label(named, **said), named, **said)

    def clear(self, a: int, b: int, c: int, face: Any) -> None:
        if paths := self._nameable():
            what = _pick(["class", "tags", f"tag:{_pick(TAGS, b)}", f"class:{_pick(CLASSES, b)}"], c)
            named = [_pick(paths, a)]
            self._do(face, "label", lambda: self.model.label(named, clear=what), named, clear=what)

    def accept(self, a: int, b: int, c: int, face: Any) -> None:
        if paths := self._nameable():
            named = [_pick(paths, a)]
            self._do(self._local(face), "label", lambda: self.model.label(named, accept=True), named, accept=True)

    def suggest(self, a: int, b: int, c: int, face: Any) -> None:
        """What a model writes; a new version silences the earlier one."""
        records = sorted(self.model.records())
        if not records:
            return
        version = self.model.version + (1 if c % 3 == 0 or not self.model.version else 0)
        record = _pick(records, a)
        rows = [(record, "tag", _pick(TAGS, b), 0.5 + c / 64), (record, "class", _pick(CLASSES, b), 0.25 + c / 64)]
        self._note("model", version, "suggests", rows)
        self.model.suggest(version, rows)
        catalogue = self.python.photos.catalogue
        ids = {each.sha256: each.id for each in catalogue.pictures()}
        known = {record: ids[sha256(content)] for record, content in self.model.records().items()}
        catalogue.write_labels(
            [(known[number], kind, name, "suggested", score) for number, kind, name, score in rows],
            source=MODEL.format(version),
        )

    def rename(self, a: int, b: int, c: int, face: Any) -> None:
        kind, names = _kind(c)
        old, new = _pick(names, a), _pick(names, b)
        word, taken = self.model.word(kind, old), self.model.word(kind, new)
        if word is None or (taken not in (None, word) and not self.model.is_used(taken)):
            return  # whether an unused word still takes a name is not documented
        self._do(face, "rename", lambda: self.model.rename(kind, old, new), kind, old, new)

    def merge(self, a: int, b: int, c: int, face: Any) -> None:
        kind, names = _kind(c)
        chosen = list(dict.fromkeys([_pick(names, a), _pick(names, a + c % 2)]))
        into = _pick(names, b)
        if all(self.model.word(kind, name) is not None for name in chosen):
            self._do(face, "merge", lambda: self.model.merge(kind, chosen, into), kind, chosen, into)

    def merge_forms(self, a: int, b: int, c: int, face: Any) -> None:
        self._do(self._local(face), "merge_forms", lambda: self.model.merge_forms("tag", FORMS))

    def drop(self, a: int, b: int, c: int, face: Any) -> None:
        kind, names = _kind(c)
        name = _pick(names, a)
        if (word := self.model.word(kind, name)) is not None and self.model.is_used(word):
            self._do(face, "drop", lambda: self.model.drop(kind, name), kind, name)

    def restore(self, a: int, b: int, c: int, face: Any) -> None:
        kind, names = _kind(c)
        candidates = [name for name in names if name in {*self.model.dropped(kind), *self.model.aliases(kind)}]
        name = _pick(candidates or names, a)
        self._do(face, "restore", lambda: self.model.restore(kind, name), kind, name)

    def undo(self, a: int, b: int, c: int, face: Any) -> None:
        for _ in range(1 + a % 3):
            if not self.model.interfered(undo=True):  # tests/workspace/test_undo_files.py says what happens then
                self._do(face, "undo", self.model.undo)

    def redo(self, a: int, b: int, c: int, face: Any) -> None:
        for _ in range(1 + a % 3):
            if not self.model.interfered(undo=False):
                self._do(face, "redo", self.model.redo)

    def remove(self, a: int, b: int, c: int, face: Any) -> None:
        if paths := self._nameable():
            named = [_pick(paths, a)]
            self._do(self._local(face), "remove", lambda: self.model.remove(named), named)

    def as_new(self, a: int, b: int, c: int, face: Any) -> None:
        if path := _pick(sorted(self.model.disk), a):
            self._do(self._local(face), "as_new", lambda: self.model.as_new(path), path)

    def change_table(self, a: int, b: int, c: int, face: Any) -> None:
        """Another ``metadata.csv``, which the next add reads."""
        rows = []
        for place, path in enumerate(PATHS[: 1 + a % len(PATHS)]):
            digit = (b + 3 * c + place * (1 + c % 3)) % 12
            tags = tuple(TAGS[i] for i in range(2) if digit >> i & 1)
            rows.append(
                Row(path, CLASSES[digit % 3] if digit % 4 == 1 else None, tags, CAPTIONS[0] if digit == 7 else None)
            )
        self._note("metadata.csv has", *((row.path, row.class_name, row.tags, row.caption) for row in rows))
        self.model.table = rows
        lines = [f"{row.path},{row.class_name or ''},{';'.join(row.tags)},{row.caption or ''}" for row in rows]
        (self.folder / "metadata.csv").write_text("\n".join(["file_name,class,tags,caption", *lines]) + "\n")

    def back_up(self, a: int, b: int, c: int, face: Any) -> None:
        if a % 2 or not self._backups:
            file = self.folder.with_name(f"backup-{len(self._backups)}.sqlite")
            self._do(self._local(face), "backup", lambda: None, file)
            self._backups.append((file, self.model.saved()))
        else:
            file, saved = _pick(self._backups, b)
            self._do(self._local(face), "restore_backup", lambda: self.model.put_back(saved), file)

    def take_away(self, a: int, b: int, c: int, face: Any) -> None:
        """Export, and import into a second workspace: what counts as accepted there is what was accepted here."""
        self._add(self.python, again=False)
        second = self.folder.with_name("second")
        self._note("export to a second workspace")
        shutil.copytree(self.folder, second, ignore=shutil.ignore_patterns(".visterm", "metadata.csv"))
        try:
            self.python.photos.export(second / "metadata.csv")
            with visterm.open(second, create=True) as photos:
                photos.add(caption_tags=False)
                found = {each.sha256: each for each in photos.catalogue.pictures()}
            for record, content in self.model.records().items():
                if self.model.present(record):
                    self._compare_imported(record, found[sha256(content)])
        finally:
            shutil.rmtree(second)

    def _compare_imported(self, record: int, found: Any) -> None:
        name = found.class_label and found.class_label.name
        _same(f"the imported class of {found.paths}", name, self.model.class_of(record))
        tags = {label.name for label in found.tags if label.state == "accepted"}
        _same(f"the imported tags of {found.paths}", tags, self.model.tags_of(record))
        _same(f"the imported caption of {found.paths}", found.caption, self.model.known.get(("caption", record)))

    def _nameable(self) -> list[str]:
        """Files as the last add saw them; tests/workspace/test_changed_files.py names others."""
        return sorted(set(self.model.files()) - self.model.unseen())

    # Comparing

    def take(self, draw: Draw) -> None:
        """One step, and a look at what it did."""
        verb, a, b, c, number = draw
        n_before = len(self.trace)
        getattr(self, verb)(a, b, c, (self.python, self.web, self.cli)[number % 3])
        if len(self.trace) > n_before:
            self._look(a + b + c)

    def _look(self, number: int) -> None:
        _same("the statements in the catalogue", self._statements(), self._expected_statements())
        self._compare_vocabulary(self.python)
        word = _pick(SEARCHED, number)
        self._compare_search(self.python if number % 2 else self.web, word)

    def finish(self) -> None:
        """All three faces, in full."""
        for face in (self.python, self.web, self.cli):
            if face is not self.web or len(self.trace) % 4 == 0:  # the first answer of this route takes long
                self._compare_status(face)
            self._compare_vocabulary(face)
            self._compare_labels(face)
            for word in SEARCHED if face is self.python else (_pick(SEARCHED, len(self.trace)),):
                self._compare_search(face, word)

    def _statements(self) -> set[tuple[str, ...]]:
        """Read with SQLite, not with visterm."""
        file = self.folder / ".visterm" / "catalogue.sqlite"
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
            rows = database.execute(
                "SELECT sha256, kind, term.name, label.state, source.name FROM label"
                " JOIN picture ON picture.id = picture_id JOIN term ON term.id = term_id"
                " JOIN source ON source.id = source_id"
            ).fetchall()
        return {(*row[:4], IMPORT if row[4].startswith(IMPORT) else row[4]) for row in rows}

    def _expected_statements(self) -> set[tuple[str, ...]]:
        return {(sha256(content), *rest) for content, *rest in self.model.sources()}

    def _compare_vocabulary(self, face: Any) -> None:
        found = face.vocabulary()
        for kind in ("class", "tag"):
            terms = found[kind]
            counts = {t["name"]: (t["n_accepted"], t["n_suggested"], t["n_rejected"]) for t in terms["terms"]}
            _same(f"{face.name}: the vocabulary of {kind}", counts, self.model.vocabulary(kind))
            _same(f"{face.name}: dropped {kind}", set(terms["dropped"]), self.model.dropped(kind))
            _same(f"{face.name}: other names of {kind}", terms["aliases"], self.model.aliases(kind))

    def _compare_status(self, face: Any) -> None:
        found, wanted = face.status(), self.model.status()
        _same(f"{face.name}: status", {name: found[name] for name in wanted}, wanted)

    def _compare_search(self, face: Any, word: str) -> None:
        if not set(FORMS).isdisjoint(self.model.aliases(kind).get(word) for kind in ("tag", "class")):
            return  # what is found by forms of one word is in tests/find
        found = face.told(word)
        if face is not self.web:  # paths
            files = self.model.files()
            found = {sha256(self.model.known["picture", files[path]]) for path in found}
        _same(f"{face.name}: pictures found by {word}", found, set(map(sha256, self.model.told(word))))

    def _compare_labels(self, face: Any) -> None:
        found = face.labels()
        for record, content in self.model.records().items():
            if sha256(content) in found or self.model.present(record):
                _same(f"{face.name}: labels of picture {content}", found[sha256(content)], self._labels(record))

    def _labels(self, record: int) -> dict[str, Any]:
        labels = self.model.effective()[record]
        name = self.model.class_of(record)
        tags = {name: found for (kind, name), found in labels.items() if kind == "tag"}
        return {
            "class": None if name is None else (name, labels["class", name][1]),
            "tags": {name: source for name, (state, source) in tags.items() if state == "accepted"},
            "denied": {name: source for name, (state, source) in tags.items() if state == "rejected"},
            "caption": self.model.known.get(("caption", record)),
        }


def _pick(choices: Sequence[Any], number: int) -> Any:
    return choices[number % len(choices)] if choices else None


def _kind(number: int) -> tuple[str, tuple[str, ...]]:
    return ("class", CLASSES) if number % 4 == 3 else ("tag", TAGS)


def _same(what: str, found: object, wanted: object) -> None:
    if found != wanted:
        if isinstance(found, (set, frozenset)) and isinstance(wanted, (set, frozenset)):
            raise Difference(f"{what}: too many {sorted(found - wanted)}, too few {sorted(wanted - found)}")
        raise Difference(f"{what}: found {found}, expected {wanted}")
