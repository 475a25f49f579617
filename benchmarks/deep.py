"""The preset EfficientNet-Lite0 by torch and by onnxruntime: pictures per second, equality, and accuracy.

Needs the extra: pip install 'visterm[deep]'.
Run: python benchmarks/deep.py --pictures FOLDER, where FOLDER holds one folder of pictures per class
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from visterm.vision import (
    SUFFIXES,
    DeepFeatures,
    EfficientNetLite0,
    Network,
    NetworkRecipe,
    OnnxNetwork,
    Preprocessing,
    cache_folder,
    decode_rgb,
)

BATCH = 16


def pictures_per_second(network: Network, batch: np.ndarray, n_workers: int, rounds: int) -> float:
    """The best of several rounds in which ``n_workers`` threads share eight batches."""
    network.embed(batch)
    best = 0.0
    with ThreadPoolExecutor(n_workers) as workers:
        for _ in range(rounds):
            began = time.perf_counter()
            list(workers.map(network.embed, [batch] * 8))
            best = max(best, 8 * len(batch) / (time.perf_counter() - began))
    return best


def speed(rounds: int) -> None:
    """Print the speed of both runners with one and two threads, and how much their vectors differ."""
    import torch

    batch = np.random.default_rng(0).standard_normal((BATCH, 3, 224, 224), np.float32)
    by_torch, by_onnx = EfficientNetLite0(runner="torch", device="cpu"), EfficientNetLite0(runner="onnx")
    ours, theirs = by_torch.embed(batch), by_onnx.embed(batch)
    print(f"largest difference {np.abs(ours - theirs).max():.1e}, largest value {ours.max():.2f}")
    file = next(cache_folder().glob("efficientnet-lite0-*.onnx"))
    base = None
    for n_threads in (1, 2):
        torch.set_num_threads(n_threads)
        runs = {
            "torch": (by_torch, 1),
            "onnxruntime": (OnnxNetwork(file, Preprocessing(), n_threads=n_threads), 1),
        }
        if n_threads > 1:
            runs["onnxruntime, one thread for each of two batches"] = by_onnx, 2
        for name, (network, n_workers) in runs.items():
            rate = pictures_per_second(network, batch, n_workers, rounds)
            base = base or rate
            print(f"{n_threads} threads  {name:50s} {rate:6.0f} pictures/s  {rate / base:4.1f}x")


def accuracy(rows: np.ndarray, classes: np.ndarray, n_splits: int) -> list[float]:
    """Accuracies of a linear support vector machine, half of the pictures for training, half for the test."""
    from sklearn.model_selection import StratifiedShuffleSplit
    from sklearn.svm import LinearSVC

    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    splits = StratifiedShuffleSplit(n_splits, test_size=0.5, random_state=0)
    return [
        LinearSVC(C=10.0, random_state=0).fit(rows[train], classes[train]).score(rows[test], classes[test])
        for train, test in splits.split(rows, classes)
    ]


def quality(folder: Path, n_splits: int) -> None:
    """Print the accuracy on ``folder`` under several ways of preparing pictures."""
    files = sorted(file for file in folder.glob("*/*") if file.suffix.lower() in SUFFIXES)
    classes = np.array([file.parent.name for file in files])
    began = time.perf_counter()
    pictures = [decode_rgb(file, pixel_budget=DeepFeatures().pixel_budget) for file in files]
    print(f"{len(pictures)} pictures of {len(set(classes))} classes, decoded in {time.perf_counter() - began:.1f} s")
    EfficientNetLite0(runner="onnx").embed(np.zeros((1, 3, 224, 224), np.float32))
    file = next(cache_folder().glob("efficientnet-lite0-*.onnx"))
    scaled = {"mean": (127.0,) * 3, "deviation": (128.0,) * 3}
    ways = {
        "the preset": EfficientNetLite0.preprocessing,
        "squashed, all of it": Preprocessing(**scaled, crop=1.0, squash=True),
        "squashed, central 0.875": Preprocessing(**scaled, squash=True),
        "square, central 0.875": Preprocessing(**scaled),
        "square, central 0.875, bilinear": Preprocessing(**scaled, resampling="bilinear"),
        "ImageNet mean and deviation": Preprocessing(crop=0.9375, squash=True),
    }
    for name, preprocessing in ways.items():
        began = time.perf_counter()
        rows = NetworkRecipe(OnnxNetwork(file, preprocessing)).compute_batch(pictures)
        rate = len(rows) / (time.perf_counter() - began)
        scores = 100 * np.array(accuracy(rows, classes, n_splits))
        print(f"{name:34s} accuracy {scores.mean():5.1f} +- {scores.std():.1f}  ({rate:.0f} pictures/s, one thread)")


def main() -> None:
    """Print speed, equality and accuracy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3, help="rounds of the speed measurement; 0: none")
    options = parser.parse_args()
    if options.rounds:
        speed(options.rounds)
    if options.pictures:
        quality(options.pictures, options.splits)


if __name__ == "__main__":
    main()
