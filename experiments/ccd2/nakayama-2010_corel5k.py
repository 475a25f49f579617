"""Figure 3 of Nakayama et al. 2010 on Corel5K: every subspace of every feature, with and without a kernel map.

    visterm init DIR; visterm add COREL5K/images --labels COREL5K/labels -w DIR
    visterm features bow-1000 hue-100 globals -w DIR
    python experiments/ccd2/nakayama-2010_corel5k.py DIR [--out results]

Official split, the 260 words used in both parts, five tags a picture. The number of neighbours is chosen on 500
training pictures, never on test pictures (the paper takes the best on test pictures). Writes a table and a plot.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from visterm.app.describing import ready_recipe
from visterm.app.training import labelled
from visterm.app.workspace import Workspace
from visterm.evaluate.measures import MeanPrecision, MeanRecall, NPlus, WordF
from visterm.neighbours.coded import SUBSPACES
from visterm.neighbours.distances import nearest
from visterm.subspace.kernel_map import KernelMap

#: The features of the paper with the base distance of the kernel map.
FEATURES = {"bow-1000": "chi2", "hue-100": "chi2", "gist": "l1", "hsv": "chi2"}
DIMS = (10, 20, 50, 100)
NEIGHBOURS = (1, 2, 4, 8, 16, 32)
RIDGE = 0.1  # chosen on the validation pictures


def pictures(folder: Path) -> tuple[dict[str, Any], Any, Any]:
    """The features by name, the tags and which pictures are test pictures."""
    features: dict[str, Any] = {}
    with Workspace(folder) as workspace:
        for name in ("bow-1000", "hue-100", "globals"):
            data = labelled(workspace, ready_recipe(workspace, name))
            features |= data.X if isinstance(data.X, dict) else {name: data.X}
    return {name: _as_float(features[name]) for name in FEATURES}, data.tags, data.is_test


def _as_float(X: Any) -> Any:
    """Bags as shares, so that large and small pictures are comparable."""
    if not sparse.issparse(X):
        return X.astype(np.float32)
    dense = X.toarray().astype(np.float32)
    return dense / np.maximum(dense.sum(axis=1, keepdims=True), 1)


def f_of_neighbours(near: Any, tags: Any, truth: Any) -> dict[int, tuple[float, ...]]:
    """Precision, recall, F and N+ for every number of neighbours."""
    counts = np.asarray(tags.sum(axis=0)).ravel()
    found = {}
    for k in NEIGHBOURS:
        ends = np.arange(0, k * len(near) + 1, k)
        votes = sparse.csr_array((np.ones(k * len(near)), near[:, :k].ravel(), ends), shape=(len(near), tags.shape[0]))
        scores = (votes @ tags).toarray()
        measures = (MeanPrecision(5), MeanRecall(5), WordF(5), NPlus(5))
        found[k] = tuple(measure(truth, scores, frequencies=counts) for measure in measures)
    return found


def codes(name: str, X: Any, tags: Any, queries: Any) -> tuple[Any, Any]:
    """Training codes and query codes of the most dimensions; fewer are their first ones."""
    model = SUBSPACES[name](max(DIMS), RIDGE)
    return model.fit_transform(X, tags), model.transform(queries)


def main() -> None:
    """Run all of them; write results/nakayama-2010_corel5k.{md,json,png}."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workspace", type=Path)
    parser.add_argument("--out", type=Path, default=Path("results"))
    arguments = parser.parse_args()
    features, tags, is_test = pictures(arguments.workspace)
    train, test = np.flatnonzero(~is_test), np.flatnonzero(is_test)
    used = np.asarray(tags[train].sum(axis=0) * tags[test].sum(axis=0)).ravel() > 0
    tags = tags[:, np.flatnonzero(used)]
    held_out = np.random.default_rng(0).permutation(len(train))
    kept, validation = np.sort(train[held_out[500:]]), np.sort(train[held_out[:500]])
    rows: list[dict[str, Any]] = []
    for feature, metric in FEATURES.items():
        for kernel in (None, metric):
            found: dict[str, dict[tuple[str, int], Any]] = {"validation": {}, "test": {}}
            for part, (a, b) in {"validation": (kept, validation), "test": (train, test)}.items():
                X, Q = features[feature][a], features[feature][b]
                if kernel is not None:
                    mapped = KernelMap(metric=kernel).fit(X)
                    X, Q = mapped.transform(X), mapped.transform(Q)
                for name in SUBSPACES:
                    C, D = codes(name, X, tags[a], Q)
                    for n_dims in DIMS:
                        near, _ = nearest(D[:, :n_dims], C[:, :n_dims], max(NEIGHBOURS))
                        found[part][name, n_dims] = f_of_neighbours(near, tags[a], tags[b])
            for (name, n_dims), by_k in found["validation"].items():
                k = max(by_k, key=lambda k: by_k[k][2])
                precision, recall, f, n_plus = found["test"][name, n_dims][k]
                rows.append(
                    {"feature": feature, "kernel": kernel or "none", "subspace": name, "n_dims": n_dims,
                     "neighbours": k, "P": precision, "R": recall, "F": f, "N+": n_plus}
                )  # fmt: skip
            best = max((row for row in rows[-len(SUBSPACES) * len(DIMS) :]), key=lambda row: row["F"])
            print(
                f"{feature:9} kernel {kernel or 'none':5} best {best['subspace']}-{best['n_dims']}: F {best['F']:.3f}"
            )
    write(rows, arguments.out)


def write(rows: list[dict[str, Any]], folder: Path) -> None:
    """The table as Markdown and JSON, and the plot."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    stem = folder / "nakayama-2010_corel5k"
    stem.with_suffix(".json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    head = list(rows[0])
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    lines += [" | ".join(f"{v:.3f}" if isinstance(v, float) else str(v) for v in row.values()) for row in rows]
    stem.with_suffix(".md").write_text("".join(f"| {line} |\n" for line in lines), encoding="utf-8")
    figure, axes = plt.subplots(2, len(FEATURES), figsize=(4 * len(FEATURES), 7), sharey=True)
    for column, (feature, metric) in enumerate(FEATURES.items()):
        for line, kernel in enumerate(("none", metric)):
            ax = axes[line, column]
            for name in SUBSPACES:
                points = [
                    row for row in rows if (row["feature"], row["kernel"], row["subspace"]) == (feature, kernel, name)
                ]
                ax.plot([row["n_dims"] for row in points], [row["F"] for row in points], marker=".", label=name)
            ax.set_title(f"{feature}, {'linear' if kernel == 'none' else kernel + ' kernel map'}")
            ax.set_xlabel("dimensions")
            ax.set_ylabel("F")
    axes[0, 0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(stem.with_suffix(".png"), dpi=100)


if __name__ == "__main__":
    main()
