"""Pictures from a few words: first those that people labelled so, then those that a model thinks match."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from visterm import find
from visterm.collection.doubts import doubts_about
from visterm.collection.filters import Filters
from visterm.collection.judgements import Age
from visterm.collection.rows import PictureRow, rows_of
from visterm.contracts import Task
from visterm.documents.notebook import PictureDocument
from visterm.documents.wording import percent
from visterm.errors import InputError
from visterm.find.lists.order import FACTS_ORDERS, FactsOrder, by_facts
from visterm.find.rank.searcher import Hit, Hits
from visterm.find.searchers import Ready, Searchers
from visterm.find.words.conditions import is_date
from visterm.find.words.query import parse, terms
from visterm.find.words.reading import Understood
from visterm.models import Model

_ONLY_PEOPLE = "no model can search yet, so only what people wrote was searched: train one to find more"
_NO_TAGS = "no model can search for tags yet: train one to find more"
#: If nobody says that a picture matches, and the best is less likely than this, the findings are weak: a picture is
#: then at least twice as likely wrong as right.
_WEAK = 1 / 3


@dataclass(frozen=True)
class Findings(PictureDocument):
    """The pictures that were found, best first, and how the query was understood.

    A picture counts as found if its probability is at least ``cut_off`` (None: no picture is). ``n_likely`` pictures
    count as found (None: not all were counted), and ``n_less_likely`` others are less likely. ``best`` is the highest
    probability. ``partial`` is true if words were left out to find the pictures: ``missing`` has them all, and each
    picture its own. ``weak`` is true if pictures count as found, but each is at least twice as likely wrong as right.
    ``measured`` says whether the model's probabilities were learned on held-out pictures, and ``ages`` when the models
    learned. ``unknown`` words were left out. ``ignored`` words say nothing about pictures. ``taken_as`` maps a word to
    the word searched for instead, and ``near_in_meaning`` says how near they are in meaning. ``start`` pictures of the
    list came before these. ``guessed`` is true if no picture counts as found, and those listed look most like what is
    asked for. ``understood`` says of each word what it was understood as, and whether a model knows it;
    ``read_as`` says the same in words. Words with ``no_model`` find only what people described with them.
    ``teachable`` words are judged by look alone: twenty answers in review make a tag of each.
    """

    query: str
    model: str | None
    notes: list[str]
    unknown: list[str]
    ignored: list[str]
    taken_as: dict[str, str]
    near_in_meaning: dict[str, dict[str, float]]
    cut_off: float | None
    n_likely: int | None
    n_less_likely: int
    partial: bool
    best: float
    measured: bool
    found: list[PictureRow]
    weak: bool
    missing: list[str]
    ages: list[Age]
    start: int = 0
    understood: list[Understood] = field(default_factory=list)
    guessed: bool = False
    read_as: str = ""
    no_model: list[str] = field(default_factory=list)
    teachable: list[str] = field(default_factory=list)

    def captions(self) -> Iterator[tuple[str, str]]:
        """Who says that each picture matches, or how likely it does."""
        return ((row.path, "people say so" if row.told else percent(row.score or 0.0)) for row in self.found)


@dataclass(frozen=True)
class Wanted:
    """Which of the pictures to list: ``limit`` of them after ``start``, those that ``filters`` keep.

    ``unlikely`` adds pictures below the cut-off, and ``why`` adds what convinced the model. ``sort`` lists what was
    found by ``date``, ``rating`` or ``size`` instead of the likeliest first.
    """

    limit: int = 20
    start: int = 0
    unlikely: bool = False
    why: bool = False
    filters: Filters | None = None
    sort: Literal["best", FactsOrder] = "best"

    def __post_init__(self) -> None:
        if self.sort not in ("best", *FACTS_ORDERS):
            raise InputError(f"searches cannot be sorted by {self.sort!r}: choose best, {', '.join(FACTS_ORDERS)}")


def search(searchers: Searchers, query: str, wanted: Wanted = Wanted(), *, model: str | None = None) -> Findings:
    """The pictures that match a query; without a model that can search, only those with the words that people wrote.

    :mod:`visterm.find.words.query` describes the query language.
    """
    if not isinstance(query, str):
        raise InputError(f"a query is text, not {query!r}")
    if model is None and searchers.holdings.shelf.best(Task.RANK) is None:
        return _search(searchers, query, wanted, None)
    return searchers.holdings.shelf.use(Task.RANK, model, lambda chosen: _search(searchers, query, wanted, chosen))


def _search(searchers: Searchers, query: str, wanted: Wanted, searching: Model | None) -> Findings:
    holdings, collection, mask = searchers.holdings, None, None
    if wanted.filters:
        view = holdings.views.newest()
        collection, mask = view.collection, wanted.filters.mask(view)
    ready = searchers.ready(searching, query, collection)
    end = wanted.start + wanted.limit
    every = mask is not None or wanted.sort != "best"
    n_rows = len(ready.collection.frame.rows)
    hits = ready.search(query, n_rows if every else end, unlikely=wanted.unlikely)
    kept = np.arange(len(hits.rows)) if mask is None else np.flatnonzero(mask[hits.rows])
    if wanted.sort != "best":
        kept = kept[by_facts(ready.collection.facts, hits.rows[kept], wanted.sort)]
    shown = hits.at(kept[wanted.start : end])
    found = _rows(searchers, ready, shown)
    if wanted.why and searching is not None:
        found = _explained(searchers, ready, searching, shown, found)
    made = findings(query, searching, ready, hits, kept)
    return replace(made, found=found, start=wanted.start).located(holdings.folder)


def findings(query: str, model: Model | None, ready: Ready, hits: Hits, kept: np.ndarray) -> Findings:
    """How a query was understood, and what was found at the ``kept`` places; the pictures are still to come."""
    missing = {hits.missing[place] for place in kept.tolist()} - {()}
    notes = [*(str(note) for note in hits.notes), *hits.hints, *ready.notes]
    everything = len(kept) == len(hits.rows)
    is_weak = hits.likely.any() and not hits.told.any() and hits.best < _WEAK
    return Findings(
        query=query,
        model=None if model is None else model.info.reference,
        notes=[*notes, *_notes_about(model, query, ready, looked=hits.by_look)],
        unknown=[note.word for note in hits.notes if note.meant is None and (missing or not note.by_look)],
        ignored=hits.ignored,
        taken_as={note.word: note.meant for note in hits.notes if note.meant is not None},
        near_in_meaning={
            note.word: {near.name: round(near.likeness, 3) for near in note.near} for note in hits.notes if note.near
        },
        cut_off=hits.cut_off if np.isfinite(hits.cut_off) else None,
        n_likely=hits.n_likely if everything else 0 if missing else int(hits.likely[kept].sum()),
        n_less_likely=hits.n_less_likely,
        partial=bool(missing),
        best=hits.best,
        measured=model is None or model.search_settings is not None,
        found=[],
        weak=not missing and bool(is_weak),
        missing=sorted({word for words in missing for word in words}),
        ages=ready.ages,
        understood=hits.understood,
        guessed=hits.guessed,
        read_as=", ".join(
            word.in_words(searched=model is not None) for word in hits.understood if word.how != "ignored"
        ),
        no_model=[word.word for word in hits.understood if word.lacks_model],
        teachable=[word.word for word in hits.understood if word.how == "look"],
    )


def _notes_about(model: Model | None, query: str, ready: Ready, *, looked: bool) -> list[str]:
    """What a person should know about the model that searches, or about the lack of one for ``query``.

    ``looked`` says that pictures were judged by their look.
    """
    if model is not None:
        return doubts_about(model, Task.RANK)
    if looked:
        return [_NO_TAGS] if ready.collection.evidence.tag_keys else []
    fields = {"date" if term.field is None and is_date(term.text) else term.field for term in terms(parse(query))}
    if fields.isdisjoint({None, "tag", *(() if ready.classified else ("class",))}):
        return []  # a model would find no more
    return [_NO_TAGS if ready.classified or "like" in fields else _ONLY_PEOPLE]


def _rows(searchers: Searchers, ready: Ready, hits: Sequence[Hit]) -> list[PictureRow]:
    """The rows of the pictures that were found; one that was removed at this moment is still named by its path."""
    frame, truth = ready.collection.frame, ready.collection.truth
    at = [frame.rows[hit.row] for hit in hits]
    ids = [int(truth.ids[row]) for row in at]
    known = {row.id: row for row in rows_of(searchers.holdings, ids)}
    return [
        replace(
            known.get(number) or PictureRow(""),
            path=frame.paths[row] or "",
            score=hit.probability,
            told=hit.told,
            likely=hit.likely,
            reasons=hit.reasons,
            missing=hit.missing,
        )
        for number, row, hit in zip(ids, at, hits, strict=True)
    ]


def _explained(
    searchers: Searchers, ready: Ready, model: Model, hits: Sequence[Hit], found: Sequence[PictureRow]
) -> list[PictureRow]:
    """The pictures with what convinced the model, and where in them that is."""
    frame = ready.collection.frame
    names = frame.current_names("tag", model.info.tags)
    witnesses = find.why.Witnesses(searchers.holdings, model, ready.collection.truth, names)
    words = [_believed(hit) for hit in hits]
    regions = witnesses.regions([(row.path, of_one) for row, of_one in zip(found, words, strict=True)])
    explained = []
    for row, hit, of_one, where in zip(found, hits, words, regions, strict=True):
        lines = () if where is None else (str(where),)
        lines = (*lines, *witnesses.of(frame.keys[hit.row], of_one)) if of_one else ()
        explained.append(replace(row, evidence=lines, regions=where))
    return explained


def _believed(hit: Hit) -> list[str]:
    """The words that a model thinks a picture matches.

    Words that must all match are each at least as likely as the whole; alternatives that are less likely do not count.
    """
    reasons = [reason for reason in hit.reasons if reason.by == "model" and not reason.excluded]
    least = min(hit.probability, max((reason.probability for reason in reasons), default=0.0))
    return list(dict.fromkeys(reason.word for reason in reasons if reason.probability >= 0.999 * least))
