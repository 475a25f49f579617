"""Numba kernels of supervised topic models: inference with a class and tags, and the class term of the bound."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from visterm.topics._kernels_lda import FAST, TINY, dirichlet_bound, topic_weights

#: Below this distance from 0 (exp) or 1 (log) short series are exact to about 1e-14, and use vector registers.
_NEAR = 0.06


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def exponentials(x: Any, nearest: float, out: Any) -> None:
    """``out`` = exp(x) for x between ``nearest`` and 0; short series where they do."""
    if nearest > -2.0 * _NEAR:
        for k in range(len(x)):
            t = x[k]
            series = 1.0 + t / 7.0 * (1.0 + t / 8.0)
            series = 1.0 + t / 4.0 * (1.0 + t / 5.0 * (1.0 + t / 6.0 * series))
            out[k] = 1.0 + t * (1.0 + t / 2.0 * (1.0 + t / 3.0 * series))
    else:
        for k in range(len(x)):
            out[k] = math.exp(x[k])


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def add_logarithms(count: float, ratios: Any, spread: float, sums: Any) -> None:
    """``sums`` += count * log(ratios), the ratios lying within a factor of 1 + ``spread`` of 1."""
    if spread < _NEAR:
        for c in range(len(ratios)):
            # log(r) = 2 artanh((r - 1) / (r + 1))
            t = (ratios[c] - 1.0) / (ratios[c] + 1.0)
            square = t * t
            sums[c] += 2.0 * count * t * (1.0 + square * (1 / 3 + square * (1 / 5 + square * (1 / 7 + square / 9))))
    else:
        for c in range(len(ratios)):
            sums[c] += count * math.log(ratios[c])


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def class_odds(log_sums: Any, odds: Any) -> float:
    """``odds`` = softmax(log_sums); returns log(sum(exp(log_sums)))."""
    largest, total = log_sums[0], 0.0
    for c in range(len(log_sums)):
        largest = max(largest, log_sums[c])
    for c in range(len(log_sums)):
        odds[c] = math.exp(log_sums[c] - largest)
        total += odds[c]
    for c in range(len(log_sums)):
        odds[c] /= total
    return largest + math.log(total)


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def exponentiate(coefficients: Any, size: float, factors: Any) -> float:
    """``factors`` = exp(coefficients / size), each row over its largest; returns max over rows of largest/smallest - 1.

    A factor common to a row cancels wherever factors are used, except in the sums S, where it is added back as
    max(coefficients of the row).
    """
    spread = 0.0
    for c in range(coefficients.shape[0]):
        largest, smallest = coefficients[c, 0], coefficients[c, 0]
        for k in range(coefficients.shape[1]):
            largest = max(largest, coefficients[c, k])
            smallest = min(smallest, coefficients[c, k])
        for k in range(coefficients.shape[1]):
            factors[c, k] = math.exp((coefficients[c, k] - largest) / size) + TINY
        spread = max(spread, math.exp(min(300.0, (largest - smallest) / size)) - 1.0)
    return spread


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def dots(phi: Any, factors: Any, out: Any) -> None:
    """``out`` = factors @ phi."""
    for c in range(factors.shape[0]):
        total = 0.0
        for k in range(factors.shape[1]):
            total += phi[k] * factors[c, k]
        out[c] = total


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def class_sums(
    counts: Any, phi: Any, coefficients: Any, factors: Any, spread: float, products: Any, log_sums: Any
) -> None:
    """S_l = sum_v c_v log(phi_v . exp(eta_l / N)) of one picture, and the products phi_v . factors_l."""
    for c in range(len(log_sums)):
        log_sums[c] = coefficients[c].max()
    for j in range(len(counts)):
        dots(phi[j], factors, products[j])
        add_logarithms(counts[j], products[j], spread, log_sums)


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def attend(counts: Any, phi: Any, words: Any, log_tags: Any, attention: Any) -> float:
    """lambda_mv of one picture: which codewords its tags ``words`` describe; returns the tags' part of the bound.

    The same as::

        attention = np.exp(log_tags[words] @ phi.T)           # (n_tags of the picture, n_codewords of the picture)
        attention /= attention @ counts
    """
    bound = 0.0
    size = counts.sum()
    for m in range(len(words)):
        largest = -np.inf
        for j in range(len(counts)):
            match = 0.0
            for k in range(phi.shape[1]):
                match += phi[j, k] * log_tags[words[m], k]
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


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def negative_entropy(phi: Any, prior: Any) -> float:
    """sum_k phi_k log(phi_k / prior_k)."""
    total = 0.0
    for k in range(len(phi)):
        if phi[k] > 0.0:
            total += phi[k] * math.log(phi[k] / (prior[k] + TINY))
    return total


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def local_bound(
    count: float, phi: Any, prior: Any, linear: Any, weight: float, log_sums: Any, before: Any, at: Any
) -> float:
    """The terms of the bound that depend on one codeword's phi; its products were ``before``, and are ``at``."""
    value = -negative_entropy(phi, prior)
    for k in range(len(phi)):
        value += phi[k] * linear[k]
    sums, odds = np.empty(len(log_sums)), np.empty(len(log_sums))
    for c in range(len(log_sums)):
        sums[c] = log_sums[c] + count * math.log(at[c] / before[c])
    return count * value - weight * class_odds(sums, odds)


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def step_back(
    count: float,
    phi: Any,
    prior: Any,
    linear: Any,
    weight: float,
    factors: Any,
    log_sums: Any,
    products: Any,
    safe: float,
    updated: Any,
) -> None:
    """Move ``updated`` towards ``phi`` until the bound does not fall; a step of ``safe`` never lets it fall."""
    moved = np.empty(len(log_sums))
    dots(phi, factors, moved)
    floor = local_bound(count, phi, prior, linear, weight, log_sums, products, moved)
    step = 1.0
    while step > safe:
        dots(updated, factors, moved)
        if local_bound(count, updated, prior, linear, weight, log_sums, products, moved) >= floor:
            break
        step *= 0.5
        for k in range(len(phi)):
            updated[k] = 0.5 * (updated[k] + phi[k])


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def infer_joint(
    indptr: Any,
    indices: Any,
    counts: Any,
    classes: Any,
    class_weights: Any,
    tag_indptr: Any,
    tag_indices: Any,
    likelihood: Any,
    log_tags: Any,
    coefficients: Any,
    alpha: Any,
    max_sweeps: int,
    tolerance: float,
    gamma: Any,
    phi: Any,
    codewords: Any,
    tags: Any,
    log_proportions: Any,
) -> float:
    """Coordinate ascent on the bound of each picture with its class and tags, from ``gamma`` and ``phi``.

    ``likelihood`` (n_codewords, n_topics) holds p(codeword | topic), ``log_tags`` (n_tags, n_topics) log p(tag |
    topic), ``coefficients`` (n_classes, n_topics) eta. The class is -1 where unknown; its term counts ``class_weights``
    times. ``gamma`` (n_pictures, n_topics) and ``phi`` (n_counts, n_topics) are overwritten. Added to: ``codewords``
    and ``tags`` the expected counts, ``log_proportions`` the sum of E[log theta]. Returns the sum of the bounds.

    Codewords of a picture share their phi, and steps use the class term's tangent at the phi where the odds of the
    classes were last computed. A step of one codeword raises the bound for c_v <= 1, where the term is convex; steps of
    several raise it as long as weight * (sum of their c_v) * spread^2 <= 4, spread = max e_l / min e_l - 1: there
    entropy outweighs the error of the tangent (Pinsker's and Popoviciu's inequalities). So the odds are computed anew
    when that many have moved, for large pictures once a sweep; a codeword too heavy to move at once has its step
    checked and shortened.
    """
    n_topics, n_classes = len(alpha), coefficients.shape[0]
    most = 0
    most_tags = 0
    for d in range(len(indptr) - 1):
        most = max(most, indptr[d + 1] - indptr[d])
        most_tags = max(most_tags, tag_indptr[d + 1] - tag_indptr[d])
    attention, products = np.empty((most_tags, most)), np.empty((most, n_classes))
    factors, log_sums, odds = np.empty((n_classes, n_topics)), np.empty(n_classes), np.empty(n_classes)
    moved, ratios, by_topic = np.empty(n_classes), np.empty(n_classes), np.empty((n_topics, n_classes))
    own = np.empty(n_topics)
    weights, shares, log_theta = np.empty(n_topics), np.empty(n_topics), np.empty(n_topics)
    linear, prior, evidence, updated = np.empty(n_topics), np.empty(n_topics), np.empty(n_topics), np.empty(n_topics)
    bound = 0.0
    for d in range(len(indptr) - 1):
        first, last = indptr[d], indptr[d + 1]
        picture_counts, picture_phi = counts[first:last], phi[first:last]
        picture_tags = tag_indices[tag_indptr[d] : tag_indptr[d + 1]]
        if first == last:
            picture_tags = picture_tags[:0]
        size = picture_counts.sum()
        weight = class_weights[d] if classes[d] >= 0 and first < last else 0.0
        spread = 0.0
        if weight > 0.0:
            spread = exponentiate(coefficients, size, factors)
            class_sums(picture_counts, picture_phi, coefficients, factors, spread, products, log_sums)
            for k in range(n_topics):
                own[k] = weight * coefficients[classes[d], k] / size
                for c in range(n_classes):
                    by_topic[k, c] = factors[c, k]
        limit = 4.0 / (weight * spread * spread + TINY)
        fit = 0.0
        for _ in range(max_sweeps):
            attend(picture_counts, picture_phi, picture_tags, log_tags, attention)
            log_scale = topic_weights(gamma[d], weights, log_theta)
            shares[:] = 0.0
            fit, moved_count = 0.0, np.inf
            for j in range(last - first):
                word, count = indices[first + j], picture_counts[j]
                linear[:] = 0.0
                for m in range(len(picture_tags)):
                    for k in range(n_topics):
                        linear[k] += attention[m, j] * log_tags[picture_tags[m], k]
                if weight > 0.0:
                    if moved_count + count > limit:
                        class_odds(log_sums, odds)
                        moved_count = 0.0
                    moved_count += count
                    for c in range(n_classes):
                        ratios[c] = weight * odds[c] / products[j, c]
                    for k in range(n_topics):
                        linear[k] += own[k]
                        pull = 0.0
                        for c in range(n_classes):
                            pull += ratios[c] * by_topic[k, c]
                        evidence[k] = linear[k] - pull
                else:
                    evidence[:] = linear
                largest, least = evidence.max(), evidence.min()
                for k in range(n_topics):
                    updated[k] = evidence[k] - largest
                exponentials(updated, least - largest, updated)
                total = TINY
                for k in range(n_topics):
                    prior[k] = weights[k] * likelihood[word, k]
                    updated[k] *= prior[k]
                    total += updated[k]
                entropy = math.log(total) + largest
                for k in range(n_topics):
                    updated[k] /= total
                    entropy -= updated[k] * evidence[k]
                if weight > 0.0:
                    if count > 1.0 and count > limit:
                        safe = 2.0 / (1.0 + count / limit)
                        step_back(
                            count, picture_phi[j], prior, linear, weight, factors, log_sums, products[j], safe, updated
                        )
                        entropy = -negative_entropy(updated, prior)
                    dots(updated, factors, moved)
                    for c in range(n_classes):
                        ratios[c] = moved[c] / products[j, c]
                        products[j, c] = moved[c]
                    add_logarithms(count, ratios, spread, log_sums)
                for k in range(n_topics):
                    picture_phi[j, k] = updated[k]
                    shares[k] += count * updated[k]
                fit += count * (entropy + log_scale)
            change = 0.0
            for k in range(n_topics):
                fit -= shares[k] * log_theta[k]
                change += abs(alpha[k] + shares[k] - gamma[d, k])
                gamma[d, k] = alpha[k] + shares[k]
            if change < tolerance * n_topics:
                break
        # sum_v c_v phi_v . (E[log theta] + log likelihood_v - log phi_v), the last sweep's with the newest E[log theta]
        topic_weights(gamma[d], weights, log_theta)
        for k in range(n_topics):
            fit += (gamma[d, k] - alpha[k]) * log_theta[k]
            log_proportions[k] += log_theta[k]
        bound += fit + dirichlet_bound(gamma[d], alpha, log_theta)
        bound += attend(picture_counts, picture_phi, picture_tags, log_tags, attention)
        if weight > 0.0:
            for k in range(n_topics):
                bound += weight * coefficients[classes[d], k] * (gamma[d, k] - alpha[k]) / size
            bound -= weight * class_odds(log_sums, odds)
        for j in range(last - first):
            for k in range(n_topics):
                codewords[indices[first + j], k] += picture_counts[j] * picture_phi[j, k]
            for m in range(len(picture_tags)):
                share = picture_counts[j] * attention[m, j]
                for k in range(n_topics):
                    tags[picture_tags[m], k] += share * picture_phi[j, k]
    return bound


@njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
def class_term(
    indptr: Any, counts: Any, phi: Any, classes: Any, class_weights: Any, coefficients: Any, gradient: Any
) -> float:
    """sum_d weight_d (eta_c . phibar_d - log sum_l exp(S_dl)), the class part of the bound; its gradient is added.

    For pictures of known class, with e_l = exp(eta_l / N_d)::

        S_l = sum_v c_v log(phi_v . e_l)
        gradient_l += weight * (1[c = l] phibar - softmax(S)_l sum_v (c_v / N) phi_v e_l / (phi_v . e_l))
    """
    n_classes, n_topics = coefficients.shape
    most = 0
    for d in range(len(indptr) - 1):
        most = max(most, indptr[d + 1] - indptr[d])
    products, factors = np.empty((most, n_classes)), np.empty((n_classes, n_topics))
    log_sums, odds, tilted = np.empty(n_classes), np.empty(n_classes), np.empty((n_classes, n_topics))
    value = 0.0
    for d in range(len(indptr) - 1):
        first, last = indptr[d], indptr[d + 1]
        weight, own = class_weights[d], classes[d]
        if own < 0 or first == last or weight <= 0.0:
            continue
        size = counts[first:last].sum()
        spread = exponentiate(coefficients, size, factors)
        class_sums(counts[first:last], phi[first:last], coefficients, factors, spread, products, log_sums)
        value -= weight * class_odds(log_sums, odds)
        tilted[:] = 0.0
        for j in range(first, last):
            share = counts[j] / size
            for k in range(n_topics):
                value += weight * share * phi[j, k] * coefficients[own, k]
                gradient[own, k] += weight * share * phi[j, k]
            for c in range(n_classes):
                pull = share / products[j - first, c]
                for k in range(n_topics):
                    tilted[c, k] += pull * phi[j, k]
        for c in range(n_classes):
            for k in range(n_topics):
                gradient[c, k] -= weight * odds[c] * tilted[c, k] * factors[c, k]
    return value
