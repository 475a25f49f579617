"""Queries made from captions, and queries as vectors, as Grangier & Bengio (TPAMI 2008) define both.

A query is a non-empty set of words that at least one picture's caption contains. A picture is relevant to it if its
caption contains all of its words. As a vector, a query is the idf of its words, scaled to length one. Rankers learn
from such queries, and evaluation asks them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.contracts import check_tags
from visterm.errors import InputError

Integers = NDArray[np.int64]

#: The most pairs of a caption and one of its subsets; more are refused. A caption of m words has 2^m - 1 subsets.
MAX_SUBSETS = 5_000_000

#: Up to this many subsets of captions, a sample of queries is drawn from all of them.
MAX_ENUMERATED = 200_000

#: Up to this many subsets are drawn for each query of a sample: some are drawn more than once.
_DRAWS = 4

_BLOCK = 1024  # queries answered at a time


@dataclass(frozen=True, slots=True, eq=False)
class Queries:
    """Queries as sets of words, and the pictures relevant to each; ordered by length, then by the words' columns.

    Numbers instead of True give graded relevance, from which a ranker can learn:

    >>> from scipy.sparse import csr_array
    >>> from visterm.ranking import PAMIR
    >>> X = np.array([[9, 1, 0], [8, 2, 0], [0, 1, 9], [1, 0, 8]], dtype=float)
    >>> tags = [[1, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0]]                      # sea, boat, car
    >>> asked = Queries(csr_array([[1, 0, 0]]), csr_array([[2.0, 1.0, 0.0, 0.0]]))  # "sea": the first picture is best
    >>> model = PAMIR(n_steps=2000, kernel="linear", held_out_share=0, random_state=0).fit(X, tags, asked)
    >>> int(model.score_queries(X, [[1.0, 0, 0]]).argmax())
    0
    """

    words: csr_array
    """(n_queries, n_tags), True where the query has the word (or a number: how much it is wanted)."""
    relevance: csr_array
    """(n_queries, n_pictures), True where the picture has all words of the query (or a number: the gain)."""

    def __len__(self) -> int:
        return int(self.words.shape[0])

    @property
    def n_words(self) -> Integers:
        """The number of words of every query."""
        return np.diff(self.words.indptr).astype(np.int64)

    @property
    def n_relevant(self) -> Integers:
        """The number of pictures relevant to every query."""
        return np.diff(self.relevance.indptr).astype(np.int64)

    def columns(self) -> list[tuple[int, ...]]:
        """Every query as the columns of its words.

        >>> from_tags([[1, 1, 0], [0, 1, 0]]).columns()
        [(0,), (1,), (0, 1)]
        """
        return [tuple(words.tolist()) for words in np.split(self.words.indices, self.words.indptr[1:-1])][: len(self)]

    def select(self, which: NDArray[Any]) -> "Queries":
        """The queries selected by a boolean mask or by row numbers."""
        return Queries(self.words[which], self.relevance[which])

    def multi_word(self) -> "Queries":
        """The queries of two or more words."""
        return self.select(self.n_words > 1)


def from_tags(tags: Any, *, max_words: int | None = None) -> Queries:
    """All queries of the pictures whose (n_pictures, n_tags) 0/1 ``tags`` are given.

    A caption of m words makes 2^m - 1 queries, so long captions need ``max_words``, the most words of a query. More
    than :data:`MAX_SUBSETS` subsets are refused before any is made.

    >>> queries = from_tags([[1, 1, 0], [0, 1, 0], [0, 0, 0]])
    >>> queries.relevance.toarray().astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [1, 0, 0]])
    """
    captions = _captions(tags)
    n_pictures, n_tags = captions.shape
    lengths = np.diff(captions.indptr)
    limit = _longest_query(lengths, max_words)
    if n_subsets(lengths, limit) > MAX_SUBSETS:
        raise InputError(
            f"captions of up to {int(lengths.max())} words have {n_subsets(lengths, limit)} subsets of up to {limit}"
            f" words, more than the {MAX_SUBSETS} allowed: set max_words lower, such as 3"
        )
    sizes, words, counts, pictures = [], [], [], []
    for size in range(1, limit + 1):
        subsets, owners = _subsets(captions, lengths, size)
        order = np.lexsort((owners, *subsets.T[::-1]))
        subsets, owners = subsets[order], owners[order]
        new = np.append(True, (subsets[1:] != subsets[:-1]).any(axis=1))
        firsts = np.flatnonzero(new)
        sizes.append(np.full(len(firsts), size))
        words.append(subsets[firsts].ravel())
        counts.append(np.diff(firsts, append=len(owners)))
        pictures.append(owners)

    return Queries(_incidence(words, sizes, n_tags), _incidence(pictures, counts, n_pictures))


def sample_from_tags(tags: Any, n_queries: int, *, max_words: int | None = None, random_state: int = 0) -> Queries:
    """At most ``n_queries`` of the queries :func:`from_tags` makes, drawn at random with a fixed seed.

    If captions have few subsets, distinct queries are drawn alike. Otherwise not all are made: subsets of captions are
    drawn, so a query that more pictures answer is more likely drawn.

    >>> len(sample_from_tags([[1, 1, 0], [0, 1, 1]], 3)), len(sample_from_tags([[1, 1, 0], [0, 1, 1]], 10))
    (3, 5)
    """
    captions = _captions(tags)
    lengths = np.diff(captions.indptr)
    limit = _longest_query(lengths, max_words)
    rng = np.random.default_rng(random_state)
    if n_subsets(lengths, limit) <= MAX_ENUMERATED:
        queries = from_tags(tags, max_words=max_words)
        return queries.select(np.sort(rng.choice(len(queries), min(n_queries, len(queries)), replace=False)))
    return _drawn(captions, lengths, limit, n_queries, rng)


def _drawn(captions: Any, lengths: Any, limit: int, n_queries: int, rng: np.random.Generator) -> Queries:
    """Distinct subsets of captions, each subset of each caption as likely as any other."""
    distinct, which = np.unique(lengths, return_inverse=True)
    of_caption = np.array([[comb(m, size) for size in range(1, limit + 1)] for m in distinct.tolist()], float)[which]
    chances = of_caption.ravel() / of_caption.sum()
    found: set[tuple[int, ...]] = set()
    for draw in rng.choice(len(chances), _DRAWS * n_queries, p=chances).tolist():
        row, size = divmod(draw, limit)
        words = captions.indices[captions.indptr[row] : captions.indptr[row + 1]]
        found.add(tuple(sorted(rng.choice(words, size + 1, replace=False).tolist())))
        if len(found) == n_queries:
            break
    ordered = sorted(found, key=lambda words: (len(words), words))
    asked = _incidence(ordered, [[len(words)] for words in ordered], captions.shape[1])
    return Queries(asked, relevant_pictures(asked, captions))


def relevant_pictures(words: Any, tags: Any) -> csr_array:
    """The (n_queries, n_pictures) relevance of pictures with ``tags`` to queries given by their ``words``.

    >>> relevant_pictures([[1, 0], [1, 1]], [[1, 1], [1, 0]]).toarray()
    array([[ True,  True],
           [ True, False]])
    """
    asked, captions = _captions(words), _captions(tags)
    if asked.shape[1] != captions.shape[1]:
        raise InputError(f"the queries {asked.shape} and the tags {captions.shape} must have the same columns")
    n_words = np.diff(asked.indptr)
    if (n_words == 0).any():
        raise InputError(f"query {int(np.flatnonzero(n_words == 0)[0])} has no words")
    pictures_of_word = captions.T.tocsr()
    indices, counts = [], []
    for start in range(0, asked.shape[0], _BLOCK):
        matched = asked[start : start + _BLOCK] @ pictures_of_word
        matched.sort_indices()
        rows = np.repeat(np.arange(matched.shape[0]), np.diff(matched.indptr))
        complete = matched.data == n_words[start + rows]
        indices.append(matched.indices[complete])
        counts.append(np.bincount(rows[complete], minlength=matched.shape[0]))
    return _incidence(indices, counts, captions.shape[0])


def affordable_words(tags: Any, budget: int) -> int:
    """The largest number of words in a query for which captions have at most ``budget`` subsets; at least 1.

    >>> affordable_words([[1, 1, 1, 0], [1, 0, 0, 0]], 7)
    2
    """
    lengths = np.diff(_captions(tags).indptr)
    limit = 1
    while limit < lengths.max(initial=limit) and n_subsets(lengths, limit + 1) <= budget:
        limit += 1
    return limit


def n_subsets(lengths: NDArray[Any], limit: int) -> int:
    """The number of subsets of up to ``limit`` words that captions of the given lengths have, counted for each.

    >>> n_subsets(np.array([3, 1]), 2)
    7
    """
    total = 0
    for length, n_captions in zip(*np.unique(lengths, return_counts=True), strict=True):
        total += int(n_captions) * sum(comb(int(length), size) for size in range(1, min(limit, int(length)) + 1))
    return total


def idf(tag_counts: Any, n_pictures: int) -> NDArray[np.float64]:
    """``-log(share of pictures that carry the tag)``; 0 for a tag on every picture or on none, which says nothing.

    >>> idf([1, 4, 0], 4).round(3)
    array([1.386, 0. , 0. ])
    """
    counts = np.asarray(tag_counts, dtype=np.float64)
    share = np.divide(counts, n_pictures, out=np.ones_like(counts), where=counts > 0)
    return np.abs(np.log(share))


def query_vectors(words: Any, idf: NDArray[Any]) -> csr_array:
    """Queries (n_queries, n_tags), given by how much each word is wanted, as idf weights of length one.

    If all words of a query have idf 0, they are weighed as given, so that the query still asks for them.

    >>> query_vectors([[1, 1, 0], [0, 0, 1]], np.array([3.0, 4.0, 0.0])).toarray().round(2)
    array([[0.6, 0.8, 0. ],
           [0. , 0. , 1. ]])
    """
    wanted = csr_array(words, dtype=np.float64)
    rows = np.repeat(np.arange(wanted.shape[0]), np.diff(wanted.indptr))
    weights = wanted.data * idf[wanted.indices]
    lengths = np.sqrt(np.bincount(rows, weights**2))
    telling = lengths[rows] > 0
    weights = np.where(telling, weights, wanted.data)
    lengths = np.sqrt(np.bincount(rows, weights**2))
    weights /= np.maximum(lengths[rows], np.finfo(np.float64).tiny)
    return csr_array((weights, wanted.indices, wanted.indptr), shape=wanted.shape)


def vectors_of_words(queries: Iterable[Sequence[int]], tag_counts: Any, n_pictures: int) -> csr_array:
    """:func:`query_vectors` for queries given by the columns of their words; tags are counted in ``n_pictures``.

    >>> vectors_of_words([[0, 1]], [1, 1, 4], 4).toarray().round(3)
    array([[0.707, 0.707, 0. ]], dtype=float32)
    """
    weights = idf(tag_counts, n_pictures)
    columns = [np.unique(np.asarray(list(words), dtype=np.intp)) for words in queries]
    wanted = _incidence(columns, [[len(words)] for words in columns], len(weights))
    if wanted.nnz and not 0 <= wanted.indices.min() <= wanted.indices.max() < len(weights):
        raise IndexError(f"a query has a word outside the {len(weights)} known ones")
    return query_vectors(wanted, weights).astype(np.float32)


def wanted_words(Q: csr_array, idf: NDArray[Any]) -> csr_array:
    """The opposite of :func:`query_vectors`, up to scale: how much each word is wanted, with mean 1 in each query.

    >>> wanted_words(query_vectors([[2, 2, 0]], np.array([3.0, 4.0, 0.0])), np.array([3.0, 4.0, 0.0])).toarray()
    array([[1., 1., 0.]])
    """
    rows = np.repeat(np.arange(Q.shape[0]), np.diff(Q.indptr))
    weights = np.asarray(Q.data, np.float64)
    of_word = idf[Q.indices]
    has_idf = np.bincount(rows, of_word)[rows] > 0
    weights = np.divide(weights, of_word, out=np.where(has_idf, 0.0, weights), where=of_word > 0)
    total = np.bincount(rows, np.abs(weights), minlength=Q.shape[0])
    n_words = np.bincount(rows[weights != 0], minlength=Q.shape[0])
    scale = np.divide(n_words, total, out=np.zeros(Q.shape[0]), where=total > 0)
    return csr_array((weights * scale[rows], Q.indices, Q.indptr), shape=Q.shape)


def _incidence(columns: Sequence[Any], row_sizes: Sequence[Any], n_columns: int) -> csr_array:
    """True in the given columns of rows of the given sizes; both come in parts."""
    empty = np.empty(0, dtype=np.int64)
    indptr = np.concatenate([[0], np.cumsum(np.concatenate([empty, *row_sizes]))])
    indices = np.concatenate([empty, *columns])
    return csr_array((np.ones(len(indices), dtype=bool), indices, indptr), shape=(len(indptr) - 1, n_columns))


def _captions(tags: Any) -> csr_array:
    shape = np.shape(tags)
    return check_tags(tags, shape[0] if shape else 0)


def _longest_query(lengths: NDArray[Any], max_words: int | None) -> int:
    """The most words of a query from captions of the given lengths."""
    if max_words is not None and max_words < 1:
        raise InputError(f"a query has at least 1 word, not {max_words}")
    longest = int(lengths.max(initial=0))
    return min(longest, max_words or longest)


def _subsets(captions: csr_array, lengths: NDArray[Any], size: int) -> tuple[Integers, Integers]:
    """Every subset of ``size`` words of every caption as sorted columns (one row each), and its picture."""
    subsets, owners = [], []
    for length in np.unique(lengths[lengths >= size]):
        pictures = np.flatnonzero(lengths == length)
        words = captions.indices[captions.indptr[pictures][:, np.newaxis] + np.arange(length)]
        chosen = np.array(list(combinations(range(int(length)), size)))
        subsets.append(words[:, chosen].reshape(len(pictures) * len(chosen), size))
        owners.append(np.repeat(pictures, len(chosen)))
    return np.concatenate(subsets).astype(np.int64), np.concatenate(owners)
