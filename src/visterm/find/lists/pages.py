"""Lists of pictures, page by page: found by words, narrowed down, in an order."""

from __future__ import annotations

import base64
import json
import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from visterm.collection.filters import Filters
from visterm.collection.rows import Columns, columns_of
from visterm.collection.view import View
from visterm.contracts import Task
from visterm.documents.document import Document
from visterm.errors import InputError
from visterm.find.lists.facets import Facets, facets
from visterm.find.lists.order import FACTS_ORDERS, by_facts
from visterm.find.searchers import Searchers
from visterm.find.searching import Findings, findings
from visterm.find.words.conditions import CONDITIONS
from visterm.find.words.query import parse, terms

Sort = Literal["best", "name", "newest", "unsure", "date", "rating", "size"]
#: The most pictures of a page, and the most that a query may list.
MAX_PAGE, MAX_FOUND = 5000, 5000
_MAX_KEPT = 32


@dataclass(frozen=True)
class GalleryPage(Columns, Document):
    """Some pictures of a list, as columns: entry i of every column is one picture, as in a row of a search.

    Rows with labels and reasons would make a page of thousands of pictures slow to send and to show. With a query,
    ``probabilities`` say how likely each picture matches and ``told`` whether people said so; the first ``n_likely``
    pictures of the list count as found, the others are less likely. ``understood`` is what a search says of the query,
    without the pictures. ``next`` is the cursor of the next page, None at the end.
    """

    total: int
    start: int
    probabilities: list[float]
    told: list[bool]
    n_likely: int
    understood: Findings | None
    next: str | None
    version: int


@dataclass(frozen=True)
class Listed:
    """A whole list: rows of a view in order, and for a query what was found at each."""

    rows: NDArray[np.intp]
    probabilities: NDArray[np.float32] | None = None
    told: NDArray[np.bool_] | None = None
    n_likely: int = 0
    understood: Findings | None = None

    @property
    def n_found(self) -> int:
        """How many pictures count as found: the likely ones, or if there are none, those with some of the words."""
        if self.understood is None or self.understood.partial:
            return len(self.rows)
        return self.n_likely

    def at(self, places: NDArray[np.intp]) -> Listed:
        """The pictures at some places of the list."""
        return replace(
            self,
            rows=self.rows[places],
            probabilities=None if self.probabilities is None else self.probabilities[places],
            told=None if self.told is None else self.told[places],
        )


class Gallery:
    """Makes lists of pictures and keeps the last ones, so that their next pages come at once."""

    def __init__(self, searchers: Searchers) -> None:
        self._searchers, self._holdings = searchers, searchers.holdings
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
        end, total = min(start + limit, len(listed.rows)), len(listed.rows)
        shown = listed.at(np.arange(start, max(start, end)))
        now = view.collection.version[1]
        return GalleryPage(
            **vars(columns_of(self._holdings, view, shown.rows)),
            total=total,
            start=start,
            probabilities=[] if shown.probabilities is None else [round(float(p), 4) for p in shown.probabilities],
            told=[] if shown.told is None else shown.told.tolist(),
            n_likely=listed.n_likely,
            understood=listed.understood,
            next=base64.urlsafe_b64encode(json.dumps([end, now]).encode()).decode() if end < total else None,
            version=now,
        )

    def facets(self, query: str = "", filters: Filters = Filters()) -> Facets:  # noqa: B008 - frozen
        """The counts of the pictures that a query finds and ``filters`` keep."""
        view, listed = self.listed(query, filters)
        return facets(view, listed.rows[: listed.n_found])

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
        view = self._holdings.views.newest()
        # Views hold the predictions, so no other object gets their id while the list is kept.
        predictions = (id(view.tag_judgements), id(view.class_judgements))
        searching = self._holdings.shelf.best(Task.RANK) if query else None
        place = (view.collection.version[1], *asked, *predictions, searching and searching.reference)
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

    def _make(self, view: View, query: str, filters: Filters, sort: Sort) -> Listed:
        mask = filters.mask(view) if filters else None
        if query:
            found = self._found(view, query, mask)
            return found if sort == "best" else _sorted(found, view, sort)
        rows = np.arange(len(view)) if mask is None else np.flatnonzero(mask)
        return _sorted(Listed(rows, n_likely=len(rows)), view, "newest" if sort == "best" else sort)

    def _found(self, view: View, query: str, mask: NDArray[np.bool_] | None) -> Listed:
        shelf = self._holdings.shelf
        model = shelf.model(Task.RANK) if shelf.best(Task.RANK) is not None else None
        ready = self._searchers.ready(model, query, view.collection)
        asks_facts = any(term.field in CONDITIONS for term in terms(parse(query)))
        most = MAX_FOUND if mask is None and not asks_facts else len(view)
        found = ready.search(query, most, unlikely=True)
        if not found.likely.any():  # then those that match some of the words, if there are any
            fewer = ready.search(query, most, unlikely=False)
            found = fewer if len(fewer.rows) else found
        kept = np.arange(len(found.rows)) if mask is None else np.flatnonzero(mask[found.rows])
        understood = findings(query, model, ready, found, kept)
        n_likely = 0 if understood.partial else int(found.likely[kept].sum())
        p = found.probabilities.astype(np.float32)
        return Listed(found.rows, p, found.told, n_likely, understood).at(kept)


def _sorted(listed: Listed, view: View, sort: Sort) -> Listed:
    """The list in another order; of a query, only what counts as found."""
    rows = listed.rows[: listed.n_found]
    if sort == "name":
        names = [view.paths[row].casefold() for row in rows.tolist()]
        chosen = np.array(sorted(range(len(rows)), key=names.__getitem__), np.intp)
    elif sort in FACTS_ORDERS:
        chosen = by_facts(view.collection.facts, rows, sort)
    elif sort == "newest":
        at = view.rows[rows]
        chosen = np.lexsort((view.ids[rows], -view.listing.added[at]))
    elif listed.probabilities is not None:  # unsure whether they match, not what else they show
        chosen = np.argsort(np.abs(listed.probabilities[: len(rows)] - 0.5), kind="stable")
    else:
        chosen = np.argsort(-view.doubt[rows], kind="stable")
    return listed.at(chosen)


def _read_cursor(cursor: str | None) -> tuple[int, int | None]:
    if cursor is None:
        return 0, None
    try:
        start, version = json.loads(base64.urlsafe_b64decode(cursor.encode("ascii")))
        if not (isinstance(start, int) and isinstance(version, int)) or start < 0:
            raise ValueError
    except (ValueError, TypeError) as error:
        raise InputError("the cursor is not one that an earlier page gave") from error
    return start, version
