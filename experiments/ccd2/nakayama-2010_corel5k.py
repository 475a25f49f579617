"""Figure 3 of Nakayama et al. 2010 on Corel5K: every subspace of every feature, with and without a kernel map.

    python experiments/ccd2/nakayama-2010_corel5k.py --data FOLDER [--cache results/features] [--out results]

Official split, the 260 words used in both parts, five tags per picture. All settings are chosen on 500 held-out
training pictures, never on test pictures (the paper takes the best on test pictures): the ridge of CCA and CCD, beta
of CCD, and for each number of dimensions how many neighbours vote. As in the paper, CCA and CCD use the 200 leading
principal components of every feature but hue, the other subspaces the features themselves, and all of them the 200
leading components of the kernel map of 300 pictures where there is one. The paper gives no beta.
Writes nakayama-2010_corel5k.{md,json,png}.
Its plot needs ``pip install 'visterm[plots]'``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from visterm.distances import nearest
from visterm.measures import MeanPrecision, MeanRecall, NPlus, WordF
from visterm.neighbours import f_by_neighbours
from visterm.research import load_pictures
from visterm.subspace import CCA, PCA, PLS, ContextualDistance, KernelMap, Moments

#: The features of the paper: the recipe that contains each, and the base distance of its kernel map.
FEATURES = {"bow-1000": ("bow-1000", "chi2"), "hue-100": ("hue-100", "chi2"), "gist": ("globals", "l1"),
            "hsv": ("globals", "chi2")}  # fmt: skip
SUBSPACES = ("pca", "pcaw", "pls", "npls", "cca", "ccd1", "ccd2")
DIMS = (10, 20, 30, 50, 100)
NEIGHBOURS = (1, 2, 4, 8, 16, 32)
RIDGES = (0.01, 0.1, 1.0)
BETAS = (0.05, 0.15, 0.25, 0.5, 0.75, 0.95)
REDUCED = 200


def settings(subspace: str) -> Iterator[dict[str, float]]:
    """The settings of a subspace from which validation chooses."""
    for ridge in RIDGES if subspace in {"cca", "ccd1", "ccd2"} else (0.0,):
        for beta in BETAS if subspace in {"ccd1", "ccd2"} else (0.0,):
            yield {"ridge": ridge, "beta": beta}


def create(subspace: str, ridge: float, beta: float) -> Any:
    """The subspace with the most dimensions; smaller ones are its first dimensions."""
    n_dims = max(DIMS)
    match subspace:
        case "pca" | "pcaw":
            return PCA(n_dims, whiten=subspace == "pcaw")
        case "pls" | "npls":
            return PLS(n_dims, normalize=subspace == "npls")
        case "cca":
            return CCA(n_dims, ridge=ridge, reduce_to=REDUCED)
    return ContextualDistance(n_dims, views=int(subspace[-1]), beta=beta, ridge=ridge, reduce_to=REDUCED)


def described(X: Any, Q: Any, kernel: str | None) -> tuple[Any, Any]:
    """Training pictures and queries as a subspace takes them."""
    if kernel is None:
        return X, Q
    mapping = KernelMap(REDUCED, metric=kernel).fit(X)
    return mapping.transform(X), mapping.transform(Q)


def neighbours(model: Any, X: Any, tags: Any, Q: Any) -> dict[int, Any]:
    """The nearest training pictures of every query, by the number of dimensions."""
    codes = model.transform_training(X, tags) if isinstance(model, ContextualDistance) else model.transform(X)
    queries = model.transform(Q)
    return {d: nearest(queries[:, :d], codes[:, :d], max(NEIGHBOURS))[0] for d in DIMS}


def measured(near: Any, k: int, tags: Any, truth: Any) -> dict[str, float]:
    """Precision, recall, F and N+ of the votes of ``k`` neighbours."""
    ends = np.arange(0, k * len(near) + 1, k)
    votes = sparse.csr_array((np.ones(k * len(near)), near[:, :k].ravel(), ends), shape=(len(near), tags.shape[0]))
    scores, counts = (votes @ tags).toarray(), np.asarray(tags.sum(axis=0)).ravel()
    measures = {"P": MeanPrecision(5), "R": MeanRecall(5), "F": WordF(5), "N+": NPlus(5)}
    return {name: measure(truth, scores, frequencies=counts) for name, measure in measures.items()}


def of_feature(X: Any, tags: Any, parts: dict[str, Any], kernel: str | None) -> list[dict[str, Any]]:
    """A row for every subspace and number of dimensions: chosen on validation pictures, measured on test pictures."""
    kept, validation, train, test = (parts[name] for name in ("kept", "validation", "train", "test"))
    A, V = described(X[kept], X[validation], kernel)
    B, T = described(X[train], X[test], kernel)
    learned, final = Moments().fit(A, tags[kept]), Moments().fit(B, tags[train])
    rows = []
    for subspace in SUBSPACES:
        found: dict[int, tuple[float, int, dict[str, float]]] = {}
        for setting in settings(subspace):
            model = create(subspace, **setting).fit_moments(learned)
            for d, near in neighbours(model, A, tags[kept], V).items():
                values = f_by_neighbours(near, tags[kept], tags[validation], NEIGHBOURS)
                best = int(np.argmax(values))
                if d not in found or values[best] > found[d][0]:
                    found[d] = values[best], NEIGHBOURS[best], setting
        fitted: dict[tuple[float, ...], Any] = {}
        for d, (validated, k, setting) in found.items():
            key = tuple(setting.values())
            if key not in fitted:
                fitted[key] = neighbours(create(subspace, **setting).fit_moments(final), B, tags[train], T)
            figures = measured(fitted[key][d], k, tags[train], tags[test])
            rows.append(
                {"subspace": subspace, "n_dims": d, **setting, "neighbours": k, "validation F": validated} | figures
            )
    return rows


def main() -> None:
    """Run all of them and write the table and the plot."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path("results/features"))
    parser.add_argument("--out", type=Path, default=Path("results"))
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for feature, (recipe, metric) in FEATURES.items():
        data = load_pictures("corel5k", arguments.data, recipe, cache=arguments.cache)
        train, test = np.flatnonzero(~data.is_test), np.flatnonzero(data.is_test)
        data = data.with_words_of_both(train, test)
        order = np.random.default_rng(0).permutation(len(train))
        parts = {"kept": np.sort(train[order[500:]]), "validation": np.sort(train[order[:500]]),
                 "train": train, "test": test}  # fmt: skip
        X = _shares(data.X[feature])
        for kernel in (None, metric):
            found = of_feature(X, data.tags, parts, kernel)
            rows += [{"feature": feature, "kernel": kernel or "none"} | row for row in found]
            best = max(found, key=lambda row: row["validation F"])
            print(f"{feature:9} kernel {kernel or 'none':5} best {best['subspace']}-{best['n_dims']}: "
                  f"F {best['F']:.3f}", flush=True)  # fmt: skip
    write(rows, arguments.out)


def _shares(X: Any) -> Any:
    """Bags as shares, which makes large and small pictures comparable."""
    if not sparse.issparse(X):
        return np.asarray(X, np.float32)
    dense = X.toarray().astype(np.float32)
    return dense / np.maximum(dense.sum(axis=1, keepdims=True), 1e-12)


def write(rows: list[dict[str, Any]], folder: Path) -> None:
    """The table as Markdown and JSON, and the plot."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = folder / "nakayama-2010_corel5k"
    stem.with_suffix(".json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    head = list(rows[0])
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    lines += [" | ".join(f"{v:.3f}" if isinstance(v, float) else str(v) for v in row.values()) for row in rows]
    stem.with_suffix(".md").write_text("".join(f"| {line} |\n" for line in lines), encoding="utf-8")

    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, len(FEATURES), figsize=(3.4 * len(FEATURES), 6), sharey=True)
    for column, (feature, (_, metric)) in enumerate(FEATURES.items()):
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
    figure.savefig(stem.with_suffix(".png"), dpi=70)


if __name__ == "__main__":
    main()
