"""The networks of the plain install: pictures a second, and what their vectors are worth, one or both of them.

Run: python benchmarks/deep.py [--pictures FOLDER], where FOLDER holds one folder of pictures for each class

Quality: ten labelled pictures a class, the rest for the test, five draws; scikit-learn's LogisticRegression and sdca,
each for three values of C. Linear classifiers see vectors of length one, those of two networks side by side; ``auto``
is the Hellinger kernel for one network and the weighted product for two.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from visterm.compute import n_cores
from visterm.features import features_of_files
from visterm.vision import SUFFIXES, EfficientNetLite0, EfficientNetLite2, recipe

BATCH = 16
RECIPES = ("deep", "deep-lite2", "deep+deep-lite2", "deep+deep-lite2+layers")
N_LABELLED = 10


def rate(task: Callable[[], Any], n_pictures: int, n_workers: int, rounds: int) -> float:
    """Pictures a second in the best of several rounds, in which ``n_workers`` threads share eight tasks."""
    best = 0.0
    with ThreadPoolExecutor(n_workers) as workers:
        for _ in range(rounds):
            began = time.perf_counter()
            list(workers.map(lambda _: task(), range(8)))
            best = max(best, 8 * n_pictures / (time.perf_counter() - began))
    return best


def speed(rounds: int) -> None:
    """Print how long the networks take to open, and how many prepared pictures a second they embed."""
    for network in (EfficientNetLite0(), EfficientNetLite2()):
        batch = network.preprocessing.batch([np.zeros((300, 400, 3), np.uint8)] * BATCH)
        began = time.perf_counter()
        network.embed(batch[:1])
        print(f"{type(network).__name__}: first picture after {time.perf_counter() - began:.2f} s; pictures/s", end="")
        for n in (1, 4, BATCH):
            embed = partial(network.embed, batch[:n])
            rates = [rate(embed, n, n_workers, rounds) for n_workers in sorted({1, n_cores()})]
            print(f"; {n} at a time: {', '.join(f'{found:.0f}' for found in rates)}", end="", flush=True)
        print(f" (one thread, {n_cores()} threads)")


def draws(classes: np.ndarray, n_draws: int) -> list[np.ndarray]:
    """For every draw, which pictures are labelled: ``N_LABELLED`` of each class."""
    masks = []
    for seed in range(n_draws):
        rng = np.random.default_rng(seed)
        labelled = [rng.permutation(np.flatnonzero(classes == one))[:N_LABELLED] for one in np.unique(classes)]
        masks.append(np.isin(np.arange(len(classes)), np.concatenate(labelled)))
    return masks


def accuracies(make: Callable[[], Any], X: Any, classes: np.ndarray, n_draws: int) -> np.ndarray:
    """Percentages of the pictures that were not labelled, one for every draw."""

    def part(rows: np.ndarray) -> Any:
        return {name: one[rows] for name, one in X.items()} if isinstance(X, Mapping) else X[rows]

    return 100 * np.array(
        [
            np.mean(make().fit(part(labelled), classes[labelled]).predict(part(~labelled)) == classes[~labelled])
            for labelled in draws(classes, n_draws)
        ]
    )


def quality(folder: Path, n_draws: int) -> None:
    """Print processor time from files to vectors, and accuracies on ``folder``, as rows of a table."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import normalize

    from visterm.margin import SDCAClassifier

    files = sorted(file for file in folder.glob("*/*") if file.suffix.lower() in SUFFIXES)
    every_class = np.array([file.parent.name for file in files])
    grid = (1.0, 10.0, 100.0)
    methods: dict[str, tuple[Callable[[float], Any], bool]] = {
        "LogisticRegression": (lambda C: LogisticRegression(C=C, max_iter=5000), True),
        "sdca, linear": (lambda C: SDCAClassifier(C, calibration_folds=0, random_state=0), True),
        "sdca, auto": (lambda C: SDCAClassifier(C, kernel="auto", calibration_folds=0, random_state=0), False),
    }
    print(f"{len(files)} pictures of {len(set(every_class))} classes, {N_LABELLED} labelled a class, {n_draws} draws")
    print("| recipe | ms of one core | " + " | ".join(f"{name}, C = {C:g}" for name in methods for C in grid) + " |")
    for name in RECIPES:
        made = recipe(name)
        features_of_files(made, files[:1])
        began = time.process_time()
        X, kept, _ = features_of_files(made, files)
        milliseconds = 1000 * (time.process_time() - began) / len(files)
        classes = every_class[kept]
        unit = np.hstack([normalize(one) for one in X.values()])
        cells = []
        for make, linear in methods.values():
            for C in grid:
                given = unit if linear else (X if len(X) > 1 else next(iter(X.values())))
                found = accuracies(partial(make, C), given, classes, n_draws)
                cells.append(f"{found.mean():.1f} ± {found.std(ddof=1):.1f}")
        print(f"| `{name}` | {milliseconds:.0f} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    """Print speed and accuracy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    speed(options.rounds)
    if options.pictures:
        quality(options.pictures, options.draws)


if __name__ == "__main__":
    main()
