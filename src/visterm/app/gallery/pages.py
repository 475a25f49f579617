"""Lists of pictures, page by page: found by words, narrowed down, in an order."""

from __future__ import annotations

import base64
import json
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from visterm.app.document import Document
from visterm.app.gallery.filters import Filters
from visterm.app.gallery.view import View
from visterm.app.searching import is_weak, notes_about
from visterm.contracts import Task
from visterm.errors import InputError
from visterm.search.query import parse, terms

if TYPE_CHECKING:
    from visterm.app.workspace import Workspace

Sort = Literal["best", "name", "newest", "unsure"]
#: The most pictures of a page, and the most that a query may list.
MAX_PAGE, MAX_FOUND = 5000, 5000
_MAX_KEPT = 32


@dataclass(frozen=True)
class Understood:
    """How a query was read, and what came of it; see :class:`visterm.app.searching.Findings` for the fields."""

    notes: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    taken_as: dict[str, str] = field(default_factory=dict)
    partial: bool = False
    weak: bool = False
    missing: list[str] = field(default_factory=list)
    best: float = 0.0
    model: str | None = None


@dataclass(frozen=True)
class GalleryPage(Document):
    """Some pictures of a list, as columns: entry i of every column is one picture.

    ``keys`` are content hashes, by which thumbnails are named. ``colours`` are the mean colours of the four quarters,
    24 hexadecimal digits, or empty. With a query, ``probabilities`` say how likely each picture matches and ``told``
    whether people said so; the first ``n_likely`` pictures of the list count as found, the others are less likely.
    ``next`` is the cursor of the next page, None at the end.
    """

    total: int
    start: int
    ids: list[int]
    keys: list[str]
    widths: list[int]
    heights: list[int]
    colours: list[str]
    probabilities: list[float]
    told: list[bool]
    n_likely: int
    understood: Understood | None
    next: str | None
    version: int


@dataclass(frozen=True)
class Listed:
    """A whole list: rows of a view in order."""

    rows: NDArray[np.intp]
    probabilities: NDArray[np.float32] | None = None
    told: NDArray[np.bool_] | None = None
    n_likely: int = 0
    understood: Understood | None = None

    @property
    def n_found(self) -> int:
        """How many pictures count as found: of a query the likely ones, or else those with some of its words."""
        if self.understood is None or self.understood.partial:
            return len(self.rows)
        return self.n_likely


class Gallery:
    """Makes lists of pictures and keeps the last ones, so that their next pages come at once."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._guard = threading.Lock()
        self._kept: OrderedDict[tuple[Any, ...], tuple[View, Listed]] = OrderedDict()

    def page(
        self,
        query: str = "",
        filters: Filters = Filters(),  # noqa: B008 - frozen
        *,
        sort: Sort = "best",
        cursor: str | None = None,
        limit: int = 500,
    ) -> GalleryPage:
        """One page of the list; ``cursor`` continues where an earlier page ended."""
        if not 1 <= limit <= MAX_PAGE:
            raise InputError(f"a page has 1 to {MAX_PAGE} pictures, not {limit}")
        start, version = _read_cursor(cursor)
        view, listed = self.listed(query, filters, sort=sort, version=version)
        rows = listed.rows[start : start + limit]
        part = slice(start, start + len(rows))
        keys = [view.collection.frame.keys[row] for row in rows.tolist()]
        at = view.rows[rows]
        end = start + len(rows)
        now = view.collection.version[1]
        return GalleryPage(
            total=len(listed.rows),
            start=start,
            ids=view.ids[rows].tolist(),
            keys=keys,
            widths=view.listing.widths[at].tolist(),
            heights=view.listing.heights[at].tolist(),
            colours=self._workspace.thumbnails.colours(keys),
            probabilities=[] if listed.probabilities is None else _rounded(listed.probabilities[part]),
            told=[] if listed.told is None else listed.told[part].tolist(),
            n_likely=listed.n_likely,
            understood=listed.understood,
            next=_cursor(end, now) if end < len(listed.rows) else None,
            version=now,
        )

    def listed(
        self, query: str, filters: Filters, *, sort: Sort = "best", version: int | None = None
    ) -> tuple[View, Listed]:
        """A whole list; that of an earlier ``version`` of the collection if it is still kept."""
        if sort not in get_args(Sort):
            raise InputError(f"pictures cannot be sorted by {sort!r}: choose {', '.join(get_args(Sort))}")
        query = " ".join(query.split())
        asked = (query, filters, sort)
        if version is not None:
            with self._guard:
                earlier = [kept for key, kept in self._kept.items() if key[:4] == (version, *asked)]
            if earlier:
                return earlier[-1]
        view = self._workspace.views.newest()
        # Views hold the predictions, so no other object gets their id while the list is kept.
        predictions = (id(view.tag_predictions), id(view.class_predictions))
        place = (view.collection.version[1], *asked, *predictions, self._searching() if query else None)
        with self._guard:
            known = self._kept.get(place)
        if known is not None:
            return known
        listed = self._make(view, query, filters, sort)
        with self._guard:
            self._kept[place] = (view, listed)
            while len(self._kept) > _MAX_KEPT:
                self._kept.popitem(last=False)
        return view, listed

    def _searching(self) -> str | None:
        """The model that searches."""
        info = self._workspace.shelf.best(Task.RANK)
        return None if info is None else info.reference

    def _make(self, view: View, query: str, filters: Filters, sort: Sort) -> Listed:
        mask = filters.mask(view) if filters else None
        if query:
            found = self._found(view, query, mask)
            return found if sort == "best" else _sorted(found, view, sort)
        rows = np.arange(len(view)) if mask is None else np.flatnonzero(mask)
        return _sorted(Listed(rows, n_likely=len(rows)), view, "newest" if sort == "best" else sort)

    def _found(self, view: View, query: str, mask: NDArray[np.bool_] | None) -> Listed:
        shelf = self._workspace.shelf
        model = shelf.model(Task.RANK) if shelf.best(Task.RANK) is not None else None
        self._refuse_files(query)
        ready = self._workspace.searchers.ready(model, query, view.collection)
        most = MAX_FOUND if mask is None else len(view)
        found = ready.rank(query, most, unlikely=True)
        if not found.likely.any():  # then those that match some of the words, if there are any
            fewer = ready.rank(query, most, unlikely=False)
            found = fewer if len(fewer.rows) else found
        # The likely ones first; a list ends where a picture is as unlikely as any.
        order = np.argsort(~found.likely, kind="stable")
        order = order if mask is None else order[mask[found.rows[order]]]
        missing = {found.missing[place] for place in order.tolist()} - {()}
        about = notes_about(model, query, classified=ready.classified)
        understood = Understood(
            [*(str(note) for note in found.notes), *found.hints, *ready.notes, *about],
            [note.word for note in found.notes if note.meant is None],
            found.ignored,
            {note.word: note.meant for note in found.notes if note.meant is not None},
            bool(missing),
            not missing and is_weak(found.best, told=bool(found.told.any()), likely=bool(found.likely.any())),
            sorted({word for words in missing for word in words}),
            found.best,
            None if model is None else model.info.reference,
        )
        return Listed(
            found.rows[order],
            found.probabilities[order].astype(np.float32),
            found.told[order],
            0 if missing else int(found.likely[order].sum()),
            understood,
        )

    def _refuse_files(self, query: str) -> None:
        """Refuse a ``like:`` that is no picture of the collection: a page may not read other files."""
        for term in terms(parse(query)):
            if term.field == "like" and self._workspace.picture(term.text) is None:
                raise InputError(f"like:{term.text}: there is no such picture in the collection")


def _sorted(listed: Listed, view: View, sort: Sort) -> Listed:
    """The list in another order; of a query, only what counts as found."""
    rows = listed.rows[: listed.n_found]
    if sort == "name":
        names = [view.paths[row].casefold() for row in rows.tolist()]
        chosen = np.array(sorted(range(len(rows)), key=names.__getitem__), np.intp)
    elif sort == "newest":
        at = view.rows[rows]
        chosen = np.lexsort((view.ids[rows], -view.listing.added[at]))
    else:
        chosen = np.argsort(-view.doubt[rows], kind="stable")
    return Listed(
        rows[chosen],
        None if listed.probabilities is None else listed.probabilities[chosen],
        None if listed.told is None else listed.told[chosen],
        listed.n_likely,
        listed.understood,
    )


def _rounded(values: NDArray[np.float32]) -> list[float]:
    return [round(float(value), 4) for value in values]


def _cursor(start: int, version: int) -> str:
    return base64.urlsafe_b64encode(json.dumps([start, version]).encode()).decode()


def _read_cursor(cursor: str | None) -> tuple[int, int | None]:
    if cursor is None:
        return 0, None
    try:
        start, version = json.loads(
            base64.urlsafe_b64decode(
                cursor.encode("ascii"),
            )
        )
        if not (isinstance(start, int) and isinstance(version, int)) or start < 0:
            raise ValueError
    except (ValueError, TypeError) as error:
        raise InputError("the cursor is not one that an earlier page gave") from error
    return start, version
