"""Codebooks: the codewords that represent local descriptors, learned by k-means."""

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute import progress
from visterm.compute.rows import slices
from visterm.errors import InputError
from visterm.vision.encode.descriptor_pca import (
    as_descriptors,
    map_rows,
    require_fitted,
    sample_descriptors,
    sample_rows,
)

#: Codebooks with more codewords than this search the nearest one in cells; smaller ones compare with every codeword.
EXACT_WORDS = 4000
#: k-means++ seeds are drawn from this many descriptors per codeword: enough to spread them, at a fraction of the cost.
SEED_ROWS_PER_WORD = 10

_BLOCK_SCORES = 2**22  # scores held at a time by an exact search

Rows = NDArray[np.float32]
Ids = NDArray[np.int32]


@dataclass(eq=False)
class Codebook:
    """A vocabulary of codewords: the centres of k-means clusters of local descriptors.

    Lloyd's iterations start from k-means++ seeds. A codeword that loses all its descriptors moves to the descriptor
    farthest from its own codeword, so that every codeword is used. Above ``EXACT_WORDS`` codewords, they are seeded
    within sqrt(n_words) coarse cells, and the nearest codeword is searched in the few cells nearest to a descriptor. A
    descriptor only changes to a nearer codeword, so the inertia falls in both cases.

    Parameters
    ----------
    n_words
        Size of the vocabulary.
    n_iterations, tolerance
        Stop after ``n_iterations``, or when the inertia falls by less than the fraction ``tolerance``.
    max_sample
        Learn from at most this many descriptors, drawn at random.
    n_probes
        Cells searched for a descriptor in a large codebook: more cells are slower and more often exact.
    random_state
        Seed of the sample and of the first codewords.

    After ``fit``: ``words_`` (n_words, n_dims), ``inertias_`` (sum of squared distances to the nearest codeword, per
    iteration) and, in a large codebook, ``cell_centres_`` (n_cells, n_dims) and ``cell_starts_`` (n_cells + 1,): the
    codewords of cell c are those from ``cell_starts_[c]`` to ``cell_starts_[c + 1]``.

    >>> codebook = Codebook(2, random_state=0).fit([[0.0], [1.0], [10.0], [11.0]])
    >>> sorted(codebook.words_.ravel().tolist())
    [0.5, 10.5]
    >>> ids = codebook.assign([[0.2], [12.0], [0.9]])
    >>> bool(ids[0] == ids[2] != ids[1])
    True
    """

    n_words: int
    _: KW_ONLY
    n_iterations: int = 25
    tolerance: float = 1e-4
    max_sample: int = 500_000
    n_probes: int = 8
    random_state: int | None = None

    words_: Rows = field(init=False, repr=False)
    inertias_: NDArray[np.float64] = field(init=False, repr=False)
    cell_centres_: Rows = field(init=False, repr=False)
    cell_starts_: NDArray[np.int64] = field(init=False, repr=False)

    def fit(self, descriptors: Any) -> "Codebook":
        """Learn the codewords from ``descriptors`` (n_descriptors, n_dims)."""
        if min(self.n_words, self.n_iterations, self.n_probes) < 1:
            raise InputError("a codebook needs at least one codeword, one iteration and one probe")
        rng = np.random.default_rng(self.random_state)
        rows = sample_descriptors(descriptors, self.max_sample, rng)
        if len(rows) < self.n_words:
            raise InputError(
                f"{self.n_words} codewords need {self.n_words} descriptors or more, got {len(rows)}: add pictures"
            )
        if self.n_words <= EXACT_WORDS:
            self.words_, inertias = self._lloyd(rows, seed_words(rows, self.n_words, rng), nearest_words)
        else:
            inertias = self._fit_cells(rows, rng)
        self.inertias_ = np.array(inertias)
        return self

    def assign(self, descriptors: Any, *, exact: bool | None = None) -> Ids:
        """The nearest codeword of every descriptor.

        ``exact`` compares with every codeword; this is the default for up to ``EXACT_WORDS`` codewords.
        """
        rows = self._checked(descriptors)
        if exact or (exact is None and len(self.words_) <= EXACT_WORDS):
            return nearest_words(rows, self.words_)
        if not hasattr(self, "cell_starts_"):
            raise InputError(f"a codebook of {len(self.words_)} codewords has no cells: assign with exact=True")
        return _nearest_in_cells(rows, self.words_, self.cell_centres_, self.cell_starts_, self.n_probes)

    def soft_assign(self, descriptors: Any, n_nearest: int) -> Ids:
        """The ``n_nearest`` codewords of every descriptor, nearest first: (n_descriptors, n_nearest).

        As in Philbin et al., "Lost in quantization", CVPR 2008, without weights. Compares with every codeword.
        """
        rows = self._checked(descriptors)
        n_words = len(self.words_)
        if not 1 <= n_nearest <= n_words:
            raise InputError(f"the number of nearest codewords must be between 1 and {n_words}, not {n_nearest}")
        ids = np.empty((len(rows), n_nearest), np.int32)
        for block, scores in _score_blocks(rows, self.words_):
            found = np.argpartition(scores, n_words - n_nearest, axis=1)[:, n_words - n_nearest :]
            order = np.argsort(-np.take_along_axis(scores, found, axis=1), axis=1, kind="stable")
            ids[block] = np.take_along_axis(found, order, axis=1)
        return ids

    def _checked(self, descriptors: Any) -> Rows:
        require_fitted(self, "words_")
        return as_descriptors(descriptors, self.words_.shape[1])

    def _lloyd(self, rows: Rows, words: Rows, propose: Callable[[Rows, Rows], Ids]) -> tuple[Rows, list[float]]:
        """Lloyd's iterations from ``words``: ``propose`` finds a near codeword for every row."""
        inertias: list[float] = []
        ids: Ids | None = None
        with progress.task(f"Learning {len(words)} words", total=self.n_iterations) as bar:
            for _ in range(self.n_iterations):
                ids, distances = _keep_nearer(rows, words, propose(rows, words), ids)
                inertias.append(float(distances.sum()))
                bar.advance()
                bar.report(inertia=inertias[-1])
                if len(inertias) > 1 and inertias[-2] - inertias[-1] <= self.tolerance * inertias[-2]:
                    break
                words = _centres(rows, words, ids, distances)
        return words, inertias

    def _fit_cells(self, rows: Rows, rng: np.random.Generator) -> list[float]:
        """Learn coarse cells, then codewords within them; the codewords end up sorted by their cell."""
        n_cells = round(self.n_words**0.5)
        centres, _ = self._lloyd(rows, seed_words(rows, n_cells, rng), nearest_words)
        cells = nearest_words(rows, centres)
        quotas = _apportion(self.n_words, np.bincount(cells, minlength=n_cells))
        words = np.concatenate(
            [seed_words(rows[cells == cell], quota, rng) for cell, quota in enumerate(quotas) if quota]
        )

        def propose(rows: Rows, words: Rows) -> Ids:
            order, starts = _sort_into_cells(words, centres)
            return order[_nearest_in_cells(rows, words[order], centres, starts, self.n_probes)]

        words, inertias = self._lloyd(rows, words, propose)
        order, self.cell_starts_ = _sort_into_cells(words, centres)
        self.words_, self.cell_centres_ = words[order], centres
        return inertias


def seed_words(rows: Rows, n_words: int, rng: np.random.Generator) -> Rows:
    """k-means++ seeds: each further row is drawn with probability proportional to its squared distance to the nearest.

    Arthur and Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007; from a sample of the rows.
    """
    rows = sample_rows(rows, SEED_ROWS_PER_WORD * n_words, rng)
    centred = rows - rows.mean(axis=0)
    norms = np.einsum("nd,nd->n", centred, centred)
    chosen = np.empty(n_words, np.int64)
    chosen[0] = rng.integers(len(rows))
    nearest = np.full(len(rows), np.inf, np.float32)
    for k, last in enumerate(chosen[:-1], start=1):
        distances = norms + norms[last] - 2.0 * (centred @ centred[last])
        np.minimum(nearest, np.maximum(distances, 0.0), out=nearest)
        nearest[last] = 0.0
        cumulative = np.cumsum(nearest, dtype=np.float64)
        if cumulative[-1] > 0.0:
            draw = np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")
            chosen[k] = min(int(draw), len(rows) - 1)
        else:  # every row already equals a seed
            chosen[k] = rng.integers(len(rows))
    return rows[chosen]


def nearest_words(rows: Rows, words: Rows) -> Ids:
    """The id of the codeword nearest to each row, by comparison with every codeword."""

    def nearest(rows: Rows) -> Ids:
        ids = np.empty(len(rows), np.int32)
        for block, scores in _score_blocks(rows, words):
            ids[block] = scores.argmax(axis=1)
        return ids

    return np.concatenate(map_rows(nearest, rows, "Finding words"))


def _score_blocks(rows: Rows, words: Rows) -> Iterator[tuple[slice, Rows]]:
    """Blocks of rows with their scores x.w - |w|^2 / 2, largest for the nearest codeword.

    The mean of the codewords is subtracted from rows and codewords, since a common offset would cost precision in
    float32. The scores share one buffer: use them before the next block.
    """
    centre = words.mean(axis=0, dtype=np.float64).astype(np.float32)
    targets = _as_targets(words - centre)
    size = max(1, min(len(rows), _BLOCK_SCORES // len(words)))
    buffer = np.empty((size, len(words)), np.float32)
    for block in slices(len(rows), size):
        yield block, np.matmul(_with_one(rows[block] - centre), targets.T, out=buffer[: block.stop - block.start])


def _as_targets(words: Rows) -> Rows:
    """Codewords with -|w|^2 / 2 as a last column, so that one product with ``_with_one`` rows gives the scores."""
    return np.column_stack([words, -0.5 * np.einsum("wd,wd->w", words, words)])


def _with_one(rows: Rows) -> Rows:
    return np.column_stack([rows, np.ones(len(rows), np.float32)])


def _nearest_in_cells(rows: Rows, words: Rows, centres: Rows, starts: NDArray[np.int64], n_probes: int) -> Ids:
    """For each row, the nearest codeword in its ``n_probes`` nearest non-empty cells; codewords are sorted by cell."""
    filled = np.flatnonzero(np.diff(starts))
    n_probes = min(n_probes, len(filled))
    centre = words.mean(axis=0, dtype=np.float64).astype(np.float32)
    coarse, targets = _as_targets(centres[filled] - centre), _as_targets(words - centre)

    def nearest(rows: Rows) -> Ids:
        rows = _with_one(rows - centre)
        probes = np.argpartition(rows @ coarse.T, len(filled) - n_probes, axis=1)[:, len(filled) - n_probes :]
        # Rows that search the same cell are compared with its codewords in one product.
        visits = np.argsort(probes, axis=None, kind="stable")
        ends = np.cumsum(np.bincount(probes.ravel(), minlength=len(filled)))
        best = np.full(len(rows), -np.inf, np.float32)
        ids = np.zeros(len(rows), np.int32)
        for cell, visitors in zip(filled, np.split(visits // n_probes, ends[:-1]), strict=True):
            scores = rows[visitors] @ targets[starts[cell] : starts[cell + 1]].T
            found = scores.argmax(axis=1)
            score = scores[np.arange(len(visitors)), found]
            better = score > best[visitors]
            best[visitors[better]] = score[better]
            ids[visitors[better]] = starts[cell] + found[better]
        return ids

    return np.concatenate(map_rows(nearest, rows, "Finding words"))


def _sort_into_cells(words: Rows, centres: Rows) -> tuple[Ids, NDArray[np.int64]]:
    """The order that sorts codewords by their cell, and where each cell starts in it."""
    cells = nearest_words(words, centres)
    starts = np.concatenate([[0], np.cumsum(np.bincount(cells, minlength=len(centres)))])
    return np.argsort(cells, kind="stable").astype(np.int32), starts


def _apportion(n_seats: int, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Distributes ``n_seats`` in proportion to ``sizes`` by largest remainder; no share exceeds its size."""
    exact = n_seats * sizes / sizes.sum()
    seats = np.floor(exact).astype(np.int64)
    # A whole share has remainder zero and gets no seat before those with larger remainders.
    largest = np.argsort(seats - exact, kind="stable")[: n_seats - seats.sum()]
    seats[largest] += 1
    return seats


def _keep_nearer(rows: Rows, words: Rows, proposed: Ids, current: Ids | None) -> tuple[Ids, NDArray[np.float64]]:
    """The nearer of the proposed and the current codeword of each row, and its squared distance.

    Scores are rounded, and cells may miss the nearest codeword. Comparing the two by exact differences ensures that a
    step never makes the inertia worse.
    """
    distances = _distances(rows, words, proposed)
    if current is None:
        return proposed, distances
    changed = np.flatnonzero(proposed != current)
    before = _distances(rows[changed], words, current[changed])
    better = before < distances[changed]
    kept = changed[better]
    proposed[kept] = current[kept]
    distances[kept] = before[better]
    return proposed, distances


def _distances(rows: Rows, words: Rows, ids: Ids) -> NDArray[np.float64]:
    from visterm.vision.encode._kernels import squared_distances

    out = np.empty(len(rows))
    squared_distances(rows, words, ids, out)
    return out


def _centres(rows: Rows, words: Rows, ids: Ids, distances: NDArray[np.float64]) -> Rows:
    """The mean of the rows of each codeword; a codeword without rows moves to the row farthest from its own codeword.

    ``ids`` is updated for the rows that change to a moved codeword.
    """
    from visterm.vision.encode._kernels import sum_by_word

    sums = np.zeros(words.shape)
    counts = np.zeros(len(words), np.int64)
    sum_by_word(rows, ids, sums, counts)
    empty = np.flatnonzero(counts == 0)
    if len(empty):
        farthest = np.argsort(-distances, kind="stable")[: 2 * len(empty) + len(words)]
        movable = (row for row in farthest if distances[row] > 0.0)
        for word in empty:
            row = next((row for row in movable if counts[ids[row]] > 1), None)
            if row is None:  # all rows equal their codewords: nothing can improve
                break
            sums[ids[row]] -= rows[row]
            counts[ids[row]] -= 1
            sums[word], counts[word], ids[row] = rows[row], 1, word
    used = counts > 0
    means = words.copy()
    means[used] = sums[used] / counts[used, None]
    return means
