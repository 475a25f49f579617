"""Checks a catalogue for damage."""

import sqlite3

from visterm.catalogue.log import LOGGED

# States that must never occur, each with a query that counts them.
_IMPOSSIBLE = (
    ("readable pictures without a size", "SELECT count(*) FROM picture WHERE state = 'ok' AND width IS NULL"),
    ("unreadable pictures without a reason", "SELECT count(*) FROM picture WHERE state != 'ok' AND reason IS NULL"),
    (
        "names that are both a term and another name of a term",
        "SELECT count(*) FROM alias JOIN term USING (kind, name)",
    ),
    (
        "other names that belong to a term of another kind",
        "SELECT count(*) FROM alias JOIN term ON term.id = term_id WHERE alias.kind != term.kind",
    ),
    (
        "regions named by a class instead of a tag",
        "SELECT count(*) FROM region JOIN term ON term.id = term_id WHERE kind != 'tag'",
    ),
    *(
        (
            f"{which}content hashes that are none",
            f"SELECT count(*) FROM {table} WHERE length(sha256) != 64 OR sha256 GLOB '*[^0-9a-f]*'",  # noqa: S608
        )
        for which, table in (("", "picture"), ("earlier ", "version"), ("removed ", "removed"))
    ),
    (
        "pictures of an impossible size",
        """SELECT count(*) FROM picture WHERE size < 0 OR width <= 0 OR height <= 0 OR orientation NOT BETWEEN 1 AND 8
           OR width > 1000000000 OR height > 1000000000""",
    ),
    (
        "impossible times",
        # 253402300799999999 is the last microsecond that has a date
        """SELECT count(*) FROM (SELECT time FROM label UNION ALL SELECT added FROM picture
               UNION ALL SELECT time FROM action UNION ALL SELECT undone_time FROM action)
           WHERE time NOT BETWEEN 0 AND 253402300799999999""",
    ),
    ("labels of an impossible sequence", "SELECT count(*) FROM label WHERE sequence NOT BETWEEN 0 AND 1 << 36"),
    ("ids out of range", "SELECT count(*) FROM picture WHERE id NOT BETWEEN 1 AND 1 << 40"),
    (
        "sources of an impossible name",
        """SELECT count(*) FROM source WHERE rank != CASE WHEN name = 'person' THEN 2
               WHEN name = 'import' OR name GLOB 'import *' THEN 1
               WHEN name GLOB 'model ?*@[0-9]*' THEN 0 ELSE 9 END""",
    ),
    (
        "descriptions by models",
        "SELECT count(*) FROM described JOIN source ON source.id = source_id WHERE rank = 0",
    ),
    (
        "empty names",
        "SELECT (SELECT count(*) FROM term WHERE name = '') + (SELECT count(*) FROM alias WHERE name = '')",
    ),
    (
        "pictures that have no file, no label and no history",
        """SELECT count(*) FROM picture WHERE caption IS NULL AND id NOT IN (SELECT picture_id FROM path)
           AND id NOT IN (SELECT picture_id FROM label) AND NOT EXISTS (
               SELECT 1 FROM change WHERE picture_id = picture.id)""",
    ),
    (
        "actions whose changes are not in the log",
        """SELECT count(*) FROM action WHERE first > last OR first < 1
           OR last > (SELECT coalesce(max(id), 0) FROM change)""",
    ),
    ("sequence numbers instead of one", "SELECT iif(count(*) = 1 AND min(number) >= 0, 0, 1) FROM sequence"),
    (
        "pictures with two accepted classes from one source",
        """SELECT count(*) FROM (
               SELECT 1 FROM label JOIN term ON term.id = term_id WHERE kind = 'class' AND state = 'accepted'
               GROUP BY picture_id, source_id HAVING count(*) > 1)""",
    ),
)


def problems(connection: sqlite3.Connection) -> list[str]:
    """What is wrong with the database: damage, broken references, impossible contents; empty if nothing is."""
    try:
        found = [" ".join(text.split()) for (text,) in connection.execute("PRAGMA integrity_check") if text != "ok"]
        found += [
            f"row {row} of {table} refers to a {parent} that does not exist"
            for table, row, parent, _ in connection.execute("PRAGMA foreign_key_check")
        ]
        wrong = _wrong_values(connection)
        if wrong:  # the questions below expect values of the right type
            return found + wrong
        for what, question in _IMPOSSIBLE:
            (n_offenders,) = connection.execute(question).fetchone()
            if n_offenders:
                found.append(f"{n_offenders} {what}")
        if n_unreadable := _unreadable_changes(connection):
            found.append(f"{n_unreadable} changes in the log that cannot be read")
    except (sqlite3.Error, UnicodeError) as error:
        return [f"the database cannot be read: {error}"]
    return found


def _unreadable_changes(connection: sqlite3.Connection) -> int:
    """How many changes in the log are no rows of a table that is logged."""
    lengths = " ".join(f"WHEN '{kind}' THEN {len(logged.columns)}" for kind, logged in LOGGED.items())
    (number,) = connection.execute(
        f"""SELECT count(*) FROM (
                SELECT coalesce(before, after) AS one, coalesce(after, before) AS other,
                       CASE kind {lengths} END AS length FROM change)
            WHERE length IS NULL OR one IS NULL OR NOT json_valid(one) OR NOT json_valid(other)
            OR json_array_length(one) != length OR json_array_length(other) != length"""  # noqa: S608 - constants
    ).fetchone()
    return int(number)


#: The types of values that a column of a declared type may hold.
_TYPES = {"TEXT": "'text', 'null'", "INTEGER": "'integer', 'null'", "REAL": "'real', 'integer', 'null'"}


def _wrong_values(connection: sqlite3.Connection) -> list[str]:
    """Values of another type than their column has, and text that is no UTF-8."""
    found = []
    tables = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*' ORDER BY name"
    ).fetchall()
    for (table,) in tables:
        for column, declared in connection.execute("SELECT name, type FROM pragma_table_info(?)", (table,)).fetchall():
            of = f"FROM {table} WHERE typeof({column})"
            (number,) = connection.execute(f"SELECT count(*) {of} NOT IN ({_TYPES[declared]})").fetchone()
            texts = connection.execute(f"SELECT CAST({column} AS BLOB) {of} = 'text'")
            number += sum(not _is_text(text) for (text,) in texts) if declared == "TEXT" else 0
            if number:
                found.append(f"{number} wrong values in column {column} of {table}")
    return found


def _is_text(text: bytes) -> bool:
    try:
        return "\0" not in text.decode("utf-8")
    except UnicodeDecodeError:
        return False
