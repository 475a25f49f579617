"""Engines: how much faster two workers are than one, for sums of landmarks and for features of pictures.

Run: python benchmarks/engines.py [ENGINE ...] [--pictures 100000] [--landmarks 2000] [--files 400]

The pictures of the sums are made up: 1,280 features in half precision in one file, 1,000 tags, 5 tags for each. The
files are postcards, of which the recipe ``deep`` computes features. Workers are started, and have seen a few pictures,
before the clock runs. ``processor`` is the processor time of the caller and all workers for the sums. The last column
is the largest difference from the Gram matrix of the first engine, as a share of its largest entry.
"""

from __future__ import annotations

import argparse
import os
import pickle
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from visterm.compute import Engine, clusters
from visterm.features import features_of_files
from visterm.margin.functions import kernels
from visterm.margin.functions.landmarks import SHARD_ROWS, FeatureMap, Lesson
from visterm.margin.solver.sums import Sums
from visterm.postcards import make_postcards
from visterm.vision.recipes import recipe

ENGINES = ("threads:1", "threads:2", "processes:1", "processes:2", "dask:1", "dask:2", "ray:1", "ray:2")
N_DIMS, N_TAGS, TAGS_EACH = 1280, 1000, 5
BLOCK = 10_000


def make_pictures(file: Path, n: int) -> sparse.csr_array:
    """Write features of ``n`` pictures, and return their tags."""
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(file, "w+", np.float16, (n, N_DIMS))
    for start in range(0, n, BLOCK):
        X[start : start + BLOCK] = np.maximum(rng.standard_normal((min(BLOCK, n - start), N_DIMS), np.float32), 0)
    X.flush()
    columns = rng.integers(N_TAGS, size=n * TAGS_EACH)
    return sparse.csr_array(
        (np.ones(len(columns), np.float32), columns, np.arange(0, len(columns) + 1, TAGS_EACH)), (n, N_TAGS)
    )


def feature_map(X: Any, n_landmarks: int, folder: Path) -> FeatureMap:
    """The kernel of pictures with the first ones; each process that computes it leaves its number in ``folder``."""
    landmarks = X[:n_landmarks].astype(np.float32)

    def between(some: Any) -> Any:
        (folder / str(os.getpid())).touch()
        return kernels.gram(some, landmarks, kernel="linear", dtype=np.float32)

    return FeatureMap.of_landmarks(between, between(landmarks), 1.0, np.float32)


def sums_of(file: Path, tags: sparse.csr_array, features: FeatureMap, n: int) -> Sums:
    """The sums of the first ``n`` pictures."""
    return Lesson(np.load(file, mmap_mode="r"), np.arange(n), tags[:n]).sums(features)


def processor_seconds(folder: Path) -> float:
    """The processor time that this process, and those with a number in ``folder``, have had."""
    numbers = {str(os.getpid())} | {file.name for file in folder.iterdir()}
    stats = [Path("/proc", number, "stat") for number in numbers]
    fields = [stat.read_text().rpartition(")")[2].split() for stat in stats if stat.exists()]
    return sum(int(each[11]) + int(each[12]) for each in fields) / os.sysconf("SC_CLK_TCK")


def timed(engine: str, once: Callable[[], object], work: Callable[[], Any], folder: Path) -> tuple[float, float, Any]:
    """The seconds of ``work`` on an engine that has done ``once`` before, its processor time, and the result."""
    os.environ["VISTERM_ENGINE"] = engine
    once()
    started, before = time.perf_counter(), processor_seconds(folder)
    done = work()
    return time.perf_counter() - started, processor_seconds(folder) - before, done


def end(engine: str) -> None:
    """End a cluster of our own: the next one has another number of workers."""
    parsed = Engine.parse(engine)
    if parsed.backend == "ray":
        import ray

        ray.shutdown()
    elif parsed.backend == "dask":
        clusters._clients.pop((parsed.n_jobs, parsed.address)).close()


def show_bytes(features: FeatureMap, part: Sums, n_rows: int) -> None:
    """What travels: the task to each worker once, and the sums of each part."""
    sent, sums = len(clusters.packed(features)) / 1e6, len(pickle.dumps(part)) / 1e6
    print(f"a task takes {sent:.1f} MB, once for each worker; the sums of a part {sums:.1f} MB")
    print(f"the features of all pictures, which do not travel, take {n_rows * N_DIMS * 2 / 1e6:.1f} MB", flush=True)


def main(engines: Sequence[str], n: int, n_landmarks: int, n_files: int) -> None:
    """Measure all engines one after the other."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (numbers := folder / "numbers").mkdir()
        tags = make_pictures(folder / "X.npy", n)
        X = np.load(folder / "X.npy", mmap_mode="r")
        features, deep = feature_map(X, n_landmarks, numbers), recipe("deep")
        make_postcards(folder, n_files, engine=Engine(n_jobs=1))
        files = sorted((folder / "pictures").glob("*.jpg"))
        parts = [Sums.of(features(X[rows]), tags[rows]) for rows in (slice(SHARD_ROWS), slice(9))]
        show_bytes(features, parts[0] + parts[1], n)
        first = None
        print(f"{'engine':12} {'sums':>8} {'processor':>10} {'features':>9} {'load':>6} {'difference':>11}")
        for engine in engines:
            of_sums, processor, found = timed(
                engine,
                lambda: sums_of(folder / "X.npy", tags, features, 2 * SHARD_ROWS),
                lambda: sums_of(folder / "X.npy", tags, features, n),
                numbers,
            )
            of_files, _, _ = timed(
                engine, lambda: features_of_files(deep, files[:64]), lambda: features_of_files(deep, files), numbers
            )
            first = found.gram if first is None else first
            difference = abs(found.gram - first).max() / abs(first).max()
            load = os.getloadavg()[0]
            times = f"{of_sums:7.1f}s {processor:9.1f}s {of_files:8.1f}s"
            print(f"{engine:12} {times} {load:6.1f} {difference:11.1e}", flush=True)
            end(engine)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engines", nargs="*", default=ENGINES)
    parser.add_argument("--pictures", type=int, default=100_000)
    parser.add_argument("--landmarks", type=int, default=2000)
    parser.add_argument("--files", type=int, default=400)
    given = parser.parse_args()
    main(given.engines, given.pictures, given.landmarks, given.files)
