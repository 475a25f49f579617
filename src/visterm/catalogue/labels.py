"""Labels: which sources they come from, which one counts, and how they are written.

Every source has its own row for a picture and a term, so a machine can never overwrite a person. The label that counts,
the *effective* label, is that of the highest-ranking source: a person, then an import, then a model; among models, the
newest. Each origin of imports, such as a label file, is a source of its own: what it says replaces what it said before.
A source accepts at most one class per picture: accepting another one removes the first. Only one version of a
model counts at a time: when one writes, the labels of all other versions of that model are removed.

Each label has the act by which it was given (:class:`~visterm.catalogue.acts.Act`). A source may also say that its tags
of a picture are all there are: the picture is *described* by it, also if it names no tag.
"""

import math
import re
import sqlite3
import unicodedata
from collections.abc import Iterable
from typing import Literal

from visterm.catalogue.acts import Act
from visterm.catalogue.log import Connection
from visterm.catalogue.records import IMPORT, PERSON, import_source
from visterm.errors import InputError

Kind = Literal["class", "tag"]
State = Literal["accepted", "rejected", "suggested"]
KINDS: tuple[Kind, ...] = ("class", "tag")
STATES: tuple[State, ...] = ("accepted", "rejected", "suggested")
#: A label as it is written: picture id, kind, name, state, score.
LabelRow = tuple[int, Kind, str, State, float | None]

MAX_NAME = 1000
_MODEL = re.compile(r"model (?P<name>\S(?:.*\S)?)@\d+")
_RANKS = {PERSON: 2, IMPORT: 1}
_BATCH = 5000
#: Acts that say more than the one by which a person gave the same label before.
_TELLING = (Act.DESCRIBED, Act.MEASURED)


def rank_of(source: str) -> tuple[int, str | None]:
    """The rank of ``source`` (2 person, 1 import, 0 model), and the model's name.

    >>> rank_of("person"), rank_of("model knn-tags@2")
    ((2, None), (0, 'knn-tags'))
    """
    if source in _RANKS:
        return _RANKS[source], None
    if source.startswith(import_source("")):
        return _RANKS[IMPORT], None
    match = _MODEL.fullmatch(source)
    if match is None:
        raise InputError(f"unknown source {source!r}: labels come from 'person', 'import' or 'model NAME@VERSION'")
    return 0, match["name"]


def clean_name(name: str) -> str:
    """A class or tag name without surrounding space, in NFC; refuses an invalid name.

    >>> clean_name("  cafe\\u0301, terrace ")
    'café, terrace'
    """
    cleaned = unicodedata.normalize("NFC", name).strip()
    if not cleaned:
        raise InputError("the name is empty")
    if len(cleaned) > MAX_NAME:
        raise InputError(f"the name {cleaned[:40]!r}… has {len(cleaned)} characters; at most {MAX_NAME} are allowed")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in cleaned):
        raise InputError(f"the name {cleaned[:80]!r} contains control characters or invalid Unicode")
    return cleaned


def check_kind(kind: str) -> None:
    """Refuse a kind of label that is neither class nor tag."""
    if kind not in KINDS:
        raise InputError(f"unknown kind of label {kind!r}: choose 'class' or 'tag'")


def source_id(connection: Connection, source: str) -> int:
    """The id of ``source``, which is added if new."""
    rank, model = rank_of(source)
    connection.execute(
        "INSERT INTO source (name, rank, model) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", (source, rank, model)
    )
    return int(connection.value("SELECT id FROM source WHERE name = ?", source))


def find_term(connection: Connection, kind: str, name: str) -> tuple[int, bool] | None:
    """The id of the term called ``name`` (its own or another name), and whether it is dropped."""
    row = connection.execute(
        """SELECT id, dropped FROM term WHERE kind = ?1 AND name = ?2
           UNION ALL
           SELECT term.id, dropped FROM alias JOIN term ON term.id = term_id WHERE alias.kind = ?1 AND alias.name = ?2
           LIMIT 1""",
        (kind, name),
    ).fetchone()
    return None if row is None else (int(row[0]), bool(row[1]))


def make_term(connection: Connection, kind: str, name: str) -> tuple[int, bool]:
    """Like :func:`find_term`, but adds the term to the vocabulary if it is new."""
    check_kind(kind)
    name = clean_name(name)
    found = find_term(connection, kind, name)
    if found is not None:
        return found
    return int(connection.value("INSERT INTO term (kind, name) VALUES (?, ?) RETURNING id", kind, name)), False


class LabelWriter:
    """Writes the labels of one source, within the caller's transaction.

    A label of a dropped term is stored but hidden until the term is restored. For a person it is an error instead.
    ``act`` is the act by which the labels are given. ``n_changed`` counts the labels that were written and not there
    before.
    """

    def __init__(self, connection: Connection, source: str, time: int, act: Act = Act.SAID) -> None:
        self.rank, model = rank_of(source)
        self.source_id = source_id(connection, source)
        self._connection, self._time, self.act = connection, time, act
        self._sequence: int = connection.value("SELECT number + 1 FROM sequence")
        self.n_changed = 0
        self._terms: dict[tuple[str, str], tuple[int, bool]] = {}
        self._pending: list[tuple[int, int, int, str, float | None, int, int, int]] = []
        if model is not None:
            connection.execute(
                "DELETE FROM label WHERE source_id IN (SELECT id FROM source WHERE model = ? AND id != ?)",
                (model, self.source_id),
            )

    def term(self, kind: Kind, name: str) -> int:
        """The id of the term called ``name``, after renames and merges."""
        term = self._terms.get((kind, name))
        if term is None:
            term = self._terms[kind, name] = make_term(self._connection, kind, name)
        term_id, dropped = term
        if dropped and self.rank == _RANKS[PERSON]:
            raise InputError(f"the {kind} {name!r} was dropped from the vocabulary: restore it to use it again")
        return term_id

    def put(
        self, picture_id: int, kind: Kind, name: str, state: State = "accepted", score: float | None = None
    ) -> None:
        """Write one label; tags are written in batches, the last one by :meth:`flush`."""
        if state not in STATES:
            raise InputError(f"unknown state {state!r}: choose one of {', '.join(STATES)}")
        if score is not None and not math.isfinite(score):
            raise InputError(f"the score of {name!r} is {score}, not a number")
        term_id = self.term(kind, name)
        # int() and float(): SQLite does not know NumPy's scalars
        exact = None if score is None else float(score)
        row = (int(picture_id), term_id, self.source_id, state, exact, self._time, self._sequence, int(self.act))
        self._pending.append(row)
        if kind == "class" and state == "accepted":
            self.flush()
            self._connection.execute(
                """DELETE FROM label WHERE picture_id = ? AND source_id = ? AND state = 'accepted' AND term_id != ?
                   AND (SELECT kind FROM term WHERE id = term_id) = 'class'""",
                (int(picture_id), self.source_id, term_id),
            )
        elif len(self._pending) >= _BATCH:
            self.flush()

    def put_all(self, rows: Iterable[LabelRow]) -> int:
        """Write all ``rows``; returns how many there were."""
        n_rows = 0
        for n_rows, row in enumerate(rows, start=1):  # noqa: B007 - the count is the answer
            self.put(*row)
        self.flush()
        return n_rows

    def remove(self, picture_id: int, kind: Kind, name: str | None) -> int:
        """Remove this source's labels of ``kind`` for one picture, or only that called ``name``; returns how many."""
        check_kind(kind)
        term = None if name is None else find_term(self._connection, kind, clean_name(name))
        if name is not None and term is None:
            return 0
        if (kind, name) == ("tag", None):
            self.withdraw_description(picture_id)
        return self._connection.execute(
            """DELETE FROM label WHERE picture_id = ?1 AND source_id = ?2 AND (?3 IS NULL OR term_id = ?3)
               AND (SELECT kind FROM term WHERE id = term_id) = ?4""",
            (int(picture_id), self.source_id, None if term is None else term[0], kind),
        ).rowcount

    def describe(self, pictures: Iterable[int]) -> int:
        """This source's tags of ``pictures`` are all; returns how many of them it did not describe before.

        An answer to a question that a queue chose by doubt does not replace what was said without one.
        """
        known = "SELECT 1 FROM described WHERE picture_id = ? AND source_id = ?"
        ids = list(dict.fromkeys(map(int, pictures)))
        n_new = sum(self._connection.value(known, picture, self.source_id) is None for picture in ids)
        self._connection.executemany(
            """INSERT INTO described VALUES (?1, ?2, ?3) ON CONFLICT (picture_id, source_id) DO UPDATE
               SET act = excluded.act WHERE act != excluded.act AND excluded.act != ?4""",
            [(picture, self.source_id, int(self.act), int(Act.ANSWERED)) for picture in ids],
        )
        return n_new

    def withdraw_description(self, picture: int) -> int:
        """This source's tags of a picture are no longer all; returns 1 if they were."""
        return self._connection.execute(
            "DELETE FROM described WHERE picture_id = ? AND source_id = ?", (int(picture), self.source_id)
        ).rowcount

    def flush(self) -> None:
        """Write the pending labels. A repeated label of a person or import keeps its time; a model's gets a new one.

        The act of a repeated label is the last one of an import, and the one that tells most of a person.
        """
        try:
            self.n_changed += self._connection.executemany(
                """INSERT INTO label VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                   ON CONFLICT (picture_id, term_id, source_id) DO UPDATE
                   SET (state, score, time, sequence, act) =
                       (excluded.state, excluded.score, excluded.time, excluded.sequence, excluded.act)
                   WHERE state IS NOT excluded.state OR score IS NOT excluded.score
                   OR (SELECT rank FROM source WHERE id = excluded.source_id) = 0""",
                self._pending,
            ).rowcount
            if self.rank == _RANKS[IMPORT] or self.act in _TELLING:
                self._connection.executemany(
                    "UPDATE label SET act = ?4 WHERE picture_id = ?1 AND term_id = ?2 AND source_id = ?3 AND act != ?4",
                    [(*row[:3], row[-1]) for row in self._pending],
                )
        except sqlite3.IntegrityError as error:
            known, ids = "SELECT 1 FROM picture WHERE id = ?", (row[0] for row in self._pending)
            unknown = next((number for number in ids if self._connection.value(known, number) is None), None)
            raise InputError(f"a label names picture {unknown}, which is not in the catalogue") from error
        self._pending.clear()
