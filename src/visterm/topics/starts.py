"""The start of topics: pictures that are far apart, or any pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.errors import InputError
from visterm.topics.inference import infer_topics
from visterm.topics.statistics import Array, normalised

#: A topic starts with this share of its picture; the rest is the mean of all pictures.
_OWN_SHARE = 0.7
#: At most this many pictures are compared with each other.
_MAX_CANDIDATES = 4096
_LAST_SWEEPS = 5
STARTS = {"spread", "random"}


def start_topics(bags: sparse.csr_array, n_topics: int, random: Any, *, how: str = "spread") -> Array:
    """Counts (n_topics, n_codewords) to start topics from, each one picture mixed with the mean of all.

    ``spread`` draws pictures as k-means++ does, far from those already drawn in the Hellinger distance between their
    codeword frequencies; ``random`` draws any.

    >>> bags = sparse.csr_array([[5.0, 0.0], [0.0, 4.0], [5.0, 0.0]])
    >>> start_topics(bags, 2, np.random.RandomState(0)).argmax(axis=1).tolist()
    [1, 0]
    """
    if how not in STARTS:
        raise InputError(f"unknown start {how!r}: choose one of {', '.join(sorted(STARTS))}")
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


def warm_up(
    bags: sparse.csr_array, topics: Array, alpha: Array, smoothing: float, n_iterations: int
) -> tuple[Array, Array]:
    """Iterations of plain LDA, of one sweep each, before labels are used; returns topics and gamma."""
    gamma = None
    for _ in range(n_iterations):
        inferred = infer_topics(bags, topics, alpha, start=gamma, max_sweeps=1)
        gamma, topics = inferred.gamma, normalised(inferred.statistics.codewords, smoothing)
    return topics, infer_topics(bags, topics, alpha, start=gamma, max_sweeps=_LAST_SWEEPS).gamma
