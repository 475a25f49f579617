"""Neighbour methods on Corel5K with all features together, beside the figures published for them.

    python experiments/tagprop/corel5k_neighbours.py --data FOLDER [--cache results/features]
        [--distances results/distances/corel5k] [--out results] [--deep] [--methods NAME ...] [--validation]

Official split, the 260 words used in both parts, five tags a picture. The features are those of the recipe
``tagging``, 16 base distances (Fisher vectors of the whole picture and of its three stripes count apart), computed
once and kept. ``--validation`` measures on 500 training pictures held out from training instead of the test pictures:
what the settings below were chosen on. The papers use larger pictures and 15 features. ``--deep`` measures kernel CCD
a second time with a pretrained network's features (the recipe ``deep``) as one more base distance. Writes
corel5k_neighbours.md.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from visterm.distances.base import BaseDistances
from visterm.evaluate.measures import MeanPrecision, MeanRecall, NPlus, WordF
from visterm.evaluate.picture_data import load_pictures
from visterm.neighbours.jec import JEC
from visterm.neighbours.kernel_contextual import KernelContextualAnnotator
from visterm.neighbours.tagprop import TagProp
from visterm.neighbours.two_pass import TwoPassKnn

#: The methods, and the figures published for them (P, R, F, N+).
METHODS: dict[str, tuple[Any, tuple[float, ...] | None]] = {
    "JEC": (JEC(), (27, 32, 29.3, 139)),
    "TagProp as published": (TagProp(tag_power=0), (33, 42, 37.0, 160)),
    "TagProp": (TagProp(), None),
    "2PKNN as published": (TwoPassKnn(learning="margin", tag_power=0, bandwidth=0.03), (44, 46, 45.0, 191)),
    "2PKNN": (TwoPassKnn(), None),
    "kernel CCD": (KernelContextualAnnotator(), None),
}
MEASURES = (MeanPrecision(5), MeanRecall(5), WordF(5), NPlus(5))


def base_distances(data: Any, folder: Path) -> dict[str, Any]:
    """Tables of the distances between all pictures by every feature, computed once."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = {}
    for name, columns in _parts(data.X):
        label = name if columns != "stripes" else f"{name}-stripes"
        file = folder / f"{label}.npy"
        if not file.exists():
            X = data.X[name]
            width = X.shape[1] // 4
            if columns == "whole":
                X = X[:, :width]
            elif columns == "stripes":
                X = X[:, width:]
            metric = "cosine" if name.endswith("fisher") else "l1" if name == "gist" else "chi2"
            np.save(file, BaseDistances(metric).fit(X.astype(np.float32)).transform_training()["x"])
        tables[label] = np.load(file, mmap_mode="r")
    return tables


def deep_distances(arguments: argparse.Namespace) -> Any:
    """Cosine distances between all pictures by the network's features, standardised on the training pictures."""
    file = arguments.distances / "deep.npy"
    if not file.exists():
        data = load_pictures("corel5k", arguments.data, "deep", cache=arguments.cache)
        X, train = np.asarray(data.X["deep"], np.float32), np.flatnonzero(~data.is_test)
        X = (X - X[train].mean(axis=0)) / (X[train].std(axis=0) + 1e-6)
        np.save(file, BaseDistances("cosine").fit(X).transform_training()["x"])
    return np.load(file, mmap_mode="r")


def _parts(X: dict[str, Any]) -> list[tuple[str, str]]:
    """The features, Fisher vectors in two parts."""
    parts = []
    for name in X:
        parts += [(name, "whole"), (name, "stripes")] if name.endswith("fisher") else [(name, "all")]
    return parts


def scores(method: Any, tables: dict[str, Any], tags: Any, train: Any, test: Any) -> Any:
    """The scores of the test pictures by the method learned from the training pictures."""
    from sklearn.base import clone

    model = clone(method).set_params(metric="precomputed")
    model.fit({name: table[train][:, train] for name, table in tables.items()}, tags[train])
    return model.score_tags({name: table[test][:, train] for name, table in tables.items()})


def main() -> None:
    """Fit and measure each method; write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path("results/features"))
    parser.add_argument("--distances", type=Path, default=Path("results/distances/corel5k"))
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--deep", action="store_true")
    parser.add_argument("--validation", action="store_true")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    arguments = parser.parse_args()
    data = load_pictures("corel5k", arguments.data, "tagging", cache=arguments.cache)
    train, test = np.flatnonzero(~data.is_test), np.flatnonzero(data.is_test)
    tags = data.with_words_of_both(train, test).tags
    tables = base_distances(data, arguments.distances)
    if arguments.validation:
        order = np.random.default_rng(0).permutation(len(train))
        train, test = np.sort(train[order[500:]]), np.sort(train[order[:500]])
    counts = np.asarray(tags[train].sum(axis=0)).ravel()
    methods = {name: METHODS[name] for name in arguments.methods}
    if arguments.deep:
        methods["kernel CCD, deep features too"] = METHODS["kernel CCD"]
    lines = ["method | published P / R / F / N+ | ours P / R / F / N+ | processor s", "--- | --- | --- | ---"]
    for name, (method, published) in methods.items():
        if "deep" in name:
            tables["deep"] = deep_distances(arguments)
        began = time.process_time()
        found = scores(method, tables, tags, train, test)
        took = time.process_time() - began
        figures = [measure(tags[test], found, frequencies=counts) for measure in MEASURES]
        ours = " / ".join(f"{100 * value:.1f}" for value in figures[:3]) + f" / {figures[3]:.0f}"
        theirs = "" if published is None else " / ".join(f"{value:g}" for value in published)
        lines.append(f"{name} | {theirs} | {ours} | {took:.0f}")
        print(lines[-1], flush=True)
    arguments.out.mkdir(parents=True, exist_ok=True)
    table = "".join(f"| {line} |\n" for line in lines)
    (arguments.out / "corel5k_neighbours.md").write_text(table, encoding="utf-8")


if __name__ == "__main__":
    main()
