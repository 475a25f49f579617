"""Graphs of look-alikes: building them, recall, LapVar sweeps, label propagation against scikit-learn, memory.

python benchmarks/graph.py [--pictures 10000 100000] [--topics 50]

Pictures are codes of 20 dimensions from 1,000 clusters. Times are processor seconds. Recall is measured on 500 pictures
against exact search.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.semi_supervised import LabelSpreading

from visterm.distances import nearest
from visterm.graph import Discrete, LapVar, PictureGraph, spread

N_NEIGHBOURS, N_DIMS = 10, 20


def pictures(n: int) -> np.ndarray:
    """Codes around a thousand centres."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((1000, N_DIMS))
    return (centres[rng.integers(1000, size=n)] + 0.5 * rng.standard_normal((n, N_DIMS))).astype(np.float32)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What ``work`` returns and the processor seconds it took."""
    began = time.process_time()
    result = work()
    return result, time.process_time() - began


def recall(graph: PictureGraph, X: np.ndarray) -> float:
    """The share of the true neighbours of 500 pictures that the graph lists."""
    rows = np.random.default_rng(1).choice(len(X), min(500, len(X)), replace=False)
    true, _ = nearest(X[rows], X, N_NEIGHBOURS + 1, metric="euclidean")
    shared = [
        len(set(graph.chosen_[[row]].indices) & (set(found) - {row})) for row, found in zip(rows, true, strict=True)
    ]
    return float(np.mean(shared)) / N_NEIGHBOURS


def measure(n: int, n_topics: int) -> None:
    """Print the figures of one size."""
    X = pictures(n)
    graph, build = timed(lambda: PictureGraph(N_NEIGHBOURS, metric="euclidean").fit(X))
    kind = "approximate" if graph.is_approximate else "exact"
    links = graph.links_
    print(f"\n{n:,} pictures, {links.nnz:,} links ({kind}), {graph.n_components_} components")
    print(f"  build            {build:8.2f} s, recall {recall(graph, X):.3f}")
    size = sum(part.nbytes for part in (links.data, links.indices, links.indptr)) + graph.chosen_.data.nbytes * 2
    print(f"  graph            {size / 2**20:8.0f} MB, {size / links.nnz:.0f} bytes per link")
    rng = np.random.default_rng(2)
    variables = Discrete(3 * rng.standard_normal((n, n_topics)))
    state = variables.free()
    lapvar = LapVar(links, 1.0)
    for sweep in range(3):
        state, seconds = timed(lambda state=state: lapvar.improve(variables, state))
        print(f"  LapVar1 sweep {sweep + 1}  {seconds:8.2f} s at {n_topics} topics")
    _, seconds = timed(lambda: lapvar.objective(variables, state))
    print(f"  objective        {seconds:8.2f} s")
    _, seconds = timed(lambda: LapVar(links, 1.0, "lapvar2").improve(variables, state))
    print(f"  LapVar2 mixing   {seconds:8.2f} s")
    _, seconds = timed(lambda: graph.add(pictures(n + 100)[n:]))
    print(f"  add 100          {seconds:8.2f} s ({build / max(seconds, 1e-9):.0f} times less than building)")
    print(f"  peak memory      {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:8.1f} GB")


def against_scikit_learn(n: int) -> None:
    """Label spreading of ten classes on the same graph."""
    X = pictures(n)
    graph = PictureGraph(N_NEIGHBOURS, metric="euclidean").fit(X)
    y = np.full(n, -1)
    y[::20] = np.arange(len(y[::20])) % 10
    labels = np.zeros((n, 10))
    labels[y >= 0, y[y >= 0]] = 1
    ours, our_seconds = timed(lambda: spread(graph.links_, labels, 0.9))
    # scikit-learn gets our links and only spreads: the search for neighbours is not counted.
    theirs = LabelSpreading(kernel=lambda a, b: graph.links_, alpha=0.9, max_iter=1000, tol=1e-6)  # noqa: ARG005
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, their_seconds = timed(lambda: theirs.fit(X, y))
    totals = ours.sum(axis=1, keepdims=True)
    same = np.abs(ours / np.where(totals > 0, totals, 1) - theirs.label_distributions_).max()
    print(f"\nspreading over {n:,} pictures: {our_seconds:.2f} s, scikit-learn {their_seconds:.2f} s, apart {same:.1e}")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--topics", type=int, default=50)
    arguments = parser.parse_args()
    compiled = PictureGraph(5, metric="euclidean", exact_up_to=100).fit(pictures(500))
    LapVar(compiled.links_, 1.0).improve(Discrete(np.zeros((500, 3))), np.full((500, 3), 1 / 3))
    LapVar(compiled.links_, 1.0).penalty(np.full((500, 3), 1 / 3))
    for n in arguments.pictures:
        measure(n, arguments.topics)
    against_scikit_learn(5000)


if __name__ == "__main__":
    main()
