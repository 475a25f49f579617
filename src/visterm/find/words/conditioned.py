"""The leaves of conditions such as ``date:2019``: they match the pictures that meet them, and no others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from visterm.errors import InputError
from visterm.find.rank.beliefs import Leaf
from visterm.find.words.conditions import CONDITIONS, UNSTEADY, Known, condition, is_date
from visterm.find.words.query import Term
from visterm.find.words.reading import Note, Reading, Understood
from visterm.geography import Gazetteer

_MAX_REMEMBERED = 500
#: Fields that name something, whose known names are listed where nothing fits.
_NAMED = ("camera", "lens", "colour", "creator")
_MAX_NAMED = 10


class Conditioned:
    """Makes the leaves of conditions and keeps them: that of a condition is the same object each time."""

    def __init__(self, known: Known | None, n_rows: int) -> None:
        self._known, self._n_rows = known, n_rows
        self._kept: dict[tuple[str, str], Leaf] = {}

    def read(self, term: Term, said: Reading) -> Leaf:
        """The leaf of a term with a field of :data:`CONDITIONS`, and what is to be said about it."""
        field = term.field or ""
        leaf = self._leaf(field, term.text)
        if not len(leaf.told) and (names := self._names(field)):
            said.notes.append(Note(term.text, others=names, field=field))
        said.understood.append(Understood(term.text, "written", n_pictures=len(leaf.told), field=field))
        return leaf

    def dated(self, term: Term, written: Leaf | None) -> Leaf | None:
        """The leaf of a plain word that is a date: pictures of that time, and those where it is ``written``.

        Any other word keeps its leaf, and so does one that a model knows.
        """
        text, is_judged = term.text, written is not None and written.is_judged
        if self._known is None or term.field is not None or term.quoted or is_judged or not is_date(text):
            return written
        place = ("", text)
        taken = self._leaf("date", text)
        if place not in self._kept and len(taken.told):
            told_by = {**({} if written is None else written.told_by), **taken.told_by}
            self._keep(place, replace(taken, told_by=told_by))
        return self._kept.get(place, written)

    def _leaf(self, field: str, text: str) -> Leaf:
        kept = self._kept.get((field, text))
        if kept is not None and field not in UNSTEADY:
            return kept
        if self._known is None:
            raise InputError(f"{field}: asks what files say, which is not known here")
        rows = np.flatnonzero(condition(field, text)(self._known))
        if kept is not None and np.array_equal(kept.told, rows):
            return kept
        return self._keep((field, text), Leaf(f"{field}:{text}", self._n_rows, {field: rows}, closed=True))

    def _keep(self, place: tuple[str, str], leaf: Leaf) -> Leaf:
        if len(self._kept) >= _MAX_REMEMBERED:
            self._kept.clear()
        self._kept[place] = leaf
        return leaf

    def _names(self, field: str) -> tuple[str, ...]:
        """Some names that a field knows in this collection."""
        if self._known is None or field not in CONDITIONS:
            return ()
        names: list[str] = []
        if field == "place":
            map_of, places = Gazetteer.open(), self._known.facts.places
            names = [map_of.countries[number] for number in np.unique(places.countries).tolist() if number >= 0]
        elif field in _NAMED:
            names = sorted(self._known.facts.texts(field).names)
        return (*names[:_MAX_NAMED], "...") if len(names) > _MAX_NAMED else tuple(names)
