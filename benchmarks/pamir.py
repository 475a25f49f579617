"""Passive-aggressive ranking, in one process: ``python benchmarks/pamir.py``.

It prints the processor seconds of a million steps on 10,000 visterms (77 per picture) against the same steps in NumPy;
of everything needed to search a collection of 5,000 pictures (choosing the number of steps on held-out pictures,
learning, indexing the pictures); and of a query. Steps are timed as the least of several runs. NumPy and ours take
turns, so that other load affects both alike.
"""

from __future__ import annotations

import time

import numpy as np
from scipy import sparse

from visterm.ranking import PAMIR, FeatureSpace, Triplets, TripletSettings, learn_from_triplets
from visterm.ranking.queries import Queries, from_tags, idf, query_vectors

N_PICTURES, N_VISTERMS, N_BLOCKS, N_WORDS = 4000, 10_000, 77, 179
N_STEPS, N_NUMPY_STEPS, AGGRESSIVENESS, N_RUNS = 1_000_000, 10_000, 0.1, 5


def collection(n_pictures: int, seed: int) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Pictures of 77 visterms, a quarter of them from its words; captions of two to five words of one of 50 themes."""
    rng = np.random.default_rng(seed)
    themes = np.array([rng.permutation(N_WORDS)[:12] for _ in range(50)])
    tags = np.zeros((n_pictures, N_WORDS), bool)
    for row, theme in zip(tags, rng.integers(50, size=n_pictures), strict=True):
        row[rng.permutation(themes[theme])[: rng.integers(2, 6)]] = True
    visterms = rng.integers(N_VISTERMS, size=(n_pictures, N_BLOCKS))
    for row, words in enumerate(tags):
        own = np.flatnonzero(words)
        visterms[row, :20] = own[rng.integers(len(own), size=20)] * 50 + rng.integers(50, size=20)
    rows = np.repeat(np.arange(n_pictures), N_BLOCKS)
    counts = sparse.csr_array((np.ones(rows.size, np.float32), (rows, visterms.ravel())), (n_pictures, N_VISTERMS))
    counts.sum_duplicates()
    return counts, sparse.csr_array(tags.astype(np.float32))


def in_numpy(X: sparse.csr_array, Q: sparse.csr_array, queries: Queries, n_steps: int) -> float:
    """Processor seconds of the same steps with sparse rows and NumPy."""
    rng, W = np.random.default_rng(0), np.zeros((N_WORDS, N_VISTERMS), np.float32)
    relevance = queries.relevance
    pair_queries = np.repeat(np.arange(len(queries)), np.diff(relevance.indptr))
    started = time.process_time()
    for _ in range(n_steps):
        while True:
            pair = rng.integers(len(pair_queries))
            q, p, m = pair_queries[pair], relevance.indices[pair], rng.integers(N_PICTURES)
            relevant = relevance.indices[relevance.indptr[q] : relevance.indptr[q + 1]]
            at = np.searchsorted(relevant, m)
            if at == len(relevant) or relevant[at] != m:
                break
        of_p, of_m = (slice(X.indptr[row], X.indptr[row + 1]) for row in (p, m))
        own, other = X.indices[of_p], X.indices[of_m]
        words, weights = (part[Q.indptr[q] : Q.indptr[q + 1]] for part in (Q.indices, Q.data))
        lead = weights @ (W[np.ix_(words, own)] @ X.data[of_p] - W[np.ix_(words, other)] @ X.data[of_m])
        if lead < 1:
            difference = np.zeros(N_VISTERMS, np.float32)
            difference[own] = X.data[of_p]
            difference[other] -= X.data[of_m]
            length = difference @ difference
            moved = np.union1d(own, other)
            tau = min(AGGRESSIVENESS, (1 - lead) / length)
            W[np.ix_(words, moved)] += tau * np.outer(weights, difference[moved])
    return time.process_time() - started


def compiled(X: sparse.csr_array, triplets: Triplets, loss: str) -> float:
    """Processor seconds of our steps."""
    started = time.process_time()
    learn_from_triplets(FeatureSpace(X), triplets, TripletSettings(AGGRESSIVENESS, N_STEPS, loss), 0)
    return time.process_time() - started


def main() -> None:
    """Print one figure per line."""
    X, tags = collection(N_PICTURES + 1000, 0)
    X_new, X, tags = X[N_PICTURES:], X[:N_PICTURES], tags[:N_PICTURES]
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    unit = sparse.csr_array(sparse.diags_array((1 / lengths).astype(np.float32)) @ X)
    queries = from_tags(tags)
    Q = query_vectors(queries.words, idf(np.asarray(tags.sum(axis=0)).ravel(), N_PICTURES))
    triplets = Triplets.of(Q, queries.relevance)
    drawn = np.bincount(triplets.relevance[3], minlength=len(queries)) @ queries.n_words / queries.relevance.nnz
    print(f"{'pictures, queries':36}{N_PICTURES}, {len(queries)}; {drawn:.1f} words a drawn query", flush=True)
    learn_from_triplets(FeatureSpace(unit), triplets, TripletSettings(AGGRESSIVENESS, 25), 0)  # compile
    runs = [
        (
            in_numpy(unit, Q, queries, N_NUMPY_STEPS) * N_STEPS / N_NUMPY_STEPS,
            compiled(unit, triplets, "hinge"),
            compiled(unit, triplets, "warp") if run == 0 else np.inf,
        )
        for run in range(N_RUNS)
    ]
    plain, hinge, warp = np.min(runs, axis=0)
    print(f"{'a million steps, hinge':36}{hinge:8.2f} s", flush=True)
    print(f"{'the same in NumPy':36}{plain:8.2f} s   ratio {plain / hinge:.0f}", flush=True)
    print(f"{'a million steps, warp':36}{warp:8.2f} s", flush=True)
    started = time.process_time()
    model = PAMIR((0.03, 0.1, 0.3), kernel="log-visterm", random_state=0).fit(X, tags)
    fitted = time.process_time() - started
    started = time.process_time()
    scores = model.word_scores(sparse.vstack([X, X_new], format="csr"))
    indexed = time.process_time() - started
    print(
        f"{'learning, with validation':36}{fitted:8.2f} s   {model.n_steps_} steps, c {model.aggressiveness_}",
        flush=True,
    )
    print(
        f"{'indexing 5,000 pictures':36}{indexed:8.2f} s   {scores.itemsize * scores.shape[1]} bytes per picture",
        flush=True,
    )
    started = time.process_time()
    for row in range(200):
        np.argsort(-(model.query_weights(Q[[row]]) @ scores.T), axis=1)
    print(f"{'a query, ranked':36}{1000 * (time.process_time() - started) / 200:8.2f} ms", flush=True)


if __name__ == "__main__":
    main()
