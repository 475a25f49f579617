"""LDA against scikit-learn's, in one process: ``python benchmarks/lda.py``.

It prints the processor seconds to the same held-out perplexity, measured for both by the same bound; the cost against
the number of pictures; and the memory of a fit.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from scipy import sparse
from sklearn.decomposition import LatentDirichletAllocation

from visterm.topics import LDA, infer_topics, normalised

N_TOPICS, N_CODEWORDS, LENGTH, ALPHA = 50, 1000, 300, 0.1
#: The result depends on the start, so both are averaged over these seeds.
SEEDS = (0, 1, 2, 3)
SIZES = (1_000, 10_000, 100_000)


def pictures(n: int, seed: int) -> sparse.csr_array:
    """Pictures of known topics, all of the same length."""
    rng = np.random.default_rng(seed)
    topics = np.random.default_rng(0).dirichlet(np.full(N_CODEWORDS, 0.05), N_TOPICS)
    proportions = rng.dirichlet(np.full(N_TOPICS, ALPHA), n)
    rows = [sparse.csr_array(rng.multinomial(LENGTH, row @ topics).reshape(1, -1)) for row in proportions]
    return sparse.csr_array(sparse.vstack(rows), dtype=np.float64)


def perplexity(bags: sparse.csr_array, topics: np.ndarray) -> float:
    """exp(-bound per codeword), for the topics of either."""
    return float(np.exp(-infer_topics(bags, topics, ALPHA).statistics.bound / bags.sum()))


def averaged(fit: Callable[[int], np.ndarray], test: sparse.csr_array) -> tuple[float, float]:
    """Processor seconds of a fit and the perplexity of its topics, means over the seeds."""
    seconds, reached = [], []
    for seed in SEEDS:
        started = time.process_time()
        topics = fit(seed)
        seconds.append(time.process_time() - started)
        reached.append(perplexity(test, topics))
    return float(np.mean(seconds)), float(np.mean(reached))


def main() -> None:
    """Print one figure per line."""
    train, test = pictures(2000, 1), pictures(500, 2)
    LDA(2, max_iter=2).fit(train[:300])  # compile

    def peer(seed: int) -> np.ndarray:
        fitted = LatentDirichletAllocation(
            N_TOPICS,
            doc_topic_prior=ALPHA,
            topic_word_prior=0.01,
            max_iter=20,
            learning_method="batch",
            random_state=seed,
        ).fit(train)
        return normalised(fitted.components_, 0.0)

    theirs, their_perplexity = averaged(peer, test)
    print(f"{'scikit-learn':24}{theirs:8.2f} s  perplexity {their_perplexity:.1f} after 20 iterations", flush=True)
    for n_iterations in (10, 20, 40, 80):

        def ours(seed: int, max_iter: int = n_iterations) -> np.ndarray:
            return LDA(N_TOPICS, alpha=ALPHA, max_iter=max_iter, tol=0, random_state=seed).fit(train).topic_codewords_

        seconds, reached = averaged(ours, test)
        print(f"{'visterm':24}{seconds:8.2f} s  perplexity {reached:.1f} after {n_iterations} iterations", flush=True)
        if reached <= their_perplexity:
            print(f"{'ratio':24}{theirs / seconds:8.1f}  at the same perplexity or a lower one", flush=True)
            break
    few = pictures(SIZES[0], 3)
    for n in SIZES:
        many = sparse.csr_array(sparse.vstack([few] * (n // SIZES[0])))
        tracemalloc.start()
        started = time.process_time()
        LDA(N_TOPICS, alpha=ALPHA, max_iter=2, tol=0, random_state=0).fit(many)
        seconds, peak = time.process_time() - started, tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        cost = f"{seconds / many.nnz * 1e9:6.0f} ns per count  {peak / n:8.0f} bytes per picture"
        print(f"{f'{n} pictures':24}{seconds:8.2f} s  {cost}", flush=True)


if __name__ == "__main__":
    main()
