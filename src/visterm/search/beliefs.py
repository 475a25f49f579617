"""How likely pictures fit a word: what people wrote, and what a model believes where nobody has."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import KeysView, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.language import word_key
from visterm.search.evidence import Rows, no_rows
from visterm.search.snapshot import Snapshot

Floats = NDArray[np.floating[Any]]

#: Of the tags that fit a picture, people who tagged it left out about this share: what they did not give is doubted.
OMITTED = 0.2
#: What is believed where nothing is known.
UNKNOWN = math.log(1e-4)
#: How much words go together where nobody has measured it.
DEPENDENCE = 0.5
_HALF = math.log(0.5)
#: So many rows are looked up one by one; for more, all are marked first.
_FEW = 500


@dataclass(frozen=True, slots=True)
class Belief:
    """Of every picture asked about: the log-probability that it fits, and whether people said so.

    People's word is certain, log 1 or log 0; a model never is.
    """

    log_p: Floats
    told: NDArray[np.bool_]


class Beliefs:
    """What a model says of words: dimension d of the index holds the log-probabilities of ``names[d]``.

    ``keys`` are those of the pictures in the rows of everything else; pictures without a vector are ``UNKNOWN``.
    """

    def __init__(self, snapshot: Snapshot, names: Sequence[str], keys: Sequence[str]) -> None:
        self._snapshot = snapshot
        self._dimensions: defaultdict[str, list[int]] = defaultdict(list)
        for dimension, name in enumerate(names):
            self._dimensions[word_key(name)].append(dimension)
        slots = {slot_key: slot for slot, slot_key in enumerate(snapshot.keys())}
        alive = snapshot.alive().tolist()
        slot_of = [slots.get(row_key, -1) for row_key in keys]
        self._slots = np.array([slot if slot >= 0 and alive[slot] else -1 for slot in slot_of], np.intp)
        self._in_order = bool(np.array_equal(self._slots, np.arange(snapshot.n_slots)))

    @property
    def words(self) -> KeysView[str]:
        """The keys of the words the model knows."""
        return self._dimensions.keys()

    def log_p(self, word: str, rows: Rows | None = None) -> Floats:
        """Log-probabilities of ``word`` (of the likeliest of its namesakes), for all rows or some."""
        values = [self._dimension(d, rows) for d in self._dimensions[word]]
        return values[0] if len(values) == 1 else np.maximum.reduce(values)

    def halves(self, word: str) -> NDArray[np.float16] | None:
        """The log-probabilities of ``word`` for all rows as they are stored, where they are halves and lie together."""
        dimensions = self._dimensions[word]
        return self._snapshot.halves(dimensions[0]) if self._in_order and len(dimensions) == 1 else None

    def _dimension(self, dimension: int, rows: Rows | None) -> Floats:
        if self._in_order:
            return self._snapshot.dimension(dimension) if rows is None else self._snapshot.dimension_at(dimension, rows)
        slots = self._slots if rows is None else self._slots[rows]
        known = slots >= 0
        if known.all():
            return self._snapshot.dimension_at(dimension, slots)
        values = np.full(len(slots), UNKNOWN, np.float32)
        values[known] = self._snapshot.dimension_at(dimension, slots[known])
        return values


@dataclass(eq=False)
class Leaf:
    """One word of a query, understood: who knows of it what.

    ``told_by`` has the rows in which people wrote it, by where they did; ``denied`` those where they said no.
    ``closed`` words are true where told and false elsewhere. Else ``sources`` are models' beliefs with the key each
    knows the word by, and in the rows of ``doubted`` what people left unsaid is doubted. ``likeness`` is a belief of
    all rows that needs no model.
    """

    text: str
    n_rows: int
    told_by: dict[str, Rows] = field(default_factory=dict)
    denied: Rows = field(default_factory=no_rows)
    sources: tuple[tuple[Beliefs, str], ...] = ()
    doubted: NDArray[np.bool_] | None = None
    likeness: Floats | None = None
    closed: bool = False

    @cached_property
    def told(self) -> Rows:
        """The rows in which people wrote it anywhere, in order."""
        every = in_either(*self.told_by.values())
        return np.setdiff1d(every, self.denied, assume_unique=True) if len(self.denied) else every

    def everywhere(self) -> Belief:
        """The belief of all rows."""
        log_p = np.array(self._unsaid(None), dtype=np.float32)
        log_p[self.denied] = -np.inf
        log_p[self.told] = 0.0
        told = np.zeros(self.n_rows, np.bool_)
        told[self.told] = True
        return Belief(log_p, told)

    def at(self, rows: Rows) -> Belief:
        """The belief of some rows."""
        log_p = self._unsaid(rows).astype(np.float32, copy=False)
        if len(self.denied):
            log_p[among(rows, self.denied)] = -np.inf
        told = among(rows, self.told)
        log_p[told] = 0.0
        return Belief(log_p, told)

    def halves(self) -> NDArray[np.float16] | None:
        """What a model believes of all rows, not yet doubted, as it is stored; None where there is more to it."""
        if len(self.sources) != 1:
            return None
        beliefs, word = self.sources[0]
        return beliefs.halves(word)

    def _unsaid(self, rows: Rows | None) -> Floats:
        """What is believed where people said nothing: of some rows, a copy."""
        n_rows = self.n_rows if rows is None else len(rows)
        if self.likeness is not None:
            return self.likeness if rows is None else self.likeness[rows]
        if self.closed:
            return np.full(n_rows, -np.inf, np.float32)
        if not self.sources:
            return np.full(n_rows, UNKNOWN, np.float32)
        values = [beliefs.log_p(word, rows) for beliefs, word in self.sources]
        believed = values[0] if len(values) == 1 else np.maximum.reduce(values)
        if self.doubted is None:
            return believed
        doubted = self.doubted if rows is None else self.doubted[rows]
        return believed + np.float32(math.log(OMITTED)) * doubted


@dataclass(frozen=True, eq=False)
class Without:
    """Pictures that do not fit ``part``."""

    part: Asked


@dataclass(frozen=True, eq=False)
class Every:
    """Pictures that fit all parts, some more important than others."""

    parts: tuple[Asked, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Some:
    """Pictures that fit at least one part, some more important than others."""

    parts: tuple[Asked, ...]
    weights: tuple[float, ...]


Asked = Leaf | Without | Every | Some


def heard(asked: Asked, rows: Rows | None = None) -> dict[Leaf, Belief]:
    """The beliefs of every word of a query, for all rows or some."""
    return {leaf: leaf.everywhere() if rows is None else leaf.at(rows) for leaf in leaves(asked)}


def believe(asked: Asked, of_words: Mapping[Leaf, Belief], dependence: float) -> Belief:
    """The belief of a whole query, from those of its words.

    Of alternatives, ``1 - P = prod_i (1 - P_i)``; of parts that must all hold, see :func:`together`.
    """
    match asked:
        case Leaf():
            return of_words[asked]
        case _:
            return _combined(asked, [believe(part, of_words, dependence) for part in parts_of(asked)], dependence)


def together(log_p: Sequence[Floats], dependence: float) -> Floats:
    """The log-probability that several things hold together.

    It is at most that of the least likely of them, and the product if they have nothing to do with each other;
    ``dependence`` says where between the two: ``log P = d min_i log P_i + (1 - d) sum_i log P_i``.

    >>> np.exp(together(np.log([0.5, 0.5]), 0.0)), np.exp(together(np.log([0.5, 0.5]), 1.0))
    (np.float64(0.25), np.float64(0.5))
    """
    # What people denied is minus infinity, which nothing may be multiplied with by 0.
    if dependence in (0.0, 1.0):
        return np.minimum.reduce(log_p) if dependence else np.add.reduce(log_p)
    return dependence * np.minimum.reduce(log_p) + (1 - dependence) * np.add.reduce(log_p)


def possible_rows(asked: Asked) -> Rows | None:
    """Rows outside of which nothing fits, in order; None where every row may.

    A word of a file's name or of a caption is looked for nowhere else.
    """
    match asked:
        case Leaf():
            return asked.told if asked.closed else None
        case Without():
            return None
        case Every():
            return _in_all([rows for part in asked.parts if (rows := possible_rows(part)) is not None])
        case Some():
            return _in_any([possible_rows(part) for part in asked.parts])


def uncertain_rows(asked: Asked) -> Rows | None:
    """Rows among which are all that people told but that are not certain, in order; None where they are not known.

    What people told of a word is certain. With others excluded, of which nobody said anything, it is told no less.
    """
    match asked:
        case Leaf() | Without():
            return no_rows()
        case Some():
            return _in_any([uncertain_rows(part) for part in asked.parts])
        case Every():
            wanted = [part for part in asked.parts if not isinstance(part, Without)]
            if len(wanted) in (0, len(asked.parts)):
                return _in_any([uncertain_rows(part) for part in asked.parts])
            return _in_all([rows for part in wanted if (rows := _told_rows(part)) is not None])


def _told_rows(asked: Asked) -> Rows | None:
    """Rows among which are all that people told, in order; None where they are not known."""
    match asked:
        case Leaf():
            return asked.told
        case Without():
            return None
        case Some():
            return _in_any([_told_rows(part) for part in asked.parts])
        case Every():
            return _in_all([rows for part in asked.parts if (rows := _told_rows(part)) is not None])


def _in_all(lists: Sequence[Rows]) -> Rows | None:
    """The rows that are in every list, None without one."""
    if not lists:
        return None
    rows, *others = sorted(lists, key=len)
    for other in others:
        rows = rows[among(rows, other)]
    return rows


def _in_any(lists: Sequence[Rows | None]) -> Rows | None:
    """The rows that are in some list, None where one is not known."""
    known = [rows for rows in lists if rows is not None]
    return in_either(*known) if len(known) == len(lists) else None


def in_either(*lists: Rows) -> Rows:
    """The rows that are in one of the lists, in order.

    >>> in_either(np.array([2, 5]), np.array([1, 2]))
    array([1, 2, 5])
    """
    filled = [rows for rows in lists if len(rows)]
    if len(filled) < 2:
        return filled[0] if filled else no_rows()
    rows = np.sort(np.concatenate(filled))
    return rows[np.append(True, rows[1:] != rows[:-1])]


def parts_of(asked: Asked) -> tuple[Asked, ...]:
    """The parts directly below."""
    match asked:
        case Leaf():
            return ()
        case Without():
            return (asked.part,)
        case _:
            return asked.parts


def leaves(asked: Asked) -> list[Leaf]:
    """The words that are looked for and those excluded, in their order."""
    return [asked] if isinstance(asked, Leaf) else [leaf for part in parts_of(asked) for leaf in leaves(part)]


def wanted_leaves(asked: Asked) -> list[Leaf]:
    """The words that are looked for, not those excluded."""
    match asked:
        case Leaf():
            return [asked]
        case Without():
            return []
        case _:
            return [leaf for part in asked.parts for leaf in wanted_leaves(part)]


def _combined(asked: Without | Every | Some, parts: Sequence[Belief], dependence: float) -> Belief:
    match asked:
        case Without():
            return Belief(complement(parts[0].log_p), np.isneginf(parts[0].log_p))
        case Some():
            against = [w * complement(part.log_p) for w, part in zip(asked.weights, parts, strict=True)]
            told = np.logical_or.reduce([part.told for part in parts])
            return Belief(complement(np.add.reduce(against)), told)
        case Every():
            logs = [part.log_p if w == 1 else w * part.log_p for w, part in zip(asked.weights, parts, strict=True)]
            return Belief(together(logs, dependence), _told_together(asked, parts))


def _told_together(asked: Every, parts: Sequence[Belief]) -> NDArray[np.bool_]:
    """Where people said all that is wanted, and what is excluded is unlikely."""
    wanted = [b.told for part, b in zip(asked.parts, parts, strict=True) if not isinstance(part, Without)]
    if not wanted:
        return np.logical_and.reduce([belief.told for belief in parts])
    excluded = [b.log_p >= _HALF for part, b in zip(asked.parts, parts, strict=True) if isinstance(part, Without)]
    return np.logical_and.reduce([*wanted, *excluded])


def complement(log_p: Floats) -> Floats:
    """log(1 - exp(log_p)), exact near both ends."""
    with np.errstate(divide="ignore"):
        likely = np.log(np.maximum(-np.expm1(log_p), 0.0))
        return np.where(log_p > _HALF, likely, np.log1p(-np.exp(np.minimum(log_p, _HALF))))


def among(rows: Rows, members: Rows) -> NDArray[np.bool_]:
    """Which of ``rows`` are among ``members``, which are in order.

    >>> among(np.array([3, 1]), np.array([1, 2]))
    array([False,  True])
    """
    if not len(members) or not len(rows):
        return np.zeros(len(rows), np.bool_)
    if len(rows) < _FEW:
        places = np.minimum(np.searchsorted(members, rows), len(members) - 1)
        return members[places] == rows
    marked = np.zeros(max(int(rows.max()), int(members[-1])) + 1, np.bool_)
    marked[members] = True
    return marked[rows]
