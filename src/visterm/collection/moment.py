"""The collection at one moment, kept in memory and renewed when any process has changed the catalogue."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.catalogue.catalogue import Catalogue
from visterm.catalogue.labels import Kind
from visterm.catalogue.truth import Truth
from visterm.collection.evidence import Evidence
from visterm.collection.facts import Facts

#: Part of what is hashed to draw pictures, so that their order is not that of the content hashes themselves.
_SALT = b"visterm measuring sample"


@dataclass(frozen=True, eq=False)
class Frame:
    """What labels hang on: pictures, files, captions, their language, and the names of the vocabulary.

    Labels change often and the frame seldom: what rests on it alone is kept as long as it is the same object.
    """

    folder: Path
    sha256: list[str]
    paths: list[str | None]
    copies: dict[int, list[str]]
    captions: list[str | None]
    aliases: dict[Kind, dict[str, str]]
    dropped: dict[Kind, list[str]]
    language: str

    @cached_property
    def rows(self) -> list[int]:
        """The rows of the pictures that have a file."""
        return [row for row, path in enumerate(self.paths) if path is not None]

    @cached_property
    def keys(self) -> list[str]:
        """The content hashes of the pictures that have a file."""
        return [self.sha256[row] for row in self.rows]

    @cached_property
    def in_measuring_order(self) -> NDArray[np.intp]:
        """The rows of the pictures that have a file, in the order in which they are drawn to measure on."""
        return np.array(self.rows, np.intp)[measuring_order(self.keys)]

    @cached_property
    def folders(self) -> tuple[list[str], NDArray[np.intp]]:
        """The folders, sorted, "" for the collection's own; and the number of that of each picture that has a file."""
        own = [(self.paths[row] or "").rpartition("/")[0] for row in self.rows]
        names = sorted(set(own))
        number = {name: place for place, name in enumerate(names)}
        return names, np.array([number[name] for name in own], np.intp)

    @cached_property
    def files(self) -> dict[str, Path | None]:
        """The file of every picture by its content hash, None where it is missing."""
        places = zip(self.sha256, self.paths, strict=True)
        return {key: None if path is None else self.folder / path for key, path in places}

    def current_names(self, kind: Kind, names: tuple[str, ...]) -> list[str]:
        """What a model's names are called now: renamed and merged ones by their new name, dropped ones by none."""
        dropped = set(self.dropped[kind])
        current = [self.aliases[kind].get(name, name) for name in names]
        return ["" if name in dropped else name for name in current]

    def is_that_of(self, other: Frame) -> bool:
        """Whether nothing differs."""
        parts = ("sha256", "paths", "copies", "captions", "aliases", "dropped", "language")
        return all(getattr(self, part) == getattr(other, part) for part in parts)


@dataclass(frozen=True, eq=False)
class Collection:
    """The readable pictures and what people and imports say of them, at the catalogue's ``version``.

    Rows of ``truth`` are all readable pictures; rows of ``evidence`` and ``facts`` are those that have a file,
    ``frame.rows``.
    """

    version: tuple[int, int]
    frame: Frame
    truth: Truth
    evidence: Evidence
    facts: Facts


class Collections:
    """The newest :class:`Collection` of a catalogue; any number of threads may ask for it."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._guard = threading.Lock()
        self._newest: Collection | None = None

    def newest(self) -> Collection:
        """The collection as it is now; it is read again only as far as it has changed."""
        with self._guard:
            version = self._catalogue.version()
            if self._newest is None or self._newest.version != version:
                self._newest = self._relabelled(self._newest, version) or self._read(self._newest, version)
            return self._newest

    def _relabelled(self, known: Collection | None, version: tuple[int, int]) -> Collection | None:
        """``known`` with the labels that this process has written since; None where more has changed."""
        if known is None or version[1] == known.version[1]:  # a change that nobody counted
            return None
        changed = self._catalogue.relabelled_since(known.version[1])
        if changed is None:
            return None
        if not changed:  # suggestions of models, which are not the truth
            return replace(known, version=version)
        truth = self._catalogue.relabelled(known.truth, changed)
        evidence = known.evidence.relabelled(**_labels(truth, known.frame))
        return replace(known, version=version, truth=truth, evidence=evidence)

    def _read(self, known: Collection | None, version: tuple[int, int]) -> Collection:
        catalogue = self._catalogue
        truth = catalogue.truth()
        frame = Frame(
            folder=catalogue.root,
            sha256=truth.sha256,
            paths=truth.paths,
            copies=truth.copies,
            captions=truth.captions,
            aliases={kind: catalogue.aliases(kind) for kind in ("class", "tag")},
            dropped={kind: catalogue.dropped(kind) for kind in ("class", "tag")},
            language=catalogue.language,
        )
        if known is not None and frame.is_that_of(known.frame):
            evidence = known.evidence.relabelled(**_labels(truth, known.frame))
            return Collection(version, known.frame, truth, evidence, self._facts(truth, known.frame, known.facts))
        return Collection(version, frame, truth, _evidence(truth, frame), self._facts(truth, frame))

    def _facts(self, truth: Truth, frame: Frame, earlier: Facts | None = None) -> Facts:
        return Facts(lambda: self._catalogue.metadata_columns(truth.ids[frame.rows].tolist()), earlier)


def _evidence(truth: Truth, frame: Frame) -> Evidence:
    rows = frame.rows
    return Evidence(
        [frame.paths[row] or "" for row in rows],
        copies={place: frame.copies[row] for place, row in enumerate(rows) if row in frame.copies},
        captions=[frame.captions[row] for row in rows],
        language=frame.language,
        **_labels(truth, frame),
    )


def _labels(truth: Truth, frame: Frame) -> dict[str, Any]:
    """The labels of the pictures that have a file, as :class:`Evidence` takes them."""
    rows = frame.rows
    return {
        "tags": truth.tags[rows],
        "tag_names": truth.tag_names,
        "denied": truth.rejected[rows],
        "classes": [truth.classes[row] for row in rows],
        "denied_classes": _of_rows(truth.denied_classes, rows),
    }


def _of_rows(by_row: dict[int, frozenset[str]], rows: list[int]) -> dict[int, frozenset[str]]:
    """The same by the place of each row among ``rows``."""
    return {place: by_row[row] for place, row in enumerate(rows) if row in by_row} if by_row else {}


def measuring_order(keys: Sequence[str]) -> NDArray[np.intp]:
    """The places of ``keys`` by the hash of these content hashes: random, and decided by nothing but the content.

    Pictures that are added come between the others, wherever their hash says. Names and places do not matter, and
    every copy of a collection has the same order.
    """
    digests = [hashlib.sha256(_SALT + key.encode()).digest() for key in keys]
    return np.array(sorted(range(len(keys)), key=digests.__getitem__), np.intp)
