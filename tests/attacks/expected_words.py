"""What a person says and how words are edited, in the model; see ``expected.py``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from expected_log import ACCEPTED, PERSON, REJECTED, SUGGESTED, SUGGESTIONS, Known, Refused


@dataclass(frozen=True)
class Merged:
    """A word that was merged into ``target``: what it had, and what the target said before where that changed.

    ``through`` are the words into which it was merged before, when those were merged in their turn; ``before`` is what
    this was until the last of these merges.
    """

    word: int
    target: int
    had: dict[tuple[int, str], str]
    came: dict[tuple[int, str], str | None]
    suggested: dict[int, Any]
    new: set[int]
    through: tuple[int, ...] = ()
    before: Merged | None = None


class Words(Known):
    """Labels and vocabulary; the methods without an underscore are the commands."""

    # What a person says

    def label(
        self,
        paths: Iterable[str],
        *,
        class_name: str | None = None,
        tags: Iterable[str] = (),
        no_tags: Iterable[str] = (),
        clear: str | None = None,
        accept: bool = False,
    ) -> None:
        """``visterm label``: clear first, then what is said; a class replaces the person's earlier one."""
        records = list(dict.fromkeys(self.files()[path] for path in paths))
        with self.action():
            for record in records:
                if clear is not None:
                    self._clear(record, clear)
            for record in records:
                self._say_all(record, class_name, tags, no_tags, accept=accept)

    def _say_all(
        self, record: int, class_name: str | None, tags: Iterable[str], no_tags: Iterable[str], *, accept: bool
    ) -> None:
        if accept:
            self._accept(record)
        for name in tags:
            self._say(record, "tag", name, ACCEPTED, PERSON)
        for name in no_tags:
            self._say(record, "tag", name, REJECTED, PERSON)
        if class_name is not None:
            self._say(record, "class", class_name, ACCEPTED, PERSON)

    def _say(self, record: int, kind: str, name: str, state: str, source: str) -> None:
        word = self._make_word(kind, name)
        if source == PERSON and self.known["word", word][2]:
            raise Refused
        self._set(("label", record, word, source), state)
        if kind == "class" and state == ACCEPTED:
            for key, other in self._all("label", record):
                if key[3] == source and key[2] != word and other == ACCEPTED and self.known["word", key[2]][0] == kind:
                    self._set(key, None)

    def _make_word(self, kind: str, name: str) -> int:
        word = self.word(kind, name)
        if word is None:
            self._numbers += 1
            word = self._numbers
            self._set(("word", word), (kind, name, False))
        return word

    def _clear(self, record: int, what: str) -> None:
        kind, _, name = what.partition(":")
        kind = "tag" if kind == "tags" else kind
        word = self.word(kind, name) if name else None
        if name and (word is None or not (self._is_known(kind, name, word))):
            raise Refused
        for key, _state in self._all("label", record):
            if key[3] == PERSON and self.known["word", key[2]][0] == kind and word in (None, key[2]):
                self._set(key, None)

    def _is_known(self, kind: str, name: str, word: int) -> bool:
        return ("alias", kind, name) in self.known or self.known["word", word][2] or self.is_used(word)

    def _accept(self, record: int) -> None:
        """What models suggest and nobody has decided becomes the person's; of classes the likeliest, then by name."""
        labels = self.effective()[record]
        for (kind, name), (state, _) in list(labels.items()):
            if kind == "tag" and state == SUGGESTED:
                self._say(record, "tag", name, ACCEPTED, PERSON)
        open_classes = [
            (-self.known["suggestion", record, self.word("class", name)][1], name)
            for (kind, name), (state, _) in labels.items()
            if kind == "class" and state == SUGGESTED
        ]
        if open_classes and self.class_of(record) is None:
            self._say(record, "class", min(open_classes)[1], ACCEPTED, PERSON)

    def suggest(self, version: int, rows: Iterable[tuple[int, str, str, float]]) -> None:
        """What version ``version`` of a model writes: (record, kind, name, score); its other versions are silent."""
        for key, (before, *_) in self._all("suggestion"):
            if before != version:
                self._write(key, None)
        self.version = version
        for record, kind, name, score in rows:
            self._moment += 1
            self._write(("suggestion", record, self._make_word(kind, name)), (version, score, self._moment))

    # The vocabulary

    def _own(self, kind: str, name: str) -> int:
        """The word whose own name this is, and which is not dropped."""
        word = next((key[1] for key, value in self._all("word") if value[:2] == (kind, name)), None)
        if word is None or self.known["word", word][2]:
            raise Refused
        return word

    def rename(self, kind: str, old: str, new: str) -> None:
        """The old name becomes another name of the word."""
        with self.action():
            word, taken = self._own(kind, old), self.word(kind, new)
            if taken not in (None, word):
                raise Refused
            if old != new:
                self._stand_for(kind, new)
                self._set(("merged", kind, new), None)
                self._set(("word", word), (kind, new, False))
                self._stand_for(kind, old, word)

    def _stand_for(self, kind: str, name: str, *way: int) -> None:
        """Make ``name`` another name of the last word of ``way``, or of none."""
        self._set(("alias", kind, name), way[-1] if way else None)
        self._set(("way", kind, name), way or None)

    def merge(self, kind: str, names: Iterable[str], into: str) -> None:
        """All labels of ``names`` become those of ``into``; of one source, accepted wins over rejected."""
        with self.action(SUGGESTIONS):
            self._merge(kind, names, into)

    def merge_forms(self, kind: str, forms: Iterable[str]) -> None:
        """``visterm vocabulary suggest --apply``: of ``forms`` of one word, the most used stands for the others."""
        with self.action(SUGGESTIONS):
            in_use = self.vocabulary(kind)
            used = sorted((-in_use[name][0], len(name), name) for name in forms if name in in_use)
            if len(used) > 1:
                (_, _, into), *others = used
                self._merge(kind, [name for _, _, name in others], into)

    def _merge(self, kind: str, names: Iterable[str], into: str) -> None:
        target = self._make_word(kind, into)
        if self.known["word", target][2]:
            raise Refused
        words = dict.fromkeys(self._own(kind, name) for name in names)
        mergers = [word for word in words if word != target]
        for word in mergers:
            self._merge_one(kind, word, target)

    def _merge_one(self, kind: str, word: int, target: int) -> None:
        had = {(key[1], key[3]): state for key, state in self._all("label") if key[2] == word}
        came = {}  # what the target said before, where it says something else now
        for (record, source), state in had.items():
            to = ("label", record, target, source)
            if self.known.get(to) not in (ACCEPTED, state):
                came[record, source] = self.known.get(to)
                self._set(to, state)
            self._set(("label", record, word, source), None)
        suggested = {key[1]: value for key, value in self._all("suggestion") if key[2] == word}
        new = {record for record in suggested if ("suggestion", record, target) not in self.known}
        self._merge_suggestions(word, target)
        for key, other in self._all("alias", kind):
            if other == word:
                self._stand_for(kind, key[2], *self.known["way", kind, key[2]], target)
        for key, earlier in self._all("merged", kind):  # words that were merged into this one before
            if earlier.target == word:
                both = {place: came[place] for place in earlier.came if place in came}
                through = (*earlier.through, word)
                both_new = earlier.new & new
                later = replace(earlier, target=target, came=both, new=both_new, through=through, before=earlier)
                self._set(key, later)
        name = self.known["word", word][1]
        self._set(("merged", kind, name), Merged(word, target, had, came, suggested, new))
        self._stand_for(kind, name, target)
        self._set(("word", word), None)

    def _merge_suggestions(self, word: int, target: int) -> None:
        """The more probable one of a picture counts."""
        for key, value in self._all("suggestion"):
            if key[2] == word:
                to = ("suggestion", key[1], target)
                if value[1] > self.known.get(to, (0, -1.0))[1]:
                    self._set(to, value)
                self._set(key, None)

    def drop(self, kind: str, name: str) -> None:
        """The word and its labels are hidden."""
        with self.action():
            self._set(("word", self._own(kind, name)), (kind, name, True))

    def restore(self, kind: str, name: str) -> None:
        """A dropped word is shown again; a merged one gets back the labels that it had, a renamed name is free."""
        with self.action(SUGGESTIONS):
            own = next((key[1] for key, value in self._all("word") if value[:2] == (kind, name)), None)
            if own is not None and self.known["word", own][2]:
                self._set(("word", own), (kind, name, False))
            elif ("alias", kind, name) in self.known:
                self._stand_for(kind, name)
                if ("merged", kind, name) in self.known:
                    self._unmerge(kind, name)
            else:
                raise Refused

    def _unmerge(self, kind: str, name: str) -> None:
        """The name that it was merged into goes from a picture that has it only for that reason."""
        merged: Merged = self.known["merged", kind, name]
        word, target = merged.word, merged.target
        self._set(("merged", kind, name), None)
        self._set(("word", word), (kind, name, False))
        self._return_names(kind, word, target)
        others = {
            place
            for _, other in self._all("merged", kind)
            for place in (other.had if other.target == target else ())
            if other.word not in merged.through or place not in merged.came
        }
        for (record, source), before in merged.came.items():
            to = ("label", record, target, source)
            if self.known.get(to) == merged.had[record, source] and (record, source) not in others:
                self._set(to, before)
        for (record, source), state in merged.had.items():
            if ("picture", record) in self.known and not self._has_class(record, kind, source, state):
                self._set(("label", record, word, source), state)
        still = {key[1] for key, value in self._all("suggestion") if value[0] == self.version}
        for record, value in merged.suggested.items():
            if record in still and value[0] == self.version:
                self._set(("suggestion", record, word), value)
                if record in merged.new and self.known.get(("suggestion", record, target)) == value:
                    self._set(("suggestion", record, target), None)

    def _return_names(self, kind: str, word: int, holder: int) -> None:
        """The other names that the word had when it was merged stand for it again, as before that merge."""
        for (_, _, name), way in self._all("way", kind):
            if way[-1] == holder and word in way:
                self._stand_for(kind, name, *way[: way.index(word) + 1])
                merged = self.known.get(("merged", kind, name))
                while merged is not None and merged.target != word:
                    merged = merged.before
                self._set(("merged", kind, name), merged)

    def _has_class(self, record: int, kind: str, source: str, state: str) -> bool:
        return (kind, state) == ("class", ACCEPTED) and any(
            key[3] == source and other == ACCEPTED and self.known["word", key[2]][0] == "class"
            for key, other in self._all("label", record)
        )
