"""Global features and regions: milliseconds per picture, and how well each feature separates scenes.

Run: python benchmarks/global_features.py [--pictures FOLDER]

Times are processor time of one thread: the median over several pictures of 384 x 256 pixels, each in its best of
several rounds. Given a folder with one subfolder of photographs per class, a linear support vector machine is trained
on half of each class and tested on the other half, over 5 random splits.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from scipy import ndimage

from visterm.vision import (
    SUFFIXES,
    colour_correlogram,
    colour_histogram,
    decode_rgb,
    edge_direction_histogram,
    gist,
    grid_colour_moments,
    haar_wavelet,
    region_features,
    segment,
)

WIDTH, HEIGHT, ROUNDS, SPLITS = 384, 256, 5, 5

FEATURES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "gist": gist,
    "gist, colour": partial(gist, colour=True),
    "histogram, hsv": colour_histogram,
    "histogram, rgb": partial(colour_histogram, space="rgb"),
    "histogram, lab": partial(colour_histogram, space="lab"),
    "colour correlogram": colour_correlogram,
    "grid colour moments": grid_colour_moments,
    "edge directions": edge_direction_histogram,
    "haar wavelet": haar_wavelet,
    "haar wavelet, quantised": partial(haar_wavelet, quantised=True),
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--pictures", type=Path, help="one folder of photographs per class; without it, generated textures"
    )
    folder = parser.parse_args().pictures
    labelled = photographs(folder) if folder else []
    pictures = [picture for picture, _ in labelled[:: max(1, len(labelled) // 8)]][:8] or textures()
    resized = [np.asarray(Image.fromarray(each).resize((WIDTH, HEIGHT))) for each in pictures]

    print(f"milliseconds per picture of {WIDTH} x {HEIGHT}, one thread")
    for name, feature in FEATURES.items():
        print(f"  {name:25} {len(feature(resized[0])):5} numbers {milliseconds(feature, resized):7.1f} ms")
    print(f"  {'segment':25} {milliseconds(segment, resized):21.1f} ms")
    divided = [(picture, segment(picture)) for picture in resized]
    print(f"  {'region features':25} {milliseconds(lambda both: region_features(*both), divided):21.1f} ms")
    n_regions = [int(labels.max()) + 1 for _, labels in divided]
    print(f"  regions per picture: {np.mean(n_regions):.1f}")
    if labelled:
        report_accuracy(labelled)


def report_accuracy(labelled: list[tuple[np.ndarray, str]]) -> None:
    """Print the accuracy of a linear classifier on each feature, and on all of them together."""
    classes = np.array([name for _, name in labelled])
    columns = {name: np.stack([feature(picture) for picture, _ in labelled]) for name, feature in FEATURES.items()}
    print(f"accuracy on {len(labelled)} pictures of {len(set(classes))} classes, half to train, {SPLITS} splits")
    for name, X in columns.items():
        print(f"  {name:25} {accuracy(X, classes)}")
    lengths = {name: np.linalg.norm(X, axis=1, keepdims=True) for name, X in columns.items()}
    together = np.hstack([X / np.maximum(lengths[name], 1e-9) for name, X in columns.items()])
    print(f"  {'all':25} {accuracy(together, classes)}")


def accuracy(X: np.ndarray, classes: np.ndarray) -> str:
    """Mean and deviation over the splits, in percent."""
    from sklearn.model_selection import StratifiedShuffleSplit, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, StandardScaler
    from sklearn.svm import LinearSVC

    root = FunctionTransformer(lambda values: np.sign(values) * np.sqrt(np.abs(values)))
    machine = make_pipeline(root, StandardScaler(), LinearSVC(C=0.001, random_state=0))
    scores = cross_val_score(machine, X, classes, cv=StratifiedShuffleSplit(SPLITS, test_size=0.5, random_state=0))
    return f"{100 * scores.mean():5.1f} +- {100 * scores.std():.1f} %"


def milliseconds(work: Callable[[Any], Any], inputs: list[Any]) -> float:
    """The median over ``inputs`` of the least processor time of ``work``."""
    work(inputs[0])  # compiles
    best = []
    for each in inputs:
        taken = []
        for _ in range(ROUNDS):
            started = time.thread_time()
            work(each)
            taken.append(time.thread_time() - started)
        best.append(min(taken))
    return 1000 * float(np.median(best))


def photographs(folder: Path) -> list[tuple[np.ndarray, str]]:
    """All pictures of the subfolders, with the subfolder's name."""
    paths = [path for path in sorted(folder.glob("*/*")) if path.suffix.lower() in SUFFIXES]
    if not paths:
        raise SystemExit(f"{folder} has no subfolders with pictures")
    return [(decode_rgb(path), path.parent.name) for path in paths]


def textures() -> list[np.ndarray]:
    """Smoothed noise of several scales, in colour."""
    generator = np.random.default_rng(0)
    planes = (ndimage.gaussian_filter(generator.random((HEIGHT, WIDTH, 3)), (s, s, 0)) for s in (1, 2, 4, 8))
    return [np.uint8(255 * (plane - plane.min()) / np.ptp(plane)) for plane in planes]


if __name__ == "__main__":
    main()
