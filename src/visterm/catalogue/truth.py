"""The labels that people and imports gave to readable pictures, as arrays to train on."""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from visterm.catalogue.schema import snapshot

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from scipy.sparse import csr_array


@dataclass(frozen=True, slots=True)
class Truth:
    """The labels that people and imports gave to ``n_pictures`` readable pictures; row i of everything is one picture.

    ``tags`` and ``rejected`` are (n_pictures, n_tags) 0/1 matrices: the accepted tags, and the tags that a person or
    import rejected. ``paths`` has None for a picture whose files are missing; ``copies`` has the other paths of a
    picture that is stored more than once, by row; ``denied_classes`` has the classes that someone said a picture does
    not have, by row.
    """

    ids: NDArray[np.int64]
    sha256: list[str]
    paths: list[str | None]
    copies: dict[int, list[str]]
    classes: list[str | None]
    tags: csr_array
    rejected: csr_array
    tag_names: list[str]
    splits: list[str | None]
    captions: list[str | None]
    denied_classes: dict[int, frozenset[str]]

    def __len__(self) -> int:
        return len(self.sha256)

    @property
    def extent(self) -> NDArray[np.int8]:
        """How much of its tags is written of each picture."""
        return (self.tags.indptr[1:] > self.tags.indptr[:-1]).astype("i1")

    @property
    def class_acts(self) -> NDArray[np.int8]:
        """By which act each picture has its class."""
        return (self.ids * 0).astype("i1")

    @property
    def tag_acts(self) -> NDArray[np.int8]:
        """By which act each picture has its tags."""
        return (self.ids * 0).astype("i1")


def read_truth(connection: sqlite3.Connection) -> Truth:
    """Read the truth in one pass over the pictures and one over their labels."""
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
        copies = _copies(connection, ids)
        labels = _Labels(np.array(ids, dtype=np.int64))
        labels.read(connection.execute(_SAID))
    tag_names = labels.names()
    return Truth(
        ids=labels.ids,
        sha256=sha256,
        paths=paths,
        copies=copies,
        classes=labels.classes,
        tags=labels.accepted.matrix(tag_names, len(ids)),
        rejected=labels.rejected.matrix(tag_names, len(ids)),
        tag_names=tag_names,
        splits=splits,
        captions=captions,
        denied_classes=labels.denied_classes(),
    )


def _copies(connection: sqlite3.Connection, ids: Iterable[int]) -> dict[int, list[str]]:
    """All paths but the first of pictures that have several, by the place of the picture among ``ids``."""
    paths: dict[int, list[str]] = {}
    for picture_id, path in connection.execute(
        """SELECT picture_id, path FROM path WHERE NOT missing AND picture_id IN
           (SELECT picture_id FROM path WHERE NOT missing GROUP BY picture_id HAVING count(*) > 1) ORDER BY path"""
    ):
        paths.setdefault(picture_id, []).append(path)
    return {row: paths[number][1:] for row, number in enumerate(ids) if number in paths} if paths else {}


def relabelled(connection: sqlite3.Connection, known: Truth, ids: Iterable[int]) -> Truth:
    """``known`` with the labels of some pictures read again; the rest is shared with ``known``."""
    import numpy as np

    changed = np.array(sorted(set(ids).intersection(known.ids.tolist())), dtype=np.int64)
    rows = np.searchsorted(known.ids, changed)
    labels = _Labels(changed)
    with snapshot(connection):
        for number in changed.tolist():
            labels.read(connection.execute(f"{_SAID} AND picture_id = ?", (number,)))
    tag_names = sorted({*known.tag_names, *labels.names()})
    classes = list(known.classes)
    for row, name in zip(rows.tolist(), labels.classes, strict=True):
        classes[row] = name
    tags = _with_rows(known.tags, known.tag_names, tag_names, rows, labels.accepted)
    rejected = _with_rows(known.rejected, known.tag_names, tag_names, rows, labels.rejected)
    used = np.bincount(np.concatenate([tags.indices, rejected.indices]), minlength=len(tag_names)) > 0
    if not used.all():  # a tag has lost its last picture
        tags, rejected = tags[:, used], rejected[:, used]
        tag_names = [name for name, is_used in zip(tag_names, used.tolist(), strict=True) if is_used]
    denied = {row: names for row, names in known.denied_classes.items() if row not in set(rows.tolist())}
    denied |= {int(rows[place]): names for place, names in labels.denied_classes().items()}
    return replace(known, classes=classes, tags=tags, rejected=rejected, tag_names=tag_names, denied_classes=denied)


#: The labels of people and imports, without suggestions.
_SAID = "SELECT picture_id, kind, name, state, precedence FROM effective WHERE rank > 0 AND state != 'suggested'"


def labelled_before(connection: sqlite3.Connection, ids: Iterable[int], kind: str, time: int) -> set[int]:
    """Those of the pictures that people or imports gave a class, or tags, before ``time`` (microseconds)."""
    given = """SELECT 1 FROM label JOIN term ON term.id = term_id JOIN source ON source.id = source_id
               WHERE picture_id = ? AND kind = ? AND state = 'accepted' AND rank > 0 AND label.time < ?"""
    with snapshot(connection):
        return {number for number in ids if connection.execute(given, (number, kind, time)).fetchone()}


class _Labels:
    """The labels of some pictures, collected from the rows of the database."""

    def __init__(self, ids: NDArray[np.int64]) -> None:
        self.ids = ids
        self.classes: list[str | None] = [None] * len(ids)
        self.accepted, self.rejected = _Pairs(), _Pairs()
        self._highest = array("q", bytes(8 * len(ids)))
        self._denied: dict[int, set[str]] = {}
        self._row_of = {picture_id: row for row, picture_id in enumerate(ids.tolist())}

    def read(self, rows: Iterable[tuple[int, str, str, str, int]]) -> None:
        """Add labels (picture, kind, name, state, precedence); labels of other pictures are ignored."""
        for picture_id, kind, name, state, precedence in rows:
            row = self._row_of.get(picture_id)
            if row is None:
                continue
            if kind == "tag":
                (self.accepted if state == "accepted" else self.rejected).add(row, name)
            elif state == "rejected":
                self._denied.setdefault(row, set()).add(name)
            elif precedence > self._highest[row]:
                self.classes[row], self._highest[row] = name, precedence

    def denied_classes(self) -> dict[int, frozenset[str]]:
        """The classes that pictures do not have, by row."""
        return {row: frozenset(names) for row, names in self._denied.items()}

    def names(self) -> list[str]:
        """All tags, in order."""
        return sorted({*self.accepted.names, *self.rejected.names})


class _Pairs:
    """Pairs of a picture and a tag; names are numbered as they come and sorted at the end."""

    def __init__(self) -> None:
        self._rows, self._numbers = array("q"), array("q")
        self.names: dict[str, int] = {}

    def add(self, row: int, name: str) -> None:
        self._rows.append(row)
        self._numbers.append(self.names.setdefault(name, len(self.names)))

    def matrix(self, tag_names: Sequence[str], n_pictures: int) -> csr_array:
        import numpy as np
        from scipy.sparse import csr_array

        columns = {name: column for column, name in enumerate(tag_names)}
        column_of_number = np.array([columns[name] for name in self.names], dtype=np.int64)
        rows, numbers = np.array(self._rows, dtype=np.int64), np.array(self._numbers, dtype=np.int64)
        ones = np.ones(len(rows), dtype=np.float32)
        matrix = csr_array((ones, (rows, column_of_number[numbers])), shape=(n_pictures, len(tag_names)))
        matrix.sort_indices()
        return matrix


def _with_rows(
    known: csr_array, known_names: list[str], names: list[str], rows: NDArray[np.intp], pairs: _Pairs
) -> csr_array:
    """``known`` with the columns ``names``, and with ``rows`` replaced by those of ``pairs``."""
    import numpy as np
    from scipy.sparse import csr_array, vstack

    n_pictures = known.shape[0]
    place = {name: column for column, name in enumerate(names)}
    columns = np.array([place[name] for name in known_names], dtype=known.indices.dtype)
    renumbered = csr_array((known.data, columns[known.indices], known.indptr), shape=(n_pictures, len(names)))
    source = np.arange(n_pictures)
    source[rows] = n_pictures + np.arange(len(rows))
    matrix: csr_array = vstack([renumbered, pairs.matrix(names, len(rows))], format="csr")[source]
    matrix.sort_indices()
    return matrix
