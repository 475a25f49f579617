"""Neighbour methods on Corel5K with all features together, beside the figures published for them.

    python experiments/tagprop/corel5k_neighbours.py --data FOLDER [--cache results/features]
        [--tables results/distances/corel5k] [--out results] [--deep] [--methods NAME ...] [--validation]

Official split, the 260 words used in both parts, five tags per picture. The features are those of the recipe
``tagging``: 16 base distances (Fisher vectors of the whole picture and of its three stripes count separately), computed
once and kept. ``--validation`` measures on 500 held-out training pictures instead of the test pictures; the settings
below were chosen this way. The papers use larger pictures and 15 features. ``--deep`` measures kernel CCD
a second time with a pretrained network's features (the recipe ``deep``) as one more base distance. Writes
corel5k_neighbours.md.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from visterm.measures import MeanPrecision, MeanRecall, NPlus, WordF
from visterm.neighbours import JEC, KernelContextualAnnotator, LikelihoodTwoPassKnn, TagProp, TwoPassKnn
from visterm.research.picture_distances import DEEP, load_distances

#: The methods, and the figures published for them (P, R, F, N+).
METHODS: dict[str, tuple[Any, tuple[float, ...] | None]] = {
    "JEC": (JEC(), (27, 32, 29.3, 139)),
    "TagProp": (TagProp(), (33, 42, 37.0, 160)),
    "TagProp, shrunk": (TagProp(shrinkage=1.0), None),
    "TagProp for rare tags": (TagProp(tag_power=1.0), None),
    # Whole distances are given, so the dimensions within a feature cannot be weighed (weights="dimensions").
    "2PKNN": (TwoPassKnn(weights="features", bandwidth=0.03), (44, 46, 45.0, 191)),
    "2PKNN by likelihood": (LikelihoodTwoPassKnn(), None),
    "kernel CCD": (KernelContextualAnnotator(), None),
}
MEASURES = (MeanPrecision(5), MeanRecall(5), WordF(5), NPlus(5))


def scores(method: Any, tables: dict[str, Any], tags: Any, train: Any, test: Any) -> Any:
    """The scores of the test pictures by the method, trained on the training pictures."""
    from sklearn.base import clone

    model = clone(method).set_params(metric="precomputed")
    model.fit({name: table[train][:, train] for name, table in tables.items()}, tags[train])
    return model.score_tags({name: table[test][:, train] for name, table in tables.items()})


def main() -> None:
    """Fit and measure each method; write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path("results/features"))
    parser.add_argument("--tables", type=Path, default=Path("results/distances/corel5k"))
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--deep", action="store_true")
    parser.add_argument("--validation", action="store_true")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    arguments = parser.parse_args()
    data, tables = load_distances(
        "corel5k", arguments.data, cache=arguments.cache, tables=arguments.tables, deep=arguments.deep
    )
    deep = {name: tables.pop(name) for name in [DEEP] if name in tables}
    train, test = np.flatnonzero(~data.is_test), np.flatnonzero(data.is_test)
    tags = data.with_words_of_both(train, test).tags
    if arguments.validation:
        order = np.random.default_rng(0).permutation(len(train))
        train, test = np.sort(train[order[500:]]), np.sort(train[order[:500]])
    counts = np.asarray(tags[train].sum(axis=0)).ravel()
    methods = {name: METHODS[name] for name in arguments.methods}
    if arguments.deep:
        methods["kernel CCD, deep features too"] = METHODS["kernel CCD"]
    lines = ["method | published P / R / F / N+ | ours P / R / F / N+ | processor s", "--- | --- | --- | ---"]
    for name, (method, published) in methods.items():
        began = time.process_time()
        found = scores(method, tables | deep if "deep" in name else tables, tags, train, test)
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
