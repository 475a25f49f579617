"""Margin methods on Corel5K with many features: tags one-vs-all and multitask, and the 50 CDs as classes.

The product kernel compares the features; TagProp's likelihood (Guillaumin et al., ICCV 2009) learns their weights from
the tags or classes of the training pictures. Official split; the 260 words used in both parts, five tags per picture.
Every setting is chosen on 500 of the 4,500 training pictures. Then each method learns again from all of them and is
measured once on the test pictures. With ``--deep`` the network's features are one more factor of the kernel.

Run: python experiments/ridge-tags/guillaumin-2009_margin_corel5k.py --data FOLDER [--deep]

Distances between all pictures are computed once, one feature at a time, and kept in ``--tables`` (100 MB per feature).
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from visterm.calibration import deviations
from visterm.distances import select
from visterm.margin import (
    GramInnerProducts,
    KernelRidgeAnnotator,
    MultitaskSDCA,
    ProductKernel,
    Ridge,
    SDCAClassifier,
    TopKSDCA,
)
from visterm.measures import MeanPrecision, MeanRecall, NPlus, WordF
from visterm.research import load_distances

TAG_MEASURES = (MeanPrecision(5), MeanRecall(5), WordF(5), NPlus(5))
Settings = dict[str, Any]


def tag_methods(n_tags: int) -> dict[str, tuple[Callable[..., Any], list[Settings]]]:
    """Each annotator and the settings to choose from."""

    def multitask(n: int, *, C_map: float, tag_power: float) -> Any:
        return MultitaskSDCA(
            16.0,
            lam=1 / n,
            mu=1 / (C_map * n * n_tags),
            loss="squared",
            kernel="precomputed",
            max_iter=5,
            tag_power=tag_power,
            random_state=0,
        )

    def one_vs_all(_: int, **settings: Any) -> Any:
        return KernelRidgeAnnotator(kernel="precomputed", **settings)

    scales = (0.5, 1.0, 2.0)
    return {
        "one-vs-all ridge": (one_vs_all, _grid(scale=scales, alpha=(0.03,), tag_power=(0.8, 1.0))),
        "  deviations alone": (lambda _, alpha: InDeviations(alpha), _grid(scale=scales, alpha=(0.03,))),
        "  scores as they are": (one_vs_all, _grid(scale=scales, alpha=(0.03,), tag_power=(0.0,))),
        "multitask, squared loss": (multitask, _grid(scale=(1.0, 2.0), C_map=(16.0,), tag_power=(1.0,))),
    }


class InDeviations:
    """One-vs-all ridge; the scores of each tag are divided by the deviation of its left-out scores, nothing else."""

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha

    def fit(self, K: np.ndarray, tags: Any) -> Any:
        """Learn from all pictures, and leave each out."""
        self.theta, left_out = Ridge(self.alpha).fit(GramInnerProducts(K, 1.0)).solve(tags.toarray())
        self.means, self.scales = deviations(left_out, 1.0)
        return self

    def score_tags(self, K: np.ndarray) -> np.ndarray:
        """(n_pictures, n_tags)."""
        return (K @ self.theta + self.theta.sum(axis=0) - self.means) / self.scales


def class_methods() -> dict[str, tuple[Callable[..., Any], list[Settings]]]:
    """Each classifier and the settings to choose from."""
    common = {"kernel": "precomputed", "calibration_folds": 0, "random_state": 0}

    def multitask(n: int, *, C_map: float) -> Any:
        return MultitaskSDCA(10.0, lam=1 / n, mu=1 / (C_map * n * 50), max_iter=3, tol=0.01, **common)

    return {
        "one-vs-all": (lambda _, C: SDCAClassifier(C, **common), _grid(scale=(0.5, 1.0), C=(10.0, 30.0))),
        "top-k machine": (lambda _, k: TopKSDCA(k, C=10.0, **common), _grid(scale=(0.5, 1.0), k=(1, 3))),
        "multitask": (multitask, _grid(scale=(0.5,), C_map=(1.0, 10.0))),
    }


def _grid(**values: tuple[Any, ...]) -> list[Settings]:
    return [dict(zip(values, setting, strict=True)) for setting in itertools.product(*values.values())]


class Split:
    """A part to learn from and a part to measure on: kernels of any scale, with weights learned once."""

    def __init__(self, tables: Mapping[str, np.ndarray], labels: Any, train: np.ndarray, test: np.ndarray) -> None:
        learned = ProductKernel(1.0, metric="precomputed", weights="likelihood")
        inner = learned.fit_transform(select(tables, train, train), labels[train])
        self.weights = learned.feature_weights_
        # K = exp(-d), so the kernel of another scale is a power of this one.
        self.inner, self.outer = inner, learned.transform(select(tables, test, train))
        self.labels, self.rest = labels[train], labels[test]

    def kernels(self, scale: float) -> tuple[np.ndarray, np.ndarray]:
        """The kernel between the training pictures, and that of the others with them."""
        return self.inner ** np.float32(scale), self.outer ** np.float32(scale)


Figures = Callable[[Any, Split, np.ndarray], list[float]]


def measured(make: Callable[..., Any], setting: Settings, split: Split, figures: Figures) -> list[float]:
    """The figures of a method in one setting."""
    inner, outer = split.kernels(setting["scale"])
    rest = {name: value for name, value in setting.items() if name != "scale"}
    return figures(make(len(inner), **rest).fit(inner, split.labels), split, outer)


def compare(
    methods: Mapping[str, tuple[Callable[..., Any], list[Settings]]],
    chosen_on: Split,
    measured_on: Split,
    figures: Figures,
    main: int,
) -> list[str]:
    """Choose each method's scale and settings by the figure at position ``main``, then measure; lines of a table."""
    lines = []
    for name, (make, settings) in methods.items():
        began = time.process_time()
        found = [measured(make, setting, chosen_on, figures) for setting in settings]
        best = int(np.argmax([figure[main] for figure in found]))
        validation, setting = found[best], settings[best]
        test = measured(make, setting, measured_on, figures)
        seconds = time.process_time() - began
        shown = ", ".join(f"{key} {value:g}" for key, value in setting.items())
        cells = [" / ".join(f"{value:.1f}" for value in row) for row in (validation, test)]
        lines.append(f"| {name} | {shown} | {cells[0]} | {cells[1]} | {seconds:.0f} |")
        print(lines[-1], flush=True)
    return lines


def tag_figures(model: Any, split: Split, K: np.ndarray) -> list[float]:
    """Precision, recall, F in % and N+."""
    counts = np.asarray(split.labels.sum(axis=0)).ravel()
    values = [measure(split.rest, model.score_tags(K), frequencies=counts) for measure in TAG_MEASURES]
    return [*(100 * value for value in values[:3]), values[3]]


def class_figures(model: Any, split: Split, K: np.ndarray) -> list[float]:
    """Accuracy of the first guess and of the first five, in %."""
    hits = model.predict_top(K, 5) == split.rest[:, None]
    return [100 * hits[:, 0].mean(), 100 * hits.any(axis=1).mean()]


Rows = tuple[np.ndarray, np.ndarray]


def annotate(tables: Mapping[str, np.ndarray], tags: Any, choosing: Rows, measuring: Rows) -> list[str]:
    """The table of tags, and the weights of the features."""
    lines = ["| tags | chosen | validation P / R / F / N+ | test P / R / F / N+ | s |", "|---|---|---|---|---|"]
    print(*lines, sep="\n")
    on_validation, on_test = Split(tables, tags, *choosing), Split(tables, tags, *measuring)
    lines += compare(tag_methods(tags.shape[1]), on_validation, on_test, tag_figures, 2)
    weights = ", ".join(f"{name} {weight:.2f}" for name, weight in on_test.weights.items() if weight > 0.005)
    lines += ["", f"Weights learned from all training pictures: {weights}.", ""]
    print(lines[-2])
    return lines


def classify(tables: Mapping[str, np.ndarray], classes: np.ndarray, choosing: Rows, measuring: Rows) -> list[str]:
    """The table of classes."""
    lines = ["| classes | chosen | validation top 1 / top 5 | test top 1 / top 5 | s |", "|---|---|---|---|---|"]
    print(*lines, sep="\n")
    splits = Split(tables, classes, *choosing), Split(tables, classes, *measuring)
    for split in splits:
        split.labels, split.rest = split.labels.argmax(axis=1), split.rest.argmax(axis=1)
    return lines + compare(class_methods(), *splits, class_figures, 0)


def main() -> None:
    """Print the tables and write them to the folder of results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path("results/features"))
    parser.add_argument("--tables", type=Path, default=Path("results/distances/corel5k"))
    parser.add_argument("--deep", action="store_true", help="with the features of the network")
    parser.add_argument("--only", choices=["tags", "classes"])
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    pictures, tables = load_distances(
        "corel5k", options.data, cache=options.cache, tables=options.tables, deep=options.deep
    )
    train, test = np.flatnonzero(~pictures.is_test), np.flatnonzero(pictures.is_test)
    order = np.random.default_rng(0).permutation(len(train))
    part, validation = np.sort(train[order[500:]]), np.sort(train[order[:500]])
    used = np.asarray(pictures.tags[train].sum(axis=0) * pictures.tags[test].sum(axis=0)).ravel() > 0
    tags = pictures.tags[:, np.flatnonzero(used)]
    classes = np.eye(len(pictures.class_names))[pictures.y]

    lines: list[str] = []
    if options.only != "classes":
        lines += annotate(tables, tags, (part, validation), (train, test))
    if options.only != "tags":
        lines += classify(tables, classes, (part, validation), (train, test))
    options.out.mkdir(parents=True, exist_ok=True)
    name = "margin-corel5k-deep.md" if options.deep else "margin-corel5k.md"
    (options.out / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
