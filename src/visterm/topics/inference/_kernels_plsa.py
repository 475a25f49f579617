"""Numba kernels for probabilistic latent semantic analysis, linear in the non-zero counts.

Words (codewords or tags) are rows of ``word_topics``, so that the topics of a token are contiguous in memory. The
compiler may change only the order of additions, so that sums over topics use vector registers.
"""

from typing import Any

import numpy as np

from visterm.compute.compiled import compiled
from visterm.topics.inference.em import Bags


@compiled(fastmath={"reassoc", "contract"})
def expected_ratios(bags: Bags, picture_topics: Any, word_topics: Any, picture_sums: Any, word_sums: Any) -> float:
    """Add ``ratios @ word_topics`` to ``picture_sums`` and ``ratios.T @ picture_topics`` to ``word_sums``.

    ``ratios = counts / (picture_topics @ word_topics.T)`` where a count is not zero. Returns
    ``(counts * log(picture_topics @ word_topics.T)).sum()``. Tokens that no topic can explain are skipped.
    """
    n_topics = word_topics.shape[1]
    total = 0.0
    for d in range(len(bags.indptr) - 1):
        for token in range(bags.indptr[d], bags.indptr[d + 1]):
            v = bags.indices[token]
            p = 0.0
            for k in range(n_topics):
                p += picture_topics[d, k] * word_topics[v, k]
            if p <= 0.0:
                continue
            total += bags.counts[token] * np.log(p)
            ratio = bags.counts[token] / p
            for k in range(n_topics):
                picture_sums[d, k] += ratio * word_topics[v, k]
                word_sums[v, k] += ratio * picture_topics[d, k]
    return total


@compiled(fastmath={"reassoc", "contract"})
def expected_words(
    pictures_of_words: Bags, all_topics: Any, few_topics: Bags, word_topics: Any, power: float, expected: Any
) -> float:
    """Set ``expected`` to ``words * (ratios.T @ topics)``, with ``ratios = counts / (topics @ words.T)``.

    ``words`` is ``word_topics ** power``, and ``topics`` are already raised to it. ``few_topics`` lists, as bags, the
    topics that are not zero, for pictures with few of them; a picture of which it lists none has those of
    ``all_topics``. ``pictures_of_words`` lists the pictures of each word with their counts. Returns
    ``(counts * log(topics @ words.T)).sum()``. Tokens that no topic can explain are skipped.
    """
    n_topics = word_topics.shape[1]
    words, sums = np.empty(n_topics), np.empty(n_topics)
    total = 0.0
    for v in range(len(pictures_of_words.indptr) - 1):
        for k in range(n_topics):
            # Most words of most topics are zero; to raise them to a power would take longer than all the rest.
            # mutants: 1.0 -> 2.0, 0.0 -> 1.0: a shortcut: a number to the power of 1, and 0 and 1 to any power, are the
            #   same number
            words[k] = word_topics[v, k] if power == 1.0 or word_topics[v, k] == 0.0 else word_topics[v, k] ** power
            sums[k] = 0.0
        for token in range(pictures_of_words.indptr[v], pictures_of_words.indptr[v + 1]):
            d, count = pictures_of_words.indices[token], pictures_of_words.counts[token]
            first, last = few_topics.indptr[d], few_topics.indptr[d + 1]
            p = 0.0
            if first == last:
                for k in range(n_topics):
                    p += all_topics[d, k] * words[k]
            for at in range(first, last):
                p += few_topics.counts[at] * words[few_topics.indices[at]]
            if p <= 0.0:
                continue
            total += count * np.log(p)
            ratio = count / p
            if first == last:
                for k in range(n_topics):
                    sums[k] += ratio * all_topics[d, k]
            for at in range(first, last):
                sums[few_topics.indices[at]] += ratio * few_topics.counts[at]
        for k in range(n_topics):
            expected[v, k] = words[k] * sums[k]
    return total


@compiled(fastmath={"reassoc", "contract"})
def fold_in(bags: Bags, word_topics: Any, power: float, max_iter: int, tol: float, out: Any) -> None:
    """Set ``out[d]`` to the topics of picture d that explain its tokens best, given the words of the topics.

    Iterates ``theta <- mean over tokens of (theta ** power * word_topics[v]) normalised`` from uniform until no topic
    changes by more than ``tol``; ``word_topics`` are already raised to ``power``. A picture without tokens stays
    uniform.
    """
    n_topics = word_topics.shape[1]
    weights, sums = np.empty(n_topics), np.empty(n_topics)
    for d in range(len(bags.indptr) - 1):
        theta = out[d]
        theta[:] = 1.0 / n_topics
        for _ in range(max_iter):
            for k in range(n_topics):
                # mutants: 1.0 -> 2.0, 0.0 -> 1.0: a shortcut: a number to the power of 1, and 0 and 1 to any power, are
                #   the same number
                weights[k] = theta[k] if power == 1.0 or theta[k] == 0.0 else theta[k] ** power
                sums[k] = 0.0
            n_explained = 0.0
            for token in range(bags.indptr[d], bags.indptr[d + 1]):
                v = bags.indices[token]
                p = 0.0
                for k in range(n_topics):
                    p += weights[k] * word_topics[v, k]
                if p <= 0.0:
                    continue
                n_explained += bags.counts[token]
                ratio = bags.counts[token] / p
                for k in range(n_topics):
                    sums[k] += ratio * word_topics[v, k]
            if n_explained == 0.0:
                break
            change = 0.0
            for k in range(n_topics):
                updated = weights[k] * sums[k] / n_explained
                change = max(change, abs(updated - theta[k]))
                theta[k] = updated
            if change <= tol:
                break
