"""Aspect models against their peers in one process: the same model as scikit-learn's NMF under Kullback-Leibler loss.

Run: python benchmarks/plsa.py
"""

from __future__ import annotations

import time

import numpy as np
from scipy import sparse

from visterm.topics import Aspects

N_STEPS = 30


def bags(n_pictures: int, n_words: int, n_tokens: int, seed: int = 0) -> sparse.csr_array:
    """Pictures of ``n_tokens`` tokens from 10 topics."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(n_words, 0.05), 10)
    theta = rng.dirichlet(np.full(10, 0.3), n_pictures)
    cumulated = topics.cumsum(axis=1)
    rows, columns = [], []
    for start in range(0, n_pictures, 1000):
        block = theta[start : start + 1000]
        z = (rng.random((len(block), n_tokens, 1)) > block.cumsum(axis=1)[:, None]).sum(axis=2).clip(max=9)
        draws = rng.random(z.shape)
        words = np.empty(z.shape, dtype=np.int64)
        for k in range(10):
            words[z == k] = np.searchsorted(cumulated[k], draws[z == k]).clip(max=n_words - 1)
        rows.append(np.repeat(np.arange(start, start + len(block)), n_tokens))
        columns.append(words.ravel())
    ones = np.ones(n_pictures * n_tokens)
    shape = (n_pictures, n_words)
    return sparse.csr_array(sparse.coo_array((ones, (np.concatenate(rows), np.concatenate(columns))), shape=shape))


def log_likelihood(counts: sparse.csr_array, pictures: np.ndarray, words: np.ndarray) -> float:
    """The mean log-probability of a token."""
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    p = np.einsum("ij,ij->i", pictures[rows], words[counts.indices])
    return float(counts.data @ np.log(np.maximum(p, 1e-300)) / counts.sum())


def ours(counts: sparse.csr_array, n_topics: int, target: float = np.inf) -> tuple[float, int]:
    """CPU seconds and steps until the log-likelihood per token is ``target``, or for N_STEPS steps."""
    aspects = Aspects.random(counts, n_topics, np.random.RandomState(0))
    begun = time.process_time()
    for step in range(1, 1000):
        aspects, objective = aspects.step(counts)
        if objective / counts.sum() >= target or (target == np.inf and step == N_STEPS):
            break
    return time.process_time() - begun, step


def nmf(counts: sparse.csr_array, n_topics: int) -> tuple[float, float]:
    """CPU seconds of scikit-learn's multiplicative updates from the same start, and the log-likelihood they reach."""
    import warnings

    from sklearn.decomposition import NMF

    start = Aspects.random(counts, n_topics, np.random.RandomState(0))
    totals = np.asarray(counts.sum(axis=1))
    model = NMF(n_topics, beta_loss="kullback-leibler", solver="mu", init="custom", max_iter=N_STEPS, tol=0)
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        W = model.fit_transform(
            sparse.csr_matrix(counts), W=start.picture_topics * totals[:, None], H=start.word_topics.T.copy()
        )
    seconds = time.process_time() - begun
    scale = model.components_.sum(axis=1)
    pictures = W * scale
    return seconds, log_likelihood(
        counts, pictures / pictures.sum(axis=1, keepdims=True), (model.components_ / scale[:, None]).T
    )


def main() -> None:
    """Print the ratios, then the cost against the number of counts."""
    ours(bags(10, 20, 5), 2)  # compiles
    print(f"scikit-learn's NMF takes {N_STEPS} steps; ours runs until it is as good.")
    print(
        f"{'pictures':>9} {'words':>6} {'topics':>6} {'ours, CPU s':>12} {'steps':>6} {'NMF, CPU s':>11} {'ratio':>6}"
    )
    for n_pictures, n_words, n_topics in ((2000, 500, 20), (2000, 500, 100), (2000, 5000, 50)):
        counts = bags(n_pictures, n_words, 100)
        theirs, reached = min(nmf(counts, n_topics) for _ in range(3))
        seconds, steps = min(ours(counts, n_topics, reached) for _ in range(3))
        print(
            f"{n_pictures:>9} {n_words:>6} {n_topics:>6} {seconds:>12.2f} {steps:>6} {theirs:>11.2f}"
            f" {theirs / seconds:>6.1f}"
        )
    print("\nlinear in the counts (500 words, 50 topics):")
    for n_pictures in (1000, 10_000, 100_000):
        counts = bags(n_pictures, 500, 40)
        seconds, steps = ours(counts, 50)
        each = 1e9 * seconds / counts.nnz / steps
        print(f"{n_pictures:>9} pictures {counts.nnz:>9} counts {seconds:>7.2f} CPU s {each:>5.0f} ns a count and step")


if __name__ == "__main__":
    main()
