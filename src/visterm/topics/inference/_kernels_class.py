"""Numba kernels for one codeword of supervised LDA: its class term, its new phi, and the bound around it.

The class term is ``weight * (eta_c . phibar - log sum_l exp(S_l))``. Its second part is Jensen's bound on the expected
log normaliser of the softmax, the paper's equation (6)::

    e_l = exp(eta_l / N)                        # (n_topics,), N the size of the picture
    S_l = sum_v c_v log(phi_v . e_l)

While the phi of a picture change, its S and all phi_v . e_l are updated instead of computed anew. ``room`` is the
:class:`visterm.topics.inference._kernels_slda.Room` of the picture.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from visterm.compute.compiled import compiled
from visterm.topics.inference._kernels_lda import FAST, TINY

#: Closer to 1 than this, a short series of the logarithm is exact to about 1e-14 and uses vector registers. The same
#: holds for the exponential closer to 0 than twice this.
_NEAR = 0.06
#: The logarithm of the largest spread, so that its square is finite.
_MOST = 300.0


class ClassTerm(NamedTuple):
    """The class term of one picture.

    ``limit`` is how many tokens may move before the odds are computed again. Steps follow the term's tangent at the phi
    for which the odds of the classes were last computed. A step of one codeword raises the bound for c_v <= 1, where
    the term is convex. Steps of several codewords raise it as long as weight * (sum of their c_v) * spread^2 <= 4,
    spread = max e_l / min e_l - 1: then entropy outweighs the error of the tangent (Pinsker's and Popoviciu's
    inequalities).
    """

    weight: float  # 0 for a picture of unknown class or without codewords
    spread: float  # the largest max e_l / min e_l - 1
    limit: float
    own: Any  # weight * eta_c / N of the picture's class, (n_topics,)
    factors: Any  # e_l, each over its largest entry, (n_classes, n_topics)
    by_topic: Any  # factors transposed, (n_topics, n_classes)
    products: Any  # phi_v . factors_l, (n_codewords, n_classes)
    log_sums: Any  # S, (n_classes,)
    odds: Any  # weight * softmax(S) when it was last computed, (n_classes,)
    ratios: Any  # scratch array, (n_classes,)
    moved: Any  # scratch array, (n_classes,)


@compiled(fastmath=FAST)
def softmax_into(log_sums: Any, odds: Any, weight: float) -> float:
    """``odds`` = weight * softmax(log_sums); returns log(sum(exp(log_sums)))."""
    largest, total = -np.inf, 0.0
    for c in range(len(log_sums)):
        largest = max(largest, log_sums[c])
    for c in range(len(log_sums)):
        odds[c] = math.exp(log_sums[c] - largest)
        total += odds[c]
    for c in range(len(log_sums)):
        odds[c] *= weight / total
    return largest + math.log(total)


@compiled(fastmath=FAST)
def add_logarithms(count: float, ratios: Any, spread: float, sums: Any) -> None:
    """``sums`` += count * log(ratios). The ratios lie within a factor of 1 + ``spread`` of 1."""
    if spread < _NEAR:
        for c in range(len(ratios)):
            # log(r) = 2 artanh((r - 1) / (r + 1))
            t = (ratios[c] - 1.0) / (ratios[c] + 1.0)
            square = t * t
            sums[c] += 2.0 * count * t * (1.0 + square * (1 / 3 + square * (1 / 5 + square * (1 / 7 + square / 9))))
    else:
        for c in range(len(ratios)):
            sums[c] += count * math.log(ratios[c])


@compiled(fastmath=FAST)
def exponentiate(coefficients: Any, size: float, factors: Any) -> float:
    """``factors`` = exp(coefficients / size), each row over its largest. Returns max over rows of largest/smallest - 1.

    A factor common to a row cancels everywhere except in the sums S. There it is added back as max(coefficients of the
    row).
    """
    spread = 0.0
    for c in range(coefficients.shape[0]):
        largest, smallest = coefficients[c].max(), coefficients[c].min()
        for k in range(coefficients.shape[1]):
            factors[c, k] = math.exp((coefficients[c, k] - largest) / size) + TINY
        spread = max(spread, math.exp(min(_MOST, (largest - smallest) / size)) - 1.0)
    return spread


@compiled(fastmath=FAST)
def dots(phi: Any, factors: Any, out: Any) -> None:
    """``out`` = factors @ phi."""
    for c in range(factors.shape[0]):
        total = 0.0
        for k in range(factors.shape[1]):
            total += phi[k] * factors[c, k]
        out[c] = total


@compiled(fastmath=FAST)
def class_sums(counts: Any, phi: Any, coefficients: Any, term: ClassTerm) -> None:
    """Set the products and the sums S of one picture.

    The same as::

        products = phi @ factors.T
        log_sums = coefficients.max(axis=1) + counts @ np.log(products)
    """
    for c in range(len(term.log_sums)):
        term.log_sums[c] = coefficients[c].max()
    for j in range(len(counts)):
        dots(phi[j], term.factors, term.products[j])
        add_logarithms(counts[j], term.products[j], term.spread, term.log_sums)


@compiled
def class_room(n_classes: int, n_topics: int, n_codewords: int) -> ClassTerm:
    """The term of a picture of unknown class, with room for that of one with ``n_codewords`` different codewords."""
    by_class, products = np.empty((n_classes, n_topics)), np.empty((n_codewords, n_classes))
    r = np.empty((4, n_classes))
    own, by_topic = np.empty(n_topics), np.empty((n_topics, n_classes))
    return ClassTerm(
        weight=0.0,
        spread=np.nan,
        limit=np.nan,
        own=own,
        factors=by_class,
        by_topic=by_topic,
        products=products,
        log_sums=r[0],
        odds=r[1],
        ratios=r[2],
        moved=r[3],
    )


@compiled(fastmath=FAST)
def class_term_of(counts: Any, phi: Any, own: int, weight: float, coefficients: Any, room: ClassTerm) -> ClassTerm:
    """The term of a picture of class number ``own``, in the arrays of ``room``. If ``own`` is -1, its weight is 0."""
    if own < 0 or len(counts) == 0:
        return room
    size = counts.sum()
    spread = exponentiate(coefficients, size, room.factors)
    for k in range(coefficients.shape[1]):
        room.own[k] = weight * coefficients[own, k] / size
        for c in range(coefficients.shape[0]):
            room.by_topic[k, c] = room.factors[c, k]
    limit = 4.0 / (weight * spread * spread + TINY)
    term = ClassTerm(weight, spread, limit, *room[3:])
    class_sums(counts, phi, coefficients, term)
    return term


@compiled(fastmath=FAST)
def class_evidence(term: ClassTerm, j: int, linear: Any, evidence: Any) -> None:
    """The evidence of the class for the topics of codeword ``j``: the last two terms of equation (8), at the last odds.

    The same as::

        linear += own                                         # weight * eta_c / N
        evidence = linear - by_topic @ (odds / products[j])   # weight * h_v / (h_v . phi_v)
    """
    ratios, products, by_topic, own, odds = term.ratios, term.products, term.by_topic, term.own, term.odds
    n_classes = len(ratios)
    for c in range(n_classes):
        ratios[c] = odds[c] / products[j, c]
    for k in range(len(evidence)):
        linear[k] += own[k]
        pull = 0.0
        for c in range(n_classes):
            pull += ratios[c] * by_topic[k, c]
        evidence[k] = linear[k] - pull


@compiled(fastmath=FAST)
def move_products(moved: Any, products: Any, j: int, ratios: Any) -> None:
    """``ratios`` = moved / products[j], then ``products[j]`` = moved: the phi of codeword ``j`` has changed."""
    for c in range(len(moved)):
        ratios[c] = moved[c] / products[j, c]
        products[j, c] = moved[c]


@compiled(fastmath=FAST)
def log_normaliser_at(term: ClassTerm, j: int, count: float, phi: Any) -> float:
    """log sum_l exp(S_l) if codeword ``j`` had this ``phi``."""
    sums, odds = np.empty(len(term.log_sums)), np.empty(len(term.log_sums))
    dots(phi, term.factors, odds)
    for c in range(len(sums)):
        sums[c] = term.log_sums[c] + count * math.log(odds[c] / term.products[j, c])
    return softmax_into(sums, odds, term.weight)


@compiled(fastmath=FAST)
def add_class_gradient(
    counts: Any, phi: Any, own: int, term: ClassTerm, coefficients: Any, tilted: Any, gradient: Any
) -> float:
    """weight * (eta_c . phibar - log sum_l exp(S_l)) of one picture; adds its gradient by eta, equation (12)::

        gradient_l += weight * (1[c = l] phibar - softmax(S)_l sum_v (c_v / N) phi_v e_l / (phi_v . e_l))

    ``tilted`` is a scratch array (n_classes, n_topics).
    """
    n_classes, n_topics = coefficients.shape
    size = counts.sum()
    value = -term.weight * softmax_into(term.log_sums, term.odds, term.weight)
    tilted[:] = 0.0
    for j in range(len(counts)):
        share = counts[j] / size
        for k in range(n_topics):
            value += term.weight * share * phi[j, k] * coefficients[own, k]
            gradient[own, k] += term.weight * share * phi[j, k]
        for c in range(n_classes):
            pull = share / term.products[j, c]
            for k in range(n_topics):
                tilted[c, k] += pull * phi[j, k]
    for c in range(n_classes):
        for k in range(n_topics):
            gradient[c, k] -= term.odds[c] * tilted[c, k] * term.factors[c, k]
    return value


@compiled
def largest_row(indptr: Any) -> int:
    """The number of entries of the longest CSR row."""
    most = 0
    for d in range(len(indptr) - 1):
        most = max(most, indptr[d + 1] - indptr[d])
    return most


# --- The step of one codeword -----------------------------------------------------------------------------------------


@compiled(fastmath=FAST)
def exponentials(x: Any, nearest: float, out: Any) -> None:
    """``out`` = exp(x) for x between ``nearest`` and 0; a short series if it is exact enough."""
    if nearest > -2.0 * _NEAR:
        for k in range(len(x)):
            t = x[k]
            series = 1.0 + t / 7.0 * (1.0 + t / 8.0)
            series = 1.0 + t / 4.0 * (1.0 + t / 5.0 * (1.0 + t / 6.0 * series))
            out[k] = 1.0 + t * (1.0 + t / 2.0 * (1.0 + t / 3.0 * series))
    else:
        for k in range(len(x)):
            out[k] = math.exp(x[k])


@compiled(fastmath=FAST)
def best_topics(weights: Any, likelihood: Any, evidence: Any, prior: Any, updated: Any) -> float:
    """The phi of one codeword, equation (8); returns -sum_k phi_k log(phi_k / prior_k).

    The same as::

        prior = weights * likelihood
        updated = prior * np.exp(evidence)
        updated /= updated.sum()
    """
    largest, least = -np.inf, np.inf
    for k in range(len(prior)):
        largest, least = max(largest, evidence[k]), min(least, evidence[k])
    for k in range(len(prior)):
        updated[k] = evidence[k] - largest
    exponentials(updated, least - largest, updated)
    total = TINY
    for k in range(len(prior)):
        prior[k] = weights[k] * likelihood[k]
        updated[k] *= prior[k]
        total += updated[k]
    entropy = math.log(total) + largest
    for k in range(len(prior)):
        updated[k] /= total
        entropy -= updated[k] * evidence[k]
    return entropy


@compiled(fastmath=FAST)
def relative_entropy(phi: Any, prior: Any) -> float:
    """-sum_k phi_k log(phi_k / prior_k)."""
    total = 0.0
    for k in range(len(phi)):
        if phi[k] > 0.0:
            total -= phi[k] * math.log(phi[k] / (prior[k] + TINY))
    return total


@compiled(fastmath=FAST)
def local_bound(phi: Any, count: float, j: int, term: ClassTerm, room: Any) -> float:
    """The terms of the bound that depend on the phi of codeword ``j``."""
    value = relative_entropy(phi, room.prior)
    for k in range(len(phi)):
        value += phi[k] * room.linear[k]
    return count * value - term.weight * log_normaliser_at(term, j, count, phi)


@compiled(fastmath=FAST)
def step_back(phi: Any, count: float, j: int, term: ClassTerm, room: Any) -> None:
    """Halve the step from ``phi`` to ``room.updated`` until the bound does not fall.

    This is for a codeword with ``count`` > limit. A step of 2 / (1 + count / limit) never lets the bound fall.
    """
    before = local_bound(phi, count, j, term, room)
    safe, step = 2.0 / (1.0 + count / term.limit), 1.0
    while step > safe:
        if local_bound(room.updated, count, j, term, room) >= before:
            break
        step *= 0.5
        for k in range(len(phi)):
            room.updated[k] = 0.5 * (room.updated[k] + phi[k])
