"""Labels: who may say what, and how it is written.

Every source has its own row for a picture and a term, so a machine can never overwrite a person. What counts in the
end, the *effective* label, is that of the highest-ranking source: a person, then an import, then a model, the newest
among models. A source accepts at most one class per picture: accepting another one withdraws the first. Only one
version of a model speaks at a time: when one writes, the labels of all other versions of that model are withdrawn.
"""

from __future__ import annotations

import math
import re
import sqlite3
import unicodedata
from collections.abc import Iterable
from typing import Literal

from visterm.catalogue.records import IMPORT, PERSON
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


def rank_of(source: str) -> tuple[int, str | None]:
    """How much ``source`` counts (2 person, 1 import, 0 model), and the model's name.

    >>> rank_of("person"), rank_of("model knn-tags@2")
    ((2, None), (0, 'knn-tags'))
    """
    if source in _RANKS:
        return _RANKS[source], None
    match = _MODEL.fullmatch(source)
    if match is None:
        raise InputError(f"unknown source {source!r}: labels come from 'person', 'import' or 'model NAME@VERSION'")
    return 0, match["name"]


def clean_name(name: str) -> str:
    """A class's or tag's name without surrounding space, in Unicode's composed form (NFC); refuses what is none.

    >>> clean_name("  cafe\\u0301, terrace ")
    'café, terrace'
    """
    cleaned = unicodedata.normalize("NFC", name).strip()
    if not cleaned:
        raise InputError("an empty name")
    if len(cleaned) > MAX_NAME:
        raise InputError(f"the name {cleaned[:40]!r}… has {len(cleaned)} characters; at most {MAX_NAME} are allowed")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in cleaned):
        raise InputError(f"the name {cleaned[:80]!r} holds control characters or invalid Unicode")
    return cleaned


def check_kind(kind: str) -> None:
    """Refuse a kind of label that is neither class nor tag."""
    if kind not in KINDS:
        raise InputError(f"unknown kind of label {kind!r}: choose 'class' or 'tag'")


def source_id(connection: sqlite3.Connection, source: str) -> int:
    """The id of ``source``, registered when new."""
    rank, model = rank_of(source)
    connection.execute(
        "INSERT INTO source (name, rank, model) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", (source, rank, model)
    )
    return int(connection.execute("SELECT id FROM source WHERE name = ?", (source,)).fetchone()[0])


def find_term(connection: sqlite3.Connection, kind: str, name: str) -> tuple[int, bool] | None:
    """The id of the term that ``name`` stands for, by its own name or another one, and whether it is dropped."""
    row = connection.execute(
        """SELECT id, dropped FROM term WHERE kind = ?1 AND name = ?2
           UNION ALL
           SELECT term.id, dropped FROM alias JOIN term ON term.id = term_id WHERE alias.kind = ?1 AND alias.name = ?2
           LIMIT 1""",
        (kind, name),
    ).fetchone()
    return None if row is None else (int(row[0]), bool(row[1]))


def make_term(connection: sqlite3.Connection, kind: str, name: str) -> tuple[int, bool]:
    """As :func:`find_term`, adding the term to the vocabulary when it is new."""
    check_kind(kind)
    name = clean_name(name)
    found = find_term(connection, kind, name)
    if found is not None:
        return found
    added = connection.execute("INSERT INTO term (kind, name) VALUES (?, ?) RETURNING id", (kind, name))
    return int(added.fetchone()[0]), False


class LabelWriter:
    """Writes the labels of one source, within the caller's transaction.

    A label of a dropped term is kept, unseen until the term is restored; only a person is told that it is dropped.
    """

    def __init__(self, connection: sqlite3.Connection, source: str, time: int) -> None:
        self.rank, model = rank_of(source)
        self.source_id = source_id(connection, source)
        self._connection, self._time = connection, time
        self._terms: dict[tuple[str, str], tuple[int, bool]] = {}
        self._pending: list[tuple[int, int, int, str, float | None, int]] = []
        if model is not None:
            connection.execute(
                "DELETE FROM label WHERE source_id IN (SELECT id FROM source WHERE model = ? AND id != ?)",
                (model, self.source_id),
            )

    def term(self, kind: Kind, name: str) -> int:
        """The id of the term called ``name``; vocabulary edits apply."""
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
        """Write one label; tags reach the database in batches, at the latest with :meth:`flush`."""
        if state not in STATES:
            raise InputError(f"unknown state {state!r}: a label is {', '.join(STATES)}")
        if score is not None and not math.isfinite(score):
            raise InputError(f"the score of {name!r} is {score}, not a number")
        term_id = self.term(kind, name)
        # int() and float(): NumPy's scalars are welcome here but unknown to SQLite
        row = (int(picture_id), term_id, self.source_id, state, None if score is None else float(score), self._time)
        self._pending.append(row)
        if kind == "class" and state == "accepted":
            self.flush()
            self._withdraw_other_classes(int(picture_id), term_id)
        elif len(self._pending) >= _BATCH:
            self.flush()

    def put_all(self, rows: Iterable[LabelRow]) -> int:
        """Write all ``rows``; returns how many there were."""
        n_rows = 0
        for n_rows, row in enumerate(rows, start=1):  # noqa: B007 - the count is the answer
            self.put(*row)
        self.flush()
        return n_rows

    def remove(self, picture_id: int, kind: Kind, name: str) -> None:
        """Take back what this source said of one picture and term."""
        self._connection.execute(
            "DELETE FROM label WHERE picture_id = ? AND term_id = ? AND source_id = ?",
            (int(picture_id), self.term(kind, name), self.source_id),
        )

    def flush(self) -> None:
        """Send the labels that wait. What a person or import repeats is not written again; a model's becomes newer."""
        try:
            self._connection.executemany(
                """INSERT INTO label VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (picture_id, term_id, source_id)
                   DO UPDATE SET state = excluded.state, score = excluded.score, time = excluded.time
                   WHERE state IS NOT excluded.state OR score IS NOT excluded.score
                   OR (SELECT rank FROM source WHERE id = excluded.source_id) = 0""",
                self._pending,
            )
        except sqlite3.IntegrityError as error:
            raise InputError(
                f"a label names picture {self._first_unknown()}, which the catalogue does not hold"
            ) from error
        self._pending.clear()

    def _withdraw_other_classes(self, picture_id: int, term_id: int) -> None:
        self._connection.execute(
            """DELETE FROM label WHERE picture_id = ? AND source_id = ? AND state = 'accepted' AND term_id != ?
               AND (SELECT kind FROM term WHERE id = term_id) = 'class'""",
            (picture_id, self.source_id, term_id),
        )

    def _first_unknown(self) -> int | None:
        known = "SELECT 1 FROM picture WHERE id = ?"
        ids = (row[0] for row in self._pending)
        return next((number for number in ids if self._connection.execute(known, (number,)).fetchone() is None), None)
