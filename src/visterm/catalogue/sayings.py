"""What is said of the pictures of a catalogue: labels, descriptions, and the vocabulary."""

from collections.abc import Iterable, Mapping
from typing import Literal

from visterm.catalogue import log, vocabulary
from visterm.catalogue.acts import Act
from visterm.catalogue.database import Database
from visterm.catalogue.history import said
from visterm.catalogue.labels import Kind, LabelRow, LabelWriter, State, rank_of, source_id
from visterm.catalogue.pictures import Picture
from visterm.catalogue.records import IMPORT, PERSON
from visterm.catalogue.twins import Twins, Verdict, judge, keep_pictures, read_twins

#: What a person may write of a picture besides names.
TextKind = Literal["caption", "title"]


class Sayings(Database):
    """The part of a catalogue that people, imports and models write. Every method is one transaction."""

    def label(
        self,
        picture: Picture | int,
        kind: Kind,
        name: str,
        *,
        state: State = "accepted",
        source: str = PERSON,
        score: float | None = None,
    ) -> None:
        """Write one label; an accepted class replaces the class that the source accepted before."""
        self.write_labels([(_id_of(picture), kind, name, state, score)], source=source)

    def unlabel(self, picture: Picture | int, kind: Kind, name: str | None = None, *, source: str = PERSON) -> int:
        """Remove what ``source`` says about one class or tag, or about all of a kind; returns how many labels.

        The labels of other sources count again. Without its tags, the source does not describe the picture any more.
        """
        what, who = f"clear {kind if name is None else f'{kind} {name}'} of 1 picture", _who(source)
        with self.transaction(what, who=who), self._label_changes.labels([_id_of(picture)], source):
            return LabelWriter(self._connection, source, self._stamp()).remove(_id_of(picture), kind, name)

    def write_labels(self, rows: Iterable[LabelRow], *, source: str, act: Act = Act.SAID) -> int:
        """Write (picture id, kind, name, state, score) rows of one source, given by ``act``; returns how many.

        When a model writes, the labels of its other versions are removed.
        """
        rows = list(rows)
        with (
            self.transaction(said(rows), who=_who(source)),
            self._label_changes.labels([row[0] for row in rows], source),
            log.level(self._connection, log.Level.WORDS if rank_of(source)[0] else log.Level.NOTHING),
        ):
            return LabelWriter(self._connection, source, self._stamp(), act).put_all(rows)

    def describe(self, pictures: Iterable[int], *, source: str = PERSON, act: Act = Act.DESCRIBED) -> int:
        """Say that the tags of ``source`` are all that these pictures have; returns how many were not described so."""
        ids = list(pictures)
        with self.transaction("say which tags are all", who=_who(source)), self._label_changes.labels(ids, source):
            return LabelWriter(self._connection, source, self._stamp(), act).describe(ids)

    def write_texts(self, pictures: Iterable[int], texts: Mapping[TextKind, str]) -> int:
        """Give pictures the caption or title that a person wrote; returns how many differ from those before."""
        changed = 0
        with self.transaction("write texts"):
            person = source_id(self._connection, PERSON)
            for number in map(int, pictures):
                if (caption := texts.get("caption")) is not None:
                    changed += self._connection.execute(
                        """UPDATE picture SET caption = ?1, caption_source = ?2
                           WHERE id = ?3 AND (caption, caption_source) IS NOT (?1, ?2)""",
                        (caption, person, number),
                    ).rowcount
                if (title := texts.get("title")) is not None:
                    changed += self._connection.execute(
                        """INSERT INTO title VALUES (?, ?) ON CONFLICT (picture_id) DO UPDATE SET text = excluded.text
                           WHERE text != excluded.text""",
                        (number, title),
                    ).rowcount
        return changed

    def clear_text(self, picture: int, kind: TextKind) -> int:
        """Withdraw the caption or title that a person wrote; returns 1 if there was one.

        The title of the file counts again at once; the caption of an import when it is read again.
        """
        with self.transaction(f"clear the {kind}"):
            if kind == "title":
                return self._connection.execute("DELETE FROM title WHERE picture_id = ?", (picture,)).rowcount
            return self._connection.execute(
                """UPDATE picture SET caption = NULL, caption_source = NULL WHERE id = ?
                   AND (SELECT rank FROM source WHERE id = caption_source) = ?""",
                (picture, rank_of(PERSON)[0]),
            ).rowcount

    def twins(self) -> Twins:
        """What people said of pictures that look like copies of each other."""
        return self._read(read_twins)

    def judge_twins(
        self,
        what: str,
        pairs: Mapping[Verdict, Iterable[tuple[int, int]]],
        *,
        keep: Iterable[int] = (),
        others: Iterable[int] = (),
    ) -> None:
        """Say of pairs of picture ids what they are, which pictures to keep, and which ``others`` not to keep."""
        with self.transaction(what), self._label_changes.labels([], PERSON):
            for said, of in pairs.items():
                judge(self._connection, of, said, self._stamp())
            keep_pictures(self._connection, keep, others, self._stamp())

    # Vocabulary: see visterm.catalogue.vocabulary for what each edit means

    def vocabulary(self, kind: Kind) -> list[vocabulary.TermUse]:
        """The classes or tags in use, the most used first."""
        return self._read(vocabulary.uses, kind)

    def is_known(self, kind: Kind, name: str) -> bool:
        """Whether the class or tag is in use, was dropped, or is another name of one."""
        return self._read(vocabulary.is_known, kind, name)

    def dropped(self, kind: Kind) -> list[str]:
        """The dropped classes or tags."""
        return self._read(vocabulary.dropped, kind)

    def stray_keywords(self) -> dict[str, int]:
        """Tags that only the metadata of one or two pictures gives, where most tags come from elsewhere."""
        return self._read(vocabulary.stray_keywords)

    def aliases(self, kind: Kind) -> dict[str, str]:
        """Old names that were renamed or merged, and the name that replaced each."""
        return self._read(vocabulary.aliases, kind)

    def rename(self, kind: Kind, old: str, new: str) -> None:
        """Rename a class or tag."""
        with self.transaction(f"rename {kind} {old} to {new}"):
            vocabulary.rename(self._connection, kind, old, new)

    def merge(self, kind: Kind, names: Iterable[str], into: str) -> None:
        """Merge several classes or tags into one."""
        names = list(names)
        what = f"merge {kind} {', '.join(names)} into {into}"
        with self.transaction(what), log.level(self._connection, log.Level.SUGGESTIONS):
            vocabulary.merge(self._connection, kind, names, into)

    def drop(self, kind: Kind, *names: str) -> None:
        """Hide classes or tags until they are restored."""
        with self.transaction(f"drop {kind} {', '.join(names)}"):
            for name in names:
                vocabulary.drop(self._connection, kind, name)

    def restore(self, kind: Kind, *names: str) -> None:
        """Undo drops, or make renamed or merged names separate names again."""
        what = f"restore {kind} {', '.join(names)}"
        with self.transaction(what), log.level(self._connection, log.Level.SUGGESTIONS):
            for name in names:
                vocabulary.restore(self._connection, kind, name)


def _who(source: str) -> str:
    """By whom an action is that writes labels of ``source``."""
    return IMPORT if source.startswith(IMPORT) else PERSON


def _id_of(picture: Picture | int) -> int:
    return picture.id if isinstance(picture, Picture) else picture
