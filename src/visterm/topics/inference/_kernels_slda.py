"""Numba kernels for the E step of supervised LDA: topics of codewords, given a picture's class and tags.

``gamma`` and ``phi`` are the paper's. In its notation, ``attention`` is lambda, ``likelihood`` is pi transposed,
``log_tags`` is log beta transposed, ``coefficients`` is eta.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from visterm.compute.compiled import compiled
from visterm.topics.inference._kernels_class import (
    ClassTerm,
    add_class_gradient,
    add_logarithms,
    best_topics,
    class_evidence,
    class_room,
    class_term_of,
    dots,
    largest_row,
    move_products,
    relative_entropy,
    softmax_into,
    step_back,
)
from visterm.topics.inference._kernels_lda import FAST, TINY, dirichlet_bound, topic_weights
from visterm.topics.inference.em import Bags

#: The best phi for a gamma is found when a sweep moves less than the share _SETTLED of the tokens, or
#: after _MOST_SETTLING sweeps.
_SETTLED, _MOST_SETTLING = 1e-3, 20


class Labels(NamedTuple):
    """The labels of pictures: a class number or -1, the weight of the class, and the tags as CSR."""

    classes: Any
    class_weights: Any
    tag_indptr: Any
    tag_indices: Any


class TopicTables(NamedTuple):
    """The parameters of the model, a row for every codeword, tag and class."""

    likelihood: Any  # p(codeword | topic), (n_codewords, n_topics)
    log_tags: Any  # log p(tag | topic), (n_tags, n_topics)
    coefficients: Any  # (n_classes, n_topics)
    alpha: Any  # (n_topics,)


class ExpectedCounts(NamedTuple):
    """The sums that the M step needs; every picture adds to them."""

    codewords: Any  # (n_codewords, n_topics)
    tags: Any  # (n_tags, n_topics)
    log_proportions: Any  # the sum of E[log theta], (n_topics,)
    by_coefficients: Any  # the gradient of the class part of the bound by eta, (n_classes, n_topics)


class Picture(NamedTuple):
    """One picture: its codewords with their counts, its tags, and its posterior, which is overwritten."""

    words: Any
    counts: Any
    tags: Any
    phi: Any  # (most codewords of a picture, n_topics); the first rows are those of the picture
    gamma: Any  # (n_topics,)


class Room(NamedTuple):
    """Scratch arrays."""

    attention: Any  # lambda_mv, (n_tags of the picture, n_codewords of the picture)
    weights: Any  # exp(E[log theta]) over its largest; this and all below have length n_topics
    log_theta: Any  # E[log theta]
    shares: Any  # sum_v c_v phi_v
    prior: Any  # weights * likelihood of the codeword
    linear: Any  # evidence for each topic besides the prior and the odds of the classes
    evidence: Any  # all evidence for each topic besides the prior
    updated: Any  # the new phi of the codeword
    before: Any  # the shares before the last sweep
    phi: Any  # the phi of a picture, (most codewords of a picture, n_topics)


# --- The tag term -----------------------------------------------------------------------------------------------------


@compiled(fastmath=FAST)
def attend(picture: Picture, log_tags: Any, attention: Any) -> float:
    """lambda, equation (4): which codewords the tags of a picture belong to; returns the tags' part of the bound.

    The same as::

        match = log_tags[tags] @ phi.T                        # (n_tags of the picture, n_codewords of the picture)
        attention = np.exp(match) / (np.exp(match) @ counts)
        return np.log(np.exp(match) @ counts / counts.sum()).sum()
    """
    counts, phi = picture.counts, picture.phi
    bound = 0.0
    size = counts.sum()
    for m in range(len(picture.tags)):
        tag = picture.tags[m]
        largest = -np.inf
        for j in range(len(counts)):
            match = 0.0
            for k in range(phi.shape[1]):
                match += phi[j, k] * log_tags[tag, k]
            attention[m, j] = match
            largest = max(largest, match)
        total = 0.0
        for j in range(len(counts)):
            attention[m, j] = math.exp(attention[m, j] - largest)
            total += counts[j] * attention[m, j]
        for j in range(len(counts)):
            attention[m, j] /= total
        bound += largest + math.log(total) - math.log(size)
    return bound


@compiled(fastmath=FAST)
def tag_evidence(tags: Any, log_tags: Any, attention: Any, j: int, out: Any) -> None:
    """``out`` = attention[:, j] @ log_tags[tags]: the evidence of tags for the topics of codeword ``j``, (8)."""
    out[:] = 0.0
    for m in range(len(tags)):
        for k in range(len(out)):
            out[k] += attention[m, j] * log_tags[tags[m], k]


# --- Pictures ---------------------------------------------------------------------------------------------------------


@compiled(fastmath=FAST)
def start_picture(words: Any, counts: Any, likelihood: Any, gamma: Any, room: Room, phi: Any) -> None:
    """The best phi for ``gamma`` if only the codewords are known.

    The same as::

        phi = np.exp(digamma(gamma)) * likelihood[words]
        phi /= phi.sum(axis=1, keepdims=True)
        before = counts @ phi
    """
    topic_weights(gamma, room.weights, room.log_theta)
    room.before[:] = 0.0
    for j in range(len(words)):
        total = TINY
        for k in range(len(gamma)):
            phi[j, k] = room.weights[k] * likelihood[words[j], k]
            total += phi[j, k]
        for k in range(len(gamma)):
            phi[j, k] /= total
            room.before[k] += counts[j] * phi[j, k]


@compiled(fastmath=FAST)
def sweep(picture: Picture, term: ClassTerm, tables: TopicTables, room: Room) -> float:
    """Update lambda and every phi of a picture once; returns sum_v c_v phi_v . (log likelihood_v - log phi_v).

    The odds of the classes are computed anew after as many tokens as the class term allows. For large pictures that is
    once a sweep.
    """
    # Unpacked once: passing whole tuples to every function below costs a fifth of the time.
    words, counts, tags, phi = picture.words, picture.counts, picture.tags, picture.phi
    likelihood, log_tags, attention = tables.likelihood, tables.log_tags, room.attention
    weights, shares, prior = room.weights, room.shares, room.prior
    linear, evidence, updated = room.linear, room.evidence, room.updated
    factors, products, log_sums = term.factors, term.products, term.log_sums
    odds, ratios, moved = term.odds, term.ratios, term.moved
    attend(picture, log_tags, attention)
    log_scale = topic_weights(picture.gamma, weights, room.log_theta)
    shares[:] = 0.0
    fit, n_moved = 0.0, np.inf
    for j in range(len(words)):
        word, count = words[j], counts[j]
        tag_evidence(tags, log_tags, attention, j, linear)
        if term.weight > 0.0:
            # mutants: > -> >=: sums of real numbers that equal the limit to the last bit
            if n_moved + count > term.limit:
                softmax_into(log_sums, odds, term.weight)
                n_moved = 0.0
            n_moved += count
            class_evidence(term, j, linear, evidence)
        else:
            evidence[:] = linear
        entropy = best_topics(weights, likelihood[word], evidence, prior, updated)
        if term.weight > 0.0:
            # mutants: > -> >= (2): at the limit a full step is safe, so it is not shortened
            if count > 1.0 and count > term.limit:
                step_back(phi[j], count, j, term, room)
                entropy = relative_entropy(updated, prior)
            dots(updated, factors, moved)
            move_products(moved, products, j, ratios)
            add_logarithms(count, ratios, term.spread, log_sums)
        for k in range(len(updated)):
            phi[j, k] = updated[k]
            shares[k] += count * updated[k]
        fit += count * (entropy + log_scale)
    for k in range(len(shares)):
        fit -= shares[k] * room.log_theta[k]
    return fit


@compiled(fastmath=FAST)
def settle_picture(picture: Picture, term: ClassTerm, tables: TopicTables, room: Room) -> None:
    """Sweep with gamma fixed until the topics no longer change: the best phi for ``gamma``, given the labels."""
    for _ in range(_MOST_SETTLING):
        sweep(picture, term, tables, room)
        change, size = 0.0, 0.0
        for k in range(len(room.shares)):
            change += abs(room.shares[k] - room.before[k])
            size += room.shares[k]
            room.before[k] = room.shares[k]
        if change < _SETTLED * size:
            break


@compiled(fastmath=FAST)
def infer_picture(
    picture: Picture, term: ClassTerm, tables: TopicTables, max_sweeps: int, tolerance: float, room: Room
) -> float:
    """Sweep until gamma, equation (3), changes by less than ``tolerance`` per topic; returns the LDA part of the bound.

    Afterwards ``room.log_theta`` is E[log theta] of the last gamma.
    """
    gamma, alpha = picture.gamma, tables.alpha
    # mutants: > -> >=, > -> >= (2): without labels the phi are already the best for gamma, and a sweep changes nothing
    if len(picture.tags) > 0 or term.weight > 0.0:
        settle_picture(picture, term, tables, room)
    # mutants: 0.0 -> 1.0: there is at least one sweep, which sets it
    fit = 0.0
    for _ in range(max_sweeps):
        fit = sweep(picture, term, tables, room)
        change = 0.0
        for k in range(len(gamma)):
            change += abs(alpha[k] + room.shares[k] - gamma[k])
            gamma[k] = alpha[k] + room.shares[k]
        if change < tolerance * len(gamma):
            break
    topic_weights(gamma, room.weights, room.log_theta)
    for k in range(len(gamma)):
        fit += (gamma[k] - alpha[k]) * room.log_theta[k]
    return fit + dirichlet_bound(gamma, alpha, room.log_theta)


@compiled(fastmath=FAST)
def add_expected(picture: Picture, room: Room, expected: ExpectedCounts) -> None:
    """Add the expected counts of one picture, for equations (10) and (11).

    The same as::

        codewords[words] += counts[:, None] * phi
        tags[picture.tags] += (attention * counts) @ phi
        log_proportions += log_theta
    """
    n_topics = len(room.log_theta)
    for k in range(n_topics):
        expected.log_proportions[k] += room.log_theta[k]
    for j in range(len(picture.words)):
        for k in range(n_topics):
            expected.codewords[picture.words[j], k] += picture.counts[j] * picture.phi[j, k]
        for m in range(len(picture.tags)):
            share = picture.counts[j] * room.attention[m, j]
            for k in range(n_topics):
                expected.tags[picture.tags[m], k] += share * picture.phi[j, k]


@compiled
def room_for(bags: Bags, labels: Labels, n_topics: int) -> Room:
    """Scratch arrays for the largest of the pictures."""
    most, most_tags = largest_row(bags.indptr), largest_row(labels.tag_indptr)
    r = np.empty((8, n_topics))
    attention, phi = np.empty((most_tags, most)), np.empty((most, n_topics))
    return Room(
        attention=attention,
        weights=r[0],
        log_theta=r[1],
        shares=r[2],
        prior=r[3],
        linear=r[4],
        evidence=r[5],
        updated=r[6],
        before=r[7],
        phi=phi,
    )


@compiled(fastmath=FAST)
def picture_of(bags: Bags, labels: Labels, d: int, gamma: Any, likelihood: Any, room: Room) -> Picture:
    """Picture number ``d``, whose phi, in ``room``, is the best for ``gamma`` and the codewords."""
    first, last = bags.indptr[d], bags.indptr[d + 1]
    tags = labels.tag_indices[labels.tag_indptr[d] : labels.tag_indptr[d + 1]]
    if first == last:
        tags = tags[:0]  # there is no codeword that they could belong to
    words, counts = bags.indices[first:last], bags.counts[first:last]
    start_picture(words, counts, likelihood, gamma, room, room.phi)
    return Picture(words, counts, tags, room.phi, gamma)


@compiled(fastmath=FAST)
def infer_joint(
    bags: Bags,
    labels: Labels,
    tables: TopicTables,
    gammas: Any,
    max_sweeps: int,
    tolerance: float,
    expected: ExpectedCounts,
) -> tuple[float, float]:
    """Coordinate ascent on the bound of each picture with its class and tags; the sum of the bounds, its class part.

    Starts from ``gammas`` (n_pictures, n_topics), which are overwritten; the phi of a picture are computed from its
    gamma and not kept. ``class_weights[d]`` is the weight of the class term of picture d.
    """
    n_classes, n_topics = tables.coefficients.shape
    of_class, room = class_room(n_classes, n_topics, largest_row(bags.indptr)), room_for(bags, labels, n_topics)
    tilted = np.empty((n_classes, n_topics))
    bound, class_part = 0.0, 0.0
    for d in range(len(bags.indptr) - 1):
        picture = picture_of(bags, labels, d, gammas[d], tables.likelihood, room)
        own, weight = labels.classes[d], labels.class_weights[d]
        term = class_term_of(picture.counts, picture.phi, own, weight, tables.coefficients, of_class)
        bound += infer_picture(picture, term, tables, max_sweeps, tolerance, room)
        bound += attend(picture, tables.log_tags, room.attention)
        if term.weight > 0.0:
            class_part += add_class_gradient(
                picture.counts, picture.phi, own, term, tables.coefficients, tilted, expected.by_coefficients
            )
        add_expected(picture, room, expected)
    return bound + class_part, class_part


@compiled(fastmath=FAST)
def class_value_of(
    bags: Bags,
    labels: Labels,
    tables: TopicTables,
    gammas: Any,
    max_sweeps: int,
    tolerance: float,
    coefficients: Any,
    gradient: Any,
) -> float:
    """The class part of the bound at other ``coefficients`` and the phi that ``infer_joint`` found from ``gammas``.

    Adds its gradient. The phi are found again, since they are not kept: with all of them, 100,000 pictures of 200
    codewords and 100 topics would take 16 GB.
    """
    n_classes, n_topics = tables.coefficients.shape
    of_class, room = class_room(n_classes, n_topics, largest_row(bags.indptr)), room_for(bags, labels, n_topics)
    tilted, gamma = np.empty((n_classes, n_topics)), np.empty(n_topics)
    value = 0.0
    for d in range(len(bags.indptr) - 1):
        own, weight = labels.classes[d], labels.class_weights[d]
        if own < 0 or bags.indptr[d] == bags.indptr[d + 1]:
            continue
        gamma[:] = gammas[d]
        picture = picture_of(bags, labels, d, gamma, tables.likelihood, room)
        term = class_term_of(picture.counts, picture.phi, own, weight, tables.coefficients, of_class)
        infer_picture(picture, term, tables, max_sweeps, tolerance, room)
        term = class_term_of(picture.counts, picture.phi, own, weight, coefficients, of_class)
        value += add_class_gradient(picture.counts, picture.phi, own, term, coefficients, tilted, gradient)
    return value
