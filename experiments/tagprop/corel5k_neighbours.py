"""JEC, TagProp and 2PKNN on Corel5K with all features together, beside the figures published for them.

    visterm init DIR; visterm add COREL5K/images --labels COREL5K/labels -w DIR
    visterm features bow-1000 hue-100 globals fisher-32k -w DIR
    python experiments/tagprop/corel5k_neighbours.py DIR [--validation] [--features NAME ...] [--out results]

Official split, the 260 words used in both parts, five tags a picture. ``--validation`` measures on 500 training
pictures instead: what parameters are chosen on. The papers use larger pictures and 15 features.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from visterm import registry
from visterm.app.describing import ready_recipe
from visterm.app.training import labelled
from visterm.app.workspace import Workspace
from visterm.evaluate.measures import MeanPrecision, MeanRecall, NPlus, WordF

#: Precision, recall, F and N+ of Makadia 2008, Guillaumin 2009 and Verma 2012.
PUBLISHED = {
    "jec": (0.27, 0.32, 0.293, 139),
    "tagprop": (0.33, 0.42, 0.370, 160),
    "two-pass-knn": (0.44, 0.46, 0.450, 191),
}
METRICS = {"gist": "l1", "correlogram": "l1", "moments": "l1", "edges": "l1", "haar": "l1"} | {
    f"fisher-{cell}": "cosine" for cell in range(4)
}
MEASURES = (MeanPrecision(5), MeanRecall(5), WordF(5), NPlus(5))


def pictures(folder: Path) -> tuple[dict[str, Any], Any, Any]:
    """The features by name, the tags and which pictures are test pictures."""
    features: dict[str, Any] = {}
    with Workspace(folder) as workspace:
        for name in ("bow-1000", "hue-100", "globals", "fisher-32k"):
            data = labelled(workspace, ready_recipe(workspace, name))
            features |= data.X if isinstance(data.X, dict) else {name: data.X}
    # Whole picture and three stripes: places count by what they say.
    cells = np.split(features.pop("fisher-32k"), 4, axis=1)
    return features | {f"fisher-{place}": cell for place, cell in enumerate(cells)}, data.tags, data.is_test


def main() -> None:
    """Fit and measure each method; write results/corel5k_neighbours.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workspace", type=Path)
    parser.add_argument("--validation", action="store_true")
    parser.add_argument("--features", nargs="+")
    parser.add_argument("--out", type=Path, default=Path("results"))
    arguments = parser.parse_args()
    features, tags, is_test = pictures(arguments.workspace)
    features = {name: features[name] for name in arguments.features or features}
    train, test = np.flatnonzero(~is_test), np.flatnonzero(is_test)
    used = np.asarray(tags[train].sum(axis=0) * tags[test].sum(axis=0)).ravel() > 0
    tags = tags[:, np.flatnonzero(used)]
    if arguments.validation:
        order = np.random.default_rng(0).permutation(len(train))
        train, test = np.sort(train[order[500:]]), np.sort(train[order[:500]])
    counts = np.asarray(tags[train].sum(axis=0)).ravel()
    lines = ["method | published P/R/F/N+ | ours P/R/F/N+ | processor s", "--- | --- | --- | ---"]
    for name, published in PUBLISHED.items():
        began = time.process_time()
        metric = {feature: METRICS.get(feature, "chi2") for feature in features}
        model = registry.get(name).create(metric=metric)
        model.fit({feature: X[train] for feature, X in features.items()}, tags[train])
        scores = model.score_tags({feature: X[test] for feature, X in features.items()})
        ours = [measure(tags[test], scores, frequencies=counts) for measure in MEASURES]
        figures = [" / ".join(f"{100 * v:.1f}" for v in row[:3]) + f" / {row[3]:.0f}" for row in (published, ours)]
        lines.append(f"{name} | {figures[0]} | {figures[1]} | {time.process_time() - began:.0f}")
        print(lines[-1], flush=True)
    arguments.out.mkdir(parents=True, exist_ok=True)
    table = "".join(f"| {line} |\n" for line in lines)
    (arguments.out / "corel5k_neighbours.md").write_text(table, encoding="utf-8")


if __name__ == "__main__":
    main()
