"""Neighbours vote for their tags: shares, tallies, and the distance weights that make the tags most likely."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.compute import progress
from visterm.compute.rows import evenly, slices
from visterm.compute.threads import in_threads

Floats = NDArray[np.float64]
Rows = NDArray[np.integer[Any]]

#: The votes of pictures are counted this many at a time.
_BLOCK = 2**20
#: Up to this many votes are kept in double precision.
_DOUBLE_UP_TO = 2**22
#: The few weights of distances are learned from pictures with at most this many pairs of a picture and a tag.
_MAX_PAIRS = 2**23


def count_votes(neighbours: Rows, labels: sparse.csr_array) -> Floats:
    """How many of each picture's neighbours carry each label, (n_pictures, n_labels); every neighbour counts as one.

    >>> count_votes(np.array([[0, 2]]), sparse.csr_array([[1, 0], [0, 1], [1, 1]]))
    array([[2., 1.]])
    """
    n_pictures, k = neighbours.shape
    ends = k * np.arange(n_pictures + 1)
    chosen = sparse.csr_array((np.ones(neighbours.size), neighbours.ravel(), ends), shape=(n_pictures, labels.shape[0]))
    return (chosen @ labels).toarray()


def fading(base: NDArray[Any], weights: Floats, used: NDArray[np.bool_] | None = None) -> Floats:
    """``pi_ij = exp(-weights . d_ij) / sum_j' exp(-weights . d_ij')``, ``base`` holds ``d_ij`` in its last axis.

    Nobody stands in the places that are not ``used`` (None: somebody in every place), so they have no share.
    """
    fall = base @ weights.astype(base.dtype)
    if used is not None:
        fall[~used] = np.inf
    shares = np.exp(fall.min(axis=1, initial=np.inf, keepdims=True) - fall, dtype=np.float64)
    return shares / shares.sum(axis=1, keepdims=True)


def tally(shares: Floats, neighbours: Rows, tags: sparse.csr_array) -> Floats:
    """``x_iw = sum_j pi_ij [w on j]``: the share of the neighbours that carry each tag, (n_pictures, n_tags)."""
    from visterm.neighbours import _kernels

    size = len(shares) * tags.shape[1]
    votes = np.empty((len(shares), tags.shape[1]), np.float64 if size <= _DOUBLE_UP_TO else np.float32)

    def of_rows(rows: slice) -> None:
        _kernels.propagate(shares[rows], neighbours[rows], tags.indptr, tags.indices, votes[rows])

    in_threads(of_rows, _blocks(votes.shape))
    return votes


def _blocks(shape: tuple[int, ...]) -> list[slice]:
    """Blocks of pictures with a bounded number of votes."""
    return slices(shape[0], max(1, _BLOCK // max(1, shape[1])))


class Votes:
    """The neighbours of the training pictures and their tags, ready for many evaluations of the likelihood.

    ``L = sum_iw c_iw log p_iw`` where ``p_iw`` is the probability, by the votes or a sigmoid of them, that tag ``w`` of
    picture ``i`` is present or absent as it really is. ``c_iw`` is ``gain`` (one over the number of present tags) where
    the tag is present, ``loss`` (one over the number of absent ones) where it is not. So all present tags together
    count as much as all absent ones. ``truth`` are the tags of the pictures that have the neighbours (default: all
    training pictures).
    """

    def __init__(self, neighbours: Rows, tags: sparse.csr_array, truth: sparse.csr_array | None = None) -> None:
        self.neighbours, self.tags = neighbours, tags
        self.truth = tags if truth is None else truth
        n_present = self.truth.nnz
        # mutants: 1 -> 2 (3): if every picture carries every tag, no absent tag is weighed
        self.gain, self.loss = 1 / n_present, 1 / max(1, self.truth.shape[0] * tags.shape[1] - n_present)

    def sample(self) -> NDArray[np.intp]:
        """Pictures, from the first to the last, that suffice to learn a few weights; all of them if they are few."""
        n_pictures, most = len(self.neighbours), max(1, _MAX_PAIRS // self.tags.shape[1])
        return evenly(n_pictures, most)

    def of_pictures(self, rows: NDArray[np.intp]) -> "Votes":
        """The votes of some of the pictures."""
        return Votes(self.neighbours[rows], self.tags, self.truth[rows])

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which tags the training pictures carry, (n_pictures, n_tags)."""
        return self._present(slice(None))

    def _present(self, rows: slice) -> NDArray[np.bool_]:
        return self.truth[rows].astype(np.bool_).toarray()

    def tally(self, shares: Floats) -> Floats:
        """The votes of the training pictures, (n_pictures, n_tags)."""
        return tally(shares, self.neighbours, self.tags)

    def likelihood(
        self, shares: Floats, slope: Floats, offset: Floats, *, expected: bool = False
    ) -> tuple[float, Floats]:
        """``L`` under ``sigmoid(slope * votes + offset)`` and its derivative with respect to every neighbour's share.

        An infinite ``slope`` means no sigmoid. ``expected`` is for shares that sum to one: it gives the derivative
        ``g`` for which ``shares * g`` is the E step of EM, in which a neighbour without a tag explains its absence.
        """
        from visterm.neighbours import _kernels

        slopes, ends, columns = np.empty_like(shares), self.tags.indptr, self.tags.indices

        def of_rows(rows: slice) -> float:
            present, neighbours = self._present(rows), self.neighbours[rows]
            votes, slopes_of_votes = np.empty(present.shape), np.empty(present.shape)
            _kernels.propagate(shares[rows], neighbours, ends, columns, votes)
            value = _kernels.log_likelihood(votes, present, self.gain, self.loss, slope, offset, slopes_of_votes)
            _kernels.gather(slopes_of_votes, neighbours, ends, columns, slopes[rows])
            if expected:
                slopes[rows] -= np.where(present, 0, slopes_of_votes).sum(axis=1, keepdims=True)
            return float(value)

        return sum(in_threads(of_rows, _blocks(self.truth.shape))), slopes


def maximise_likelihood(
    votes: Votes,
    base: NDArray[Any],
    start: Floats,
    sigmoid: tuple[Floats, Floats],
    *,
    max_iter: int,
    bar: progress.Bar,
    used: NDArray[np.bool_] | None = None,
) -> tuple[Floats, list[float]]:
    """The weights ``v >= 0`` of the base distances that make the tags most likely, and ``L`` after every step.

    ``sigmoid`` is the slope and offset of every tag. Neighbours vote with the shares of :func:`fading`, which explains
    ``used``. If ``g`` is the derivative of ``L`` by
    the shares, then ``dL/dv = -sum_ij pi_ij (g_ij - sum_j' pi_ij' g_ij') d_ij``. With many pictures and tags, a sample
    of the pictures is asked: see :meth:`Votes.sample`.
    """
    sample = votes.sample()
    # mutants: < -> <=: a copy of all pictures teaches the same
    if len(sample) < len(base):
        votes, base, used = votes.of_pictures(sample), base[sample], None if used is None else used[sample]

    def cost(weights: Floats) -> tuple[float, Floats]:
        shares = fading(base, weights, used)
        value, slopes = votes.likelihood(shares, *sigmoid)
        pull = shares * (slopes - (shares * slopes).sum(axis=1, keepdims=True))
        return -value, np.tensordot(pull, base, axes=2)

    return minimise(cost, start, max_iter=max_iter, bar=bar, sign=-1)


def minimise(
    cost: Callable[[Floats], tuple[float, Floats]], start: Floats, *, max_iter: int, bar: progress.Bar, sign: int = 1
) -> tuple[Floats, list[float]]:
    """The non-negative weights that minimise ``cost`` (value and gradient), and the objective after every step.

    Projected quasi-Newton steps (L-BFGS-B). The objective is ``sign`` times the cost. ``sign`` is -1 when a gain is
    maximised.
    """
    from scipy.optimize import minimize

    trace: list[float] = []
    if not max_iter:  # L-BFGS-B takes a step even then
        return start, trace

    def note(intermediate_result: Any) -> None:
        trace.append(sign * float(intermediate_result.fun))
        bar.report(objective=trace[-1])
        bar.advance()

    found = minimize(
        cost,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * len(start),
        callback=note,
        options={"maxiter": max_iter},
    )
    return found.x, trace
