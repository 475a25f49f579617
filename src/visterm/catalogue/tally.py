"""Counts the labels of all pictures by term, without sorting them: a sort of millions takes most of the time."""

from collections.abc import Iterator
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from visterm.catalogue.log import Connection

#: The states of a label, by their number here.
STATES = ("accepted", "suggested", "rejected")
#: Labels read at a time.
_BLOCK = 2**17

Integers = NDArray[np.int64]


def effective_labels(connection: Connection) -> Iterator[tuple[Integers, Integers, Integers, Integers]]:
    """The effective labels, dropped terms included: picture, term, number of the state, and precedence, in blocks."""
    cursor = connection.execute(
        """SELECT picture_id, term_id, CASE state WHEN 'accepted' THEN 0 WHEN 'suggested' THEN 1 ELSE 2 END,
                  max((rank << 60) + (sequence << 24) + source_id)
           FROM label CROSS JOIN source ON source.id = source_id GROUP BY picture_id, term_id"""
    )
    while (block := np.fromiter(chain.from_iterable(islice(cursor, _BLOCK)), np.int64)).size:
        picture, term, state, precedence = block.reshape(-1, 4).T
        yield picture, term, state, precedence


def terms(connection: Connection, kind: str) -> dict[int, str]:
    """The names of the terms of ``kind`` that are not dropped, by number."""
    return dict(connection.execute("SELECT id, name FROM term WHERE kind = ? AND NOT dropped", (kind,)).fetchall())


def uses_by_state(connection: Connection) -> NDArray[np.int64]:
    """(n_terms + 1, 3): for each number of a term, the pictures with an effective label of each state."""
    n = _highest(connection, "term")
    counts = np.zeros((n + 1) * len(STATES), np.int64)
    for _, term, state, _ in effective_labels(connection):
        counts += np.bincount(term * len(STATES) + state, minlength=len(counts))
    return counts.reshape(-1, len(STATES))


def accepted(connection: Connection, classes: dict[int, str], tags: dict[int, str]) -> dict[str, tuple[Integers, int]]:
    """By kind: the readable pictures of each term by number, and how many have any.

    A picture has one class: of several, the one with the highest precedence.
    """
    n_terms, n_pictures = _highest(connection, "term"), _highest(connection, "picture")
    readable = np.ones(n_pictures + 1, np.bool_)
    readable[connection.values("SELECT id FROM picture WHERE state != 'ok'")] = False
    is_class, is_tag = (np.isin(np.arange(n_terms + 1), list(names)) for names in (classes, tags))
    of_tag, has_tag = np.zeros(n_terms + 1, np.int64), np.zeros(n_pictures + 1, np.bool_)
    class_of, highest = (np.full(n_pictures + 1, -1, np.int64) for _ in range(2))
    for picture, term, state, precedence in effective_labels(connection):
        counts = (state == 0) & readable[picture]
        tagged, classified = counts & is_tag[term], counts & is_class[term]
        of_tag += np.bincount(term[tagged], minlength=n_terms + 1)
        has_tag[picture[tagged]] = True
        order = np.flatnonzero(classified)
        order = order[np.argsort(precedence[order], kind="stable")]  # of several, the last one written stays
        order = order[precedence[order] > highest[picture[order]]]
        class_of[picture[order]], highest[picture[order]] = term[order], precedence[order]
    of_class = np.bincount(class_of[class_of >= 0], minlength=n_terms + 1)
    return {"class": (of_class, int(of_class.sum())), "tag": (of_tag, int(has_tag.sum()))}


def _highest(connection: Connection, table: str) -> int:
    return int(connection.value(f"SELECT max(id) FROM {table}") or 0)  # noqa: S608 - a name of ours
