"""How well pictures are ranked for a query: average precision, P@N, break-even point, nDCG.

Relevance and scores are (n_queries, n_pictures); relevance may be sparse. Two rules hold for every measure here:

- **Ties.** Pictures of equal score may stand in any order, each equally likely, and a measure is its expected value
  over these orders (McSherry & Najork, ECIR 2008). It is exact, and it does not depend on the order of the pictures.
- **Empty.** A query without a relevant picture has no value: NaN in ``per_query``, left out of the mean.

Every measure here is a sum over the relevant pictures. Each term depends only on how many pictures stand above that
picture and how many are tied with it. So a ranking is reduced to these counts, at the cost of sorting each row.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from visterm.compute.parallel import split
from visterm.measures.base import MeanMeasure
from visterm.measures.inputs import (
    Floats,
    Integers,
    Matrix,
    check_depth,
    check_same_shape,
    check_scores,
    gains,
    rows_of,
)

_AXES = "(n_queries, n_pictures)"
_BLOCK = 1 << 21  # scores processed at a time: 16 MB
#: With more relevant pictures than this, the ranking is sorted; otherwise each is compared with all pictures.
_SORT_FROM = 24


@dataclass(frozen=True, slots=True, eq=False)
class Placements:
    """The places of the relevant pictures: one entry per pair of a query and a picture relevant to it."""

    n_queries: int
    n_pictures: int
    query: Integers
    gain: Floats
    above: Integers
    """Number of pictures with a higher score."""
    tied: Integers
    """Number of pictures with the same score, including this one."""

    @classmethod
    def of(cls, relevance: Matrix, scores: ArrayLike) -> "Placements":
        """Find every relevant picture in the ranking of its query."""
        from visterm.measures._kernels import count_places

        relevant, scored = gains(relevance, _AXES), check_scores(scores, _AXES)
        check_same_shape(relevant.shape, scored.shape, _AXES)
        n_queries, n_pictures = scored.shape
        above, tied = (np.empty(relevant.nnz, dtype=np.int64) for _ in range(2))
        indptr, indices = relevant.indptr.astype(np.int64), relevant.indices.astype(np.int64)
        dtype = scored.dtype if scored.dtype in (np.float32, np.float64) else np.dtype(np.float64)
        for block in split(n_queries, size=max(1, _BLOCK // max(1, n_pictures))):
            of_block = np.ascontiguousarray(scored[block.rows], dtype=dtype)
            starts = indptr[block.start : block.stop + 1]
            count_places(of_block, _SORT_FROM, starts, indices, above, tied)
            for query in np.flatnonzero(np.diff(starts) > _SORT_FROM):
                entries = slice(starts[query], starts[query + 1])
                above[entries], tied[entries] = _find_places(of_block[query], indices[entries])
        return cls(n_queries, n_pictures, rows_of(relevant), relevant.data, above, tied)

    @property
    def n_relevant(self) -> Integers:
        """The number of relevant pictures of every query."""
        return np.bincount(self.query, minlength=self.n_queries)

    def total(self, terms: Floats) -> Floats:
        """For every query, the sum of ``terms``, one per relevant picture."""
        return np.bincount(self.query, weights=terms, minlength=self.n_queries).astype(np.float64, copy=False)

    def share(self, terms: Floats, best: Floats | Integers | int) -> Floats:
        """The total of ``terms`` as a share of the ``best`` possible one; NaN for a query without relevant pictures."""
        shares = np.full(self.n_queries, np.nan)
        np.divide(self.total(terms), best, out=shares, where=self.n_relevant > 0)
        return np.minimum(shares, 1.0)  # rounding must not exceed the best

    def expected_within(self, depth: Integers | int) -> Floats:
        """For every relevant picture, the chance that it is among the first ``depth`` of its ranking."""
        return np.clip((depth - self.above) / self.tied, 0.0, 1.0)


def _find_places(scores: Floats, relevant: Integers) -> tuple[Integers, Integers]:
    """How many pictures of one ranking are above each relevant picture, and how many are tied with it."""
    ascending = np.sort(scores)
    own = scores[relevant]
    last = np.searchsorted(ascending, own, side="right")
    return len(scores) - last, last - np.searchsorted(ascending, own, side="left")


class RankingMeasure(MeanMeasure[Placements]):
    """A measure of rankings, called on (relevance, scores): the mean over the queries with a relevant picture."""

    family: ClassVar[str] = "rankings"
    over: ClassVar[str] = "queries with a relevant picture"

    @classmethod
    def read(cls, truth: Matrix, prediction: ArrayLike) -> Placements:
        """Find every relevant picture in the ranking of its query."""
        return Placements.of(truth, prediction)

    def per_query(self, relevance: Matrix, scores: ArrayLike) -> Floats:
        """The measure of every query, NaN for one without a relevant picture."""
        return self.values(self.read(relevance, scores))


@dataclass(frozen=True)
class AveragePrecision(RankingMeasure):
    """The mean, over the relevant pictures, of the precision at the rank of each.

    Relevant pictures at ranks 1 and 3 have the precisions 1/1 and 2/3:

    >>> AveragePrecision()([[1, 0, 1, 0]], [[0.9, 0.8, 0.7, 0.1]])
    0.833...
    """

    label: ClassVar[str] = "AvgP"

    def values(self, answer: Placements) -> Floats:
        """The expected average precision of every query.

        Take a picture in a group of ``n`` tied ones, ``r`` of them relevant, below ``t`` pictures, ``R`` of them
        relevant. It stands at rank t + i, i = 1..n, with chance 1/n each, where the precision is expected to be
        (R + 1 + (i - 1)(r - 1)/(n - 1)) / (t + i): itself, those above, and its share of the other relevant ones.
        Summed over i this needs only differences of harmonic numbers.
        """
        t, n = answer.above.astype(np.float64), answer.tied.astype(np.float64)
        R, r = _relevant_above_and_tied(answer)
        # mutants: 1 -> 2 (2): one more harmonic number, which no rank uses
        harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, answer.n_pictures + 1))])
        slope = (r - 1) / np.maximum(n - 1, 1)
        reciprocals = harmonic[answer.above + answer.tied] - harmonic[answer.above]
        among_ties = ((R + 1 - (t + 1) * slope) * reciprocals + n * slope) / n
        precision = np.where(n == 1, (R + 1) / (t + 1), among_ties)  # without ties: exact, no difference of sums
        return answer.share(precision, answer.n_relevant)


@dataclass(frozen=True)
class PrecisionAt(RankingMeasure):
    """The share of relevant pictures among the first ``n``; places that no picture fills count as not relevant.

    >>> PrecisionAt(2)([[1, 0, 1, 0]], [[0.9, 0.8, 0.7, 0.1]])
    0.5
    """

    n: int

    label: ClassVar[str] = "P@{n}"

    def __post_init__(self) -> None:
        check_depth(self.n, "P@N")

    def values(self, answer: Placements) -> Floats:
        """The expected precision of every query."""
        return answer.share(answer.expected_within(self.n), self.n)


@dataclass(frozen=True)
class BreakEvenPoint(RankingMeasure):
    """R-precision: the precision among the first R pictures, where R pictures are relevant; it equals the recall.

    >>> BreakEvenPoint()([[1, 0, 1, 1]], [[0.9, 0.8, 0.7, 0.1]])
    0.666...
    """

    label: ClassVar[str] = "BEP"

    def values(self, answer: Placements) -> Floats:
        """The expected R-precision of every query."""
        n_relevant = answer.n_relevant
        return answer.share(answer.expected_within(n_relevant[answer.query]), n_relevant)


@dataclass(frozen=True)
class NDCG(RankingMeasure):
    """Normalised discounted cumulative gain of the first ``n`` pictures (None: of all), for graded relevance.

    The gain of a picture is its given relevance, discounted at rank i by log2(1 + i). The sum is divided by that of the
    best ranking. For the exponential gain of web search, pass ``2**relevance - 1``.

    >>> NDCG(2)([[0, 3, 1]], [[0.9, 0.8, 0.7]])  # (3 / log2(3)) / (3 + 1 / log2(3))
    0.521...
    """

    n: int | None = None

    label: ClassVar[str] = "nDCG@{n}"

    def __post_init__(self) -> None:
        if self.n is not None:
            check_depth(self.n, "nDCG@N")

    @property
    def name(self) -> str:
        """``nDCG@n``, or ``nDCG`` for the whole ranking."""
        return "nDCG" if self.n is None else f"nDCG@{self.n}"

    def values(self, answer: Placements) -> Floats:
        """The expected normalised gain of every query."""
        discount = np.reciprocal(np.log2(np.arange(answer.n_pictures) + 2.0))
        if self.n is not None:
            discount[self.n :] = 0.0
        cumulative = np.concatenate([[0.0], np.cumsum(discount)])
        expected = (cumulative[answer.above + answer.tied] - cumulative[answer.above]) / answer.tied
        best_first = np.lexsort((-answer.gain, answer.query))
        n_relevant = answer.n_relevant
        place = np.arange(len(best_first)) - np.repeat(np.cumsum(n_relevant) - n_relevant, n_relevant)
        ideal = answer.total(answer.gain[best_first] * (cumulative[place + 1] - cumulative[place]))
        return answer.share(answer.gain * expected, ideal)


def _relevant_above_and_tied(answer: Placements) -> tuple[Integers, Integers]:
    """For every relevant picture, how many relevant ones score higher, and how many the same (including itself)."""
    group = answer.query * answer.n_pictures + answer.above
    _, place, sizes = np.unique(group, return_inverse=True, return_counts=True)
    n_relevant = answer.n_relevant
    # Groups are ordered by query, then from the top: before a group stand those of earlier queries, then those above.
    before, first_of_query = np.cumsum(sizes) - sizes, np.cumsum(n_relevant) - n_relevant
    return before[place] - first_of_query[answer.query], sizes[place]
