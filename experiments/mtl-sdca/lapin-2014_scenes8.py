"""Few pictures per class: one-vs-all, stacked and multitask machines on Fisher vectors of eight scenes.

The protocol of Lapin, Schiele and Hein (CVPR 2014, Section 4) on a small scale: Fisher vectors of SIFT and local colour
statistics over a spatial pyramid (262,144 dimensions), 10 random splits, 5, 10 or 16 training pictures per class, the
other half (16 per class) for testing. C of one-vs-all is chosen by 2-fold cross-validation on the training pictures of
every split; the parameters of the stacked and multitask machines on those of the first split, then fixed. Kernel
matrices are divided by the mean of their diagonal. The measure is the accuracy of the first K guesses, K = 1 to 8.

Run: python experiments/mtl-sdca/lapin-2014_scenes8.py --data FOLDER   (the folder that holds scenes8)
Its plot needs ``pip install 'visterm[plots]'``.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from visterm.margin import MultitaskSDCA, SDCAClassifier, StackedSDCA, folds, gram
from visterm.research import load_pictures

SIZES = (5, 10, 16)
TEST = 16
KERNELS = ("linear", "hellinger", "chi2")
METHODS = ("STL", "stacked", "MTL")
#: C of one-vs-all; of the second layer; and C = 1 / (lam n) of predictors and C = 1 / (mu n T) of the map.
ALONE = (0.1, 1.0, 10.0, 100.0)
SECOND = (0.1, 1.0, 10.0)
PREDICTORS = (0.1, 1.0, 10.0)
MAP = (1.0, 10.0, 100.0)

Make = Callable[[int], Any]


def draw(y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(n_classes, TEST) rows to train on (each size takes the first columns), and the rows to test on."""
    rng = np.random.default_rng(seed)
    dealt = np.array([rng.permutation(np.flatnonzero(y == label)) for label in np.unique(y)])
    return dealt[:, TEST:], dealt[:, :TEST].ravel()


def one_vs_all(C: float) -> Make:
    """A single layer; like the others, made for a given number of training pictures."""
    return lambda _: SDCAClassifier(C, kernel="precomputed", calibration_folds=0, random_state=0)


def two_layers(C: float, C_second: float) -> Make:
    """Two layers."""
    return lambda _: StackedSDCA(C, C_second=C_second, kernel="precomputed", calibration_folds=0, random_state=0)


def multitask(C: float, C_predictors: float, C_map: float, n_tasks: int) -> Make:
    """Classes that share a representation."""
    return lambda n: MultitaskSDCA(
        C,
        lam=1 / (C_predictors * n),
        mu=1 / (C_map * n * n_tasks),
        kernel="precomputed",
        calibration_folds=0,
        random_state=0,
    )


def best(makes: list[Make], G: np.ndarray, y: np.ndarray) -> Make:
    """The machine most accurate on held-out halves; of equal ones, the middle one."""
    parts = folds(y, 2, np.random.default_rng(0))
    correct = np.zeros(len(makes))
    for train, held_out in (parts, parts[::-1]):
        for place, make in enumerate(makes):
            model = make(len(train)).fit(G[np.ix_(train, train)], y[train])
            correct[place] += np.count_nonzero(model.predict(G[np.ix_(held_out, train)]) == y[held_out])
    equal = np.flatnonzero(correct == correct.max())
    return makes[equal[len(equal) // 2]]


def guesses(model: Any, G: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The accuracy of the first 1, 2, ... guesses."""
    hits = model.predict_top(G, len(model.classes_)) == y[:, None]
    return np.cumsum(hits, axis=1).mean(axis=0)


def measure(G: np.ndarray, y: np.ndarray, size: int, n_splits: int) -> Iterator[dict[str, np.ndarray]]:
    """For every split, the accuracies of each method."""
    n_tasks = len(np.unique(y))
    for split in range(n_splits):
        dealt, test = draw(y, split)
        train = dealt[:, :size].ravel()
        inner, labels = G[np.ix_(train, train)], y[train]
        alone = best([one_vs_all(C) for C in ALONE], inner, labels)
        if split == 0:
            C = alone(len(train)).C
            stacked = best([two_layers(C, second) for second in SECOND], inner, labels)
            shared = best([multitask(C, w, u, n_tasks) for w, u in itertools.product(PREDICTORS, MAP)], inner, labels)
        chosen = zip(METHODS, (alone, stacked, shared), strict=True)
        yield {
            name: guesses(make(len(train)).fit(inner, labels), G[np.ix_(test, train)], y[test]) for name, make in chosen
        }


def draw_similarity(X: np.ndarray, y: np.ndarray, names: tuple[str, ...], file: Path) -> None:
    """Which classes are confused, by scores of held-out thirds of all pictures."""
    model = MultitaskSDCA(10.0, kernel="hellinger", random_state=0).fit(X, y)
    similarity = model.task_similarity_
    for task, name in enumerate(names):
        nearest = [other for other in np.argsort(-similarity[task], kind="stable").tolist() if other != task][:2]
        print(f"{name}: " + ", ".join(f"{names[other]} {similarity[task, other]:.2f}" for other in nearest))
    save_similarity(similarity, names, file)


def save_similarity(similarity: np.ndarray, names: tuple[str, ...], file: Path) -> None:
    """Draw the similarity of tasks, similar ones side by side (average linkage)."""
    from matplotlib.figure import Figure
    from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
    from scipy.spatial.distance import squareform

    distances = squareform(np.maximum(1.0 - similarity, 0.0), checks=False)
    order = leaves_list(optimal_leaf_ordering(linkage(distances, "average"), distances))
    figure = Figure(figsize=(4, 4), layout="constrained")
    axes = figure.add_subplot()
    image = axes.imshow(similarity[np.ix_(order, order)], cmap="RdBu_r", vmin=-1, vmax=1, interpolation="nearest")
    shown = [names[task] for task in order]
    axes.set_xticks(range(len(names)), shown, rotation=90, fontsize=7)
    axes.set_yticks(range(len(names)), shown, fontsize=7)
    axes.set_title("Classes and tags that are confused with each other", fontsize=9)
    bar = figure.colorbar(image, ax=axes, shrink=0.7)
    bar.set_label("correlation of their scores", fontsize=8)
    bar.ax.tick_params(labelsize=7)
    figure.savefig(file, dpi=150)


def draw_curves(curves: dict[tuple[str, int, str], np.ndarray], file: Path) -> None:
    """Top-K accuracy, a panel for every kernel and size."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 7.5), layout="constrained")
    panels = figure.subplots(len(KERNELS), len(SIZES), sharex=True, sharey=True)
    for (row, kernel), (column, size) in itertools.product(enumerate(KERNELS), enumerate(SIZES)):
        axes = panels[row, column]
        for method, style in zip(METHODS, ("o-", "s--", "^-"), strict=True):
            curve = 100 * curves[kernel, size, method].mean(axis=0)
            axes.plot(range(1, len(curve) + 1), curve, style, markersize=4, linewidth=1, label=method)
        axes.set_title(f"{kernel}, {size} a class", fontsize=9)
        axes.grid(alpha=0.3)
    figure.supxlabel("guesses")
    figure.supylabel("accuracy, %")
    panels[0, 0].legend(fontsize=8)
    figure.savefig(file, dpi=90)


def main() -> None:
    """Print the table, and write it and the curves to the folder of results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path("results/features"))
    parser.add_argument("--recipe", default="fisher")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    pictures = load_pictures("scenes8", options.data, options.recipe, cache=options.cache)
    (X,) = pictures.X.values()
    curves: dict[tuple[str, int, str], np.ndarray] = {}
    lines = ["| kernel | a class | " + " | ".join(METHODS) + " |", "|---|---|---|---|---|"]
    print(*lines, sep="\n")
    for kernel in KERNELS:
        G = gram(X, kernel=kernel, dtype=np.float32)
        G /= np.diag(G).mean()
        for size in SIZES:
            found = list(measure(G, pictures.y, size, options.splits))
            for method in METHODS:
                curves[kernel, size, method] = np.array([accuracies[method] for accuracies in found])
            firsts = [100 * curves[kernel, size, method][:, 0] for method in METHODS]
            cells = [f"{first.mean():.1f} ± {first.std(ddof=1) / np.sqrt(len(first)):.1f}" for first in firsts]
            lines.append(f"| {kernel} | {size} | " + " | ".join(cells) + " |")
            print(lines[-1], flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "mtl-sdca-scenes8.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    draw_curves(curves, options.out / "mtl-sdca-scenes8.png")
    draw_similarity(X, pictures.y, pictures.class_names, options.out / "mtl-sdca-scenes8-similarity.png")


if __name__ == "__main__":
    main()
