"""What is known for certain of the readable pictures, as arrays to train on."""

from __future__ import annotations

import sqlite3
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

from visterm.catalogue.schema import snapshot

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from scipy.sparse import csr_array


@dataclass(frozen=True, slots=True)
class Truth:
    """What people and imports say of the ``n_pictures`` readable pictures; row i of everything is one picture.

    ``tags`` and ``rejected`` are (n_pictures, n_tags) 0/1 matrices: the accepted tags, and those a person or import
    said do not apply. ``paths`` holds None for a picture whose files are missing.
    """

    ids: NDArray[np.int64]
    sha256: list[str]
    paths: list[str | None]
    classes: list[str | None]
    tags: csr_array
    rejected: csr_array
    tag_names: list[str]
    splits: list[str | None]
    captions: list[str | None]

    def __len__(self) -> int:
        return len(self.sha256)


def read_truth(connection: sqlite3.Connection) -> Truth:
    """One pass over the pictures and one over their labels."""
    import numpy as np

    with snapshot(connection):
        ids = array("q")
        sha256: list[str] = []
        paths: list[str | None] = []
        splits: list[str | None] = []
        captions: list[str | None] = []
        for picture_id, digest, path, split, caption in connection.execute(
            """SELECT id, sha256, min(path), split, caption FROM picture
               LEFT JOIN path ON picture_id = id AND NOT missing WHERE state = 'ok' GROUP BY id ORDER BY id"""
        ):
            ids.append(picture_id)
            sha256.append(digest)
            paths.append(path)
            splits.append(split)
            captions.append(caption)
        row_of = {picture_id: row for row, picture_id in enumerate(ids)}
        classes: list[str | None] = [None] * len(ids)
        highest = array("q", bytes(8 * len(ids)))
        accepted, rejected = _Pairs(), _Pairs()
        names: set[str] = set()
        for picture_id, kind, name, state, precedence in connection.execute(
            "SELECT picture_id, kind, name, state, precedence FROM effective WHERE rank > 0 AND state != 'suggested'"
        ):
            row = row_of.get(picture_id)
            if row is None:
                continue
            if kind == "tag":
                names.add(name)
                (accepted if state == "accepted" else rejected).add(row, name)
            elif state == "accepted" and precedence > highest[row]:
                classes[row], highest[row] = name, precedence
    tag_names = sorted(names)
    columns = {name: column for column, name in enumerate(tag_names)}
    shape = (len(ids), len(tag_names))
    return Truth(
        np.array(ids, dtype=np.int64),
        sha256,
        paths,
        classes,
        accepted.matrix(columns, shape),
        rejected.matrix(columns, shape),
        tag_names,
        splits,
        captions,
    )


class _Pairs:
    """Pictures and tags that belong together; names are numbered as they come and put in order at the end."""

    def __init__(self) -> None:
        self._rows, self._numbers = array("q"), array("q")
        self._number_of: dict[str, int] = {}

    def add(self, row: int, name: str) -> None:
        self._rows.append(row)
        self._numbers.append(self._number_of.setdefault(name, len(self._number_of)))

    def matrix(self, columns: dict[str, int], shape: tuple[int, int]) -> csr_array:
        import numpy as np
        from scipy.sparse import csr_array

        column_of_number = np.array([columns[name] for name in self._number_of], dtype=np.int64)
        rows, numbers = np.array(self._rows, dtype=np.int64), np.array(self._numbers, dtype=np.int64)
        matrix = csr_array((np.ones(len(rows), dtype=np.float32), (rows, column_of_number[numbers])), shape=shape)
        matrix.sort_indices()
        return matrix
