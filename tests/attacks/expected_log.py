"""The state of the model, what can be read from it, and its log with undo and redo; see ``expected.py``."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

PERSON, IMPORT = "person", "import"
ACCEPTED, REJECTED, SUGGESTED = "accepted", "rejected", "suggested"
#: What is logged: statements always, files where a person decides about them, suggestions where names are merged.
WORDS, FILES, SUGGESTIONS = 1, 2, 3
_LEVELS = {
    **dict.fromkeys(("word", "alias", "way", "label", "caption", "merged"), WORDS),
    "suggestion": SUGGESTIONS,
}
Key = tuple[Any, ...]


class Refused(Exception):  # noqa: N818 - what the program should refuse
    """The program should refuse this, and change nothing."""


@dataclass(frozen=True)
class Row:
    """A row of ``metadata.csv``."""

    path: str
    class_name: str | None
    tags: tuple[str, ...]
    caption: str | None


@dataclass
class Step:
    """An action of the history: the keys that it changed, with the values before and after."""

    changes: list[tuple[Key, Any, Any]] = field(default_factory=list)


class Known:
    """What is known, and the log of what changed it."""

    def __init__(self) -> None:
        self.disk: dict[str, tuple[int, int]] = {}  # content and stamp of every file
        self.table: list[Row] | None = None
        self.known: dict[Key, Any] = {}
        self.former: dict[str, int] = {}
        self.done: list[Step] = []
        self.undone: list[Step] = []
        self.logged: set[int] = set()  # records that the log knows
        self.version = 0
        self._numbers = self._moment = 0
        self._open: Step | None = None
        self._level = WORDS

    def saved(self) -> dict[str, Any]:
        """What a backup holds."""
        names = ("known", "former", "done", "undone", "logged", "version", "_numbers", "_moment")
        return copy.deepcopy({name: getattr(self, name) for name in names})

    def put_back(self, saved: dict[str, Any]) -> None:
        """Restore a backup; the disk stays as it is."""
        for name, value in copy.deepcopy(saved).items():
            setattr(self, name, value)

    # The log

    @contextmanager
    def action(self, level: int = WORDS) -> Iterator[None]:
        """One action; if something is refused inside, nothing has happened."""
        before, self._open = self.saved(), Step()
        try:
            with self.level(level):
                yield
        except Refused:
            self.put_back(before)
            raise
        finally:
            step, self._open = self._open, None
        if step.changes:
            self.done.append(step)
            self.undone = []

    @contextmanager
    def level(self, level: int) -> Iterator[None]:
        before, self._level = self._level, level
        try:
            yield
        finally:
            self._level = before

    def _set(self, key: Key, value: Any) -> None:
        """Write, or forget if ``value`` is None."""
        before = self.known.get(key)
        if before == value:
            return
        self._write(key, value)
        if self._open is not None and _LEVELS.get(key[0], FILES) <= self._level:
            self._open.changes.append((key, before, value))
            if key[0] in ("label", "caption", "picture"):
                self.logged.add(key[1])
            if key[0] == "file":
                self.logged.add((value or before)[0])

    def _write(self, key: Key, value: Any) -> None:
        """What is known of a record goes with it, even where no log tells so."""
        if value is None:
            self.known.pop(key, None)
            for other, held in list(self.known.items()) if key[0] == "picture" else ():
                of_record = held[0] if other[0] == "file" else other[1]
                if other[0] in ("file", "label", "caption", "suggestion") and of_record == key[1]:
                    del self.known[other]
        else:
            self.known[key] = value

    def undo(self) -> None:
        """Undo the last action that holds."""
        if not self.done:
            raise Refused
        step = self.done.pop()
        changes = [change for change in reversed(step.changes) if not self._newer_suggestion(*change)]
        self._write_all([(key, before) for key, before, _ in changes], forward=False)
        self.undone.append(step)

    def _newer_suggestion(self, key: Key, before: Any, after: Any) -> bool:
        """Whether another version of the model has suggested this again since the action did: then it stays."""
        here = self.known.get(key)
        return key[0] == "suggestion" and before is None and None not in (after, here) and here[0] != after[0]

    def redo(self) -> None:
        """Redo what was undone last."""
        if not self.undone:
            raise Refused
        step = self.undone.pop()
        self._write_all([(key, after) for key, _, after in step.changes], forward=True)
        self.done.append(step)

    def _write_all(self, writes: list[tuple[Key, Any]], *, forward: bool) -> None:
        """Suggestions come back only to pictures of which the model still says something.

        A word, once made, stays, unless its name becomes another name of a word again.
        """
        still = {key[1] for key in self.known if key[0] == "suggestion"}
        other_names = {key[1:] for key, value in writes if key[0] == "alias" and value is not None}
        for key, value in writes:
            if key[0] == "suggestion" and value is not None and (key[1] not in still or value[0] != self.version):
                continue
            if key[0] == "word" and value is None and not forward:
                word = self.known.get(key)  # None: another word of this name was made meanwhile, and it was forgotten
                if word is not None and word[:2] not in other_names:
                    continue
            if key[0] == "word" and value is None:  # what models suggested meanwhile goes with it
                self._forget_word(key[1])
            if key[0] == "word" and value is not None:
                self._free(value[0], value[1], key[1])
            if key[0] == "alias" and value is not None:
                self._free(key[1], key[2], value)
            self._write(key, value)

    def _free(self, kind: str, name: str, keep: int) -> None:
        """A word that only models use, or nobody, gives its name to another."""
        for (_, word), value in self._all("word"):
            said = any(key[0] == "label" and key[2] == word for key in self.known)
            if value[:2] == (kind, name) and word != keep and not said:
                self._forget_word(word)

    def _forget_word(self, word: int) -> None:
        for key in list(self.known):
            if (key[0] == "suggestion" and key[2] == word) or key == ("word", word):
                self._write(key, None)

    def interfered(self, *, undo: bool) -> bool:
        """Whether a scan has since changed files that the next undo or redo would change, too."""
        steps = self.done if undo else self.undone
        if not steps:
            return False
        changes = steps[-1].changes
        here = {k: after for k, _, after in changes} if undo else {k: before for k, before, _ in reversed(changes)}
        changed = (key for key, value in here.items() if self.known.get(key) != value)
        comes = {k: before for k, before, _ in reversed(changes)} if undo else {k: after for k, _, after in changes}
        held = {content: record for record, content in self.records().items()}
        removed = {key: content for key, (content, _) in self._all("removed")}
        gone = {value[0] for key, *values in changes if key[0] == "removed" for value in values if value is not None}
        own = {key for key, *_ in changes}
        if any(
            content in gone and key not in own for key, content in removed.items()
        ):  # copies that stayed out with it
            return True
        return any(_LEVELS.get(key[0], FILES) == FILES for key in changed) or any(
            key[0] == "picture" and held.get(value, key[1]) != key[1] for key, value in comes.items()
        )

    # Reading

    def _all(self, *start: Any) -> list[tuple[Key, Any]]:
        return [(key, value) for key, value in self.known.items() if key[: len(start)] == start]

    def files(self) -> dict[str, int]:
        """Every file that the catalogue knows, with its record."""
        return {key[1]: value[0] for key, value in self._all("file")}

    def paths(self, record: int) -> list[str]:
        return sorted(path for path, owner in self.files().items() if owner == record)

    def present(self, record: int) -> list[str]:
        return [path for path in self.paths(record) if not self.known["file", path][1]]

    def records(self) -> dict[int, int]:
        """Every record with its content."""
        return {key[1]: value for key, value in self._all("picture")}

    def record_of(self, content: int) -> int | None:
        return next((record for record, held in self.records().items() if held == content), None)

    def word(self, kind: str, name: str) -> int | None:
        """The word of that name, its own or another."""
        own = (key[1] for key, value in self._all("word") if value[:2] == (kind, name))
        return next(own, self.known.get(("alias", kind, name)))

    def is_used(self, word: int) -> bool:
        return any(key[0] in ("label", "suggestion") and key[2] == word for key in self.known)

    def sources(self) -> set[tuple[int, str, str, str, str]]:
        """Every statement: content, kind, name, state, source; also those of dropped words."""
        return {
            (self.known["picture", record], *self.known["word", word][:2], state, source)
            for (_, record, word, source), state in self._all("label")
        } | {
            (self.known["picture", record], *self.known["word", word][:2], SUGGESTED, f"model m@{version}")
            for (_, record, word), (version, *_) in self._all("suggestion")
        }

    def effective(self) -> dict[int, dict[tuple[str, str], tuple[str, str]]]:
        """By record: kind and name to state and source of the label that counts; a person outranks an import."""
        found: dict[int, dict[tuple[str, str], tuple[str, str]]] = {record: {} for record in self.records()}
        for (_, record, word), (version, *_) in self._all("suggestion"):
            self._count(found[record], word, SUGGESTED, f"model m@{version}")
        for source in (IMPORT, PERSON):
            for (_, record, word, of), state in self._all("label"):
                if of == source:
                    self._count(found[record], word, state, source)
        return found

    def _count(self, labels: dict[tuple[str, str], tuple[str, str]], word: int, state: str, source: str) -> None:
        kind, name, dropped = self.known["word", word]
        if not dropped:
            labels[kind, name] = (state, source)

    def class_of(self, record: int) -> str | None:
        """The accepted class."""
        found = [
            (source, name)
            for (kind, name), (state, source) in self.effective()[record].items()
            if kind == "class" and state == ACCEPTED
        ]
        return max(found, key=lambda each: each[0] == PERSON)[1] if found else None

    def tags_of(self, record: int) -> set[str]:
        labels = self.effective()[record].items()
        return {name for (kind, name), (state, _) in labels if kind == "tag" and state == ACCEPTED}

    def vocabulary(self, kind: str) -> dict[str, tuple[int, int, int]]:
        """The words in use with their numbers of pictures: accepted, suggested, rejected."""
        counts: dict[str, Counter[str]] = {}
        for labels in self.effective().values():
            for (of, name), (state, _) in labels.items():
                if of == kind:
                    counts.setdefault(name, Counter())[state] += 1
        return {name: (found[ACCEPTED], found[SUGGESTED], found[REJECTED]) for name, found in counts.items()}

    def dropped(self, kind: str) -> set[str]:
        return {name for _, (of, name, dropped) in self._all("word") if of == kind and dropped}

    def aliases(self, kind: str) -> dict[str, str]:
        return {key[2]: self.known["word", word][1] for key, word in self._all("alias", kind)}

    def told(self, query: str) -> set[int]:
        """The contents of the pictures of which people say that they show this word."""
        tag, klass = (self.aliases(kind).get(query, query) for kind in ("tag", "class"))
        return {
            content
            for record, content in self.records().items()
            if self.present(record)
            if tag in self.tags_of(record)
            or klass == self.class_of(record)
            or query in self.known.get(("caption", record), "").split()
        }

    def status(self) -> dict[str, Any]:
        """The counts of ``visterm status``."""
        records = self.records()
        classes = Counter(name for record in records if (name := self.class_of(record)))
        tags = Counter(name for record in records for name in self.tags_of(record))
        return {
            "n_pictures": len(records),
            "n_missing": sum(not self.present(record) for record in records),
            "n_paths": len(self.files()),
            "n_with_class": classes.total(),
            "n_with_tags": sum(bool(self.tags_of(record)) for record in records),
            "n_with_caption": len(self._all("caption")),
            "classes": dict(classes),
            "frequent_tags": dict(tags),
            "label_sources": dict(Counter(statement[-1] for statement in self.sources())),
            "n_removed": len(self._all("removed")),
        }
