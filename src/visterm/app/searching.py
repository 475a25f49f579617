"""Pictures from a few words: people's word first, then what a model thinks matches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from visterm.app.doubts import doubts_about
from visterm.app.notebook import PictureDocument
from visterm.app.regions import Regions
from visterm.app.wording import percent
from visterm.contracts import Task
from visterm.errors import InputError
from visterm.models import Model
from visterm.search.query import parse, terms
from visterm.search.reading import Note
from visterm.search.searcher import Hit, Hits, Reason

if TYPE_CHECKING:
    from visterm.app.searchers import Ready
    from visterm.app.workspace import Workspace


_ONLY_PEOPLE = "no model can search yet, so only what people wrote was searched: train one to find more"
_NO_TAGS = "no model can search for tags yet: train one to find more"
#: If nobody says that a picture matches, and the best is less likely than this, the findings are weak: a picture is
#: then at least twice as likely wrong as right.
_WEAK = 1 / 3


@dataclass(frozen=True)
class Found:
    """A picture found; ``score`` is the probability that it matches.

    ``told``: people said so; ``likely``: it counts as found; ``reasons`` say which words match and who says so,
    ``evidence`` what convinced the model, and ``regions`` where in the picture that is. ``missing`` has the words of
    the query that were left out to find it.
    """

    path: str
    score: float
    told: bool = False
    likely: bool = True
    reasons: tuple[Reason, ...] = ()
    evidence: tuple[str, ...] = ()
    regions: Regions | None = None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Findings(PictureDocument):
    """The pictures found, best first, and what was understood.

    Pictures from the probability ``cut_off`` on count as found (None: nothing does, though the best has ``best``);
    there are ``n_likely`` of them (None: more than were counted). ``n_less_likely`` more are shown with the unlikely
    ones. If ``partial``, words were left out to find the pictures: each picture tells which. If ``weak``, pictures
    count as found, but each is at least twice as likely wrong as right. ``measured`` says whether
    the model's probabilities were learned on held-out pictures. ``unknown`` words were left out, ``ignored`` words say
    nothing about pictures, ``taken_as`` has words that were taken for others, and ``near_in_meaning`` how near those
    are.
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
    found: list[Found]
    weak: bool = False

    def captions(self) -> Iterator[tuple[str, str]]:
        """Who says that each picture matches, or how likely it does."""
        return ((item.path, "people say so" if item.told else percent(item.score)) for item in self.found)


def search(
    workspace: Workspace,
    query: str,
    *,
    model: str | None = None,
    limit: int = 20,
    unlikely: bool = False,
    why: bool = False,
) -> Findings:
    """The pictures that match a query; without a model that can search, words are found only where people wrote them.

    With ``unlikely`` also pictures that count as not found, with ``why`` what convinced the model. The language is
    that of :mod:`visterm.search.query`.
    """
    if not isinstance(query, str):
        raise InputError(f"a query is text, not {query!r}")
    if model is None and workspace.shelf.best(Task.RANK) is None:
        return _search(workspace, query, None, limit, unlikely, why)
    return workspace.shelf.use(Task.RANK, model, lambda chosen: _search(workspace, query, chosen, limit, unlikely, why))


def _search(
    workspace: Workspace, query: str, searching: Model | None, limit: int, unlikely: bool, why: bool
) -> Findings:
    ready = workspace.searchers.ready(searching, query)
    hits = ready.search(query, limit, unlikely=unlikely)
    paths = ready.collection.evidence.paths
    found = [Found(paths[h.row], h.probability, h.told, h.likely, h.reasons, missing=h.missing) for h in hits.hits]
    if why and searching is not None:
        found = _explained(workspace, ready, searching, hits, found)
    notes = [*ready.notes, *notes_about(searching, query, classified=ready.classified)]
    return _findings(query, searching, hits, found, notes).located(workspace.folder)


def is_weak(best: float, *, told: bool, likely: bool) -> bool:
    """Whether pictures count as ``likely``, but nobody ``told`` so, and even the ``best`` is probably wrong."""
    return likely and not told and best < _WEAK


def _findings(query: str, model: Model | None, hits: Hits, found: list[Found], notes: list[str]) -> Findings:
    measured = model is None or model.search_settings is not None
    partial = any(hit.missing for hit in hits.hits)
    return Findings(
        query=query,
        model=None if model is None else model.info.reference,
        notes=[*(str(note) for note in hits.notes), *hits.hints, *notes],
        unknown=[note.word for note in hits.notes if note.meant is None],
        ignored=hits.ignored,
        taken_as={note.word: note.meant for note in hits.notes if note.meant is not None},
        near_in_meaning={note.word: _nearness(note) for note in hits.notes if note.near},
        cut_off=hits.cut_off if np.isfinite(hits.cut_off) else None,
        n_likely=hits.n_likely,
        n_less_likely=hits.n_less_likely,
        partial=partial,
        best=hits.best,
        measured=measured,
        found=found,
        weak=not partial
        and is_weak(hits.best, told=any(hit.told for hit in hits.hits), likely=any(hit.likely for hit in hits.hits)),
    )


def notes_about(model: Model | None, query: str, *, classified: bool) -> list[str]:
    """What a person should know of the model that searches; without one, of what it would find for ``query``.

    ``classified`` says that a model answered for the classes of the query.
    """
    if model is not None:
        return doubts_about(model, Task.RANK)
    fields = {term.field for term in terms(parse(query))}
    if fields.isdisjoint({None, "tag", *(() if classified else ("class",))}):
        return []  # a model would find no more
    return [_NO_TAGS if classified or "like" in fields else _ONLY_PEOPLE]


def _nearness(note: Note) -> dict[str, float]:
    return {near.name: round(near.likeness, 3) for near in note.near}


def _explained(workspace: Workspace, ready: Ready, model: Model, hits: Hits, found: Sequence[Found]) -> list[Found]:
    """The pictures with what convinced the model, and where in them that is."""
    from visterm.app.why import Witnesses

    frame = ready.collection.frame
    names = frame.current_names("tag", model.info.tags)
    witnesses = Witnesses(workspace, model, ready.collection.truth, names)
    words = [_believed(hit) for hit in hits.hits]
    regions = witnesses.regions([(item.path, of_one) for item, of_one in zip(found, words, strict=True)])
    explained = []
    for item, hit, of_one, where in zip(found, hits.hits, words, regions, strict=True):
        lines = () if where is None else (str(where),)
        lines = (*lines, *witnesses.of(frame.keys[hit.row], of_one)) if of_one else ()
        explained.append(replace(item, evidence=lines, regions=where))
    return explained


def _believed(hit: Hit) -> list[str]:
    """The words by which a model thinks that a picture matches.

    Words that must all match are each at least as likely as the whole; alternatives that are less likely do not count.
    """
    reasons = [reason for reason in hit.reasons if reason.by == "model" and not reason.excluded]
    least = min(hit.probability, max((reason.probability for reason in reasons), default=0.0))
    return list(dict.fromkeys(reason.word for reason in reasons if reason.probability >= 0.999 * least))
