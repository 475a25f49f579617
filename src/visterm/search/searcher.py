"""From a typed query to pictures: first those people labelled, then those a model finds likely, down to a cut-off."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from visterm.language import WordVectors
from visterm.search.beliefs import (
    DEPENDENCE,
    Asked,
    Belief,
    Beliefs,
    Floats,
    Leaf,
    Without,
    among,
    believe,
    believed_unheard,
    heard,
    in_either,
    parts_of,
    possible_rows,
    uncertain_rows,
)
from visterm.search.bounds import Scan, Surprises
from visterm.search.evidence import Evidence, Rows
from visterm.search.meaning import Interpreter
from visterm.search.pairs import Pairs
from visterm.search.query import QueryError, parse
from visterm.search.reading import Note, Reading
from visterm.search.snapshot import largest
from visterm.search.threshold import HEAD, NOTHING_BELOW, cut_off

#: Up to this many pictures, every one is looked at.
_FEW = 10_000
#: If more than this share must be looked at, all are.
_MANY = 0.2


@dataclass(slots=True)
class Reason:
    """Why a picture matches a word, and who says so.

    ``by`` is "tag", "class", "caption" or "file name" if people said so, or else "model", "look" or "no tags".
    """

    word: str
    by: str
    probability: float
    excluded: bool = False


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


@dataclass(slots=True)
class Hits:
    """The pictures that were found, best first, and notes on words that were replaced or left out.

    A picture is likely if its probability is at least ``cut_off``, which is infinite if none is likely. ``best`` is the
    highest probability. ``n_likely`` counts the likely pictures; it is None if not all were counted.
    ``n_less_likely`` pictures more are shown with the unlikely ones. If no picture is likely to match all words, the
    hits are those that match most words, and all other fields are about all words. ``ignored`` words say nothing about
    pictures; ``hints`` tell how to write what was probably meant.
    """

    hits: list[Hit] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    cut_off: float = math.inf
    n_likely: int | None = 0
    best: float = 0.0
    n_less_likely: int = 0
    ignored: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Look:
    """The beliefs about some rows, for every word and for the query. All other rows have at most ``others``."""

    rows: Rows
    of_words: dict[Leaf, Belief]
    belief: Belief
    others: float = 0.0


class Searcher:
    """Searches the pictures of ``evidence``.

    ``dependence`` and ``nothing_below`` come from a model's :class:`~visterm.search.relevance.Relevance`: how much
    words depend on each other, and how likely the best picture must be for anything to be found. ``like`` answers
    ``like:``, ``vectors`` give the meaning of unknown words, ``pairs`` are a model's beliefs about two words together,
    ``aliases`` old names of tags and classes by kind.

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
    ) -> None:
        self._evidence = evidence
        self._interpreter = Interpreter(evidence, tag_beliefs, class_beliefs, like, vectors, pairs, aliases)
        self._surprises = Surprises()
        self._dependence, self._nothing_below = dependence, nothing_below

    def search(self, text: str, n_best: int = 20, *, unlikely: bool = False) -> Hits:
        """The best pictures, those with labels from people first; with ``unlikely`` also those below the cut-off."""
        said = self._interpreter.read(parse(text))
        if said.asked is None and not said.notes:
            raise QueryError(f"there is no word to search for in {text!r}")
        found = Hits()
        if said.asked is not None and len(self._evidence):
            found = self._answer(said.asked, n_best, tuple(said.missing), unlikely=unlikely)
            if not found.hits:
                found.hits = self._partial(said, n_best)
        found.notes, found.ignored, found.hints = said.notes, said.ignored, said.hints
        return found

    def _answer(self, asked: Asked, n_best: int, missing: tuple[str, ...] = (), *, unlikely: bool = False) -> Hits:
        look = self._look(asked, n_best)
        rows, belief = look.rows, look.belief
        order = self._in_order(asked, look, n_best)
        cut = cut_off(belief.log_p, self._nothing_below)
        probabilities = np.exp(belief.log_p)
        likely = belief.told | (probabilities >= cut)
        shown = order if unlikely else order[likely[order]]
        hits = [
            Hit(row, p, told, fits, why, missing)
            for row, p, told, fits, why in zip(
                rows[shown].tolist(),
                probabilities[shown].tolist(),
                belief.told[shown].tolist(),
                likely[shown].tolist(),
                _reasons(asked, look, shown),
                strict=True,
            )
        ]
        n_likely = int(likely.sum()) if look.others <= cut else None
        best = float(probabilities.max(initial=0.0))
        return Hits(hits, [], cut, n_likely, best, n_less_likely=len(order) - len(shown))

    def _partial(self, said: Reading, n_best: int) -> list[Hit]:
        """The pictures that lack as few words as possible; the ways to leave out words take turns."""
        for ways in self._interpreter.fewer(said):
            hits: dict[int, tuple[bool, int, float, Hit]] = {}
            for words, asked in ways:
                for place, hit in enumerate(self._answer(asked, n_best, (*said.missing, *words)).hits):
                    rank = (not hit.told, place, -hit.probability, hit)
                    hits[hit.row] = min(hits.get(hit.row, rank), rank, key=_by_rank)
            if hits:
                return [hit for *_, hit in sorted(hits.values(), key=_by_rank)[:n_best]]
        return []

    def _in_order(self, asked: Asked, look: _Look, n_best: int) -> Rows:
        """The best possible places: first where people said so, then by probability; ties keep their order.

        Where people said so, equal probabilities are ordered by what a model would have believed.
        """
        belief = look.belief
        told = np.flatnonzero(belief.told)
        if len(told) > 1:
            unheard, log_p = believed_unheard(asked, look.rows[told], self._dependence), belief.log_p[told]
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
            within = -least * (1 + 1e-5) + 5e-5  # room for rounding errors
            if within <= surprise:  # n_needed known rows are likelier than all other rows
                return replace(look, others=math.exp(least))
            surprise = within
        return self._look_at(asked)

    def _look_at(self, asked: Asked, rows: Rows | None = None) -> _Look:
        of_words = heard(asked, rows)
        belief = believe(asked, of_words, self._dependence)
        return _Look(np.arange(len(self._evidence)) if rows is None else rows, of_words, belief)


def _reasons(asked: Asked, look: _Look, shown: Rows) -> list[tuple[Reason, ...]]:
    """For each shown place in the rows looked at, why the picture matches each word."""
    of_words = [_reasons_of(leaf, excluded, look, shown) for leaf, excluded in _said(asked)]
    return [tuple(chain.from_iterable(of_row)) for of_row in zip(*of_words, strict=True)]


def _reasons_of(leaf: Leaf, excluded: bool, look: _Look, shown: Rows) -> list[list[Reason]]:
    belief, rows = look.of_words[leaf], look.rows[shown]
    told = belief.told[shown].tolist()
    told_by = [(place, among(rows, members)) for place, members in leaf.told_by.items()] if any(told) else []
    believed = "look" if leaf.likeness is not None else "model"
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
    for part in parts_of(asked):
        yield from _said(part, excluded=excluded != isinstance(asked, Without))


def _by_rank(ranked: tuple[bool, int, float, Hit]) -> tuple[bool, int, float]:
    return ranked[:3]
