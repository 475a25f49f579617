"""The pictures that have a file, as arrays: one row each, for lists, filters and counts."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.catalogue.listing import Listing
from visterm.collection.judgements import Age, ClassJudgements, Judgements, TagJudgements
from visterm.collection.moment import Collection
from visterm.errors import VistermError

if TYPE_CHECKING:
    from visterm.collection.opened import Opened

#: The collection is read this often until two reads fit together.
_ATTEMPTS = 10


@dataclass(frozen=True, eq=False)
class View:
    """What lists of pictures are made of, at one state of the collection. Rows are those of ``collection.evidence``.

    ``said`` tells who said something of each picture; ``unreadable`` files are no usable pictures.
    """

    collection: Collection
    listing: Listing
    said: NDArray[np.int64]
    unreadable: int
    tag_judgements: TagJudgements | None
    class_judgements: ClassJudgements | None

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """The row of each picture in the truth and the listing."""
        return np.array(self.collection.frame.rows, np.intp)

    @cached_property
    def ids(self) -> NDArray[np.int64]:
        """The catalogue's ids."""
        return self.collection.truth.ids[self.rows]

    @cached_property
    def row_of(self) -> dict[int, int]:
        """The row of each id."""
        return {number: row for row, number in enumerate(self.ids.tolist())}

    @cached_property
    def newest_first(self) -> NDArray[np.intp]:
        """The rows in the order in which the pictures were added, the last first."""
        return np.lexsort((self.ids, -self.listing.added[self.rows]))

    @cached_property
    def paths(self) -> Sequence[str]:
        """The path of each picture."""
        return self.collection.evidence.paths

    @cached_property
    def class_names(self) -> list[str]:
        """The classes that people and imports gave."""
        return sorted({name for name in self.collection.truth.classes if name is not None})

    @cached_property
    def classes(self) -> NDArray[np.int32]:
        """The number of each picture's class among ``class_names``; -1 for none."""
        number = {name: place for place, name in enumerate(self.class_names)}
        given = self.collection.truth.classes
        return np.array([number.get(given[row] or "", -1) for row in self.rows.tolist()], np.int32)

    def number_of_class(self, name: str) -> int:
        """The number of a class; -2 if no picture has it."""
        return self.class_names.index(name) if name in self.class_names else -2

    def has_tag(self, name: str) -> NDArray[np.bool_]:
        """Which pictures people or imports gave this tag."""
        truth = self.collection.truth
        found = np.zeros(len(self), np.bool_)
        if name in truth.tag_names:
            found[:] = truth.tags[self.rows][:, [truth.tag_names.index(name)]].toarray().ravel() > 0
        return found

    def is_suggested(self, name: str) -> NDArray[np.bool_]:
        """Which pictures the model suggests this tag for, unless people have decided about it."""
        known = self.tag_judgements
        if known is None or name not in known.names:
            return np.zeros(len(self), np.bool_)
        return np.asarray(self.open_suggestions[:, [known.names.index(name)]].toarray().ravel() > 0)

    @cached_property
    def open_suggestions(self) -> sparse.csr_array:
        """The suggested tags that nobody has decided about: probabilities, columns as in ``tag_judgements``."""
        known, truth = self.tag_judgements, self.collection.truth
        if known is None:
            return sparse.csr_array((len(self), 0), dtype=np.float32)
        column_of = {name: column for column, name in enumerate(truth.tag_names)}
        pairs = [(place, column_of[name]) for place, name in enumerate(known.names) if name in column_of]
        places, columns = np.array(pairs, np.intp).reshape(-1, 2).T
        renamed = sparse.csr_array(
            (np.ones(len(places), np.float32), (columns, places)), shape=(len(truth.tag_names), len(known.names))
        )
        decided = (truth.tags + truth.rejected)[self.rows] @ renamed
        undecided = known.likely - known.likely.multiply(decided > 0)
        undecided.eliminate_zeros()
        return sparse.csr_array(undecided)

    @cached_property
    def ages(self) -> list[Age]:
        """How old what the models in use say is."""
        both = (self.class_judgements, self.tag_judgements)
        return [known.age.now(self.collection.truth) for known in both if known is not None]

    @cached_property
    def has_suggestion(self) -> NDArray[np.bool_]:
        """Which pictures have a suggested tag that nobody has decided about, or a likely class where there is none."""
        found = np.diff(self.open_suggestions.indptr) > 0
        return np.asarray(found | (self.open_classes >= 0))

    @cached_property
    def open_classes(self) -> NDArray[np.int32]:
        """The likely class of each picture that has none; -1 if people denied it: then the model has nothing to say."""
        known, truth = self.class_judgements, self.collection.truth
        if known is None:
            return np.full(len(self), -1, np.int32)
        found = np.where(self.classes < 0, known.best, np.int32(-1))
        place = {at: row for row, at in enumerate(self.rows.tolist())} if truth.denied_classes else {}
        for at, names in truth.denied_classes.items():
            row = place.get(at, -1)
            if row >= 0 and found[row] >= 0 and known.names[found[row]] in names:
                found[row] = -1
        return found

    def in_folder(self, folder: str) -> NDArray[np.bool_]:
        """Which pictures lie in a folder, in POSIX form, or below it; "" is the collection's own."""
        names, numbers = self.collection.frame.folders
        start = f"{folder}/" if folder else ""
        return np.array([name == folder or name.startswith(start) for name in names], np.bool_)[numbers]

    @cached_property
    def doubt(self) -> NDArray[np.float32]:
        """How unsure the models are of each picture that has no class or no tags from people, from 0 to 1."""
        doubt = np.zeros(len(self), np.float32)
        if self.class_judgements is not None:
            doubt = np.where(self.classes < 0, self.class_judgements.doubt, 0.0).astype(np.float32)
        if self.tag_judgements is not None:
            untagged = np.diff(self.collection.truth.tags[self.rows].indptr) == 0
            doubt = np.maximum(doubt, np.where(untagged, self.tag_judgements.doubt, 0.0))
        return doubt.astype(np.float32)


class Views:
    """Keeps the newest :class:`View`; any number of threads may ask for it."""

    def __init__(self, opened: Opened, judgements: Judgements) -> None:
        self._opened, self._judgements = opened, judgements
        self._guard = threading.Lock()
        self._newest: View | None = None

    def newest(self) -> View:
        """The collection as it is now; only what has changed is read again."""
        with self._guard:
            known, (collection, listing) = self._newest, self._listed()
            tags, classes = self._judgements.tags(collection.frame), self._judgements.classes(collection.frame)
            if known is None or known.listing is not listing:
                known = View(collection, listing, *self._told(collection), tags, classes)
            elif known.collection is not collection:
                known = View(collection, listing, *self._told_again(known, collection), tags, classes)
            elif known.tag_judgements is not tags or known.class_judgements is not classes:
                known = replace(known, tag_judgements=tags, class_judgements=classes)
            self._newest = known
            return known

    def _listed(self) -> tuple[Collection, Listing]:
        """The collection and its listing, of one moment: another process may add pictures between two reads."""
        known = self._newest
        for _ in range(_ATTEMPTS):
            collection = self._opened.collection()
            if known is not None and known.collection.frame is collection.frame:
                return collection, known.listing
            listing = self._opened.catalogue.listing()
            if np.array_equal(listing.ids, collection.truth.ids):
                return collection, listing
        raise VistermError("the collection is changing at this moment: try again")

    def _told(self, collection: Collection) -> tuple[NDArray[np.int64], int]:
        """Who said something of each picture, and how many files are no usable pictures."""
        said = self._opened.catalogue.said()
        ids = collection.truth.ids[collection.frame.rows].tolist()
        unreadable = sum(1 for _ in self._opened.catalogue.unreadable())
        return np.array([said.get(number, 0) for number in ids], np.int64), unreadable

    def _told_again(self, known: View, collection: Collection) -> tuple[NDArray[np.int64], int]:
        """The same, read again for the pictures whose labels this process has changed; else for all."""
        changed = self._opened.catalogue.relabelled_since(known.collection.version[1])
        if changed is None:
            return self._told(collection)
        said, here = known.said.copy(), [number for number in changed if number in known.row_of]
        flags = self._opened.catalogue.said(here)
        for number in here:
            said[known.row_of[number]] = flags.get(number, 0)
        return said, known.unreadable
