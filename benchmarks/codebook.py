"""Codebook against scikit-learn's KMeans and MiniBatchKMeans, and assignment through cells against exact assignment.

Run: python benchmarks/codebook.py
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

from visterm.vision import Codebook


def descriptors(n: int, n_dims: int, seed: int) -> np.ndarray:
    """Descriptors around a curved sheet of 12 dimensions, like those of photographs."""
    shared = np.random.default_rng(0)
    inner, outer = shared.normal(size=(12, 64)), shared.normal(size=(64, n_dims))
    rng = np.random.default_rng(seed)
    rows = np.maximum(np.tanh(rng.normal(size=(n, 12)) @ inner) @ outer, 0.0) + 0.3 * rng.random((n, n_dims))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def learning(X: np.ndarray, n_words: int, n_iterations: int) -> None:
    """Print seconds and inertia of learning ``n_words`` codewords."""
    from sklearn.cluster import KMeans, MiniBatchKMeans

    began = time.perf_counter()
    words = Codebook(n_words, n_iterations=n_iterations, tolerance=0.0, random_state=0).fit(X)
    ours = time.perf_counter() - began
    inertia = ((X - words.words_[words.assign(X)]) ** 2).sum()
    print(f"{n_words} words from {len(X)} x {X.shape[1]} descriptors, {n_iterations} iterations")
    print(f"  visterm                      {ours:7.2f} s    1.0x  inertia {inertia:.0f}")
    for peer in (KMeans, MiniBatchKMeans):
        settings = {"max_iter": n_iterations, "tol": 0.0, "n_init": 1, "random_state": 0}
        began = time.perf_counter()
        inertia = peer(n_words, **settings).fit(X).inertia_
        took = time.perf_counter() - began
        print(f"  scikit-learn {peer.__name__:15s} {took:7.2f} s  {took / ours:5.1f}x  inertia {inertia:.0f}")


def assignment(X: np.ndarray, test: np.ndarray, n_words: int, rounds: int) -> None:
    """Print milliseconds and agreement of assignment in a large codebook."""
    codebook = Codebook(n_words, n_iterations=3, random_state=0).fit(X)

    def best(exact: bool) -> tuple[float, np.ndarray]:
        seconds = []
        for _ in range(rounds):
            began = time.perf_counter()
            ids = codebook.assign(test, exact=exact)
            seconds.append(time.perf_counter() - began)
        return min(seconds), ids

    exact_seconds, nearest = best(exact=True)
    distance = ((test - codebook.words_[nearest]) ** 2).sum()
    print(f"{n_words} words, {len(test)} descriptors: exact assignment {1e3 * exact_seconds:.0f} ms")
    for n_probes in (2, 4, 8, 16, 32):
        codebook.n_probes = n_probes
        seconds, ids = best(exact=False)
        excess = ((test - codebook.words_[ids]) ** 2).sum() / distance - 1.0
        print(
            f"  {n_probes:2d} cells  {1e3 * seconds:6.0f} ms  {exact_seconds / seconds:5.1f}x faster"
            f"  same word {np.mean(ids == nearest):7.2%}  excess squared distance {excess:.3%}"
        )


def main() -> None:
    """Run both comparisons."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--descriptors", type=int, default=60_000)
    parser.add_argument("--dims", type=int, default=128)
    parser.add_argument("--words", type=int, nargs="*", default=[240])
    parser.add_argument("--large", type=int, nargs="*", default=[10_000, 50_000])
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # scikit-learn warns that this number of iterations does not converge
    X = descriptors(options.descriptors, options.dims, seed=1)
    test = descriptors(10_000, options.dims, seed=2)
    for n_words in options.words:
        learning(X, n_words, options.iterations)
    for n_words in options.large:
        assignment(X, test, n_words, options.rounds)


if __name__ == "__main__":
    main()
