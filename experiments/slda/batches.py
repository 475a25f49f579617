"""Learning batch by batch (``partial_fit``) beside a fit to all pictures at once, on LabelMe-8.

Only training pictures are used: 600 to learn from, the other 200 to measure on; every seed draws others.

Run: python experiments/slda/batches.py --data FOLDER [--topics 60] [--seeds 2]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from visterm.learn.engine import splits
from visterm.research import research_data
from visterm.topics import RefinedSupervisedLDA

N_LEARNED, N_BATCHES, N_PASSES = 600, 5, 5


def ways(n_topics: int, refine: int, seed: int, X: Any, y: Any, score: Any) -> dict[str, float]:
    """The accuracy of every way to learn from ``X`` and ``y``."""

    def new() -> RefinedSupervisedLDA:
        return RefinedSupervisedLDA(n_topics, refine=refine, random_state=seed)

    found = {"all at once": score(new().fit(X, y))}
    model = new()
    for n_pass in range(1, N_PASSES + 1):
        for rows in np.array_split(np.arange(N_LEARNED), N_BATCHES):
            model.partial_fit(X[rows], y[rows], classes=np.unique(y), n_total=N_LEARNED)
        if n_pass in (1, N_PASSES):
            found[f"{N_BATCHES} batches, passes: {n_pass}"] = score(model)
    half = N_LEARNED // 2
    model = new().fit(X[:half], y[:half])
    found["half of the pictures at once"] = score(model)
    for rows in np.array_split(np.arange(half, N_LEARNED), N_BATCHES // 2 + 1):
        model.partial_fit(X[rows], y[rows], n_total=N_LEARNED)
    found["half at once, then 3 batches"] = score(model)
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--topics", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=2)
    asked = parser.parse_args()
    data = research_data.load("labelme8", asked.data)
    train = data.select(splits.given(data.splits).train)
    rows: dict[str, dict[int, list[float]]] = {}
    for refine in (0, 25):
        for seed in range(asked.seeds):
            order = np.random.default_rng(seed).permutation(len(train))
            learned, held = train.select(order[:N_LEARNED]), train.select(order[N_LEARNED:])

            def score(model: RefinedSupervisedLDA, held: Any = held) -> float:
                return 100 * float((model.predict(held.X) == held.y).mean())

            for way, value in ways(asked.topics, refine, seed, learned.X, learned.y, score).items():
                rows.setdefault(way, {}).setdefault(refine, []).append(value)
                print(refine, seed, way, value, flush=True)
    print("| pictures | `slda` | `slda-refined` |", "|---|---|---|", sep="\n")
    for way, values in rows.items():
        print(f"| {way} | {' | '.join(f'{np.mean(values[refine]):.1f}' for refine in (0, 25))} |")


if __name__ == "__main__":
    main()
