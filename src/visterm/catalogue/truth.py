"""The labels that people and imports gave to readable pictures, as arrays to train on."""

import sqlite3
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from visterm.catalogue.acts import Act, Extent
from visterm.catalogue.labels import rank_of
from visterm.catalogue.records import PERSON
from visterm.catalogue.schema import snapshot


@dataclass(frozen=True, slots=True)
class Truth:
    """The labels that people and imports gave to ``n_pictures`` readable pictures; row i of everything is one picture.

    ``tags`` and ``rejected`` are (n_pictures, n_tags) 0/1 matrices: the accepted tags, and the tags that a person or
    import rejected. ``paths`` has None for a picture whose files are missing; ``copies`` has the other paths of a
    picture that is stored more than once, by row; ``denied_classes`` has the classes that someone said a picture does
    not have, by row.

    ``extent`` (n_pictures,) says how much of the tags is written (:class:`~visterm.catalogue.acts.Extent`); ``named``
    (n_labels,) which entries of ``tags`` a complete description names. ``class_acts`` and ``tag_acts`` (n_pictures,)
    say by which :class:`~visterm.catalogue.acts.Act` a picture got its class and its tags: that of the description,
    else an answer to a question that a queue chose by doubt, else to a measuring question.
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
    extent: NDArray[np.int8]
    class_acts: NDArray[np.int8]
    tag_acts: NDArray[np.int8]
    named: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.sha256)

    @property
    def loose(self) -> NDArray[np.bool_]:
        """(n_tags,) tags that pictures have and no complete description names."""
        n_tags = len(self.tag_names)
        return _used(self.tags.indices, n_tags) & ~_used(self.tags.indices[self.named], n_tags)


def read_truth(connection: sqlite3.Connection) -> Truth:
    """Read the truth in one pass over the pictures and one over their labels."""
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
        labels.describe(connection.execute(f"{_DESCRIBED} ORDER BY rank"))
        labels.read(connection.execute(_SAID))
    tag_names = labels.names()
    tags, named = _without_marks(labels.accepted.matrix(tag_names, len(ids)))
    return Truth(
        ids=labels.ids,
        sha256=sha256,
        paths=paths,
        copies=copies,
        classes=labels.classes,
        tags=tags,
        rejected=labels.rejected.matrix(tag_names, len(ids)),
        tag_names=tag_names,
        splits=splits,
        captions=captions,
        denied_classes=labels.denied_classes(),
        extent=labels.extent,
        class_acts=labels.class_acts,
        tag_acts=labels.tag_acts(),
        named=named,
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
    changed = np.array(sorted(set(ids).intersection(known.ids.tolist())), dtype=np.int64)
    rows = np.searchsorted(known.ids, changed)
    labels = _Labels(changed)
    with snapshot(connection):
        for number in changed.tolist():
            labels.describe(connection.execute(f"{_DESCRIBED} WHERE picture_id = ? ORDER BY rank", (number,)))
            labels.read(connection.execute(f"{_SAID} AND picture_id = ?", (number,)))
    tag_names = sorted({*known.tag_names, *labels.names()})
    classes = list(known.classes)
    for row, name in zip(rows.tolist(), labels.classes, strict=True):
        classes[row] = name
    marked = _marked(known.tags, known.named)
    tags = _with_rows(marked, known.tag_names, tag_names, rows, labels.accepted)
    rejected = _with_rows(known.rejected, known.tag_names, tag_names, rows, labels.rejected)
    used = _used(tags.indices, len(tag_names)) | _used(rejected.indices, len(tag_names))
    if not used.all():  # a tag has lost its last picture
        tags, rejected = tags[:, used], rejected[:, used]
        tag_names = [name for name, is_used in zip(tag_names, used.tolist(), strict=True) if is_used]
    denied = {row: names for row, names in known.denied_classes.items() if row not in set(rows.tolist())}
    denied |= {int(rows[place]): names for place, names in labels.denied_classes().items()}
    tags, named = _without_marks(tags)
    extent, class_acts, tag_acts = known.extent.copy(), known.class_acts.copy(), known.tag_acts.copy()
    extent[rows], class_acts[rows], tag_acts[rows] = labels.extent, labels.class_acts, labels.tag_acts()
    return replace(
        known,
        classes=classes,
        tags=tags,
        rejected=rejected,
        tag_names=tag_names,
        denied_classes=denied,
        extent=extent,
        class_acts=class_acts,
        tag_acts=tag_acts,
        named=named,
    )


_PERSON = rank_of(PERSON)[0]
#: Marks of tags while they are read: given somehow, or named by a complete description.
_GIVEN, _NAMED = 1.0, 2.0
#: The labels of people and imports, without suggestions.
_SAID = "SELECT picture_id, kind, name, state, act, precedence FROM effective WHERE rank > 0 AND state != 'suggested'"
#: Which pictures a source describes, and by which act.
_DESCRIBED = "SELECT picture_id, rank, act FROM described JOIN source ON source.id = source_id"


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
        self.extent: NDArray[np.int8] = np.full(len(ids), Extent.PART, np.int8)
        self.class_acts: NDArray[np.int8] = np.full(len(ids), Act.SAID, np.int8)
        self._described: dict[int, int] = {}
        self._answered: dict[int, int] = {}
        self._highest = array("q", bytes(8 * len(ids)))
        self._denied: dict[int, set[str]] = {}
        self._row_of = {picture_id: row for row, picture_id in enumerate(ids.tolist())}

    def describe(self, rows: Iterable[tuple[int, int, int]]) -> None:
        """Add descriptions (picture, rank of the source, act), those of people last: before the labels."""
        for picture_id, rank, act in rows:
            row = self._row_of.get(picture_id)
            if row is not None:
                self.extent[row] = Extent.WHOLE if rank == _PERSON else Extent.CLAIMED
                self._described[row] = act

    def read(self, rows: Iterable[tuple[int, str, str, str, int, int]]) -> None:
        """Add labels (picture, kind, name, state, act, precedence); labels of other pictures are ignored."""
        for picture_id, kind, name, state, act, precedence in rows:
            row = self._row_of.get(picture_id)
            if row is None:
                continue
            if kind == "tag":
                if state == "accepted":
                    described = self._described.get(row)
                    is_named = described is not None and act in (Act.DESCRIBED, described)
                    self.accepted.add(row, name, _NAMED if is_named else _GIVEN)
                else:
                    self.rejected.add(row, name)
                if act == Act.ANSWERED or (act == Act.MEASURED and row not in self._answered):
                    self._answered[row] = act
            elif state == "rejected":
                self._denied.setdefault(row, set()).add(name)
            elif precedence > self._highest[row]:
                self.classes[row], self.class_acts[row], self._highest[row] = name, act, precedence

    def denied_classes(self) -> dict[int, frozenset[str]]:
        """The classes that pictures do not have, by row."""
        return {row: frozenset(names) for row, names in self._denied.items()}

    def tag_acts(self) -> NDArray[np.int8]:
        """By which act each picture got its tags."""
        acts = self.class_acts * 0
        for row, act in (self._answered | self._described).items():
            acts[row] = act
        return acts

    def names(self) -> list[str]:
        """All tags, in order."""
        return sorted({*self.accepted.names, *self.rejected.names})


class _Pairs:
    """Pairs of a picture and a tag, each with a mark; names are numbered as they come and sorted at the end."""

    def __init__(self) -> None:
        self._rows, self._numbers, self._marks = array("q"), array("q"), array("f")
        self.names: dict[str, int] = {}

    def add(self, row: int, name: str, mark: float = 1.0) -> None:
        self._rows.append(row)
        self._marks.append(mark)
        self._numbers.append(self.names.setdefault(name, len(self.names)))

    def matrix(self, tag_names: Sequence[str], n_pictures: int) -> csr_array:
        columns = {name: column for column, name in enumerate(tag_names)}
        column_of_number = np.array([columns[name] for name in self.names], dtype=np.int64)
        rows, numbers = np.array(self._rows, dtype=np.int64), np.array(self._numbers, dtype=np.int64)
        marks = np.array(self._marks, dtype=np.float32)
        matrix = csr_array((marks, (rows, column_of_number[numbers])), shape=(n_pictures, len(tag_names)))
        matrix.sort_indices()
        return matrix


def _used(columns: NDArray[np.integer[Any]], n_tags: int) -> NDArray[np.bool_]:
    """Which tags are among ``columns``."""
    return np.bincount(columns, minlength=n_tags) > 0


def _marked(tags: csr_array, named: NDArray[np.bool_]) -> csr_array:
    """Tags as they are read: marked where a complete description names them."""
    marks = np.where(named, np.float32(_NAMED), np.float32(_GIVEN))
    return csr_array((marks, tags.indices, tags.indptr), shape=tags.shape)


def _without_marks(tags: csr_array) -> tuple[csr_array, NDArray[np.bool_]]:
    """Tags as 0/1, and which of them were marked."""
    ones = np.ones(len(tags.data), np.float32)
    return csr_array((ones, tags.indices, tags.indptr), shape=tags.shape), tags.data == _NAMED


def _with_rows(
    known: csr_array, known_names: list[str], names: list[str], rows: NDArray[np.intp], pairs: _Pairs
) -> csr_array:
    """``known`` with the columns ``names``, and with ``rows`` replaced by those of ``pairs``."""
    n_pictures = known.shape[0]
    place = {name: column for column, name in enumerate(names)}
    columns = np.array([place[name] for name in known_names], dtype=known.indices.dtype)
    renumbered = csr_array((known.data, columns[known.indices], known.indptr), shape=(n_pictures, len(names)))
    source = np.arange(n_pictures)
    source[rows] = n_pictures + np.arange(len(rows))
    matrix: csr_array = vstack([renumbered, pairs.matrix(names, len(rows))], format="csr")[source]
    matrix.sort_indices()
    return matrix
