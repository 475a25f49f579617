"""Variational EM over bags of codewords: the bags, the start, the E step without labels, the M step and the loop."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import reduce
from operator import add
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import digamma, gammaln, polygamma

from visterm.compute import progress
from visterm.compute.parallel import Engine, Shard, map_shards, rows_of_task, split
from visterm.compute.threads import in_threads
from visterm.contracts import Features, check_features, check_tags, rows_with_tags
from visterm.errors import InputError

Array = NDArray[np.float64]
T = TypeVar("T")
M = TypeVar("M")
E = TypeVar("E")

#: Pictures of a shard: enough to be worth a thread.
_SHARD_PICTURES = 1024
#: Bags with this many codewords lie in files, if workers elsewhere are to open them.
_LAID_OUT_FROM = 1_000_000
#: A topic starts with this share of its picture; the rest is the mean of all pictures.
_OWN_SHARE = 0.7
#: At most this many pictures are compared with each other.
_MAX_CANDIDATES = 4096
#: The rate of the exponential prior of a learned alpha. Without it, alpha would grow without bound for one picture.
ALPHA_RATE = 0.1
_MAX_STEPS, _TOLERANCE = 100, 1e-8
#: A step that would lower the objective is shortened to this share.
_SHORTER = 0.5

# --- Bags -------------------------------------------------------------------------------------------------------------


class Bags(NamedTuple):
    """The tokens of pictures as CSR arrays for kernels: picture d has ``indices`` and ``counts`` from ``indptr[d]``."""

    indptr: NDArray[Any]
    indices: NDArray[Any]
    counts: NDArray[Any]


def rows_of(bags: sparse.csr_array, shard: Shard) -> Bags:
    """The pictures of a shard; indices and counts are views."""
    counts = slice(bags.indptr[shard.start], bags.indptr[shard.stop])
    return Bags(bags.indptr[shard.start : shard.stop + 1] - counts.start, bags.indices[counts], bags.data[counts])


def check_bags(estimator: Any, X: Features, *, fitting: bool, n_tokens: float | None = None) -> sparse.csr_array:
    """``X`` as float64 CSR counts without zeros; ``n_tokens`` scales every picture to that many tokens.

    A histogram that sums to one counts as a single token; ``n_tokens`` sets how many tokens it stands for. None or 0
    takes the counts as they are.

    >>> from visterm.contracts import Estimator
    >>> check_bags(Estimator(), [[0.5, 0.0, 0.5]], fitting=True, n_tokens=100).toarray()
    array([[50.,  0., 50.]])
    """
    # A copy, since zeros and duplicates are removed in place.
    counts = sparse.csr_array(check_features(estimator, X, fitting=fitting), dtype=np.float64, copy=True)
    # mutants: <= -> <: a matrix of exactly 2**31 - 1 counts works with either type of indices
    if counts.nnz <= np.iinfo(np.int32).max:  # loops are compiled for each type of indices: one is enough
        counts.indptr = counts.indptr.astype(np.int32, copy=False)
        counts.indices = counts.indices.astype(np.int32, copy=False)
    counts.sum_duplicates()
    counts.eliminate_zeros()
    # mutants: < -> <=: zeros were removed before
    if counts.nnz and counts.data.min() < 0:
        raise InputError(
            f"Negative values in data passed to {type(estimator).__name__}: it counts codewords, so pass bags or"
            " histograms"
        )
    counts = of_size(counts, n_tokens)
    if counts.nnz < _LAID_OUT_FROM or not Engine.from_environment().is_elsewhere:
        return counts
    from visterm.compute.travelling import laid_out

    return laid_out(counts)


def of_size(counts: sparse.csr_array, n_tokens: float | None) -> sparse.csr_array:
    """Bags in which every picture has ``n_tokens`` tokens; None or 0 returns ``counts`` as they are."""
    if not n_tokens:
        return counts
    scale = n_tokens / np.repeat(counts.sum(axis=1), np.diff(counts.indptr))
    return sparse.csr_array((counts.data * scale, counts.indices, counts.indptr), shape=counts.shape)


def check_tag_bags(tags: Any, n_rows: int) -> sparse.csr_array:
    """``tags`` as float64 CSR; at least one picture must have one."""
    checked = check_tags(tags, n_rows)
    rows_with_tags(checked)
    return checked.astype(np.float64)


def distributions(weights: NDArray[Any]) -> Array:
    """The rows scaled to sum to one; a row of zeros becomes uniform.

    >>> distributions(np.array([[1.0, 3.0], [0.0, 0.0]]))
    array([[0.25, 0.75], [0.5 , 0.5 ]])
    """
    weights = np.ascontiguousarray(weights, dtype=np.float64)
    totals = weights.sum(axis=-1, keepdims=True)
    return np.divide(weights, totals, out=np.full(weights.shape, 1 / weights.shape[-1]), where=totals > 0)


# --- The start --------------------------------------------------------------------------------------------------------


def start_topics(bags: sparse.csr_array, n_topics: int, random: Any, *, how: str = "spread") -> Array:
    """Counts (n_topics, n_codewords) to start topics from, each one picture mixed with the mean of all.

    ``spread`` draws pictures as k-means++ does, far from those already drawn in the Hellinger distance between their
    codeword frequencies; ``random`` draws any.

    >>> bags = sparse.csr_array([[5.0, 0.0], [0.0, 4.0], [5.0, 0.0]])
    >>> start_topics(bags, 2, np.random.RandomState(0)).argmax(axis=1).tolist()
    [1, 0]
    """
    common = np.asarray(bags.mean(axis=0)).ravel()
    rows = np.flatnonzero(np.diff(bags.indptr))
    if not len(rows):
        return np.ones((n_topics, bags.shape[1]))
    rows = random.permutation(rows)[:_MAX_CANDIDATES]
    chosen = _spread(bags[rows], n_topics, random) if how == "spread" else random.randint(len(rows), size=n_topics)
    drawn = bags[rows[chosen]].toarray()
    drawn *= common.sum() / drawn.sum(axis=1, keepdims=True)
    return _OWN_SHARE * drawn + (1 - _OWN_SHARE) * common


def _spread(bags: sparse.csr_array, n_topics: int, random: Any) -> NDArray[np.intp]:
    roots = sparse.csr_array(bags / bags.sum(axis=1)[:, np.newaxis])
    roots.data = np.sqrt(roots.data)
    chosen = [random.randint(bags.shape[0])]
    distance = np.full(bags.shape[0], np.inf)
    while len(chosen) < n_topics:
        likeness = (roots @ roots[[chosen[-1]]].T).toarray().ravel()
        distance = np.minimum(distance, np.maximum(0.0, 2 - 2 * likeness))
        total = distance.sum()
        # More topics than different pictures: any picture will do.
        shares = distance / total if total > 0 else None
        chosen.append(int(random.choice(bags.shape[0], p=shares)))
    return np.array(chosen)


# --- The E step without labels ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class TopicStatistics:
    """Expected counts of pictures under a topic model, which the M step needs; ``+`` merges those of several shards.

    ``codewords`` (n_topics, n_codewords) and ``tags`` (n_topics, n_tags) hold how often each topic is expected to have
    generated each codeword and tag. ``log_proportions`` (n_topics,) is the sum over pictures of E[log theta], ``bound``
    the evidence bound of the pictures.

    >>> a = TopicStatistics(1, -2.0, np.ones((2, 3)), np.zeros(2), np.zeros((2, 0)))
    >>> (a + a).n_pictures, (a + a).bound, (a + a).codewords.sum().item()
    (2, -4.0, 12.0)
    """

    n_pictures: int
    bound: float
    codewords: Array
    log_proportions: Array
    tags: Array

    def __add__(self, other: "TopicStatistics") -> "TopicStatistics":
        if self.codewords.shape != other.codewords.shape or self.tags.shape != other.tags.shape:
            raise InputError("statistics of different topics cannot be merged")
        return TopicStatistics(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


@dataclass(frozen=True, slots=True, eq=False)
class Inferred:
    """Posterior Dirichlet parameters ``gamma`` (n_pictures, n_topics) and the statistics of the pictures."""

    gamma: Array
    statistics: TopicStatistics

    @property
    def proportions(self) -> Array:
        """The mean topic proportions, rows summing to one."""
        return self.gamma / self.gamma.sum(axis=1, keepdims=True)


def infer_topics(
    bags: sparse.csr_array,
    topics: ArrayLike,
    alpha: ArrayLike,
    *,
    start: Array | None = None,
    max_sweeps: int = 100,
    tolerance: float = 1e-3,
    n_jobs: int = -1,
) -> Inferred:
    """q(theta) of each picture of ``bags`` under fixed ``topics`` (n_topics, n_codewords), and the expected counts.

    Maximises, picture by picture, E_q[log p(bag, z, theta | topics, alpha)] + H(q) by coordinate ascent, from ``start``
    (a former gamma) or from equal topics. A picture stops after ``max_sweeps`` sweeps or when gamma changes by less
    than ``tolerance`` per topic. ``alpha`` is one number, or one per topic. Counts may be fractions. The bound is exact
    for the gamma returned and never lower than at ``start``.

    >>> bags = sparse.csr_array([[8.0, 0.0, 1.0], [0.0, 5.0, 0.0]])
    >>> infer_topics(bags, [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]], 0.1).proportions.round(1)
    array([[1., 0.],
           [0., 1.]])
    """
    from visterm.topics.inference._kernels_lda import infer_proportions

    likelihood = np.ascontiguousarray(np.asarray(topics, np.float64).T)
    n_codewords, n_topics = likelihood.shape
    if bags.shape[1] != n_codewords:
        raise InputError(f"the bags have {bags.shape[1]} codewords, but the topics have {n_codewords}")
    prior = np.array(np.broadcast_to(np.asarray(alpha, np.float64), (n_topics,)))
    gamma = starting_gamma(bags, prior) if start is None else np.array(start, np.float64, order="C")

    engine = Engine.reaching(bags)

    def of_shard(known: tuple[Shard, Array]) -> tuple[Array, TopicStatistics]:
        shard, start = known
        codewords, log_proportions = np.zeros((n_codewords, n_topics)), np.zeros(n_topics)
        # A whole number or a read-only array would be other types: the loop would be compiled once more.
        least = float(tolerance)
        bound = infer_proportions(
            bags=rows_of(bags, shard),
            likelihood=likelihood,
            alpha=prior,
            max_sweeps=max_sweeps,
            tolerance=least,
            gamma=start,
            codewords=codewords,
            log_proportions=log_proportions,
        )
        return start, TopicStatistics(len(shard), bound, codewords.T, log_proportions, np.zeros((n_topics, 0)))

    shards = split(len(gamma), size=rows_of_task(len(gamma), _SHARD_PICTURES, engine)) or [Shard(0, 0)]
    known = [(shard, gamma[shard.rows]) for shard in shards]
    if engine.is_elsewhere:
        found = list(map_shards(of_shard, known, engine=engine, description="Inferring topics"))
    else:
        found = in_threads(of_shard, known, n_jobs)
    for shard, (inferred, _) in zip(shards, found, strict=True):
        gamma[shard.rows] = inferred
    return Inferred(gamma, reduce(add, (statistics for _, statistics in found)))


def starting_gamma(bags: sparse.csr_array, alpha: Array) -> Array:
    """The posterior in which every topic has the same share of each picture."""
    return alpha + bags.sum(axis=1, dtype=np.float64)[:, None] / len(alpha)


def over_shards(task: Callable[[Shard], T], n_pictures: int, n_jobs: int = -1) -> list[T]:
    """The results of ``task`` for every shard of pictures, in order; shards do not depend on the number of threads."""
    shards = split(n_pictures, size=_SHARD_PICTURES) or [Shard(0, 0)]
    return in_threads(task, shards, n_jobs)


# --- The M step and the loop ------------------------------------------------------------------------------------------


def normalised(counts: Array, smoothing: float) -> Array:
    """Rows of ``counts`` plus ``smoothing``, scaled to sum to one: the best topics for the expected counts.

    They maximise sum(counts * log(topics)) + smoothing * sum(log(topics)).
    """
    smoothed = np.ascontiguousarray(counts + smoothing)
    return smoothed / smoothed.sum(axis=1, keepdims=True)


def fit_dirichlet(log_proportions: Array, n_pictures: int, start: Array, *, rate: float = ALPHA_RATE) -> Array:
    """The most likely ``alpha`` for ``n_pictures`` topic proportions with these sums of E[log theta].

    Maximises ``n log Gamma(sum alpha) - n sum log Gamma(alpha) + alpha . log_proportions - rate * sum(alpha)`` by
    Newton's method (Minka 2000: linear in the number of topics). This objective is concave. ``rate`` is that of an
    exponential prior; without it, alpha would grow without bound for a single picture.

    >>> draws = np.random.default_rng(0).dirichlet([2.0, 0.5, 1.0], size=20_000)
    >>> fit_dirichlet(np.log(draws).sum(axis=0), len(draws), np.ones(3), rate=0).round(1)
    array([2. , 0.5, 1. ])
    """
    alpha = np.array(start, np.float64)
    if len(alpha) < 2:
        return alpha  # the proportion of a single topic is 1 for any alpha
    target = np.asarray(log_proportions) - rate
    value = _dirichlet_score(alpha, n_pictures, target)
    for _ in range(_MAX_STEPS):
        gradient = n_pictures * (digamma(alpha.sum()) - digamma(alpha)) + target
        diagonal = -n_pictures * polygamma(1, alpha)
        common = n_pictures * polygamma(1, alpha.sum())
        # The Hessian is diagonal + common * ones: inverted by the Sherman-Morrison formula.
        shift = (gradient / diagonal).sum() / (1 / common + (1 / diagonal).sum())
        step = (shift - gradient) / diagonal
        scale = 1.0
        while True:
            moved = alpha + scale * step
            # mutants: >= -> >: a step that changes the score by rounding errors at most is the last one either way
            # mutants: > -> >=: at 0 the score is minus infinity, so the step is shortened all the same
            if (moved > 0).all() and (risen := _dirichlet_score(moved, n_pictures, target)) >= value:
                break
            scale *= _SHORTER
            if scale < _TOLERANCE:
                return alpha
        alpha, value, rise = moved, risen, risen - value
        if rise <= _TOLERANCE * abs(value):
            break
    return alpha


def _dirichlet_score(alpha: Array, n_pictures: int, target: Array) -> float:
    return float(n_pictures * (gammaln(alpha.sum()) - gammaln(alpha).sum()) + alpha @ target)


def climb(
    model: M,
    e_step: Callable[[M], tuple[E, float]],
    m_step: Callable[[M, E], M],
    *,
    max_iter: int,
    tol: float,
    bar: progress.Bar,
    is_done: Callable[[M], bool] | None = None,
) -> tuple[M, Array]:
    """Alternate ``e_step``, which returns statistics and the objective, and ``m_step``, which returns a new model.

    The loop stops when the objective rises by less than ``tol``, relatively, or when a new model ``is_done``. It
    returns the model and the objective at the start of every iteration.
    """
    objective: list[float] = []
    for _ in range(max_iter):
        evidence, value = e_step(model)
        objective.append(value)
        bar.advance()
        bar.report(objective=value)
        if len(objective) > 1 and value - objective[-2] <= tol * abs(value):
            break
        model = m_step(model, evidence)
        if is_done is not None and is_done(model):
            break
    return model, np.array(objective)
