"""Pictures with their features and labels as arrays: the input of training and of every protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.calibration import Written
from visterm.catalogue.acts import Act
from visterm.catalogue.parts import is_test
from visterm.contracts import UNKNOWN_CLASS, Features, Task, n_pictures, take
from visterm.errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """How pictures came to their classes, or to their tags: ``act`` is by which act.

    ``place`` is the place of a picture in the measuring sample, -1 if it is not in it, or if the sample does not stand
    for all pictures.
    """

    place: NDArray[np.int64]
    act: NDArray[np.int8]

    @property
    def in_sample(self) -> NDArray[np.bool_]:
        """Which pictures are in the measuring sample."""
        return self.place >= 0

    @property
    def by_doubt(self) -> NDArray[np.bool_]:
        """Which pictures a queue chose by doubt: they are harder than others."""
        return self.act == Act.ANSWERED

    def select(self, rows: NDArray[Any]) -> Origin:
        """The origins of some rows."""
        return Origin(self.place[rows], self.act[rows])


#: Fewer pictures with all of their tags do not tell what others lack.
ENOUGH = 20


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Features, classes (-1: unknown), tags (an empty row: not tagged) and the part each picture belongs to.

    ``denied`` are the tags that people said pictures do not have, as large as ``tags``; None if nobody said so.
    ``extent`` (n_pictures,) says how much of their tags people wrote, as :class:`~visterm.catalogue.acts.Extent`; None
    means all, as in research data. ``loose`` (n_tags,) are tags that no description names. ``shares`` (n_pictures,)
    estimate how much is written (:func:`~visterm.learn.engine.completeness.with_shares`); None means all.
    ``class_origin`` and ``tag_origin`` say how the pictures came to their labels; None means by no queue. Pictures with
    the same number in ``group`` (n_pictures,) are copies or one series; None means that there are none.
    """

    name: str
    X: Features
    y: NDArray[np.intp]
    class_names: tuple[str, ...]
    tags: sparse.csr_array
    tag_names: tuple[str, ...]
    splits: tuple[str | None, ...] = field(default=())
    denied: sparse.csr_array | None = None
    extent: NDArray[np.int8] | None = None
    loose: NDArray[np.bool_] | None = None
    shares: NDArray[np.float64] | None = None
    class_origin: Origin | None = None
    tag_origin: Origin | None = None
    group: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        sizes = {"X": n_pictures(self.X), "y": len(self.y), "tags": self.tags.shape[0]}
        if self.denied is not None and self.denied.shape != self.tags.shape:
            raise InputError(f"{self.name} has tags of shape {self.tags.shape}, but denied ones {self.denied.shape}")
        if self.splits:
            sizes["splits"] = len(self.splits)
        if len(set(sizes.values())) != 1:
            raise InputError(f"the parts of {self.name} differ in their number of pictures: {sizes}")
        if self.tags.shape[1] != len(self.tag_names):
            raise InputError(f"{self.name} has {self.tags.shape[1]} columns of tags, but {len(self.tag_names)} names")

    def __len__(self) -> int:
        return len(self.y)

    @property
    def has_class(self) -> NDArray[np.bool_]:
        """Which pictures have a class."""
        return self.y != UNKNOWN_CLASS

    @property
    def has_tags(self) -> NDArray[np.bool_]:
        """Which pictures are tagged."""
        return np.diff(self.tags.indptr) > 0

    def labelled(self, task: Task) -> NDArray[np.bool_]:
        """Which pictures have the labels that a task is learned from: a class, or tags."""
        return self.has_class if task is Task.CLASSIFY else self.has_tags

    @property
    def only_denied(self) -> NDArray[np.bool_]:
        """Which pictures are not tagged, but a person denied a tag: this tag is known there, and no other one is."""
        if self.denied is None:
            return np.zeros(len(self), np.bool_)
        return np.asarray((np.diff(self.denied.indptr) > 0) & ~self.has_tags)

    @property
    def is_loose(self) -> NDArray[np.bool_]:
        """Which tags no description names, so that nobody ever left them out."""
        return np.zeros(len(self.tag_names), np.bool_) if self.loose is None else self.loose

    @property
    def measurable(self) -> NDArray[np.bool_]:
        """Which pictures show how good tags are: those with all of their tags; all tagged ones if these are too few."""
        if self.shares is None:
            return self.has_tags
        whole = self.has_tags & (self.shares >= 1)
        return whole if whole.sum() >= ENOUGH else self.has_tags

    def written(self, rows: NDArray[Any], tags: NDArray[Any] | None = None) -> Written | None:
        """How much of the truth is written of some pictures, for some ``tags`` or all; None if it is all."""
        if self.shares is None or ((self.shares[rows] >= 1).all() and not self.is_loose.any()):
            return None
        columns = np.arange(len(self.tag_names)) if tags is None else tags
        written = Written.by_picture(self.shares[rows], len(columns))
        if self.has_answers:  # these tell what is absent; of the rest, nothing is known
            written.shares[written.shares < 1] = 0
        written.shares[:, self.is_loose[columns]] = 0
        for said in (self.tags, self.denied):
            if said is not None:
                written.shares[said[rows][:, columns].nonzero()] = 1
        return written

    @property
    def has_answers(self) -> bool:
        """Whether people denied enough tags of pictures with only a part of their tags."""
        if self.denied is None or self.shares is None:
            return False
        open_ = self.has_tags & (self.shares < 1)
        return int(np.diff(self.denied.indptr)[open_].sum()) >= ENOUGH

    def origin(self, task: Task) -> Origin | None:
        """How the pictures came to the labels that a task is learned from; None: not by a review."""
        return self.class_origin if task is Task.CLASSIFY else self.tag_origin

    @property
    def tag_counts(self) -> NDArray[np.intp]:
        """How many pictures carry each tag."""
        return np.bincount(self.tags.indices, minlength=self.tags.shape[1])

    @property
    def is_test(self) -> NDArray[np.bool_]:
        """Which pictures came marked as test pictures."""
        parts = self.splits or (None,) * len(self)
        return np.array([is_test(part) for part in parts], dtype=np.bool_)

    def select(self, rows: NDArray[Any]) -> Dataset:
        """The pictures of the given rows."""
        splits = tuple(self.splits[row] for row in rows) if self.splits else ()
        denied = None if self.denied is None else self.denied[rows]
        extent = None if self.extent is None else self.extent[rows]
        shares = None if self.shares is None else self.shares[rows]
        labels = {"y": self.y[rows], "tags": self.tags[rows], "denied": denied, "extent": extent, "shares": shares}
        classes, tags = (None if each is None else each.select(rows) for each in (self.class_origin, self.tag_origin))
        group = None if self.group is None else self.group[rows]
        origins = {"class_origin": classes, "tag_origin": tags, "group": group}
        return replace(self, **{"X": take(self.X, rows), "splits": splits, **labels, **origins})

    def without_features(self) -> Dataset:
        """The same pictures and labels for a method that does not look at features; a part of it copies none."""
        return replace(self, X=np.zeros((len(self), 1), np.float32))

    def with_words_of_both(self, train: NDArray[Any], test: NDArray[Any]) -> Dataset:
        """The same pictures with only those tags that occur in both parts."""
        used = np.ones(len(self.tag_names), np.bool_)
        for rows in (train, test):
            used &= np.bincount(self.tags[rows].indices, minlength=len(self.tag_names)) > 0
        return self.with_tags(np.flatnonzero(used))

    def with_tags(self, kept: NDArray[Any]) -> Dataset:
        """The same pictures with some of the tags, by column."""
        tags, names = sparse.csr_array(self.tags[:, kept]), tuple(self.tag_names[column] for column in kept)
        denied = None if self.denied is None else sparse.csr_array(self.denied[:, kept])
        loose = None if self.loose is None else self.loose[kept]
        return replace(self, tags=tags, tag_names=names, denied=denied, loose=loose)

    def without_labels(self, rows: NDArray[Any]) -> Dataset:
        """The same pictures; those of the given rows lose their class, tags and denied tags."""
        y = self.y.copy()
        y[rows] = UNKNOWN_CLASS
        denied = None if self.denied is None else _without(self.denied, rows)
        return replace(self, y=y, tags=_without(self.tags, rows), denied=denied)


def _without(matrix: sparse.csr_array, rows: NDArray[Any]) -> sparse.csr_array:
    """``matrix`` with some empty rows."""
    kept = ~np.isin(np.arange(matrix.shape[0]), rows)
    return sparse.csr_array(sparse.diags_array(kept.astype(matrix.dtype)) @ matrix)


def encode_classes(names: Sequence[str | None]) -> tuple[NDArray[np.intp], tuple[str, ...]]:
    """Classes as numbers in the sorted order of their names; None becomes -1.

    >>> encode_classes(["forest", None, "coast"])
    (array([ 1, -1, 0]), ('coast', 'forest'))
    """
    known = sorted({name for name in names if name is not None})
    number = {name: i for i, name in enumerate(known)}
    return np.array([UNKNOWN_CLASS if name is None else number[name] for name in names], np.intp), tuple(known)
