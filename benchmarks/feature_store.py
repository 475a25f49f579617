"""How fast features are written and read, against plain ``np.save`` and a memory map of the same rows, in one process.

Run ``python benchmarks/feature_store.py [--folder DIR]``. Both sides flush what they wrote to disk before the clock
stops (the store after each batch); reads come from the page cache. Times are the best of three, and vary with the disk.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from hashlib import sha256
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from visterm.features import FeatureStore
from visterm.storage import RowSpec

#: Pictures, dimensions and random rows to read: Fisher vectors, and compact embeddings of a large collection.
SETTINGS = ((1_000, 131_072, 128), (200_000, 128, 10_000))
REPEATS = 3


def seconds(work: Callable[[], object]) -> float:
    """How long ``work`` takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def alternately(ours: Callable[[], object], theirs: Callable[[], object]) -> tuple[float, float]:
    """The least time of each; they take turns, so that a slow disk affects both alike."""
    turns = [(seconds(ours), seconds(theirs)) for _ in range(REPEATS)]
    return min(turn[0] for turn in turns), min(turn[1] for turn in turns)


def save(path: Path, rows: NDArray[np.float32]) -> None:
    """``np.save``, flushed to disk."""
    with path.open("wb") as file:
        np.save(file, rows)
        file.flush()
        os.fsync(file.fileno())


def compare(folder: Path, n_pictures: int, n_dims: int, n_read: int) -> None:
    """Print the figures of one setting."""
    random = np.random.default_rng(0)
    rows = random.random((n_pictures, n_dims), dtype=np.float32)
    keys = [sha256(str(number).encode()).hexdigest() for number in range(n_pictures)]
    order = random.permutation(n_pictures)
    picked = order[:n_read]
    megabytes = rows.nbytes / 1e6
    numbers = count()

    def write_plain() -> Path:
        path = folder / f"{next(numbers)}.npy"
        save(path, rows)
        return path

    def write_batches() -> FeatureStore:
        store = FeatureStore(folder / str(next(numbers)), RowSpec(n_dims))
        size = max(1, 32 * 2**20 // (4 * n_dims))
        for start in range(0, n_pictures, size):
            store.append(keys[start : start + size], rows[start : start + size])
        return store

    def write_singly() -> None:
        with FeatureStore(folder / str(next(numbers)), RowSpec(n_dims)).writer() as writer:
            for key, row in zip(keys, rows, strict=True):
                writer.add(key, row)

    print(f"\n{n_pictures:,} pictures x {n_dims:,} float32 = {megabytes:,.0f} MB")
    print(f"{'':34}{'store':>10}{'plain':>10}{'ratio':>8}")

    def line(name: str, ours: Callable[[], object], theirs: Callable[[], object], size: float = 0.0) -> None:
        our_time, their_time = alternately(ours, theirs)
        speed = f"   {size / our_time:,.0f} against {size / their_time:,.0f} MB/s" if size else ""
        print(f"{name:34}{our_time:9.4f}s{their_time:9.4f}s{our_time / their_time:8.2f}{speed}")

    line("write, batches of 32 MiB", write_batches, write_plain, megabytes)
    line("write, one row at a time", write_singly, write_plain, megabytes)

    store, plain = write_batches(), write_plain()
    line("open", lambda: len(FeatureStore.open(store.folder)), lambda: np.load(plain, mmap_mode="r"))
    mapped = np.load(plain, mmap_mode="r")
    picked_keys, all_keys = [keys[i] for i in picked], [keys[i] for i in order]
    read_mb = n_read * n_dims * 4 / 1e6
    line(f"read {n_read:,} rows at random", lambda: store.rows(picked_keys), lambda: mapped[picked], read_mb)
    blocks = np.array_split(order, max(1, rows.nbytes // (32 * 2**20)))
    line(
        "read all rows in blocks, shuffled",
        lambda: [len(block) for _, block in store.blocks(all_keys)],
        lambda: [len(mapped[block]) for block in blocks],
        megabytes,
    )
    store.remove(keys[::10])
    print(f"{'compact after removing a tenth':34}{seconds(store.compact):9.4f}s")


def main() -> None:
    """Run every setting."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--folder", type=Path, help="where to write (default: the folder for temporary files)")
    arguments = parser.parse_args()
    for setting in SETTINGS:
        with TemporaryDirectory(dir=arguments.folder) as folder:
            compare(Path(folder), *setting)


if __name__ == "__main__":
    main()
