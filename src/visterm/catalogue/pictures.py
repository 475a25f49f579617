"""Pictures of the catalogue, read in blocks with all their labels."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from visterm.catalogue.acts import WORDS, Act
from visterm.catalogue.labels import rank_of
from visterm.catalogue.metadata import NOTHING, Metadata, read_metadata, read_titles
from visterm.catalogue.records import IMPORT, PERSON, Region
from visterm.catalogue.schema import snapshot

#: Pictures read at once: a compromise between few queries and little memory.
BLOCK = 500
_PERSON = rank_of(PERSON)[0]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Label:
    """A class or tag of a picture: its source, its state (``accepted``, ``rejected`` or ``suggested``), and its time.

    ``time`` is in UTC and ISO format. ``act`` says how it was given: ``said``, ``described``, ``answered``,
    ``measured`` or ``accepted`` (:class:`~visterm.catalogue.acts.Act`).
    """

    name: str
    source: str
    state: str
    score: float | None
    time: str
    act: str = Act.SAID.word


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureFacts:
    """What people and imports said of a picture, and its files, as the catalogue and every document have it.

    ``paths`` are in POSIX form, relative to the collection's root if inside it; files that are gone come last. A
    picture is ``missing`` if all its files are gone. ``classes`` are all class labels (also suggested and rejected),
    ``tags`` all tag labels, both sorted by name. ``described`` is the highest-ranking source that says that its tags of
    the picture are all; None if nobody says so. ``title`` is the one that a person gave, else that of ``metadata``,
    which is what the picture's file and sidecars say.
    """

    id: int
    paths: tuple[str, ...]
    width: int | None
    height: int | None
    state: str
    reason: str | None
    split: str | None
    caption: str | None
    classes: tuple[Label, ...]
    tags: tuple[Label, ...]
    missing: bool
    described: str | None = None
    title: str | None = None
    metadata: Metadata = NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture(PictureFacts):
    """A picture of the catalogue with its effective labels, those of the highest-ranking source.

    ``class_label`` is the accepted class. ``own_texts`` are those of ``caption`` and ``title`` that a person wrote.
    """

    sha256: str
    size: int
    orientation: int | None
    class_label: Label | None
    regions: tuple[Region, ...]
    own_texts: tuple[str, ...] = ()

    @property
    def suggested_class(self) -> Label | None:
        """The class that models suggest as the likeliest; of equally likely ones, the first by name."""
        suggested = (label for label in self.classes if label.state == "suggested")
        return max(suggested, key=lambda label: -1.0 if label.score is None else label.score, default=None)


@dataclass(frozen=True, slots=True)
class Examined:
    """A file that was read: its path, the hash of its content, and what the content is.

    ``pixels`` is the hash of the pixels alone, without metadata.
    """

    path: str
    sha256: str
    size: int
    mtime_ns: int
    width: int | None = None
    height: int | None = None
    orientation: int | None = None
    reason: str | None = None
    pixels: str | None = None

    @property
    def state(self) -> str:
        """``ok``, or ``unreadable`` if there is a reason."""
        return "ok" if self.reason is None else "unreadable"


def read_pictures(connection: sqlite3.Connection, *, state: str | None = None) -> Iterator[Picture]:
    """All pictures in order of id. No statement stays open between blocks, so the caller may write meanwhile."""
    last = 0
    while True:
        ids = connection.execute(
            "SELECT id FROM picture WHERE id > ?1 AND (?2 IS NULL OR state = ?2) ORDER BY id LIMIT ?3",
            (last, state, BLOCK),
        ).fetchall()
        if not ids:
            return
        first, last = ids[0][0], ids[-1][0]
        yield from read_block(connection, first, last, state=state)


def read_block(connection: sqlite3.Connection, first: int, last: int, *, state: str | None = None) -> list[Picture]:
    """The pictures with ids ``first`` to ``last`` (inclusive)."""
    with snapshot(connection):
        return _read_block(connection, first, last, state)


def _read_block(connection: sqlite3.Connection, first: int, last: int, state: str | None) -> list[Picture]:
    span = (first, last)
    paths: defaultdict[int, list[str]] = defaultdict(list)
    present: set[int] = set()
    for picture_id, path, missing in connection.execute(
        "SELECT picture_id, path, missing FROM path WHERE picture_id BETWEEN ? AND ? ORDER BY missing, path", span
    ):
        paths[picture_id].append(path)
        if not missing:
            present.add(picture_id)
    classes, tags = _read_labels(connection, span)
    described: dict[int, str] = dict(
        connection.execute(
            """SELECT picture_id, CASE rank WHEN 1 THEN ? ELSE name END FROM described
               JOIN source ON source.id = source_id WHERE picture_id BETWEEN ? AND ? ORDER BY rank""",
            (IMPORT, *span),
        ).fetchall()
    )
    regions: defaultdict[int, list[Region]] = defaultdict(list)
    for picture_id, *region in connection.execute(
        """SELECT picture_id, name, left, top, right, bottom FROM region JOIN term ON term.id = term_id
           WHERE picture_id BETWEEN ? AND ? AND NOT dropped ORDER BY region.id""",
        span,
    ):
        regions[picture_id].append(Region(*region))
    metadata, titles = read_metadata(connection, span), read_titles(connection, span)
    rows = connection.execute(
        """SELECT id, sha256, size, width, height, orientation, state, reason, split, caption,
               (SELECT rank FROM source WHERE id = caption_source) FROM picture
           WHERE id BETWEEN ?1 AND ?2 AND (?3 IS NULL OR state = ?3) ORDER BY id""",
        (*span, state),
    )
    return [
        Picture(
            id=picture_id,
            sha256=sha256,
            paths=tuple(paths[picture_id]),
            size=size,
            width=width,
            height=height,
            orientation=orientation,
            state=readable,
            reason=reason,
            split=split,
            caption=caption,
            class_label=_accepted(classes[picture_id]),
            classes=tuple(label for _, label in classes[picture_id]),
            tags=tuple(tags[picture_id]),
            regions=tuple(regions[picture_id]),
            missing=picture_id not in present,
            described=described.get(picture_id),
            title=titles.get(picture_id) or metadata.get(picture_id, NOTHING).title,
            metadata=metadata.get(picture_id, NOTHING),
            own_texts=(*(("caption",) if rank == _PERSON else ()), *(("title",) if picture_id in titles else ())),
        )
        for picture_id, sha256, size, width, height, orientation, readable, reason, split, caption, rank in rows
    ]


def _read_labels(
    connection: sqlite3.Connection, span: tuple[int, int]
) -> tuple[defaultdict[int, list[tuple[int, Label]]], defaultdict[int, list[Label]]]:
    """The classes of the pictures with ids ``span``, each with its precedence, and their tags."""
    classes: defaultdict[int, list[tuple[int, Label]]] = defaultdict(list)
    tags: defaultdict[int, list[Label]] = defaultdict(list)
    times: dict[int, str] = {}  # labels written together share a time
    for picture_id, kind, precedence, name, source, state, score, time, act in connection.execute(
        """SELECT picture_id, kind, precedence, name, source, state, score, time, act FROM effective
           WHERE picture_id BETWEEN ? AND ? ORDER BY name""",
        span,
    ):
        if time not in times:
            times[time] = iso_time(time)
        label = Label(name, source, state, score, times[time], WORDS[act])
        if kind == "class":
            classes[picture_id].append((precedence, label))
        else:
            tags[picture_id].append(label)
    return classes, tags


def iso_time(microseconds: int) -> str:
    """A time of the catalogue in ISO format, in UTC."""
    return (_EPOCH + timedelta(microseconds=microseconds)).isoformat(timespec="microseconds")


def _accepted(classes: list[tuple[int, Label]]) -> Label | None:
    """The accepted class of the highest-ranking source; among equals, the newest."""
    accepted = [(precedence, label) for precedence, label in classes if label.state == "accepted"]
    return max(accepted, key=lambda pair: pair[0])[1] if accepted else None
