"""Moments and subspaces against one matrix product and against scikit-learn, in one process.

    python benchmarks/moments.py [--small]

It prints ratios of processor time: fitting canonical contextual distance (20 dimensions) on a collection of the size of
NUS-WIDE (161,789 pictures of 500 features with 81 tags) over the one product ``X.T @ X`` of the same array;
scikit-learn's CCA over ours on 2,000 pictures of 256 features with 100 tags; adding 1,000 pictures over fitting all.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import cross_decomposition

from visterm.subspace import CCA, ContextualDistance


def best_of(n: int, work: Callable[[], Any]) -> tuple[float, float]:
    """The least processor and wall time of ``n`` runs."""
    times = []
    for _ in range(n):
        wall, processor = time.perf_counter(), time.process_time()
        work()
        times.append((time.process_time() - processor, time.perf_counter() - wall))
    return min(processor for processor, _ in times), min(wall for _, wall in times)


def collection(n: int, n_dims: int, n_tags: int, n_tags_a_picture: float) -> tuple[Any, Any]:
    """Random features and sparse tags, every picture with at least one."""
    rng = np.random.default_rng(0)
    X = rng.random((n, n_dims), dtype=np.float32)
    tags = sparse.random_array((n, n_tags), density=n_tags_a_picture / n_tags, rng=rng, dtype=np.float32).tolil()
    tags[np.arange(n), rng.integers(0, n_tags, n)] = 1
    tags = tags.tocsr()
    tags.data[:] = 1
    return X, tags


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="a tenth of the pictures")
    n = 161_789 // (10 if parser.parse_args().small else 1)
    X, tags = collection(n, 500, 81, 1.4)
    product, product_wall = best_of(3, lambda: X.T @ X)
    model = ContextualDistance(20)
    fitted, fitted_wall = best_of(3, lambda: model.fit(X, tags))
    coded, _ = best_of(2, lambda: model.transform_training(X, tags))
    print(f"X.T @ X, {n:,} x 500                  {product:7.2f} s processor {product_wall:7.2f} s wall")
    print(f"ContextualDistance(20).fit           {fitted:7.2f} s processor {fitted_wall:7.2f} s wall")
    print(f"  over the product                   {fitted / product:7.2f} x         {fitted_wall / product_wall:7.2f} x")
    print(f"codes of the training pictures       {coded:7.2f} s processor")

    late, late_tags = collection(1000, 500, 82, 1.4)
    updated, updated_wall = best_of(1, lambda: model.partial_fit(late, late_tags))
    print(f"1,000 new pictures and a new tag     {updated:7.2f} s processor {updated_wall:7.2f} s wall")

    X, tags = collection(2000, 256, 100, 3.0)
    X, dense = X.astype(np.float64), tags.toarray().astype(np.float64)
    ours, _ = best_of(3, lambda: CCA(20, ridge=0, reduce_to=None).fit(X, tags))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, _ = best_of(1, lambda: cross_decomposition.CCA(20).fit(X, dense))
    print(f"CCA(20), 2,000 x 256 / 100           {ours:7.3f} s processor")
    print(f"  scikit-learn                       {theirs:7.3f} s processor: {theirs / ours:.0f} x")


if __name__ == "__main__":
    main()
