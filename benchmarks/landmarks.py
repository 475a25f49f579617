"""Learning from many pictures by landmarks: seconds, memory, and how near the exact kernel it comes.

Run: python benchmarks/landmarks.py scale [METHOD ...] [--pictures 100000] [--tags 1000]
     python benchmarks/landmarks.py corel ../shared/data --cache FOLDER [--recipe NAME] [--test]

``scale`` fits each method, in a process of its own, to made-up pictures with 1,280 features in half precision, a class
of 200 and five tags: three that depend on the class, two by frequency. It is measured on 1,000 others.

``corel`` draws 1,000 of the 4,500 training pictures of Corel5K to measure on, and learns from the others exactly and by
500, 1,000 and 2,000 landmarks. ``--test`` learns from all 4,500 and measures the test pictures: use it once.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from scipy import sparse

from visterm import registry
from visterm.contracts import Task
from visterm.learn import Dataset, Split, measure
from visterm.measures import Accuracy, AveragePrecision, WordF
from visterm.research import load_pictures

METHODS = ("ridge-tags", "caption-ridge", "sdca")
N_DIMS, N_CLASSES, N_TESTED, N_SUGGESTED = 1280, 200, 1000, 5
#: This many pictures are made at a time.
BLOCK = 10_000
LANDMARKS = (None, 2000, 1000, 500)
N_VALIDATION = 1000


def pictures(n: int, n_tags: int) -> Dataset:
    """Pictures whose features tell their class, and a little of their tags."""
    rng = np.random.default_rng(0)
    classes = rng.integers(N_CLASSES, size=n)
    centres = rng.standard_normal((N_CLASSES, 64), dtype=np.float32)
    of_themes = rng.standard_normal((64, N_DIMS), dtype=np.float32) / 8
    X = np.empty((n, N_DIMS), np.float16)
    for start in range(0, n, BLOCK):
        own = classes[start : start + BLOCK]
        themes = centres[own] + 1.2 * rng.standard_normal((len(own), 64), dtype=np.float32)
        noise = rng.standard_normal((len(own), N_DIMS), dtype=np.float32)
        X[start : start + BLOCK] = np.maximum(themes @ of_themes + 0.3 * noise, 0)
    pool = rng.integers(n_tags, size=(N_CLASSES, 8))
    frequency = 1 / np.arange(1, n_tags + 1)
    of_class = np.take_along_axis(pool[classes], rng.integers(8, size=(n, 3)), 1)
    columns = np.concatenate([of_class, rng.choice(n_tags, size=(n, 2), p=frequency / frequency.sum())], 1)
    columns[np.arange(min(n_tags, n)), 4] = np.arange(min(n_tags, n))  # every tag is used
    tags = sparse.csr_array((np.ones(5 * n, np.float32), columns.ravel(), np.arange(0, 5 * n + 1, 5)), (n, n_tags))
    tags.sum_duplicates()
    tags.data[:] = 1
    names = tuple(map(str, range(N_CLASSES)))
    return Dataset("made up", X, classes, names, tags, tuple(map(str, range(n_tags))))


def scale(name: str, n: int, n_tags: int) -> None:
    """Fit one method in this process and print a row."""
    data, method = pictures(n + N_TESTED, n_tags), registry.get(name)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    train, tested = slice(n), slice(n, None)
    wall, cpu = time.perf_counter(), time.process_time()
    learns_classes = Task.CLASSIFY in method.tasks
    model = method.create().fit(data.X[train], data.y[train] if learns_classes else data.tags[train])
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    if learns_classes:
        quality = float((model.predict(data.X[tested]) == data.y[tested]).mean())
    else:
        best = np.argsort(-model._task_scores(data.X[tested])[:, :n_tags], axis=1)[:, :N_SUGGESTED]
        quality = float(np.take_along_axis(data.tags[tested].toarray(), best, axis=1).mean())
    print(f"{name:16} {n:8,} {n_tags:8,} {wall:8.1f} {cpu:8.1f} {peak:6.2f} {before:6.2f} {quality:8.3f}", flush=True)


def corel(folder: Path, cache: Path, recipe: str, *, test: bool) -> None:
    """Print a row for every number of landmarks."""
    data = load_pictures("corel5k", folder, recipe, cache=cache)
    is_test = np.array([split == "test" for split in data.splits])
    train = np.random.default_rng(0).permutation(np.flatnonzero(~is_test))
    split = Split.of(train, np.flatnonzero(is_test)) if test else Split.of(train[N_VALIDATION:], train[:N_VALIDATION])
    measures = {
        "ridge-tags": [WordF(5), AveragePrecision()],
        "caption-ridge": [AveragePrecision()],
        "sdca": [Accuracy()],
    }
    print(f"{'landmarks':>9}  what is measured on {len(split.test):,} pictures, learned from {len(split.train):,}")
    for landmarks in LANDMARKS:
        for name, wanted in measures.items():
            began, parameters = time.process_time(), {"landmarks": landmarks}
            found = measure(registry.get(name), data, split, measures=wanted, parameters=parameters).performance
            figures = ", ".join(f"{key} {100 * value:.2f}" for key, value in found.flat().items())
            seconds = time.process_time() - began
            print(f"{landmarks or 'exact':>9}  {name:14} {figures}  ({seconds:.0f} s of CPU)", flush=True)


def main() -> None:
    """Do what the command line asks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    scaled = commands.add_parser("scale")
    scaled.add_argument("methods", nargs="*", default=METHODS)
    scaled.add_argument("--pictures", type=int, default=100_000)
    scaled.add_argument("--tags", type=int, default=1000)
    scaled.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    compared = commands.add_parser("corel")
    compared.add_argument("folder", type=Path)
    compared.add_argument("--cache", type=Path, required=True)
    compared.add_argument("--recipe", default="deep+deep-lite2")
    compared.add_argument("--test", action="store_true")
    options = parser.parse_args()
    if options.command == "corel":
        corel(options.folder, options.cache, options.recipe, test=options.test)
        return
    if options.here:
        scale(options.methods[0], options.pictures, options.tags)
        return
    columns = ("pictures", "tags", "seconds", "cpu s")
    print(
        f"{'method':16} {' '.join(f'{name:>8}' for name in columns)} {'GB':>6} {'before':>6} {'quality':>8}", flush=True
    )
    sizes = ["--pictures", str(options.pictures), "--tags", str(options.tags), "--here"]
    for name in options.methods:
        subprocess.run([sys.executable, __file__, "scale", name, *sizes], check=True)


if __name__ == "__main__":
    main()
