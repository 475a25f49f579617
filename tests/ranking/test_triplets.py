"""The compiled steps against plain NumPy, and the mathematics they must obey."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from scipy import sparse

from visterm.contracts import Compressed
from visterm.errors import InputError
from visterm.ranking.queries import from_tags, idf, query_vectors
from visterm.ranking.spaces import _kernels
from visterm.ranking.spaces.arrays import StepRule
from visterm.ranking.spaces.triplets import (
    FeatureSpace,
    GramSpace,
    Triplets,
    TripletSettings,
    learn_from_triplets,
    rank_weights,
)

few = settings(max_examples=25, deadline=None)
KINDS = ["dense", "counts", "gram"]


@njit
def squared_distance(pictures, one, other):
    return _kernels.squared_distance(pictures, one, other)


class SplitMix:
    """SplitMix64 in Python's whole numbers."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        mask = 2**64 - 1
        self.state = (self.state + 0x9E3779B97F4A7C15) & mask
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        z = z ^ (z >> 31)
        return ((z >> 32) * n) >> 32


def draw_plainly(random, gains, every_query_alike):
    """A query, a relevant picture and a less relevant one, all such triplets (or all queries) equally likely."""
    pairs = np.argwhere(gains)
    q = random.below(len(gains))
    while True:
        if every_query_alike:
            relevant = np.flatnonzero(gains[q])
            p = relevant[random.below(len(relevant))]
        else:
            q, p = pairs[random.below(len(pairs))]
        m = random.below(gains.shape[1])
        if gains[q, p] > gains[q, m]:
            return q, p, m


def plain_steps(X, Q, gains, seed, n_steps, c, *, batch, every_query_alike=False, top_weights=(), n_trials=1):
    """Passive-aggressive ranking as the paper writes it, with dense arrays: the weights and the summed loss.

    The triplets of a batch are taken in the order of their queries' first words.
    """
    random, W, total = SplitMix(seed), np.zeros((Q.shape[1], X.shape[1])), 0.0

    def triplets():
        for _ in range(n_steps // batch):
            drawn = [draw_plainly(random, gains, every_query_alike) for _ in range(batch)]
            yield from sorted(drawn, key=lambda triplet: np.flatnonzero(Q[triplet[0]])[0])

    for q, p, m in triplets():

        def loss_of(m, q=q, p=p, W=W):
            return (gains[q, p] - gains[q, m]) / gains[q].max() - Q[q] @ W @ (X[p] - X[m])

        loss, step_size = loss_of(m), c
        if len(top_weights):
            trial = 1
            while loss <= _kernels.SATISFIED and trial < n_trials:
                trial += 1
                m = random.below(len(X))
                if gains[q, p] > gains[q, m]:
                    loss = loss_of(m)
            step_size *= top_weights[min(len(X) // trial, len(top_weights) - 1)]
        v = np.outer(Q[q], X[p] - X[m])
        if loss > _kernels.SATISFIED:
            total += loss
            if (v**2).sum() > 0:
                W += min(step_size, loss / (v**2).sum()) * v
    return W, total


def space_of(kind, X):
    if kind == "gram":
        return GramSpace(X @ X.T)
    return FeatureSpace(X if kind == "dense" else sparse.csr_array(X))


def as_weights(kind, coefficients, X):
    return coefficients @ X if kind == "gram" else coefficients


@pytest.fixture
def task():
    rng = np.random.default_rng(0)
    X = rng.poisson(1.0, (12, 7)).astype(np.float64)
    tags = (rng.random((12, 4)) < 0.5).astype(int)
    queries = from_tags(tags)
    return X, query_vectors(queries.words, idf(tags.sum(axis=0), 12)), sparse.csr_array(queries.relevance, dtype=float)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sampling", ["triplets", "queries"])
@pytest.mark.parametrize("loss", ["hinge", "warp"])
@pytest.mark.parametrize("graded", [False, True])
def test_compiled_steps_are_the_plain_ones(task, kind, sampling, loss, graded):
    X, Q, gains = task
    if graded:
        gains.data = np.random.default_rng(1).integers(1, 4, gains.nnz).astype(float)
    triplets = Triplets.of(Q, gains)
    usable = (gains.max(axis=1).toarray() > gains.toarray().min(axis=1)) & (np.diff(Q.indptr) > 0)
    top = rank_weights(12) if loss == "warp" else ()
    expected, total = plain_steps(
        X,
        Q.toarray()[usable],
        gains.toarray()[usable],
        seed=7,
        n_steps=300,
        c=0.05,
        batch=12,  # at 25 checkpoints
        every_query_alike=sampling == "queries",
        top_weights=top,
        n_trials=50,
    )
    course = learn_from_triplets(
        space_of(kind, X), triplets, TripletSettings(0.05, 300, loss, sampling, averaged=False), seed=7
    )
    np.testing.assert_allclose(as_weights(kind, course.coefficients, X), expected, atol=1e-10)
    assert sum(course.losses) * 12 == pytest.approx(total)
    assert course.n_steps == 300


@few
@given(st.integers(0, 10**6), st.sampled_from(KINDS), st.floats(0.01, 10.0))
def test_a_step_does_what_the_paper_says(seed, kind, c):
    """A step removes the loss of its triplet unless it is clipped; its size is at most c times that of v."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(1.0, (5, 6)).astype(np.float64) / 3
    Q = query_vectors(rng.random((1, 3)) + 0.1, np.ones(3))
    queries = Compressed(Q.indptr.astype(np.int64), Q.indices.astype(np.int64), Q.data)
    space = space_of(kind, X)
    pictures, weights = space.native(), space.start(3)
    if kind == "gram":
        weights[0] = rng.normal(size=(3, 5))
        weights[1] = weights[0] @ space.G
    else:
        weights[:] = rng.normal(size=(3, 6))
    before = space.coefficients(weights).copy()

    def lead():
        return _kernels.relevance_score(pictures, weights, queries, 0, 1) - _kernels.relevance_score(
            pictures, weights, queries, 0, 2
        )

    loss = 1 - lead()
    squared_length = float((np.outer(Q.toarray(), X[1] - X[2]) ** 2).sum())
    if loss <= 0:
        return
    _kernels.update(pictures, weights, queries, (0, 1, 2), loss, c)
    change = as_weights(kind, space.coefficients(weights) - before, X)
    if squared_length == 0:
        assert not change.any()
    elif loss / squared_length <= c:
        assert lead() == pytest.approx(1)
    else:
        assert lead() < 1
        assert np.linalg.norm(change) == pytest.approx(c * np.sqrt(squared_length))


def test_many_steps_are_several_batches(task):
    X, Q, gains = task
    triplets, space = Triplets.of(Q, gains), FeatureSpace(X)

    def weights_after(*calls):
        weights, state = space.start(triplets.n_tags), np.array([5], np.uint64)
        for n_steps in calls:
            rule = StepRule(0.05, False, np.empty(0), 1)
            _kernels.learn(space.native(), weights, state, triplets.queries, triplets.relevance, n_steps, rule)
        return weights

    np.testing.assert_array_equal(weights_after(_kernels.BATCH + 100), weights_after(_kernels.BATCH, 100))


def test_triplets_are_ordered_by_the_first_word():
    Q = sparse.csr_array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    queries = Compressed(Q.indptr.astype(np.int64), Q.indices.astype(np.int64), Q.data)
    drawn = np.column_stack([np.random.default_rng(0).integers(3, size=50)] * 3)
    order = np.full(60, -1)
    _kernels.order_by_word(drawn, 50, queries, np.empty(3, np.int64), order)
    np.testing.assert_array_equal(order[:50], np.argsort(np.array([1, 0, 2])[drawn[:, 0]], kind="stable"))


def test_copies_of_a_bag_are_no_distance_apart():
    X = sparse.csr_array(np.array([[0.1, 0.7, 0.0], [0.1, 0.7, 0.0], [0.0, 0.2, 0.3]], np.float32))
    pictures = FeatureSpace(X).native()
    distances = [[squared_distance(pictures, one, other) for other in range(3)] for one in range(3)]
    expected = ((X.toarray()[:, None] - X.toarray()[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(distances, expected, rtol=1e-6)
    assert distances[0][1] == 0
    assert not pictures[3].any()


def test_a_satisfied_triplet_changes_nothing():
    X = np.eye(2)
    triplets = Triplets.of(sparse.csr_array([[1.0]]), sparse.csr_array([[1.0, 0.0]]))
    course = learn_from_triplets(FeatureSpace(X), triplets, TripletSettings(10.0, 1000, averaged=False), seed=0)
    np.testing.assert_allclose(course.coefficients, [[0.5, -0.5]])  # the first step leads by 1, and none follows
    assert sum(loss > 0 for loss in course.losses) == 1


@few
@given(st.integers(0, 10**6), st.sampled_from([0.01, 0.1, 1.0]), st.integers(25, 200))
def test_the_bound_of_the_appendix(seed, c, n_steps):
    """||w_i|| <= 2 c rho i, rho the largest ||gamma(q, p)||."""
    rng = np.random.default_rng(seed)
    X, tags = rng.normal(size=(8, 5)), (rng.random((8, 3)) < 0.5).astype(int)
    tags[0], tags[1] = [1, 0, 0], [0, 1, 1]
    queries = from_tags(tags)
    Q = query_vectors(queries.words, np.ones(3))
    course = learn_from_triplets(
        FeatureSpace(X), Triplets.of(Q, queries.relevance), TripletSettings(c, n_steps, averaged=False), seed
    )
    radius = np.linalg.norm(X, axis=1).max()  # queries have length 1
    assert np.linalg.norm(course.coefficients) <= 2 * c * radius * n_steps * (1 + 1e-9)


@pytest.mark.parametrize("every_query_alike", [False, True])
def test_triplets_are_drawn_uniformly(every_query_alike):
    gains = sparse.csr_array([[1.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 2.0, 1.0, 0.0]])
    triplets = Triplets.of(sparse.csr_array(np.eye(3)), gains)
    state = np.array([1], np.uint64)
    drawn = Counter(_kernels.draw(state, triplets.relevance, every_query_alike) for _ in range(20_000))
    plain = gains.toarray()
    possible = {
        (q, p, m, (plain[q, p] - plain[q, m]) / plain[q].max())
        for q in range(3)
        for p in range(4)
        for m in range(4)
        if plain[q, p] > plain[q, m]
    }
    assert set(drawn) == possible
    of_query = [sum(q == triplet[0] for triplet in possible) for q in range(3)]
    for triplet, count in drawn.items():
        chance = 1 / (3 * of_query[triplet[0]]) if every_query_alike else 1 / len(possible)
        assert abs(count - 20_000 * chance) < 5 * np.sqrt(20_000 * chance)


@pytest.mark.parametrize("kind", KINDS)
def test_learning_goes_on_from_where_it_is_told(task, kind):
    X, Q, gains = task
    space, triplets = space_of(kind, X), Triplets.of(Q, gains)
    settings = TripletSettings(0.05, 25, averaged=False)
    shape = space.coefficients(space.start(4)).shape
    start = np.random.default_rng(0).normal(size=shape) * 10
    moved = learn_from_triplets(space, triplets, settings, 3, start=start).coefficients
    assert 0 < np.abs(moved - start).max() < 1
    np.testing.assert_array_equal(
        learn_from_triplets(space, triplets, settings, 3, start=np.zeros(shape)).coefficients,
        learn_from_triplets(space, triplets, settings, 3).coefficients,
    )


def test_averaging_is_the_mean_of_the_checkpoints(task):
    X, Q, gains = task
    triplets = Triplets.of(Q, gains)
    snapshots = [
        learn_from_triplets(FeatureSpace(X), triplets, TripletSettings(0.05, n, averaged=False), 3).coefficients
        for n in range(1, 26)
    ]
    mean = learn_from_triplets(FeatureSpace(X), triplets, TripletSettings(0.05, 25, averaged=True), 3).coefficients
    np.testing.assert_allclose(mean, np.mean(snapshots, axis=0), atol=1e-12)


def test_learning_stops_where_it_gets_no_better(task):
    X, Q, gains = task
    values = iter([0.1, 0.5, 0.4, 0.4, 0.4, 0.4, 0.4, 1.0])
    seen = []

    def validate(coefficients):
        seen.append(coefficients.copy())
        return next(values)

    course = learn_from_triplets(FeatureSpace(X), Triplets.of(Q, gains), TripletSettings(0.05, 100), 3, validate)
    assert course.precisions == [0.1, 0.5, 0.4, 0.4, 0.4, 0.4, 0.4]
    assert course.n_steps == 8
    np.testing.assert_array_equal(course.coefficients, seen[1])


def test_top_weights_fall_towards_the_top():
    weights = rank_weights(100)
    assert len(weights) == 101
    assert (np.diff(weights) > 0).all()
    assert (np.diff(weights, 2) < 0).all()
    assert weights[0] == 0
    assert weights[-1] == 1


@pytest.mark.parametrize(
    ("Q", "gains", "message"),
    [
        ([[1.0]], [[1.0, 1.0]], "no query separates pictures"),
        ([[1.0]], [[0.0, 0.0]], "no query separates pictures"),
        ([[0.0]], [[1.0, 0.0]], "no query separates pictures"),
        ([[1.0], [1.0]], [[1.0, 0.0]], "one row per query"),
        ([[1.0]], [[-1.0, 0.0]], "not negative"),
        ([[1.0]], [[np.nan, 0.0]], "finite"),
    ],
)
def test_unusable_queries_are_refused(Q, gains, message):
    with pytest.raises(InputError, match=message):
        Triplets.of(sparse.csr_array(Q), sparse.csr_array(gains))


def test_random_numbers_are_those_of_splitmix():
    random, state = SplitMix(12345), np.array([12345], np.uint64)
    for n in (2**32 - 1, 2**31 + 12345, 1000) * 20:
        assert _kernels.below(state, n) == random.below(n)


@pytest.mark.parametrize("form", ["zeros", "twice", "backwards"])
def test_the_form_of_sparse_matrices_does_not_matter(task, form):
    X, Q, gains = task
    settings = TripletSettings(0.05, 100, averaged=False)
    expected = learn_from_triplets(FeatureSpace(sparse.csr_array(X)), Triplets.of(Q, gains), settings, 3).coefficients

    def unusual(matrix):
        A = matrix.toarray()
        if form == "zeros":
            made = sparse.csr_array(np.ones_like(A))
            made.data = A.ravel().copy()
            return made
        if form == "twice":
            return sparse.csr_array((np.repeat(matrix.data / 2, 2), np.repeat(matrix.indices, 2), matrix.indptr * 2))
        width = A.shape[1]
        back = np.tile(np.arange(width)[::-1], len(A))
        return sparse.csr_array((A[:, ::-1].ravel(), back, np.arange(0, A.size + 1, width)), shape=A.shape)

    space, triplets = FeatureSpace(unusual(sparse.csr_array(X))), Triplets.of(Q, unusual(gains))
    np.testing.assert_allclose(learn_from_triplets(space, triplets, settings, 3).coefficients, expected, atol=1e-12)


def test_gains_below_one_are_gains(task):
    X, Q, gains = task
    settings = TripletSettings(0.05, 100)
    whole = learn_from_triplets(FeatureSpace(X), Triplets.of(Q, gains), settings, 3)
    part = learn_from_triplets(FeatureSpace(X), Triplets.of(Q, gains * 0.25), settings, 3)
    np.testing.assert_allclose(part.coefficients, whole.coefficients)


def test_weights_are_averaged_unless_told_otherwise(task):
    X, Q, gains = task
    default, averaged, last = (
        learn_from_triplets(FeatureSpace(X), Triplets.of(Q, gains), settings, 3).coefficients
        for settings in (
            TripletSettings(0.05, 100),
            TripletSettings(0.05, 100, averaged=True),
            TripletSettings(0.05, 100, averaged=False),
        )
    )
    np.testing.assert_array_equal(default, averaged)
    assert np.abs(default - last).max() > 1e-3


def test_losses_are_means_over_the_steps_of_a_checkpoint():
    triplets = Triplets.of(sparse.csr_array([[1.0]]), sparse.csr_array([[1.0, 0.0]]))
    one, few, none = (
        learn_from_triplets(FeatureSpace(np.eye(2)), triplets, TripletSettings(10.0, n), seed=0).losses
        for n in (25, 50, 1)
    )
    assert one == [1.0] + [0.0] * 24  # the first step removes the loss
    assert few == [0.5] + [0.0] * 24
    assert none == [0.0] * 24 + [1.0]


@pytest.mark.parametrize("later", [0.4, 0.5])
def test_the_first_of_equally_good_weights_is_kept(task, later):
    X, Q, gains = task
    values = iter([0.5] + [later] * 24)
    course = learn_from_triplets(
        FeatureSpace(X), Triplets.of(Q, gains), TripletSettings(0.05, 100), 3, lambda _: next(values)
    )
    assert (course.n_steps, course.precisions) == (4, [0.5] + [later] * 5)


def test_weights_of_a_kernel_are_coefficients_and_scores():
    assert GramSpace(np.eye(3)).start(2).shape == (2, 2, 3)
    G, theta = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([[1.0, -1.0]])
    np.testing.assert_array_equal(GramSpace(G).start(1, theta), [theta, [[1.0, -2.0]]])


def test_without_any_precision_the_last_weights_are_kept(task):
    X, Q, gains = task
    seen = []

    def validate(coefficients):
        seen.append(coefficients.copy())
        return 0.0

    course = learn_from_triplets(FeatureSpace(X), Triplets.of(Q, gains), TripletSettings(0.05, 100), 3, validate)
    assert (course.n_steps, course.precisions) == (20, [0.0] * 5)
    np.testing.assert_array_equal(course.coefficients, seen[-1])


def test_gains_given_in_parts_are_added_up():
    parts = sparse.csr_array((np.array([3.0, -1.0]), np.array([0, 0]), np.array([0, 2])), shape=(1, 2))
    assert Triplets.of(sparse.csr_array([[1.0]]), parts).relevance.gains.tolist() == [1.0]


@pytest.mark.parametrize("kind", KINDS)
def test_scores_of_queries_are_weighted_sums_over_their_words(task, kind):
    X, Q, _ = task
    queries = Compressed(Q.indptr.astype(np.int64), Q.indices.astype(np.int64), Q.data)
    space = space_of(kind, X)
    start = np.random.default_rng(0).normal(size=space.start(4).shape[-2:])
    expected = Q.toarray() @ as_weights(kind, start, X) @ X.T
    for q, p in ((0, 0), (2, 5), (Q.shape[0] - 1, 11)):
        found = _kernels.relevance_score(space.native(), space.start(4, start), queries, q, p)
        assert found == pytest.approx(expected[q, p])


@pytest.mark.parametrize("kind", KINDS)
def test_pictures_that_are_alike_cannot_be_moved_apart(kind):
    triplets = Triplets.of(sparse.csr_array([[1.0]]), sparse.csr_array([[1.0, 0.0]]))
    course = learn_from_triplets(space_of(kind, np.ones((2, 3))), triplets, TripletSettings(0.1, 25), seed=0)
    assert not course.coefficients.any()
    assert course.losses == [1.0] * 25
