"""From a typed query to pictures: first those people labelled, then those a model finds likely, down to a cut-off."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.calibration.combining import DEPENDENCE
from visterm.calibration.nothing_found import HEAD, NOTHING_BELOW, cut_off
from visterm.collection.any_words import Texts
from visterm.collection.evidence import Evidence, Rows
from visterm.collection.reasons import Reason
from visterm.find.rank.beliefs import (
    Asked,
    Belief,
    Beliefs,
    Floats,
    Fused,
    Leaf,
    Without,
    believe,
    believed_unheard,
    heard,
    judged,
    parts_of,
    possible_rows,
    uncertain_rows,
)
from visterm.find.rank.bounds import Scan, Surprises
from visterm.find.rank.pairs import Pairs
from visterm.find.rank.row_sets import among, in_either
from visterm.find.words.conditions import Known
from visterm.find.words.meaning import Interpreter
from visterm.find.words.query import QueryError, parse
from visterm.find.words.reading import Note, Reading, Understood
from visterm.index.snapshot import largest
from visterm.language import WordVectors

Mask = NDArray[np.bool_]
#: Up to this many pictures, every one is looked at.
_FEW = 10_000
#: If more than this share must be looked at, all are.
_MANY = 0.2
#: A surprise may be off by this share and this much.
_RELATIVE, _ABSOLUTE = 1e-5, 5e-5


@dataclass(frozen=True, slots=True)
class Hit:
    """A picture that was found: its row, the probability that it matches, whether people said so, and why.

    ``missing`` has the words of the query that were left out to find it.
    """

    row: int
    probability: float
    told: bool
    likely: bool
    reasons: tuple[Reason, ...]
    missing: tuple[str, ...] = ()


@dataclass(slots=True, eq=False)
class Hits:
    """The pictures that were found, best first, and notes on words that were replaced or left out.

    Entry i of ``rows``, ``probabilities``, ``told``, ``likely`` and ``missing`` is one picture, as in :class:`Hit`.
    A picture is likely if its probability is at least ``cut_off``, which is infinite if none is likely. ``best`` is the
    highest probability. ``n_likely`` counts the likely pictures; it is None if not all were counted.
    ``n_less_likely`` pictures more are shown with the unlikely ones. If no picture is likely to match all words, the
    pictures are those that match most words, and all other fields are about all words. ``ignored`` words say nothing
    about pictures; ``hints`` tell how to write what was probably meant. ``understood`` says how each word was read.
    ``guessed`` is true if no picture is likely, and the pictures are those that look most like what is asked for;
    ``by_look`` if the look of pictures was judged.
    """

    notes: list[Note] = field(default_factory=list)
    cut_off: float = math.inf
    n_likely: int | None = 0
    best: float = 0.0
    n_less_likely: int = 0
    ignored: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    understood: list[Understood] = field(default_factory=list)
    guessed: bool = False
    by_look: bool = False
    rows: Rows = field(default_factory=lambda: np.empty(0, np.intp))
    probabilities: Floats = field(default_factory=lambda: np.empty(0, np.float32))
    told: Mask = field(default_factory=lambda: np.empty(0, np.bool_))
    likely: Mask = field(default_factory=lambda: np.empty(0, np.bool_))
    missing: list[tuple[str, ...]] = field(default_factory=list)
    _chosen: _Chosen | None = None

    @property
    def hits(self) -> list[Hit]:
        """All pictures with their reasons."""
        return self.at(np.arange(len(self.rows)))

    def at(self, places: Rows) -> list[Hit]:
        """The pictures at some places, with their reasons; where thousands are listed, reasons take long."""
        if self._chosen is None:
            return []
        columns = [column[places].tolist() for column in (self.rows, self.probabilities, self.told, self.likely)]
        missing = [self.missing[place] for place in places.tolist()]
        return [Hit(*of_one) for of_one in zip(*columns, self._chosen.reasons(places), missing, strict=True)]


@dataclass(frozen=True, slots=True)
class _Look:
    """The beliefs about some rows, for every word and for the query. All other rows have at most ``others``."""

    rows: Rows
    of_words: dict[Leaf, Belief]
    belief: Belief
    others: float = 0.0


@dataclass(frozen=True, slots=True)
class _Answer:
    """What one reading of a query finds: ``shown`` places of the rows that were looked at, best first."""

    asked: Asked
    look: _Look
    shown: Rows
    probabilities: Floats
    likely: Mask
    cut_off: float
    n_less_likely: int
    missing: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.shown)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Pictures of some answers, best first: the number of each one's answer, and its place in that answer."""

    answers: list[_Answer]
    of: Rows
    places: Rows

    def columns(self) -> tuple[Rows, Floats, Mask, Mask, list[tuple[str, ...]]]:
        """The row, the probability, whether people said so, whether it is likely, and the missing words of each."""
        starts = np.cumsum([0, *(len(answer) for answer in self.answers)])
        places = starts[self.of] + self.places

        def column(parts: Iterable[NDArray[Any]]) -> NDArray[Any]:
            every = [part[answer.shown] for part, answer in zip(parts, self.answers, strict=True)]
            return np.concatenate(every)[places]

        return (
            column(answer.look.rows for answer in self.answers),
            column(answer.probabilities for answer in self.answers),
            column(answer.look.belief.told for answer in self.answers),
            column(answer.likely for answer in self.answers),
            [self.answers[number].missing for number in self.of.tolist()],
        )

    def reasons(self, wanted: Rows) -> list[tuple[Reason, ...]]:
        found: list[tuple[Reason, ...]] = [()] * len(wanted)
        for number, answer in enumerate(self.answers):
            own = np.flatnonzero(self.of[wanted] == number)
            whys = _reasons(answer.asked, answer.look, answer.shown[self.places[wanted[own]]])
            for place, why in zip(own.tolist(), whys, strict=True):
                found[place] = why
        return found


class Searcher:
    """Searches the pictures of ``evidence``.

    ``dependence`` and ``nothing_below`` come from a model's :class:`~visterm.calibration.relevance.Relevance`: how much
    words depend on each other, and how likely the best picture must be for anything to be found. ``like`` answers
    ``like:``, ``vectors`` give the meaning of unknown words, ``pairs`` are a model's beliefs about two words together,
    ``aliases`` old names of tags and classes by kind; ``texts`` judge pictures by their look, for any words;
    ``facts`` answer conditions such as ``date:2019``.

    >>> from scipy import sparse
    >>> evidence = Evidence(["a.jpg", "b.jpg", "c.jpg"], tag_names=["boat", "sea"],
    ...                     tags=sparse.csr_array([[1, 1], [1, 0], [0, 0]]))
    >>> [hit.row for hit in Searcher(evidence).search("boats -sea").hits]
    [1]
    """

    def __init__(
        self,
        evidence: Evidence,
        tag_beliefs: Beliefs | None = None,
        class_beliefs: Beliefs | None = None,
        *,
        like: Callable[[str], Floats] | None = None,
        vectors: WordVectors | None = None,
        pairs: Pairs | None = None,
        aliases: Mapping[str, Mapping[str, str]] | None = None,
        dependence: float = DEPENDENCE,
        nothing_below: float = NOTHING_BELOW,
        texts: Texts | None = None,
        facts: Known | None = None,
    ) -> None:
        self._evidence = evidence
        self._interpreter = Interpreter(
            evidence,
            tag_beliefs,
            class_beliefs,
            like=like,
            vectors=vectors,
            pairs=pairs,
            aliases=aliases,
            texts=texts,
            facts=facts,
        )
        self._surprises = Surprises()
        self._dependence, self._nothing_below = dependence, nothing_below

    def search(self, text: str, n_best: int = 20, *, unlikely: bool = False) -> Hits:
        """The best pictures, those with labels from people first; with ``unlikely`` also those below the cut-off."""
        found = Hits()
        found._chosen = chosen = self._find(found, text, n_best, unlikely=unlikely)
        if chosen is not None:
            found.rows, found.probabilities, found.told, found.likely, found.missing = chosen.columns()
        return found

    def _find(self, found: Hits, text: str, n_best: int, *, unlikely: bool) -> _Chosen | None:
        """The pictures found, None if there are none; the rest is written into ``found``."""
        said = self._interpreter.read(parse(text))
        if said.asked is None and not said.notes:
            raise QueryError(f"there is no word to search for in {text!r}")
        found.notes, found.ignored, found.hints = said.notes, said.ignored, said.hints
        found.understood, found.by_look = said.understood, said.by_look
        if said.asked is None or not len(self._evidence):
            return None
        if said.missing and all(excluded for _, excluded in _said(said.asked)):
            return None  # what is excluded does not answer for what is not known
        below = self._nothing_below if said.nothing_below is None else said.nothing_below
        whole = self._answer(said.asked, n_best, below, tuple(said.missing), unlikely=unlikely)
        found.cut_off, found.n_less_likely = whole.cut_off, whole.n_less_likely
        # mutants: <= -> <: an exact tie of real numbers
        found.n_likely = int(whole.likely.sum()) if whole.look.others <= whole.cut_off else None
        found.best = float(whole.probabilities.max(initial=0.0))
        if len(whole):
            return _in_turn([whole], n_best)
        partial = self._partial(said, n_best) if said.some_first else None
        if partial is not None or not said.by_look:
            return partial
        found.guessed = True  # no label says so; these look most like it
        return _in_turn([self._answer(said.asked, n_best, below, unlikely=True)], n_best)

    def _answer(
        self, asked: Asked, n_best: int, below: float, missing: tuple[str, ...] = (), *, unlikely: bool = False
    ) -> _Answer:
        look = self._look(asked, n_best)
        belief = look.belief
        order = self._in_order(asked, look, n_best)
        cut = cut_off(belief.log_p, below)
        probabilities = np.exp(belief.log_p)
        # mutants: >= -> >: an exact tie of real numbers
        likely = belief.told | (probabilities >= cut)
        shown = order if unlikely else order[likely[order]]
        return _Answer(
            asked=asked,
            look=look,
            shown=shown,
            probabilities=probabilities,
            likely=likely,
            cut_off=cut,
            n_less_likely=len(order) - len(shown),
            missing=missing,
        )

    def _partial(self, said: Reading, n_best: int) -> _Chosen | None:
        """The pictures that lack as few words as possible; the ways to leave out words take turns."""
        for ways in self._interpreter.fewer(said):
            missing = [*said.missing, *said.looked]
            answers = [self._answer(asked, n_best, self._nothing_below, (*missing, *words)) for words, asked in ways]
            if any(len(answer) for answer in answers):
                return _in_turn(answers, n_best)
        return None

    def _in_order(self, asked: Asked, look: _Look, n_best: int) -> Rows:
        """The best possible places: first where people said so, then by probability; ties keep their order.

        Where people said so, equal probabilities are ordered by what a model would have believed.
        """
        belief = look.belief
        told = np.flatnonzero(belief.told)
        if len(told) > 1:
            unheard, log_p = believed_unheard(asked, look.rows[told], self._dependence), belief.log_p[told]
            # mutants: == -> !=, 0 -> 1: a faster way to the same order where all are equally likely
            certain = bool((log_p == log_p[0]).all())
            told = told[largest(unheard, n_best) if certain else np.lexsort((-unheard, -log_p))]
        if len(told) >= n_best:
            return told[:n_best]
        others = np.where(belief.told, -np.inf, belief.log_p)
        rest = largest(others, n_best - len(told))
        return np.concatenate([told, rest[others[rest] > -np.inf]])

    def _look(self, asked: Asked, n_best: int) -> _Look:
        """Evaluate the best rows and all rows where people said so.

        In a large collection, bounds show beforehand that most rows cannot be among the best.
        """
        possible, told = possible_rows(asked), uncertain_rows(asked)
        if possible is not None and len(possible) <= _FEW:
            return self._look_at(asked, possible)
        n_needed = max(n_best, HEAD)  # the cut-off needs the HEAD best, even if fewer are shown
        if len(self._evidence) <= max(_FEW, n_needed) or told is None:
            return self._look_at(asked)
        scan = Scan(asked, self._dependence, self._surprises)
        surprise = scan.of_best(n_needed)
        while len(rows := scan.within(surprise)) <= _MANY * len(self._evidence):
            look = self._look_at(asked, in_either(rows, told))
            log_p = look.belief.log_p
            least = float(log_p[largest(log_p, n_needed)[-1]])
            if least == -math.inf:
                break
            within = -least * (1 + _RELATIVE) + _ABSOLUTE  # room for rounding errors
            if within <= surprise:  # n_needed known rows are likelier than all other rows
                return replace(look, others=math.exp(least))
            surprise = within
        return self._look_at(asked)

    def _look_at(self, asked: Asked, rows: Rows | None = None) -> _Look:
        of_words = heard(asked, rows)
        belief = believe(asked, of_words, self._dependence)
        known = judged(asked, of_words)
        if known is not None:  # nobody judged the other rows, so they are not even unlikely
            belief = Belief(np.where(known, belief.log_p, -np.inf), belief.told)
        return _Look(np.arange(len(self._evidence)) if rows is None else rows, of_words, belief)


def _in_turn(answers: list[_Answer], n_best: int) -> _Chosen:
    """The best pictures of all answers, each once: where people said so first, then the answers take turns."""
    of = np.repeat(np.arange(len(answers)), [len(answer) for answer in answers])
    every = _Chosen(answers, of, np.concatenate([np.arange(len(answer)) for answer in answers]))
    if len(answers) == 1:
        return every
    rows, probabilities, told, *_ = every.columns()
    order = np.lexsort((of, -probabilities, every.places, ~told))
    first = np.sort(np.unique(rows[order], return_index=True)[1])
    best = order[first][:n_best]
    return _Chosen(answers, of[best], every.places[best])


def _reasons(asked: Asked, look: _Look, shown: Rows) -> list[tuple[Reason, ...]]:
    """For each shown place in the rows looked at, why the picture matches each word."""
    of_words = [_reasons_of(leaf, excluded, look, shown) for leaf, excluded in _said(asked)]
    return [tuple(chain.from_iterable(of_row)) for of_row in zip(*of_words, strict=True)]


def _reasons_of(leaf: Leaf, excluded: bool, look: _Look, shown: Rows) -> list[list[Reason]]:
    belief, rows = look.of_words[leaf], look.rows[shown]
    told = belief.told[shown].tolist()
    told_by = [(place, among(rows, members)) for place, members in leaf.told_by.items()] if any(told) else []
    believed = "look" if leaf.likeness is not None else "model" if leaf.sources else "nobody"
    if leaf.closed:  # no model is involved: the word is written there, or not
        believed = next(iter(leaf.told_by), believed)
    return [
        [Reason(leaf.text, place, p, excluded) for place, members in told_by if members[i]]
        if told[i]
        else [Reason(leaf.text, believed, p, excluded)]
        for i, p in enumerate(np.exp(belief.log_p[shown]).tolist())
    ]


def _said(asked: Asked, *, excluded: bool = False) -> Iterator[tuple[Leaf, bool]]:
    """The words of a query in their order, and whether each is excluded."""
    if isinstance(asked, Leaf):
        yield asked, excluded
    parts = parts_of(asked)
    if isinstance(asked, Fused) and asked.complete:
        parts = parts[:-1]  # each word says why; of the look, there is no more to say
    for part in parts:
        yield from _said(part, excluded=excluded != isinstance(asked, Without))
