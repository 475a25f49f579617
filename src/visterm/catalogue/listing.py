"""What a gallery needs of all pictures at once: their size, when they were added, and who said something of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntFlag
from typing import TYPE_CHECKING

from visterm.catalogue.labels import rank_of
from visterm.catalogue.records import IMPORT, PERSON
from visterm.catalogue.schema import snapshot

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Said(IntFlag):
    """Who said something of a picture, over all its effective labels; what models suggest does not count."""

    PERSON = 1
    IMPORT = 2
    REJECTED = 4
    REJECTED_CLASS = 8


@dataclass(frozen=True, slots=True)
class Listing:
    """One row per readable picture, in the order of ``ids``; ``heights`` and ``widths`` are as a person sees it."""

    ids: NDArray[np.int64]
    widths: NDArray[np.int32]
    heights: NDArray[np.int32]
    added: NDArray[np.int64]


def read_listing(connection: sqlite3.Connection) -> Listing:
    """The sizes of all readable pictures, in the order of their ids."""
    import numpy as np

    rows = connection.execute(
        "SELECT id, coalesce(width, 1), coalesce(height, 1), added FROM picture WHERE state = 'ok' ORDER BY id"
    ).fetchall()
    table = np.array(rows, dtype=np.int64).reshape(-1, 4)
    return Listing(table[:, 0], table[:, 1].astype(np.int32), table[:, 2].astype(np.int32), table[:, 3])


def read_said(connection: sqlite3.Connection, ids: Iterable[int] | None = None) -> dict[int, int]:
    """Who said what, as :class:`Said` flags by picture id; of all pictures or of some. Others have no label."""
    ranks = {rank_of(PERSON)[0]: Said.PERSON, rank_of(IMPORT)[0]: Said.IMPORT}
    denied = {"tag": Said.REJECTED, "class": Said.REJECTED | Said.REJECTED_CLASS}
    wanted = "SELECT picture_id, kind, rank, state FROM effective WHERE rank > 0 AND state != 'suggested'"
    said: dict[int, int] = {}

    def read(rows: Iterable[tuple[int, str, int, str]]) -> None:
        for picture, kind, rank, state in rows:
            said[picture] = said.get(picture, 0) | (denied[kind] if state == "rejected" else ranks[rank])

    with snapshot(connection):
        if ids is None:
            read(connection.execute(wanted))
        else:
            for number in ids:
                read(connection.execute(f"{wanted} AND picture_id = ?", (int(number),)))
    return said
