"""What people say of pictures that look like copies of each other, within the caller's transaction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, get_args

from visterm.catalogue.log import Connection
from visterm.errors import InputError

#: Two pictures are the same picture, two of one series, or have nothing to do with each other.
Verdict = Literal["same", "series", "different"]


@dataclass(frozen=True)
class Twins:
    """The verdict of each pair of picture ids, the smaller one first, and the pictures that are to be kept."""

    verdicts: dict[tuple[int, int], Verdict]
    kept: frozenset[int]


def read_twins(connection: Connection) -> Twins:
    """All that people said."""
    rows = connection.execute("SELECT first, second, said FROM pair")
    verdicts = {(first, second): said for first, second, said in rows}
    return Twins(verdicts, frozenset(connection.values("SELECT picture_id FROM kept")))


def judge(connection: Connection, pairs: Iterable[tuple[int, int]], said: Verdict, time: int) -> None:
    """Say the same of some pairs; a new verdict replaces an earlier one."""
    if said not in get_args(Verdict):
        raise InputError(f"two pictures are {', '.join(get_args(Verdict))}; {said!r} is no verdict")
    connection.executemany(
        """INSERT INTO pair VALUES (?, ?, ?, ?) ON CONFLICT (first, second) DO UPDATE
           SET (said, time) = (excluded.said, excluded.time) WHERE said != excluded.said""",
        [(*sorted(pair), said, time) for pair in pairs],
    )


def keep_pictures(connection: Connection, kept: Iterable[int], others: Iterable[int], time: int) -> None:
    """Keep some pictures, and not the others."""
    connection.executemany("DELETE FROM kept WHERE picture_id = ?", [(picture,) for picture in others])
    connection.executemany("INSERT OR IGNORE INTO kept VALUES (?, ?)", [(picture, time) for picture in kept])


def give_verdicts(connection: Connection, giver: int, taker: int) -> None:
    """Copy what people said of one picture to another, where they have not said it of that one."""
    connection.execute(
        """INSERT OR IGNORE INTO pair
           SELECT min(other, ?2), max(other, ?2), said, time FROM (
               SELECT iif(first = ?1, second, first) AS other, said, time FROM pair WHERE ?1 IN (first, second))
           WHERE other != ?2""",
        (giver, taker),
    )
    connection.execute("INSERT OR IGNORE INTO kept SELECT ?2, time FROM kept WHERE picture_id = ?1", (giver, taker))


def pairs_of(pictures: Iterable[int]) -> list[tuple[int, int]]:
    """All pairs of some pictures.

    >>> pairs_of([3, 1, 2])
    [(1, 2), (1, 3), (2, 3)]
    """
    return list(combinations(sorted(set(pictures)), 2))
