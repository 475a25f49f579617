"""The vocabulary of a collection: counts, renames, merges and drops its classes and tags.

Edits persist. A name that was renamed or merged away becomes another name of the new term, so that importing it again
gives the new term. A dropped term keeps its labels, hidden until it is restored. All functions here work within the
caller's transaction.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from visterm.catalogue.labels import check_kind, clean_name, find_term, make_term
from visterm.catalogue.log import still_suggested
from visterm.errors import InputError


@dataclass(frozen=True, slots=True)
class TermUse:
    """A term of the vocabulary, and its number of pictures by the state of the effective label."""

    name: str
    n_accepted: int
    n_suggested: int
    n_rejected: int


def uses(connection: sqlite3.Connection, kind: str) -> list[TermUse]:
    """The terms of ``kind`` that are used on a picture, most used first."""
    check_kind(kind)
    rows = connection.execute(
        """SELECT name, sum(state = 'accepted') AS accepted, sum(state = 'suggested') AS suggested,
                  sum(state = 'rejected') AS rejected
           FROM effective WHERE kind = ? GROUP BY term_id
           ORDER BY accepted DESC, suggested DESC, rejected DESC, name""",
        (kind,),
    )
    return [TermUse(*row) for row in rows]


def is_known(connection: sqlite3.Connection, kind: str, name: str) -> bool:
    """Whether the term is in use, was dropped, or is another name of one; a term that lost all labels is not."""
    check_kind(kind)
    name = clean_name(name)
    (known,) = connection.execute(
        """SELECT EXISTS (SELECT 1 FROM alias WHERE kind = ?1 AND name = ?2) OR EXISTS (
               SELECT 1 FROM term WHERE kind = ?1 AND name = ?2 AND (
                   dropped OR EXISTS (SELECT 1 FROM region WHERE term_id = term.id)
                   OR EXISTS (SELECT 1 FROM label WHERE term_id = term.id)))""",
        (kind, name),
    ).fetchone()
    return bool(known)


def dropped(connection: sqlite3.Connection, kind: str) -> list[str]:
    """The names of the dropped terms of ``kind``."""
    check_kind(kind)
    rows = connection.execute("SELECT name FROM term WHERE kind = ? AND dropped ORDER BY name", (kind,))
    return [name for (name,) in rows]


def aliases(connection: sqlite3.Connection, kind: str) -> dict[str, str]:
    """Old names that were renamed or merged, and the name that replaced each."""
    check_kind(kind)
    return dict(
        connection.execute(
            """SELECT alias.name, term.name FROM alias JOIN term ON term.id = term_id
               WHERE alias.kind = ? ORDER BY alias.name""",
            (kind,),
        )
    )


def rename(connection: sqlite3.Connection, kind: str, old: str, new: str) -> None:
    """Give the term ``old`` the name ``new``, which must be free."""
    term_id, old, new = _live_term(connection, kind, old), clean_name(old), clean_name(new)
    if new == old:
        return
    taken = find_term(connection, kind, new)
    if taken is not None and taken[0] != term_id:
        raise InputError(f"there is already a {kind} {new!r}: merge {old!r} into it instead")
    connection.execute("DELETE FROM alias WHERE kind = ? AND name = ?", (kind, new))  # back to an earlier name
    connection.execute("UPDATE term SET name = ? WHERE id = ?", (new, term_id))
    connection.execute("INSERT INTO alias (kind, name, term_id) VALUES (?, ?, ?)", (kind, old, term_id))


def merge(connection: sqlite3.Connection, kind: str, names: Iterable[str], into: str) -> None:
    """Merge the terms ``names`` into ``into``, which is created if new.

    If a source labelled a picture with several of them, an accepted label wins over a rejected one, and a rejected one
    over a suggested one; among equals the higher score wins. Between sources, the ranking decides as usual.
    """
    target, target_dropped = make_term(connection, kind, into)
    if target_dropped:
        raise InputError(f"the {kind} {into!r} was dropped: restore it before merging into it")
    for term_id in dict.fromkeys(_live_term(connection, kind, name) for name in names):
        if term_id == target:
            continue
        connection.execute(
            """INSERT INTO label SELECT picture_id, ?, source_id, state, score, time, sequence FROM label
               WHERE term_id = ? ON CONFLICT (picture_id, term_id, source_id) DO UPDATE
               SET state = excluded.state, score = excluded.score, time = excluded.time, sequence = excluded.sequence
               WHERE (CASE excluded.state WHEN 'accepted' THEN 2 WHEN 'rejected' THEN 1 ELSE 0 END,
                      coalesce(excluded.score, 0))
                   > (CASE state WHEN 'accepted' THEN 2 WHEN 'rejected' THEN 1 ELSE 0 END, coalesce(score, 0))""",
            (target, term_id),
        )
        connection.execute("UPDATE region SET term_id = ? WHERE term_id = ?", (target, term_id))
        connection.execute("UPDATE alias SET term_id = ? WHERE term_id = ?", (target, term_id))
        connection.execute(
            "INSERT INTO alias (kind, name, term_id) SELECT kind, name, ? FROM term WHERE id = ?", (target, term_id)
        )
        connection.execute("DELETE FROM term WHERE id = ?", (term_id,))


def drop(connection: sqlite3.Connection, kind: str, name: str) -> None:
    """Hide the term and everything labelled with it until it is restored."""
    connection.execute("UPDATE term SET dropped = 1 WHERE id = ?", (_live_term(connection, kind, name),))


def restore(connection: sqlite3.Connection, kind: str, name: str) -> None:
    """Bring a dropped term back with its labels, or make a renamed or merged name a separate name again.

    A merged name gets back the labels that it had when it was merged, as the log tells. The name that it was merged
    into goes from a picture that has it only for that reason.
    """
    check_kind(kind)
    name = clean_name(name)
    back = connection.execute("UPDATE term SET dropped = 0 WHERE kind = ? AND name = ? AND dropped", (kind, name))
    freed = connection.execute("DELETE FROM alias WHERE kind = ? AND name = ?", (kind, name))
    if back.rowcount + freed.rowcount == 0:
        raise InputError(f"the {kind} {name!r} was neither dropped nor renamed nor merged")
    if freed.rowcount:
        _unmerge(connection, kind, name)


def _unmerge(connection: sqlite3.Connection, kind: str, name: str) -> None:
    """Give the labels and regions of a merge back to the term that was merged away, as far as the log knows them."""
    merges = connection.execute(
        """SELECT before, first, last FROM change JOIN action ON change.id BETWEEN first AND last
           WHERE change.kind = 'term' AND after IS NULL AND NOT undone AND json_extract(before, '$[1]') = ?
           AND json_extract(before, '$[2]') = ? ORDER BY change.id DESC LIMIT 1""",
        (kind, name),
    ).fetchone()
    if merges is None:
        return
    term, (_, first, last) = json.loads(merges[0]), merges
    connection.execute("INSERT INTO term (id, kind, name, dropped) VALUES (?, ?, ?, 0)", term[:3])
    changes = [
        (of, json.loads(before or "null"), json.loads(after or "null"))
        for of, before, after in connection.execute(
            """SELECT kind, before, after FROM change
               WHERE kind IN ('label', 'suggestion', 'region') AND id BETWEEN ? AND ?""",
            (first, last),
        )
    ]
    had = [
        before
        for of, before, after in changes
        if after is None and (of == "label" or (of == "suggestion" and still_suggested(connection, before)))
    ]
    others = {(before[0], before[2]) for before in had if before[1] != term[0]}
    ours = {(before[0], before[2]) for before in had if before[1] == term[0]} - others
    for of, before, after in changes:
        if of != "region" and before is None and (after[0], after[2]) in ours:
            connection.execute(
                """DELETE FROM label WHERE picture_id = ? AND term_id = ? AND source_id = ? AND sequence = ?""",
                (*after[:3], after[6]),
            )
        elif of == "region" and before is not None and after is not None and before[2] == term[0]:
            connection.execute("UPDATE region SET term_id = ? WHERE id = ? AND term_id = ?", (term[0], *after[0:3:2]))
    connection.executemany(
        """INSERT OR IGNORE INTO label (picture_id, term_id, source_id, state, score, time, sequence)
           SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE EXISTS (SELECT 1 FROM picture WHERE id = ?1) AND NOT (
               ?4 = 'accepted' AND EXISTS (
                   SELECT 1 FROM label JOIN term ON term.id = term_id
                   WHERE picture_id = ?1 AND source_id = ?3 AND state = 'accepted' AND kind = 'class' AND ?8 = 'class'))
        """,
        [(*before, kind) for before in had if before[1] == term[0]],
    )


def _live_term(connection: sqlite3.Connection, kind: str, name: str) -> int:
    """The id of the term whose own name is ``name``."""
    check_kind(kind)
    name = clean_name(name)
    row = connection.execute("SELECT id, dropped FROM term WHERE kind = ? AND name = ?", (kind, name)).fetchone()
    if row is None:
        other = aliases(connection, kind).get(name)
        hint = f"it is another name of {other!r}" if other else "the vocabulary lists those in use"
        otherwise = "class" if kind == "tag" else "tag"
        if find_term(connection, otherwise, name) is not None:
            hint = f"there is a {otherwise} of that name: give the kind (--kind {otherwise})"
        raise InputError(f"there is no {kind} {name!r}: {hint}")
    if row[1]:
        raise InputError(f"the {kind} {name!r} was dropped: restore it first")
    return int(row[0])
