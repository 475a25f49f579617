"""Exact nearest neighbours: queries per second on small codes, and base distances against SciPy and scikit-learn.

python benchmarks/neighbours.py [--small]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import additive_chi2_kernel
from sklearn.neighbors import NearestNeighbors

from visterm.distances import metric_named, nearest


def seconds(work: Callable[[], Any], rounds: int = 2) -> tuple[float, float]:
    """The least processor and wall seconds of a few runs."""
    times = []
    for _ in range(rounds):
        wall, processor = time.perf_counter(), time.process_time()
        work()
        times.append((time.process_time() - processor, time.perf_counter() - wall))
    return min(processor for processor, _ in times), min(wall for _, wall in times)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="a tenth of the codes")
    share = 10 if parser.parse_args().small else 1
    rng = np.random.default_rng(0)
    train, queries = (rng.standard_normal((n // share, 20)).astype(np.float32) for n in (160_000, 10_000))
    nearest(queries[:100], train, 16)  # compiled before it is timed
    ours, wall = seconds(lambda: nearest(queries, train, 16), 1)
    theirs, their_wall = seconds(
        lambda: NearestNeighbors(n_neighbors=16, algorithm="brute").fit(train).kneighbors(queries), 1
    )
    print(f"{len(queries):,} queries against {len(train):,} codes of 20 dimensions, 16 neighbours")
    print(f"  nearest        {ours:7.2f} s processor {len(queries) / wall:8.0f} queries/s")
    print(f"  scikit-learn   {theirs:7.2f} s processor {len(queries) / their_wall:8.0f} queries/s")
    A, B = rng.random((300, 1000)), rng.random((2000, 1000))
    peers = {
        "l1": lambda: cdist(A, B, "cityblock"),
        "chi2": lambda: additive_chi2_kernel(A, B),
        "intersection": lambda: np.stack([np.minimum(a, B).sum(axis=1) for a in A]),
        "euclidean": lambda: cdist(A, B),
    }
    for name, peer in peers.items():
        metric = metric_named(name)
        single = A.astype(np.float32), B.astype(np.float32)
        metric(single[0][:2], single[1][:2])
        ours, _ = seconds(lambda metric=metric, single=single: metric(*single))
        theirs, _ = seconds(peer)
        print(f"  {name:13} {ours:7.3f} s processor, peer {theirs:7.3f} s: {theirs / ours:5.1f} x")


if __name__ == "__main__":
    main()
