"""How likely pictures match a word: from what people wrote, and from a model where nobody wrote anything."""

from __future__ import annotations

import math
from collections.abc import Callable, KeysView, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit

from visterm.calibration.combining import together
from visterm.collection.evidence import Rows, no_rows
from visterm.find.rank.omission import Doubts, doubted
from visterm.find.rank.row_sets import among, in_all, in_any, in_either
from visterm.index.snapshot import Snapshot
from visterm.language import places_of_names

Floats = NDArray[np.floating[Any]]

#: The log-probability where nothing is known.
UNKNOWN = math.log(1e-4)
_HALF = math.log(0.5)
#: A model is never certain.
_SUREST = math.log(1 - 1e-4)
#: The slot of a picture without a vector.
_ABSENT = -1


@dataclass(frozen=True, slots=True)
class Belief:
    """For every picture asked about: the log-probability that it matches, and whether people said so.

    What people said is certain (log 1 or log 0); a model is never certain.
    """

    log_p: Floats
    told: NDArray[np.bool_]


class Beliefs:
    """A model's probabilities of words: dimension d of the index holds the log-probabilities of ``names[d]``.

    ``keys`` are the keys of all pictures, in row order. Pictures without a vector get ``UNKNOWN``. If several names
    have one key, as merged ones have, the likeliest counts; the probabilities of ``exclusive`` names, classes, add up.
    """

    def __init__(
        self, snapshot: Snapshot, names: Sequence[str], keys: Sequence[str], *, exclusive: bool = False
    ) -> None:
        self._snapshot, self._exclusive, self._log_sure = snapshot, exclusive, 0.0
        self._dimensions = places_of_names(names)
        self._slots = snapshot.find(keys)
        self._in_order = bool(np.array_equal(self._slots, np.arange(snapshot.n_slots)))

    @property
    def words(self) -> KeysView[str]:
        """The keys of the words that the model knows."""
        return self._dimensions.keys()

    def less_sure(self, sure: float) -> Self:
        """The same beliefs where a word is only meant with the probability ``sure``."""
        less = copy(self)
        less._log_sure += math.log(sure)
        return less

    def log_p(self, word: str, rows: Rows | None = None) -> Floats:
        """Log-probabilities of ``word`` for all rows or some."""
        log_p = self._log_p(word, rows)
        return log_p + np.float32(self._log_sure) if self._log_sure else log_p

    def _log_p(self, word: str, rows: Rows | None) -> Floats:
        values = [self._dimension(d, rows) for d in self._dimensions[word]]
        if len(values) == 1:
            return values[0]
        return np.minimum(np.logaddexp.reduce(values), _SUREST) if self._exclusive else np.maximum.reduce(values)

    def halves(self, word: str) -> NDArray[np.float16] | None:
        """The log-probabilities of ``word`` for all rows, if they are stored so, as float16 in row order; else None."""
        dimensions = self._dimensions[word]
        as_stored = self._in_order and len(dimensions) == 1 and not self._log_sure
        return self._snapshot.halves(dimensions[0]) if as_stored else None

    def _dimension(self, dimension: int, rows: Rows | None) -> Floats:
        if self._in_order:
            return self._snapshot.dimension(dimension) if rows is None else self._snapshot.dimension_at(dimension, rows)
        slots = self._slots if rows is None else self._slots[rows]
        known = slots != _ABSENT
        if known.all():
            return self._snapshot.dimension_at(dimension, slots)
        values = np.full(len(slots), UNKNOWN, np.float32)
        values[known] = self._snapshot.dimension_at(dimension, slots[known])
        return values


@dataclass(eq=False)
class Leaf:
    """One word of a query, and everything known about it.

    ``told_by`` has the rows where people wrote the word, by the place they wrote it; ``denied`` has the rows where they
    said no. A ``closed`` word matches only the rows where people wrote it. For other words, ``sources`` holds models'
    beliefs, each with its key of the word; where people gave tags but left the word out, the models are doubted, as
    ``doubted`` says. ``likeness`` holds log-probabilities of all rows that need no model. If it is not sure that the
    word of ``surer`` is meant, the sources are less sure than those of that leaf.
    """

    text: str
    n_rows: int
    told_by: dict[str, Rows] = field(default_factory=dict)
    denied: Rows = field(default_factory=no_rows)
    sources: tuple[tuple[Beliefs, str], ...] = ()
    doubted: Doubts | None = None
    likeness: Floats | None = None
    closed: bool = False
    surer: Leaf | None = None

    @property
    def is_judged(self) -> bool:
        """Whether a model or the looks say something of every row, not only people of some."""
        return bool(self.sources) or self.likeness is not None

    @cached_property
    def told(self) -> Rows:
        """The rows where people wrote the word anywhere, in order."""
        every = in_either(*self.told_by.values())
        return every[~among(every, self.denied)]

    def everywhere(self) -> Belief:
        """The belief about all rows."""
        log_p = np.array(self._unsaid(None), dtype=np.float32)
        log_p[self.denied] = -np.inf
        log_p[self.told] = 0.0
        told = np.zeros(self.n_rows, np.bool_)
        told[self.told] = True
        return Belief(log_p, told)

    def at(self, rows: Rows) -> Belief:
        """The belief about some rows."""
        log_p = self._unsaid(rows).astype(np.float32, copy=False)
        log_p[among(rows, self.denied)] = -np.inf
        told = among(rows, self.told)
        log_p[told] = 0.0
        return Belief(log_p, told)

    def unheard(self, rows: Rows) -> Belief:
        """The belief about some rows if people had not given the word; a closed word has no other belief."""
        return self.at(rows) if self.closed else Belief(self._believed(rows), np.zeros(len(rows), np.bool_))

    def halves(self) -> NDArray[np.float16] | None:
        """The model's stored log-probabilities of all rows, not yet doubted; None unless there is exactly one model."""
        if len(self.sources) != 1:
            return None
        beliefs, word = self.sources[0]
        return beliefs.halves(word)

    def _unsaid(self, rows: Rows | None) -> Floats:
        """Log-probabilities where people said nothing; for some rows, a copy."""
        believed = self._believed(rows)
        if self.doubted is None or not self.sources:
            return believed
        levels = self.doubted.levels if rows is None else self.doubted.levels[rows]
        places = self.doubted.rows if rows is None else np.flatnonzero(levels)
        believed = np.array(believed, dtype=np.float32)
        believed[places] = doubted(believed[places], levels[places])
        return believed

    def _believed(self, rows: Rows | None) -> Floats:
        """Log-probabilities if people had said nothing about any word."""
        n_rows = self.n_rows if rows is None else len(rows)
        if self.likeness is not None:
            return self.likeness if rows is None else self.likeness[rows]
        if self.closed:
            return np.full(n_rows, -np.inf, np.float32)
        if not self.sources:
            return np.full(n_rows, UNKNOWN, np.float32)
        values = [beliefs.log_p(word, rows) for beliefs, word in self.sources]
        return values[0] if len(values) == 1 else np.maximum.reduce(values)


@dataclass(frozen=True, eq=False)
class Without:
    """Pictures that do not match ``part``."""

    part: Asked


@dataclass(frozen=True, eq=False)
class Every:
    """Pictures that match all parts; parts with more weight count more."""

    parts: tuple[Asked, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Some:
    """Pictures that match at least one part; parts with more weight count more."""

    parts: tuple[Asked, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Fused:
    """Pictures that match a text: by their ``look``, and by the ``known`` words of the text.

    To the log-odds by look, ``trusted`` adds what those of the known words count. Where nobody looked, they answer
    alone. ``told`` are words that only people know of, and no model. If ``complete``, the known and told words are all
    words, so that pictures of which people said all of them are certain.
    """

    look: Leaf
    known: Asked | None
    told: tuple[Leaf, ...]
    trusted: Callable[[Floats], Floats]
    complete: bool


Asked = Leaf | Without | Every | Some | Fused


def heard(asked: Asked, rows: Rows | None = None) -> dict[Leaf, Belief]:
    """The belief about every word of a query, for all rows or some."""
    return {leaf: leaf.everywhere() if rows is None else leaf.at(rows) for leaf in leaves(asked)}


def believed_unheard(asked: Asked, rows: Rows, dependence: float) -> Floats:
    """The log-probability of a whole query for some rows, if people had not given its words."""
    return believe(asked, {leaf: leaf.unheard(rows) for leaf in leaves(asked)}, dependence).log_p


def believe(asked: Asked, of_words: Mapping[Leaf, Belief], dependence: float) -> Belief:
    """The belief about a whole query, from the beliefs about its words.

    For alternatives, ``1 - P = prod_i (1 - P_i)``. For parts that must all hold, see :func:`together`.
    """
    match asked:
        case Leaf():
            return of_words[asked]
        case Fused():
            return _fused(asked, of_words, dependence)
        case _:
            return _combined(asked, [believe(part, of_words, dependence) for part in parts_of(asked)], dependence)


def judged(asked: Asked, of_words: Mapping[Leaf, Belief]) -> NDArray[np.bool_] | None:
    """Where people, a model or the looks say something of what is wanted; None if everywhere.

    What is excluded needs no word: it holds unless somebody says otherwise.
    """
    match asked:
        case Leaf():
            return None if asked.is_judged else of_words[asked].told
        case Without() | Fused():
            return None
        case _:
            every = [judged(part, of_words) for part in asked.parts]
            somewhere = [where for where in every if where is not None]
            if not somewhere or (isinstance(asked, Some) and len(somewhere) < len(every)):
                return None
            join = np.logical_or if isinstance(asked, Some) else np.logical_and
            return np.asarray(join.reduce(somewhere))


def possible_rows(asked: Asked) -> Rows | None:
    """The only rows that can match, in order; None if every row can.

    A ``caption:`` or ``filename:`` term matches only the rows where people wrote it.
    """
    return _where(asked, lambda leaf: leaf.told if leaf.closed else None)


def uncertain_rows(asked: Asked) -> Rows | None:
    """Rows that include every row where people said so but the probability is below 1, in order; None if not known.

    What people said about one word is certain. A query that also excludes words is less certain where nobody said
    anything about the excluded words; the row still counts as told.
    """
    match asked:
        case Leaf() | Without() | Fused():
            return no_rows()
        case Some():
            return in_any([uncertain_rows(part) for part in asked.parts])
        case Every():
            wanted = [part for part in asked.parts if not isinstance(part, Without)]
            if len(wanted) in (0, len(asked.parts)):
                return in_any([uncertain_rows(part) for part in asked.parts])
            told = [_where(part, lambda leaf: leaf.told) for part in wanted]
            return in_all([rows for rows in told if rows is not None])


def _where(asked: Asked, of_leaf: Callable[[Leaf], Rows | None]) -> Rows | None:
    """Rows that include all that match a query whose words match only the rows ``of_leaf``; None if not known."""
    match asked:
        case Leaf():
            return of_leaf(asked)
        case Without() | Fused():
            return None
        case Some():
            return in_any([_where(part, of_leaf) for part in asked.parts])
        case Every():
            return in_all([rows for part in asked.parts if (rows := _where(part, of_leaf)) is not None])


def parts_of(asked: Asked) -> tuple[Asked, ...]:
    """The parts directly below."""
    match asked:
        case Leaf():
            return ()
        case Without():
            return (asked.part,)
        case Fused():
            return (*(() if asked.known is None else (asked.known,)), *asked.told, asked.look)
        case _:
            return asked.parts


def leaves(asked: Asked) -> list[Leaf]:
    """All words of a query, wanted and excluded, in their order."""
    return [asked] if isinstance(asked, Leaf) else [leaf for part in parts_of(asked) for leaf in leaves(part)]


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


def _fused(asked: Fused, of_words: Mapping[Leaf, Belief], dependence: float) -> Belief:
    look = of_words[asked.look].log_p.astype(np.float64)
    looked = look > -np.inf
    known = None if asked.known is None else believe(asked.known, of_words, dependence)
    words = [*(() if known is None else (known,)), *(of_words[leaf] for leaf in asked.told)]
    odds = np.where(looked, _log_odds(np.where(looked, look, 0)), -np.inf)
    if known is not None:
        of_known = _log_odds(known.log_p.astype(np.float64))
        odds = np.where(looked, odds + asked.trusted(of_known), of_known)
    log_p = np.minimum(log_expit(odds), _SUREST).astype(np.float32)
    told = np.full(len(log_p), asked.complete)
    for belief in words:
        told &= belief.told
        log_p[np.isneginf(belief.log_p)] = -np.inf
    log_p[told] = 0.0
    return Belief(log_p, told)


def _log_odds(log_p: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.where(log_p == 0, np.inf, log_p - complement(log_p))


def _told_together(asked: Every, parts: Sequence[Belief]) -> NDArray[np.bool_]:
    """Where people said that all wanted parts hold, and the excluded parts are unlikely."""
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
