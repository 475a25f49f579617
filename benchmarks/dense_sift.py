"""Dense SIFT against VLFeat's C code: pictures per second, how alike the descriptors are, and what threads gain.

Run: python benchmarks/dense_sift.py [--pictures FOLDER]

VLFeat is measured if ``cyvlfeat`` is installed. Both sides compute descriptors of the same 256 x 256 pictures on the
same grid (step 4, bins of 4, 6, 8, 10 and 12 pixels), with one thread, in turns; the best of several rounds counts.
Beside the gain of two threads stands their processor time, which other programs hardly influence.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage

from visterm.vision import SUFFIXES, decode_rgb, dense_sift, to_grey

STEP, BIN_SIZES, SIDE, ROUNDS = 4, (4, 6, 8, 10, 12), 256, 7


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=Path, help="a folder of photographs; without it, generated textures")
    pictures = load(parser.parse_args().pictures)
    contenders: dict[str, Callable[[np.ndarray], Any]] = {
        "visterm": lambda grey: dense_sift(grey, STEP, BIN_SIZES),
        "visterm, no smoothing": lambda grey: dense_sift(grey, STEP, BIN_SIZES, magnification=None),
        "visterm, Gaussian window": lambda grey: dense_sift(grey, STEP, BIN_SIZES, fast=False),
    }
    if find_spec("cyvlfeat"):
        contenders["vlfeat, fast, no smoothing"] = vlfeat_fast
        contenders["vlfeat, fast, SciPy smoothing"] = lambda grey: [
            vlfeat_fast(ndimage.gaussian_filter(grey, ((size / 6) ** 2 - 0.25) ** 0.5), (size,)) for size in BIN_SIZES
        ]
    else:
        print("cyvlfeat is not installed: VLFeat is not measured")
    if find_spec("cv2"):
        contenders["OpenCV, SIFT.compute"] = opencv()
    else:
        print("cv2 is not installed: OpenCV is not measured")

    seconds = best_seconds(contenders, pictures)
    print(
        f"{len(pictures)} pictures of {SIDE} x {SIDE}, {len(dense_sift(pictures[0])[0])} descriptors each, one thread"
    )
    for name, taken in seconds.items():
        print(f"  {name:30} {len(pictures) / taken:7.1f} pictures/s")
    if "vlfeat, fast, no smoothing" in seconds:
        for ours, theirs in (
            ("visterm, no smoothing", "vlfeat, fast, no smoothing"),
            ("visterm", "vlfeat, fast, SciPy smoothing"),
        ):
            print(f"  {ours} is {seconds[theirs] / seconds[ours]:.1f} times as fast as {theirs}")
        cosines = np.concatenate([cosines_to_vlfeat(grey) for grey in pictures])
        print(f"  cosine to vlfeat: mean {cosines.mean():.5f}, least {cosines.min():.5f} of {len(cosines)}")
    report_threads(pictures)


def report_threads(pictures: list[np.ndarray]) -> None:
    """Print how much faster two threads are than one, and how much more processor time they use."""

    def describe(grey: np.ndarray) -> int:
        return len(dense_sift(grey, STEP, BIN_SIZES)[0])  # descriptors are dropped at once, as after encoding

    with ThreadPoolExecutor(2) as pool:
        ways: dict[str, Callable[[], int]] = {
            "one": lambda: sum(map(describe, pictures)),
            "two": lambda: sum(pool.map(describe, pictures)),
        }
        wall, processor = dict.fromkeys(ways, np.inf), dict.fromkeys(ways, np.inf)
        for _ in range(3 * ROUNDS):
            for name, work in ways.items():
                started = time.perf_counter(), time.process_time()
                work()
                wall[name] = min(wall[name], time.perf_counter() - started[0])
                processor[name] = min(processor[name], time.process_time() - started[1])
    gain, cost = wall["one"] / wall["two"], processor["two"] / processor["one"]
    print(f"  two threads are {gain:.2f} times as fast as one, with {cost:.2f} times its processor time")


def load(folder: Path | None, n_pictures: int = 8) -> list[np.ndarray]:
    """Grey pictures cut to 256 x 256: photographs of the folder that are large enough, or smoothed noise."""
    if folder is None:
        generator = np.random.default_rng(0)
        return [ndimage.gaussian_filter(generator.random((SIDE, SIDE), np.float32), 1 + i) for i in range(n_pictures)]
    pictures = []
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in SUFFIXES:
            grey = to_grey(decode_rgb(path, pixel_budget=None))
            if min(grey.shape) >= SIDE:
                pictures.append(np.ascontiguousarray(grey[:SIDE, :SIDE]))
        if len(pictures) == n_pictures:
            return pictures
    raise SystemExit(f"{folder} has only {len(pictures)} pictures of at least {SIDE} x {SIDE}, {n_pictures} are needed")


def best_seconds(contenders: dict[str, Callable[[np.ndarray], Any]], pictures: list[np.ndarray]) -> dict[str, float]:
    """The least time of each program for all pictures, over rounds in which they take turns."""
    seconds = dict.fromkeys(contenders, np.inf)
    for work in contenders.values():
        work(pictures[0])  # compiles
    for _ in range(ROUNDS):
        for name, work in contenders.items():
            started = time.perf_counter()
            for grey in pictures:
                work(grey)
            seconds[name] = min(seconds[name], time.perf_counter() - started)
    return seconds


def vlfeat_fast(grey: np.ndarray, bin_sizes: tuple[int, ...] = BIN_SIZES) -> list[tuple[np.ndarray, np.ndarray]]:
    """VLFeat's keypoints (y, x, norm) and descriptors, for each bin size."""
    from cyvlfeat.sift import dsift

    return [dsift(grey, step=STEP, size=size, fast=True, float_descriptors=True, norm=True)[:2] for size in bin_sizes]


def cosines_to_vlfeat(grey: np.ndarray) -> np.ndarray:
    """The cosine between both descriptors of every patch that neither side suppresses."""
    theirs = np.concatenate([descriptors for _, descriptors in vlfeat_fast(grey)])
    _, ours = dense_sift(grey, STEP, BIN_SIZES, magnification=None)
    kept = ours.any(axis=1)
    return (ours[kept] * theirs[kept]).sum(axis=1) / np.linalg.norm(theirs[kept], axis=1)


def opencv() -> Callable[[np.ndarray], Any]:
    """OpenCV's descriptors of the same patches, given as keypoints."""
    import cv2

    cv2.setNumThreads(1)
    frames, _ = dense_sift(np.zeros((SIDE, SIDE), np.uint8), STEP, BIN_SIZES)
    keypoints = [cv2.KeyPoint(float(x), float(y), float(side) / 6, 0) for x, y, side in frames]
    sift = cv2.SIFT_create()
    return lambda grey: sift.compute((255 * grey).astype(np.uint8), keypoints)


if __name__ == "__main__":
    main()
