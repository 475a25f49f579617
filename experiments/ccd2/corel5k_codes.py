"""Canonical contextual distance of several features on Corel5K, and its codes stored in fewer and fewer bytes.

    python experiments/ccd2/corel5k_codes.py --data FOLDER [--cache results/features] [--out results]

Official split, the 260 words used in both parts, five tags per picture. The features are those of the recipe
``tagging``, each through a kernel map of 200 dimensions. Ridge, dimensions and neighbours are chosen on 500 held-out
training pictures, for all features together and for each alone. Then the methods learn from all training pictures,
and the test pictures are measured once. Writes corel5k_codes.{md,png}.
Its plot needs ``pip install 'visterm[plots]'``.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from visterm.distances import nearest
from visterm.measures import NPlus, WordF
from visterm.neighbours import NEIGHBOUR_COUNTS, KnnAnnotator, QuantizedKnnAnnotator, f_by_neighbours
from visterm.research import load_pictures
from visterm.subspace import ContextualDistance, FeatureMaps, Moments

DIMS = (20, 50, 100)
RIDGES = (0.1, 1.0)
BETA = 0.5
REDUCED = 77  # principal components for each feature
BYTES = (2, 4, 5, 10, 20, 25, 50)


def described(X: dict[str, Any], train: Any, test: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The kernel maps of the features, learned from the training pictures."""
    kernels = {name: "cosine" if name.endswith("fisher") else "l1" if name == "gist" else "chi2" for name in X}
    found: tuple[dict[str, Any], dict[str, Any]] = {}, {}
    for name, matrix in X.items():  # one feature at a time: some are large
        maps = FeatureMaps(kernels[name]).fit({name: matrix[train].astype(np.float32)})
        for part, rows in zip(found, (train, test), strict=True):
            part |= maps.transform({name: matrix[rows].astype(np.float32)})
    return found


def chosen(A: dict[str, Any], tags: Any, V: dict[str, Any], truth: Any) -> dict[str, Any]:
    """The ridge, dimensions and neighbours with the largest F on the validation pictures."""
    moments = Moments().fit(A, tags)
    found: dict[tuple[float, int, int], float] = {}
    for ridge in RIDGES:
        model = ContextualDistance(max(DIMS), ridge=ridge, beta=BETA, reduce_to=REDUCED).fit_moments(moments)
        codes, queries = model.transform_training(A, tags), model.transform(V)
        for d in DIMS:
            near, _ = nearest(queries[:, :d], codes[:, :d], max(NEIGHBOUR_COUNTS))
            found |= {
                (ridge, d, k): f for k, f in zip(NEIGHBOUR_COUNTS, f_by_neighbours(near, tags, truth), strict=True)
            }
    ridge, n_dims, k = max(found, key=lambda key: found[key])
    return {"ridge": ridge, "n_dims": n_dims, "k": k, "validation F": found[ridge, n_dims, k]}


def main() -> None:
    """Choose, learn and measure; write the tables and the plot."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path("results/features"))
    parser.add_argument("--out", type=Path, default=Path("results"))
    arguments = parser.parse_args()
    data = load_pictures("corel5k", arguments.data, "tagging", cache=arguments.cache)
    train, test = np.flatnonzero(~data.is_test), np.flatnonzero(data.is_test)
    tags = data.with_words_of_both(train, test).tags
    order = np.random.default_rng(0).permutation(len(train))
    kept, held_out = np.sort(train[order[500:]]), np.sort(train[order[:500]])
    (A, V), (B, T) = described(data.X, kept, held_out), described(data.X, train, test)
    counts = np.asarray(tags[train].sum(axis=0)).ravel()
    lines = ["| features | ridge | dimensions | neighbours | validation F | F | N+ |", "|---|---|---|---|---|---|---|"]
    sizes: list[tuple[str, int, float]] = []
    for label, names in [(name, [name]) for name in A] + [("all together", list(A))]:
        a, v, b, t = ({name: part[name] for name in names} for part in (A, V, B, T))
        best = chosen(a, tags[kept], v, tags[held_out])
        model = ContextualDistance(best["n_dims"], ridge=best["ridge"], beta=BETA, reduce_to=REDUCED).fit(
            b, tags[train]
        )
        codes, queries = model.transform_training(b, tags[train]), model.transform(t)
        scores = KnnAnnotator(best["k"]).fit(codes, tags[train]).score_tags(queries)
        f, n_plus = (measure(tags[test], scores, frequencies=counts) for measure in (WordF(5), NPlus(5)))
        lines.append(
            f"| {label} | {best['ridge']} | {best['n_dims']} | {best['k']} | {100 * best['validation F']:.1f} | "
            f"{100 * f:.1f} | {n_plus:.0f} |"
        )
        print(lines[-1], flush=True)
    sizes.append(("float32", 4 * best["n_dims"], f))
    for n_bytes in (n for n in BYTES if n <= best["n_dims"]):
        coded = QuantizedKnnAnnotator(best["k"], n_bytes=n_bytes).fit(codes, tags[train])
        f = WordF(5)(tags[test], coded.score_tags(queries), frequencies=counts)
        sizes.append(("product quantisation", n_bytes, f))
    lines += ["", "| codes of all features together | bytes per picture | F |", "|---|---|---|"]
    lines += [f"| {kind} | {size} | {100 * f:.1f} |" for kind, size, f in sizes]
    print("\n".join(lines[-len(sizes) :]))
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "corel5k_codes.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    _plot(sizes, arguments.out / "corel5k_codes.png")


def _plot(sizes: list[tuple[str, int, float]], file: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, ax = plt.subplots(figsize=(5, 3))
    ax.plot([size for _, size, _ in sizes[1:]], [100 * f for _, _, f in sizes[1:]], marker="o", label=sizes[1][0])
    ax.axhline(100 * sizes[0][2], linestyle="--", color="grey", label=f"float32, {sizes[0][1]} bytes")
    ax.set_xlabel("bytes per picture")
    ax.set_ylabel("F of words in %")
    ax.set_ylim(bottom=0)
    ax.legend()
    figure.tight_layout()
    figure.savefig(file, dpi=70)


if __name__ == "__main__":
    main()
