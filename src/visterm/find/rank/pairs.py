"""A model's beliefs about two words together, in addition to its beliefs about each word."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from visterm.calibration.combining import pair_weights
from visterm.find.rank.beliefs import Asked, Beliefs, Every, Leaf
from visterm.find.rank.row_sets import among
from visterm.index.snapshot import Snapshot
from visterm.language import name_key, word_key

_MAX_REMEMBERED = 500


class Pairs:
    """Adds to a query the pairs of its words that a model knows.

    A picture that resembles some with *sea* and others with *horse* need not resemble one with both. If a model has
    learned two words together (dimension d of the index holds the log-probabilities of ``names[d]``), the search asks
    for the pair as well as for its words. ``weight`` is the weight of a pair, learned by
    :meth:`visterm.calibration.relevance.Relevance.fit_pairs`.
    """

    def __init__(
        self, snapshot: Snapshot, names: Sequence[tuple[str, str]], keys: Sequence[str], weight: float
    ) -> None:
        self._weight = weight
        labels = [str(dimension) for dimension in range(len(names))]
        self._beliefs = Beliefs(snapshot, labels, keys)
        self._labels = {frozenset(map(word_key, pair)): label for pair, label in zip(names, labels, strict=True)}
        self._labels |= {frozenset(map(name_key, pair)): label for pair, label in zip(names, labels, strict=True)}
        self._leaves: dict[tuple[Leaf, Leaf], Leaf] = {}

    def joined(self, parts: Sequence[Asked], weights: Sequence[float]) -> Every:
        """The parts that must all hold, with the pairs of words that the model knows."""
        words = [(place, part) for place, part in enumerate(parts) if isinstance(part, Leaf) and part.sources]
        known = [
            (a, b, self._leaf(words[a][1], words[b][1], label))
            for a, b in combinations(range(len(words)), 2)
            if (label := self._labels.get(frozenset((words[a][1].text, words[b][1].text)))) is not None
        ]
        if not known:
            return Every(tuple(parts), tuple(weights))
        of_words, of_pair = pair_weights(len(words), [(a, b) for a, b, _ in known], self._weight)
        share = {place: of_word for (place, _), of_word in zip(words, of_words, strict=True)}
        own = [share.get(place, 1.0) * weight for place, weight in enumerate(weights)]
        of_pairs = [of_pair * (weights[words[a][0]] + weights[words[b][0]]) / 2 for a, b, _ in known]
        return Every((*parts, *(leaf for *_, leaf in known)), (*own, *of_pairs))

    def _leaf(self, a: Leaf, b: Leaf, label: str) -> Leaf:
        """The leaf of a pair. It is the same object each time, so that what was read for it can be remembered."""
        if (a, b) not in self._leaves:
            if len(self._leaves) >= _MAX_REMEMBERED:
                self._leaves.clear()
            told = {"tag": a.told[among(a.told, b.told)]}
            denied = np.union1d(a.denied, b.denied)
            doubted = a.doubted if b.doubted is None else b.doubted
            sources = ((self._beliefs, label),)
            self._leaves[a, b] = Leaf(f"{a.text} and {b.text}", a.n_rows, told, denied, sources, doubted)
        return self._leaves[a, b]
