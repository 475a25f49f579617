"""Groups of copies: what was found and what people said, put together; a person's word outranks every finding."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal
from weakref import WeakKeyDictionary

import numpy as np

from visterm.catalogue.twins import Twins
from visterm.copies import finding
from visterm.copies.comparing import Pairs
from visterm.copies.kept import Found
from visterm.vision.recipes import recipe as recipe_named

if TYPE_CHECKING:
    from visterm.collection.opened import Opened

#: The same bytes in several files; the same picture in several forms; a burst or series.
Level = Literal["bytes", "picture", "series"]


@dataclass(frozen=True)
class Group:
    """Pictures that belong together, by id.

    ``likeness`` is that of the pair that is least sure; None if only people said so. ``waits`` is true if a person has
    not decided about all of them.
    """

    level: Level
    ids: tuple[int, ...]
    likeness: float | None = None
    waits: bool = True


@dataclass(frozen=True, eq=False)
class Groups:
    """All groups, those of each level in order of their first picture. ``n_new`` pictures were not compared yet."""

    groups: tuple[Group, ...]
    twins: Twins
    sharpness: dict[int, float]
    taken: dict[int, float]
    n_new: int

    def of(self, level: Level) -> list[Group]:
        """The groups of one level."""
        return [group for group in self.groups if group.level == level]


#: The groups that were put together last, and of what.
_KNOWN: WeakKeyDictionary[Opened, tuple[tuple[object, ...], Groups]] = WeakKeyDictionary()


def groups(opened: Opened, known: Found) -> Groups:
    """The groups among the pictures that have a file, put together again when anything has changed."""
    stamp = (opened.collection().frame, opened.catalogue.version(), known)
    before = _KNOWN.get(opened)
    if before is None or before[0] != stamp:
        before = _KNOWN[opened] = stamp, _grouped(opened, known)
    return before[1]


def _grouped(opened: Opened, known: Found) -> Groups:
    collection = opened.collection()
    frame, ids = collection.frame, collection.truth.ids
    id_of = {key: int(ids[row]) for key, row in zip(frame.keys, frame.rows, strict=True)}
    numbers = [id_of[key] for key in known.keys]
    here = frozenset(id_of.values())
    twins = opened.catalogue.twins()

    same = _Union(twins, here, ("same",), ("different", "series"))
    # Two shots of a burst may agree in every pixel: only their times tell them apart.
    apart = np.abs(known.taken[known.pairs.first] - known.taken[known.pairs.second])
    in_burst = (apart > 0) & (apart <= finding.SERIES_SECONDS)
    same.add_all(_as_ids(known.pairs.select(~in_burst), numbers))
    together = _Union(twins, here, ("same", "series"), ("different",))
    pictures = same.groups()
    for ids_of_one in pictures:  # that these belong together is asked where they are one picture
        for one, other in pairwise(ids_of_one):
            together.add_said(one, other)
    for pairs in (known.pairs.select(in_burst), finding.series(opened, known)):
        together.add_all(_as_ids(pairs, numbers))

    found = [Group("bytes", (int(ids[row]),), waits=False) for row in sorted(frame.copies) if int(ids[row]) in here]
    found += [same.group("picture", ids) for ids in pictures]
    whole = set(pictures)
    found += [together.group("series", ids) for ids in together.groups() if ids not in whole]
    return Groups(
        tuple(found),
        twins,
        _sharpness(opened, known, {number for group in found for number in group.ids}, numbers),
        {number: float(time) for number, time in zip(numbers, known.taken, strict=True) if not np.isnan(time)},
        len(here) - len(numbers),
    )


def _as_ids(pairs: Pairs, numbers: list[int]) -> list[tuple[int, int, float]]:
    """Pairs of rows as pairs of ids, the likest first."""
    pairs = pairs.select(np.argsort(-pairs.agreement, kind="stable"))
    rows = zip(pairs.first.tolist(), pairs.second.tolist(), pairs.agreement.tolist(), strict=True)
    return [(numbers[one], numbers[other], like) for one, other, like in rows]


class _Union:
    """Puts pictures together, one pair after the other, but never two that a person has told apart."""

    def __init__(self, twins: Twins, here: frozenset[int], together: tuple[str, ...], apart: tuple[str, ...]) -> None:
        self._group: dict[int, set[int]] = {}
        self._apart: defaultdict[int, set[int]] = defaultdict(set)
        self._said: defaultdict[int, set[int]] = defaultdict(set)
        #: The likeness of the least like pair of a group, by the identity of its set.
        self._least: dict[int, float] = {}
        for (one, other), said in twins.verdicts.items():
            if said in apart:
                self._apart[one].add(other)
                self._apart[other].add(one)
        for (one, other), said in twins.verdicts.items():
            if said in together and one in here and other in here:
                self.add_said(one, other)

    def add_said(self, one: int, other: int) -> None:
        """Put two pictures together of which nobody needs to be asked."""
        self._said[one].add(other)
        self._said[other].add(one)
        self._add(one, other)

    def add_all(self, pairs: Iterable[tuple[int, int, float]]) -> None:
        """Put the pictures of some pairs together, in their order."""
        for one, other, like in pairs:
            if self._add(one, other):
                whole = id(self._group[one])
                self._least[whole] = min(like, self._least.get(whole, 1.0))

    def groups(self) -> list[tuple[int, ...]]:
        """The groups of several pictures, in order of their first picture."""
        each = {id(group): group for group in self._group.values() if len(group) > 1}
        return sorted(tuple(sorted(group)) for group in each.values())

    def group(self, level: Level, ids: tuple[int, ...]) -> Group:
        """One of the groups."""
        likeness = self._least.get(id(self._group[ids[0]]))
        return Group(level, ids, None if likeness is None else round(likeness, 4), self._waits(ids))

    def _waits(self, group: tuple[int, ...]) -> bool:
        """Whether what people said does not hold the whole group together."""
        inside, reached, ahead = set(group), {group[0]}, [group[0]]
        while ahead:
            near = self._said.get(ahead.pop(), set()) & inside - reached
            reached |= near
            ahead += near
        return len(reached) < len(inside)

    def _add(self, one: int, other: int) -> bool:
        """Put two groups together if nobody has told any of their pictures apart; whether they were apart before."""
        a, b = self._group.setdefault(one, {one}), self._group.setdefault(other, {other})
        if len(a) < len(b):
            a, b = b, a
        if a is b or any(not self._apart[number].isdisjoint(a) for number in b if number in self._apart):
            return False
        least = [self._least.pop(id(part)) for part in (a, b) if id(part) in self._least]
        a |= b
        self._group.update(dict.fromkeys(b, a))
        if least:
            self._least[id(a)] = min(least)
        return True


def _sharpness(opened: Opened, known: Found, wanted: set[int], numbers: list[int]) -> dict[int, float]:
    shown = [place for place, number in enumerate(numbers) if number in wanted]
    recipe = recipe_named(finding.SMALL)
    rows = opened.library.store(recipe, "sharpness").rows([known.keys[place] for place in shown])
    return {numbers[place]: round(float(row[0]), 2) for place, row in zip(shown, rows, strict=True)}
