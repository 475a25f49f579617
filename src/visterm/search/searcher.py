"""From a typed query to pictures: first those people labelled, then those a model finds likely, down to a cut-off."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
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
    heard,
    in_either,
    parts_of,
    possible_rows,
    uncertain_rows,
    wanted_leaves,
)
from visterm.search.bounds import Scan, Surprises
from visterm.search.evidence import Evidence, Rows
from visterm.search.meaning import Interpreter, Note
from visterm.search.pairs import Pairs
from visterm.search.query import QueryError, parse
from visterm.search.snapshot import largest
from visterm.search.threshold import HEAD, NOTHING_BELOW, cut_off

#: Up to this many pictures, every one is looked at.
_FEW = 10_000
#: If more than this share must be looked at, all are.
_MANY = 0.2


@dataclass(slots=True)
class Reason:
    """Why a picture matches a word: ``by`` people ("tag", "class", "caption", "file name"), "model" or "look"."""

    word: str
    by: str
    probability: float
    excluded: bool = False


@dataclass(frozen=True, slots=True)
class Hit:
    """A picture that was found: its row, the probability that it matches, whether people said so, and why."""

    row: int
    probability: float
    told: bool
    likely: bool
    reasons: tuple[Reason, ...]


@dataclass(slots=True)
class Hits:
    """The pictures that were found, best first, and notes on words that were replaced or ignored.

    A picture is likely if its probability is at least ``cut_off``, which is infinite if none is likely. ``best`` is the
    highest probability. ``n_likely`` counts the likely pictures; it is None if not all were counted.
    """

    hits: list[Hit] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    cut_off: float = math.inf
    n_likely: int | None = 0
    best: float = 0.0


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
    ``like:``, ``vectors`` give the meaning of unknown words, ``pairs`` are a model's beliefs about two words together.

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
        dependence: float = DEPENDENCE,
        nothing_below: float = NOTHING_BELOW,
    ) -> None:
        self._evidence = evidence
        self._interpreter = Interpreter(evidence, tag_beliefs, class_beliefs, like, vectors, pairs)
        self._surprises = Surprises()
        self._dependence, self._nothing_below = dependence, nothing_below

    def search(self, text: str, n_best: int = 20, *, unlikely: bool = False) -> Hits:
        """The best pictures, those with labels from people first; with ``unlikely`` also those below the cut-off."""
        asked, notes = self._interpreter.read(parse(text))
        if asked is None and not notes:
            raise QueryError(f"there is no word to search for in {text!r}")
        if asked is None or not len(self._evidence):
            return Hits(notes=notes)
        look = self._look(asked, n_best)
        rows, belief = look.rows, look.belief
        order = _in_order(belief, n_best)
        # The most similar pictures are always shown, even if none is very similar.
        alike = any(leaf.likeness is not None for leaf in wanted_leaves(asked))
        cut = cut_off(belief.log_p, 0.0 if alike else self._nothing_below)
        probabilities = np.exp(belief.log_p)
        likely = belief.told | (probabilities >= cut)
        shown = order if unlikely else order[likely[order]]
        hits = [
            Hit(row, p, told, fits, why)
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
        return Hits(hits, notes, cut, n_likely, float(probabilities.max(initial=0.0)))

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


def _in_order(belief: Belief, n_best: int) -> Rows:
    """The best possible places: first where people said so, then by probability; ties keep their order."""
    told = np.flatnonzero(belief.told)
    first = told[largest(belief.log_p[told], n_best)]
    if len(first) == n_best:
        return first
    others = np.where(belief.told, -np.inf, belief.log_p)
    rest = largest(others, n_best - len(first))
    return np.concatenate([first, rest[others[rest] > -np.inf]])
