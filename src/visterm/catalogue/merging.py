"""Merges names of the vocabulary, and takes one of them out again, as the log tells. Within the caller's transaction.

A merge of *x* into *t* is a step: the labels of *x* go to *t* where they are stronger than those of *t*, then *x*
becomes another name of *t*. Later steps may carry the labels on, when *t* is merged into something else.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from visterm.catalogue.log import Connection, still_suggested

#: The picture and the source of a label.
Place = tuple[int, int]
#: State, score, time, sequence and act of a label.
Value = tuple[str, float | None, int, int, int]
_STRENGTH = ("suggested", "rejected", "accepted")


def merge_term(connection: Connection, term: int, target: int) -> None:
    """Give the labels, regions and other names of ``term`` to ``target``, and make it another name of that."""
    connection.execute(
        """INSERT INTO label SELECT picture_id, ?, source_id, state, score, time, sequence, act FROM label
           WHERE term_id = ? ON CONFLICT (picture_id, term_id, source_id) DO UPDATE
           SET (state, score, time, sequence, act) =
               (excluded.state, excluded.score, excluded.time, excluded.sequence, excluded.act)
           WHERE (CASE excluded.state WHEN 'accepted' THEN 2 WHEN 'rejected' THEN 1 ELSE 0 END,
                  coalesce(excluded.score, 0))
               > (CASE state WHEN 'accepted' THEN 2 WHEN 'rejected' THEN 1 ELSE 0 END, coalesce(score, 0))""",
        (target, term),
    )
    connection.execute("UPDATE region SET term_id = ? WHERE term_id = ?", (target, term))
    connection.execute("UPDATE alias SET term_id = ? WHERE term_id = ?", (target, term))
    connection.execute(
        "INSERT INTO alias (kind, name, term_id) SELECT kind, name, ? FROM term WHERE id = ?", (target, term)
    )
    connection.execute("DELETE FROM term WHERE id = ?", (term,))


@dataclass(frozen=True, eq=False)
class _Step:
    """The last merge of the term ``term`` called ``name``: the changes after ``start`` up to ``end`` in the log."""

    connection: Connection
    name: str
    term: int
    start: int
    end: int

    @cached_property
    def changes(self) -> list[tuple[str, Any, Any]]:
        rows = self.connection.execute(
            "SELECT kind, before, after FROM change WHERE id > ? AND id <= ? ORDER BY id", (self.start, self.end)
        )
        return [(kind, json.loads(before or "null"), json.loads(after or "null")) for kind, before, after in rows]

    @cached_property
    def target(self) -> int | None:
        """What it was merged into; None if it was not merged but forgotten."""
        return next((a[2] for kind, b, a in self.changes if kind == "alias" and b is None and a[1] == self.name), None)

    @cached_property
    def labels(self) -> dict[Place, Value]:
        """The labels that it had."""
        return {place: value for place, value, now in self._of(self.term) if value is not None and now is None}

    @cached_property
    def replaced(self) -> dict[Place, Value | None]:
        """What the target had where this merge was stronger."""
        return {} if self.target is None else {place: before for place, before, _ in self._of(self.target)}

    def _of(self, term: int) -> Iterator[tuple[Place, Value | None, Value | None]]:
        for kind, *rows in self.changes:
            row = rows[1] or rows[0]
            if kind in ("label", "suggestion") and row[1] == term:
                before, after = (None if each is None else tuple(each[3:]) for each in rows)
                yield (row[0], row[2]), before, after


def unmerge(connection: Connection, kind: str, name: str, holder: int) -> None:
    """Make ``name``, until now another name of ``holder``, a term again, with all that the merge took from it.

    What ``holder`` has on a picture only because of ``name`` goes; what it would have without it comes back. A name
    that was not merged but renamed is only free again.
    """
    steps = _steps(connection, kind)
    step = steps.get(name)
    renamed = """SELECT 1 FROM change JOIN action ON change.id BETWEEN first AND last WHERE change.id > ? AND NOT undone
                 AND change.kind = 'term' AND before IS NOT NULL AND json_extract(before, '$[2]') = ?
                 AND json_extract(before, '$[1]') = ? AND json_extract(after, '$[2]') != ?2"""
    if step is None or connection.value(renamed, step.end, name, kind):
        return
    connection.execute("INSERT INTO term (id, kind, name) VALUES (?, ?, ?)", (step.term, kind, name))
    returning = [
        (picture, step.term, source, *value, kind)
        for (picture, source), value in step.labels.items()
        if _may_return(connection, picture, source)
    ]
    for of, before, after in step.changes:
        if before is None or after is None:
            continue
        if of == "region" and before[2] == step.term:
            connection.execute(
                "UPDATE region SET term_id = ? WHERE id = ? AND term_id = ?", (step.term, after[0], holder)
            )
    _return_names(connection, kind, step.term, holder)
    _take_back(connection, steps, step, holder)
    connection.executemany(
        """INSERT OR IGNORE INTO label (picture_id, term_id, source_id, state, score, time, sequence, act)
           SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 WHERE EXISTS (SELECT 1 FROM picture WHERE id = ?1) AND NOT (
               ?4 = 'accepted' AND EXISTS (
                   SELECT 1 FROM label JOIN term ON term.id = term_id
                   WHERE picture_id = ?1 AND source_id = ?3 AND state = 'accepted' AND kind = 'class' AND ?9 = 'class'))
        """,
        returning,
    )


def _steps(connection: Connection, kind: str) -> dict[str, _Step]:
    """The last merge of each name, the earliest first."""
    ended = connection.execute(
        """SELECT change.id, first, before FROM change JOIN action ON change.id BETWEEN first AND last
           WHERE change.kind = 'term' AND after IS NULL AND NOT undone AND json_extract(before, '$[1]') = ?
           ORDER BY change.id""",
        (kind,),
    ).fetchall()
    steps: dict[str, _Step] = {}
    start = 0
    for end, first, before in ended:
        term, _, name, *_ = json.loads(before)
        steps.pop(name, None)
        steps[name] = _Step(connection, name, term, max(start, first - 1), end)
        start = end
    return steps


def _return_names(connection: Connection, kind: str, term: int, holder: int) -> None:
    """Give ``term`` its other names back: those of ``holder`` that came to it by merges of ``term``.

    A name that was restored meanwhile, and then merged or renamed again, did not come that way any more.
    """
    changes = connection.execute(
        """SELECT before, after FROM change JOIN action ON change.id BETWEEN first AND last
           WHERE change.kind = 'alias' AND NOT undone ORDER BY change.id"""
    )
    ways: dict[str, list[int]] = {}  # the terms that each name has stood for, and would again if merges were taken back
    for rows in changes:
        before, after = (json.loads(row or "null") for row in rows)
        of, name, now = after or before
        if of != kind:
            continue
        way = ways.setdefault(name, [] if before is None else [before[2]])
        if after is None:
            way.clear()
        elif now in way:  # a merge was taken back
            del way[way.index(now) + 1 :]
        else:
            way.append(now)
    names = [(term, kind, name, holder) for name, way in ways.items() if term in way]
    connection.executemany("UPDATE alias SET term_id = ? WHERE kind = ? AND name = ? AND term_id = ?", names)


def _take_back(connection: Connection, steps: dict[str, _Step], step: _Step, holder: int) -> None:
    """Give ``holder`` the labels that it would have without ``step``."""
    way = [step]
    by_term = {each.term: each for each in steps.values()}
    while way[-1].target is not None and way[-1].target != holder and way[-1].target in by_term:
        way.append(by_term[way[-1].target])
    merged = set(connection.values("SELECT name FROM alias WHERE term_id = ?", holder))
    others = [each for name, each in steps.items() if name in merged and each not in way]
    terms = {holder, *(each.term for each in way)}
    gone = [each for name, each in steps.items() if name not in merged and each.target in terms]
    for place, value in step.labels.items():
        if place not in step.replaced and not _showed_later(connection, step, place, value):
            continue  # the target was as strong already
        withdrawn = [each.labels.get(place) for each in gone if each is not step]
        left = [each.replaced.get(place) for each in way]
        left = [each for each in left if each not in withdrawn] + [each.labels.get(place) for each in others]
        best = max(filter(None, left), key=lambda value: (_STRENGTH.index(value[0]), value[1] or 0.0), default=None)
        picture, source = place
        at = "picture_id = ? AND term_id = ? AND source_id = ? AND (state, time, sequence) = (?, ?, ?)"
        here = (picture, holder, source, value[0], *value[2:4])
        if best is None or not _may_return(connection, picture, source):
            connection.execute(f"DELETE FROM label WHERE {at}", here)  # noqa: S608 - constants
        elif best != value:
            connection.execute(
                f"UPDATE label SET (state, score, time, sequence, act) = (?, ?, ?, ?, ?) WHERE {at}",  # noqa: S608 - constants
                (*best, *here),
            )


def _showed_later(connection: Connection, step: _Step, place: Place, value: Value) -> bool:
    """Whether a label of ``step`` came to count when a name was restored that had hidden it."""
    shown = """SELECT 1 FROM change JOIN action ON change.id BETWEEN first AND last WHERE change.id > ? AND NOT undone
               AND what LIKE 'restore %' AND picture_id = ? AND before IS NOT NULL AND json_extract(after, '$[2]') = ?
               AND json_extract(after, '$[5]') = ? AND json_extract(after, '$[6]') = ?"""
    return bool(connection.value(shown, step.end, *place, *value[2:4]))


def _may_return(connection: Connection, picture: int, source: int) -> bool:
    """Whether a label may come back: always, but a model's only while it still says something of the picture."""
    rank = connection.value("SELECT rank FROM source WHERE id = ?", source)
    return bool(rank) or still_suggested(connection, [picture, None, source])
