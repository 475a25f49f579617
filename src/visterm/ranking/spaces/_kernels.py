"""Numba kernels for passive-aggressive ranking: drawing triplets, one step, many steps; and average precision.

Pictures come in three kinds: a dense array (n_pictures, n_dims), :class:`CountArrays` or :class:`GramArrays`. The
weights of the first two are (n_tags, n_dims). The weights of a Gram matrix are (2, n_tags, n_pictures): the
coefficients, and the scores of all training pictures under them. So reading a score costs nothing, and only a step that
changes something costs n_pictures. The indices of counts are unsigned: checking for negative indices, as Python does,
would cost half of the time.

Random numbers are those of SplitMix64, whose whole state is one number: the same on every machine and in any thread.
The compiler may change only the order of additions, so that sums over dimensions use vector registers.
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from visterm.compute.compiled import compiled
from visterm.contracts import Compressed
from visterm.ranking.spaces.arrays import GramArrays, RelevanceArrays, StepRule

_GOLDEN, _MIX_1, _MIX_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
#: A smaller loss is a rounding error: a step that removes a loss leaves nothing else.
SATISFIED = 1e-6
#: This many triplets are drawn before the first of them is used.
BATCH = 16384
_27, _30, _31, _32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)


@compiled
def below(state: Any, n: int) -> Any:
    """A uniformly random integer from 0 to ``n`` (exclusive); advances the one-element uint64 ``state``."""
    state[0] += _GOLDEN
    z = state[0]
    z = (z ^ (z >> _30)) * _MIX_1
    z = (z ^ (z >> _27)) * _MIX_2
    z = z ^ (z >> _31)
    return np.int64(((z >> _32) * np.uint64(n)) >> _32)


@compiled
def gain_of(relevance: RelevanceArrays, query: int, picture: int) -> float:
    """The gain of a picture for a query, found by bisection; 0 if it is not relevant."""
    low, high = relevance.indptr[query], relevance.indptr[query + 1]
    while low < high:
        middle = (low + high) // 2
        if relevance.indices[middle] < picture:
            low = middle + 1
        else:
            high = middle
    if low < relevance.indptr[query + 1] and relevance.indices[low] == picture:
        return float(relevance.gains[low])
    return 0.0


@compiled
def draw(state: Any, relevance: RelevanceArrays, every_query_alike: bool) -> Any:
    """A triplet (query, relevant picture, less relevant picture) and the difference of their gains.

    All triplets are equally likely: a relevant pair and any picture are drawn, and drawn again unless the picture is
    less relevant. With ``every_query_alike`` the query is drawn first and kept.
    """
    query = below(state, len(relevance.indptr) - 1)
    while True:
        if every_query_alike:
            first = relevance.indptr[query]
            entry = first + below(state, relevance.indptr[query + 1] - first)
        else:
            entry = below(state, len(relevance.indices))
            query = relevance.query[entry]
        other = below(state, relevance.n_pictures)
        difference = relevance.gains[entry] - gain_of(relevance, query, other)
        if difference > 0.0:
            return query, relevance.indices[entry], other, difference


def score(pictures: Any, weights: Any, tag: int, picture: int) -> float:
    """``w_tag . p``; compiled for each kind of pictures."""
    raise NotImplementedError


def squared_distance(pictures: Any, one: int, other: int) -> float:
    """``||p - p'||^2``; compiled for each kind of pictures."""
    raise NotImplementedError


def move(pictures: Any, weights: Any, tag: int, one: int, other: int, size: float) -> None:
    """``w_tag += size (p - p')``; compiled for each kind of pictures."""
    raise NotImplementedError


def _is_gram(pictures: Any) -> bool:
    """Whether the pictures have the type of a Gram matrix."""
    return getattr(pictures, "instance_class", None) is GramArrays


_FAST: Any = {"fastmath": {"reassoc", "contract"}}

# The functions below choose by type at compile time. Their arguments are types, and most only hold a position.


@overload(score, jit_options=_FAST)
def _score(pictures: Any, weights: Any, tag: Any, picture: Any) -> Any:  # noqa: ARG001
    if isinstance(pictures, types.Array):

        def dense(pictures: Any, weights: Any, tag: Any, picture: Any) -> Any:
            total = weights.dtype.type(0)
            for d in range(pictures.shape[1]):
                total += weights[tag, d] * pictures[picture, d]
            return total

        return dense
    if _is_gram(pictures):

        def gram(pictures: Any, weights: Any, tag: Any, picture: Any) -> Any:  # noqa: ARG001
            return weights[1, tag, picture]

        return gram

    def counts(pictures: Any, weights: Any, tag: Any, picture: Any) -> Any:
        total = weights.dtype.type(0)
        for entry in range(pictures.indptr[picture], pictures.indptr[picture + 1]):
            total += weights[tag, pictures.indices[entry]] * pictures.data[entry]
        return total

    return counts


@overload(squared_distance, jit_options=_FAST)
def _squared_distance(pictures: Any, one: Any, other: Any) -> Any:  # noqa: ARG001
    if isinstance(pictures, types.Array):

        def dense(pictures: Any, one: Any, other: Any) -> Any:
            total = pictures.dtype.type(0)
            for d in range(pictures.shape[1]):
                difference = pictures[one, d] - pictures[other, d]
                total += difference * difference
            return total

        return dense
    if _is_gram(pictures):

        def gram(pictures: Any, one: Any, other: Any) -> Any:
            G = pictures.G
            return max(G[one, one] + G[other, other] - G[one, other] - G[other, one], G.dtype.type(0))

        return gram

    def counts(pictures: Any, one: Any, other: Any) -> Any:
        indptr, indices, data, room = pictures
        total = data.dtype.type(0)
        for entry in range(indptr[one], indptr[one + 1]):
            room[indices[entry]] = data[entry]
        for entry in range(indptr[other], indptr[other + 1]):
            difference = room[indices[entry]] - data[entry]
            total += difference * difference
            room[indices[entry]] = 0
        for entry in range(indptr[one], indptr[one + 1]):  # entries that the other does not have
            left = room[indices[entry]]
            total += left * left
            room[indices[entry]] = 0
        return total

    return counts


@overload(move, jit_options=_FAST)
def _move(pictures: Any, weights: Any, tag: Any, one: Any, other: Any, size: Any) -> Any:  # noqa: ARG001
    if isinstance(pictures, types.Array):

        def dense(pictures: Any, weights: Any, tag: Any, one: Any, other: Any, size: Any) -> None:
            factor = weights.dtype.type(size)
            for d in range(pictures.shape[1]):
                weights[tag, d] += factor * (pictures[one, d] - pictures[other, d])

        return dense
    if _is_gram(pictures):

        def gram(pictures: Any, weights: Any, tag: Any, one: Any, other: Any, size: Any) -> None:
            factor = weights.dtype.type(size)
            weights[0, tag, one] += factor
            weights[0, tag, other] -= factor
            for p in range(weights.shape[2]):
                weights[1, tag, p] += factor * (pictures.G[one, p] - pictures.G[other, p])

        return gram

    def counts(pictures: Any, weights: Any, tag: Any, one: Any, other: Any, size: Any) -> None:
        indptr, indices, data, _ = pictures
        factor = weights.dtype.type(size)
        for entry in range(indptr[one], indptr[one + 1]):
            weights[tag, indices[entry]] += factor * data[entry]
        for entry in range(indptr[other], indptr[other + 1]):
            weights[tag, indices[entry]] -= factor * data[entry]

    return counts


@compiled
def relevance_score(pictures: Any, weights: Any, queries: Compressed, query: int, picture: int) -> float:
    """``F(q, p) = sum_t q_t (w_t . p)``."""
    total = 0.0
    for word in range(queries.indptr[query], queries.indptr[query + 1]):
        total += queries.data[word] * score(pictures, weights, queries.indices[word], picture)
    return total


@compiled
def update(pictures: Any, weights: Any, queries: Compressed, triplet: Any, loss: float, aggressiveness: float) -> None:
    """The passive-aggressive step for a triplet with the given positive loss: ``w += tau v``.

    ``tau = min(c, loss / ||v||^2)`` and ``||v||^2 = ||q||^2 ||p+ - p-||^2``; only the weights of the query's words
    change. A triplet is a query, a relevant picture and a less relevant one.
    """
    query, one, other = triplet
    length = 0.0
    for word in range(queries.indptr[query], queries.indptr[query + 1]):
        length += queries.data[word] ** 2
    length *= squared_distance(pictures, one, other)
    if length <= 0.0:
        return
    tau = min(aggressiveness, loss / length)
    for word in range(queries.indptr[query], queries.indptr[query + 1]):
        move(pictures, weights, queries.indices[word], one, other, tau * queries.data[word])


@compiled
def order_by_word(drawn: Any, n_drawn: int, queries: Compressed, ends: Any, order: Any) -> None:
    """``order[:n_drawn] = argsort(first word of each drawn query, kind="stable")``, by counting."""
    ends[:] = 0
    for i in range(n_drawn):
        ends[queries.indices[queries.indptr[drawn[i, 0]]]] += 1
    total = 0
    for tag in range(len(ends)):
        total += ends[tag]
        ends[tag] = total
    for i in range(n_drawn - 1, -1, -1):
        tag = queries.indices[queries.indptr[drawn[i, 0]]]
        ends[tag] -= 1
        order[ends[tag]] = i


@compiled
def learn(
    pictures: Any,
    weights: Any,
    state: Any,
    queries: Compressed,
    relevance: RelevanceArrays,
    n_steps: int,
    rule: StepRule,
) -> Any:
    """Take ``n_steps`` more steps; returns the summed loss.

    Triplets are drawn ``BATCH`` at a time and used in the order of their queries' first words, so that the weights of a
    word stay in the processor's cache while they are used.

    With ``rule.top_weights`` (one for each rank; empty for none) a step looks for a less relevant picture that violates
    the margin, up to ``n_trials`` times. The number of trials gives an estimate of the relevant picture's rank. The
    weight of this rank multiplies the aggressiveness: pictures far down move most, pictures near the top least.
    """
    top_weights, n_pictures = rule.top_weights, relevance.n_pictures
    total = 0.0
    # mutants: 3 -> 4: nothing reads a fourth column
    drawn, margins = np.empty((min(BATCH, n_steps), 3), np.int64), np.empty(min(BATCH, n_steps))
    ends, order = np.empty(weights.shape[-2], np.int64), np.empty(len(drawn), np.int64)
    for start in range(0, n_steps, BATCH):
        n_drawn = min(BATCH, n_steps - start)
        for i in range(n_drawn):
            drawn[i, 0], drawn[i, 1], drawn[i, 2], margins[i] = draw(state, relevance, rule.every_query_alike)
        order_by_word(drawn, n_drawn, queries, ends, order)
        for i in order[:n_drawn]:
            query, one, other, margin = drawn[i, 0], drawn[i, 1], drawn[i, 2], margins[i]
            of_one = relevance_score(pictures, weights, queries, query, one)
            loss = margin - of_one + relevance_score(pictures, weights, queries, query, other)
            c = rule.aggressiveness
            if len(top_weights):
                trial, gain = 1, gain_of(relevance, query, one)
                while loss <= SATISFIED and trial < rule.n_trials:
                    trial += 1
                    other = below(state, n_pictures)
                    margin = gain - gain_of(relevance, query, other)
                    if margin > 0.0:
                        loss = margin - of_one + relevance_score(pictures, weights, queries, query, other)
                c *= top_weights[n_pictures // trial]
            if loss > SATISFIED:
                total += loss
                update(pictures, weights, queries, (query, one, other), loss, c)
    return total


@compiled(fastmath={"reassoc", "contract"})
def log_likelihoods(means: Any, variances: Any, other_means: Any, other_variances: Any, out: Any) -> None:
    """``out[i, j] = log N(means[i]; other_means[j], variances[i] + other_variances[j])`` of diagonal Gaussians."""
    n_dims = means.shape[1]
    for i in range(len(means)):
        for j in range(len(other_means)):
            distance, product, logarithm = 0.0, 1.0, 0.0
            for d in range(n_dims):
                variance = variances[i, d] + other_variances[j, d]
                difference = means[i, d] - other_means[j, d]
                distance += difference * difference / variance
                product *= variance
                # mutants: == -> !=, not, 8 -> 9: the sum of logarithms is the same, however many factors each of them
                #   has
                if d % 8 == 7:  # one logarithm for eight variances, before their product overflows
                    logarithm += np.log(product)
                    product = 1.0
            logarithm += np.log(product)
            out[i, j] = -0.5 * (distance + logarithm + n_dims * np.log(2 * np.pi))
