"""The vocabulary of a collection: counts, renames, merges and drops its classes and tags.

Edits persist. A name that was renamed or merged away becomes another name of the new term, so that importing it again
gives the new term. A dropped term keeps its labels, hidden until it is restored. All functions here work within the
caller's transaction.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from visterm.catalogue.labels import check_kind, clean_name, find_term, make_term
from visterm.catalogue.log import Connection
from visterm.catalogue.merging import merge_term, unmerge
from visterm.catalogue.records import import_source
from visterm.errors import InputError
from visterm.language.captions import MIN_COUNT

#: Metadata inside the pictures are beside the point if at most this share of the tagged pictures have tags there.
_FEW = 0.5


@dataclass(frozen=True, slots=True)
class TermUse:
    """A term of the vocabulary, and its number of pictures by the state of the effective label."""

    name: str
    n_accepted: int
    n_suggested: int
    n_rejected: int


def uses(connection: Connection, kind: str) -> list[TermUse]:
    """The terms of ``kind`` that are used on a picture, most used first."""
    check_kind(kind)
    from visterm.catalogue.tally import terms, uses_by_state  # with NumPy, which not every command needs

    names, counts = terms(connection, kind), uses_by_state(connection)
    found = [TermUse(name, *counts[number].tolist()) for number, name in names.items() if counts[number].any()]
    return sorted(found, key=lambda use: (-use.n_accepted, -use.n_suggested, -use.n_rejected, use.name))


def stray_keywords(connection: Connection) -> dict[str, int]:
    """Tags that only the metadata of one or two pictures gives, and their number of pictures, the most used first.

    There are none where the pictures' own metadata are what most tags come from.
    """
    inside = import_source("xmp")
    if connection.value("SELECT id FROM source WHERE name = ?", inside) is None:  # else all labels are counted
        return {}
    ((n_inside, n_tagged),) = connection.execute(
        """SELECT count(DISTINCT CASE WHEN source.name = ? THEN picture_id END), count(DISTINCT picture_id) FROM label
           JOIN term ON term.id = term_id JOIN source ON source.id = source_id
           WHERE kind = 'tag' AND state = 'accepted' AND rank > 0 AND NOT dropped""",
        (inside,),
    )
    if n_inside > _FEW * n_tagged:
        return {}
    rows = connection.execute(
        """SELECT term.name, count(DISTINCT picture_id) AS n FROM label
           JOIN term ON term.id = term_id JOIN source ON source.id = source_id
           WHERE kind = 'tag' AND state = 'accepted' AND rank > 0 AND NOT dropped
           GROUP BY term_id HAVING min(source.name = ?) AND n < ? ORDER BY n DESC, term.name""",
        (inside, MIN_COUNT),
    )
    return dict(rows)


def is_known(connection: Connection, kind: str, name: str) -> bool:
    """Whether the term is in use, was dropped, or is another name of one; a term that lost all labels is not."""
    check_kind(kind)
    known = """SELECT EXISTS (SELECT 1 FROM alias WHERE kind = ?1 AND name = ?2) OR EXISTS (
                   SELECT 1 FROM term WHERE kind = ?1 AND name = ?2 AND (
                       dropped OR EXISTS (SELECT 1 FROM region WHERE term_id = term.id)
                       OR EXISTS (SELECT 1 FROM label WHERE term_id = term.id)))"""
    return bool(connection.value(known, kind, clean_name(name)))


def dropped(connection: Connection, kind: str) -> list[str]:
    """The names of the dropped terms of ``kind``."""
    check_kind(kind)
    return connection.values("SELECT name FROM term WHERE kind = ? AND dropped ORDER BY name", kind)


def aliases(connection: Connection, kind: str) -> dict[str, str]:
    """Old names that were renamed or merged, and the name that replaced each."""
    check_kind(kind)
    return dict(
        connection.execute(
            """SELECT alias.name, term.name FROM alias JOIN term ON term.id = term_id
               WHERE alias.kind = ? ORDER BY alias.name""",
            (kind,),
        )
    )


def rename(connection: Connection, kind: str, old: str, new: str) -> None:
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


def merge(connection: Connection, kind: str, names: Iterable[str], into: str) -> None:
    """Merge the terms ``names`` into ``into``, which is created if new.

    If a source labelled a picture with several of them, an accepted label wins over a rejected one, and a rejected one
    over a suggested one; among equals the higher score wins. Between sources, the ranking decides as usual.
    """
    target, target_dropped = make_term(connection, kind, into)
    if target_dropped:
        raise InputError(f"the {kind} {into!r} was dropped: restore it before merging into it")
    for term_id in dict.fromkeys(_live_term(connection, kind, name) for name in names):
        if term_id != target:
            merge_term(connection, term_id, target)


def drop(connection: Connection, kind: str, name: str) -> None:
    """Hide the term and everything labelled with it until it is restored."""
    connection.execute("UPDATE term SET dropped = 1 WHERE id = ?", (_live_term(connection, kind, name),))


def restore(connection: Connection, kind: str, name: str) -> None:
    """Bring a dropped term back with its labels, or make a renamed or merged name a separate name again.

    A merged name gets back the labels that it had when it was merged, as the log tells. The name that it was merged
    into goes from a picture that has it only for that reason.
    """
    check_kind(kind)
    name = clean_name(name)
    back = connection.execute("UPDATE term SET dropped = 0 WHERE kind = ? AND name = ? AND dropped", (kind, name))
    holder = connection.value("DELETE FROM alias WHERE kind = ? AND name = ? RETURNING term_id", kind, name)
    if holder is not None:
        unmerge(connection, kind, name, holder)
    elif not back.rowcount:
        raise InputError(f"the {kind} {name!r} was not dropped, renamed or merged, so it cannot be restored")


def _live_term(connection: Connection, kind: str, name: str) -> int:
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
