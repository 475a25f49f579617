"""Learning to rank from triplets: a query, a relevant picture, and a less relevant picture."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.compute import progress
from visterm.contracts import Compressed, Matrix
from visterm.errors import InputError
from visterm.measures import AveragePrecision
from visterm.ranking.spaces.arrays import CountArrays, GramArrays, RelevanceArrays, StepRule

Array = NDArray[Any]

LOSSES = ("hinge", "warp")
SAMPLINGS = ("triplets", "queries")
#: Weights are averaged and validated this many times during learning.
N_CHECKPOINTS = 25
#: Learning stops after this many checkpoints without a better average precision.
PATIENCE = 5
#: The search for a less relevant picture that violates the margin takes at most this many trials.
N_TRIALS = 50


@dataclass(frozen=True, slots=True, eq=False)
class FeatureSpace:
    """Pictures by their features; a tag has one coefficient per dimension."""

    X: Matrix

    def start(self, n_tags: int, coefficients: Array | None = None) -> Array:
        """The weights for given coefficients, or for none."""
        weights = np.zeros((n_tags, int(self.X.shape[1])), self.X.dtype)
        if coefficients is not None:
            weights[:] = coefficients
        return weights

    def native(self) -> Any:
        """A dense array, or the parts of a CSR matrix with unsigned indices and a scratch array for one picture."""
        if isinstance(self.X, np.ndarray):
            return np.ascontiguousarray(self.X)
        counts = sparse.csr_array(self.X, copy=True)
        counts.sum_duplicates()
        room = np.zeros(counts.shape[1], counts.dtype)
        return CountArrays(counts.indptr.astype(np.uint32), counts.indices.astype(np.uint32), counts.data, room)

    def coefficients(self, weights: Array) -> Array:
        """The weights themselves."""
        return weights

    def subset(self, rows: Array) -> "FeatureSpace":
        """Some of the pictures."""
        return FeatureSpace(self.X[rows])

    def against(self, rows: Array, known: Array) -> Matrix:  # noqa: ARG002 - a Gram matrix needs to know
        """Some pictures, in the form that coefficients over the ``known`` ones score."""
        return self.X[rows]


@dataclass(frozen=True, slots=True, eq=False)
class GramSpace:
    """Pictures by their kernel with each other; a tag has one coefficient per training picture."""

    G: Array

    def start(self, n_tags: int, coefficients: Array | None = None) -> Array:
        """Given coefficients, or zeros, and the scores of all pictures under them."""
        weights = np.zeros((2, n_tags, len(self.G)), self.G.dtype)
        if coefficients is not None:
            weights[0], weights[1] = coefficients, coefficients @ self.G
        return weights

    def native(self) -> Any:
        """The Gram matrix, marked as one."""
        return GramArrays(np.ascontiguousarray(self.G))

    def coefficients(self, weights: Array) -> Array:
        """The coefficients without the scores."""
        return weights[0]

    def subset(self, rows: Array) -> "GramSpace":
        """Some of the pictures."""
        return GramSpace(np.ascontiguousarray(self.G[np.ix_(rows, rows)]))

    def against(self, rows: Array, known: Array) -> Matrix:
        """The kernel of some pictures with the ``known`` ones."""
        return self.G[np.ix_(rows, known)]


@dataclass(frozen=True, slots=True, eq=False)
class Triplets:
    """All triplets of queries, given by the query vectors and the gains of pictures (0: not relevant).

    Queries that make no triplet, because no picture or every picture is relevant, are left out.
    """

    queries: Compressed
    relevance: RelevanceArrays
    n_tags: int

    @classmethod
    def of(cls, Q: sparse.csr_array, gains: sparse.csr_array) -> "Triplets":
        """The triplets of ``Q`` (n_queries, n_tags) and ``gains`` (n_queries, n_pictures)."""
        gains = sparse.csr_array(gains, dtype=np.float64, copy=True)
        gains.sum_duplicates()
        gains.eliminate_zeros()
        if gains.shape[0] != Q.shape[0]:
            raise InputError(f"{Q.shape[0]} queries have {gains.shape[0]} rows of relevance: pass one row per query")
        if gains.nnz and not 0 <= gains.data.min() <= gains.data.max() < np.inf:
            raise InputError("the relevance of a picture to a query must be finite and not negative")
        usable = np.flatnonzero(tells_apart(gains) & (np.diff(Q.indptr) > 0))
        if not len(usable):
            raise InputError("no query separates pictures: some pictures must be relevant to it and others not")
        Q, gains = sparse.csr_array(Q[usable]), sparse.csr_array(gains[usable])
        rows = np.repeat(np.arange(len(usable)), np.diff(gains.indptr))
        highest = gains.max(axis=1).toarray().ravel()
        relevance = RelevanceArrays(
            gains.indptr.astype(np.int64),
            gains.indices.astype(np.int64),
            gains.data / highest[rows],
            rows.astype(np.int64),
            int(gains.shape[1]),
        )
        queries = Compressed(Q.indptr.astype(np.int64), Q.indices.astype(np.int64), Q.data.astype(np.float64))
        return cls(queries, relevance, int(Q.shape[1]))


def tells_apart(gains: sparse.csr_array) -> NDArray[np.bool_]:
    """Which queries have pictures of different gains.

    >>> tells_apart(sparse.csr_array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [2.0, 1.0]]))
    array([ True, False, False,  True])
    """
    return gains.max(axis=1).toarray().ravel() > gains.min(axis=1).toarray().ravel()


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """Query vectors and the gains of some pictures for them."""

    Q: sparse.csr_array
    gains: sparse.csr_array

    def of_pictures(self, rows: Array) -> "Asked":
        """The same queries of some of the pictures."""
        return Asked(self.Q, sparse.csr_array(self.gains[:, rows]))

    def some(self, n_queries: int, rng: np.random.Generator) -> "Asked":
        """At most ``n_queries`` queries that have a relevant picture, drawn at random."""
        answered = np.flatnonzero(np.diff(self.gains.indptr))
        drawn = np.sort(rng.permutation(answered)[:n_queries])
        return Asked(self.Q[drawn], self.gains[drawn])

    def has_triplets(self) -> bool:
        """Whether any query has pictures of different gains."""
        return bool(tells_apart(sparse.csr_array(self.gains, dtype=np.float64)).any())

    def triplets(self) -> Triplets:
        """All triplets of the queries."""
        return Triplets.of(self.Q, self.gains)


@dataclass(frozen=True, slots=True, eq=False)
class Examined:
    """Held-out pictures, in the form that the coefficients score, and the queries they are ranked for."""

    pictures: Matrix
    asked: Asked

    def precision(self, coefficients: Array) -> float:
        """The mean average precision of the rankings; 0 if no query has a relevant picture."""
        if not self.asked.gains.nnz:
            return 0.0
        scores = self.pictures @ coefficients.T
        return AveragePrecision()(self.asked.gains, np.asarray(self.asked.Q @ scores.T))


@dataclass(frozen=True, slots=True)
class TripletSettings:
    """How to learn: which triplets are drawn, the size of the steps, and their number."""

    aggressiveness: float
    n_steps: int
    loss: str = "hinge"
    sampling: str = "triplets"
    averaged: bool = True


@dataclass(slots=True, eq=False)
class Course:
    """The coefficients, the number of steps, and the mean loss and average precision at every checkpoint."""

    coefficients: Array
    n_steps: int = 0
    losses: list[float] = field(default_factory=list)
    precisions: list[float] = field(default_factory=list)

    @property
    def best_precision(self) -> float:
        """The average precision of the kept coefficients; 0 if it was not measured."""
        return max(self.precisions, default=0.0)


def learn_from_triplets(
    space: FeatureSpace | GramSpace,
    triplets: Triplets,
    settings: TripletSettings,
    seed: int,
    validate: Callable[[Array], float] | None = None,
    start: Array | None = None,
) -> Course:
    """Take passive-aggressive steps; ``validate`` scores coefficients, and learning stops when they get no better.

    With ``averaged`` the coefficients are the mean of those at all checkpoints so far. Learning starts from the
    coefficients ``start`` (None: from zero).
    """
    from visterm.ranking.spaces import _kernels

    weights, pictures = space.start(triplets.n_tags, start), space.native()
    state = np.array([seed], np.uint64)
    mean = np.zeros_like(space.coefficients(weights))
    course = Course(mean)
    top_weights = rank_weights(triplets.relevance.n_pictures) if settings.loss == "warp" else np.empty(0)
    rule = StepRule(float(settings.aggressiveness), settings.sampling == "queries", top_weights, N_TRIALS)
    done, stale = 0, 0
    with progress.task("Learning to rank", total=settings.n_steps) as bar:
        for checkpoint in range(1, N_CHECKPOINTS + 1):
            n_steps = settings.n_steps * checkpoint // N_CHECKPOINTS - done
            loss = _kernels.learn(pictures, weights, state, triplets.queries, triplets.relevance, n_steps, rule)
            done += n_steps
            now = space.coefficients(weights)
            if settings.averaged:
                difference = now - mean
                difference /= checkpoint
                mean += difference
                now = mean
                del difference  # as large as the coefficients
            course.losses.append(loss / max(1, n_steps))
            bar.advance(n_steps)
            if validate is None:
                continue
            precision = validate(now)
            bar.report(loss=course.losses[-1], precision=precision)
            if precision > course.best_precision:
                course.coefficients, course.n_steps, stale = now.copy(), done, 0
            else:
                stale += 1
            course.precisions.append(precision)
            if stale >= PATIENCE:
                break
    if validate is None or not course.n_steps:
        course.coefficients, course.n_steps = (mean if settings.averaged else space.coefficients(weights)).copy(), done
    return course


def rank_weights(n_pictures: int) -> Array:
    """How much to move a relevant picture at each rank: ``sum_{i <= rank} 1/i``, divided by that of the last rank.

    A picture that falls from rank 1 to 2 loses as much as one that falls from 10 to 20 (Weston et al., IJCAI 2011).

    >>> rank_weights(3).round(2)
    array([0.  , 0.55, 0.82, 1.  ])
    """
    sums = np.cumsum(np.concatenate([[0.0], np.reciprocal(np.arange(1, n_pictures + 1, dtype=np.float64))]))
    return sums / sums[-1]
