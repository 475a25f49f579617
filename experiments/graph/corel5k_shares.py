"""Corel5K with 1, 5, 25 and 100 % of the training pictures tagged: when does learning from untagged pictures help?

    python experiments/graph/corel5k_shares.py --data FOLDER [--set blobs pictures] [--validation] [--out results]

All pictures are known. A share of the training pictures is tagged; the methods predict the tags of the test pictures.
Methods over graphs and the mixture learn from all pictures, the others from tagged pictures only. ``blobs``: all
methods see the region clusters. ``pictures``: topics count codewords of SIFT and hue in three stripes; all others
compare one vector of 200 principal components of gist, colour histograms, local binary patterns and codewords.
``--validation`` predicts the tags of 500 training pictures instead, to choose settings. Each share has three draws.
Its plot needs ``pip install 'visterm[plots]'``.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from visterm import registry
from visterm.graph import GraphRegularized, PictureGraph
from visterm.learn import Dataset
from visterm.measures import CompleteLength, TagAccuracy, WordAveragePrecision, WordF
from visterm.research import load_pictures, research_data
from visterm.topics import UnigramMixture

SHARES = (0.01, 0.05, 0.25, 1.0)
DRAWS = 3
MEASURES = (TagAccuracy(), CompleteLength(), WordF(5), WordAveragePrecision())
WORDS = ("sift-words", "hue-words")
HISTOGRAMS = (
    "hsv",
    "hsv-stripes",
    "lab-stripes",
    "lbp-stripes",
    "sift-words",
    "opponent-words",
    "lab-words",
    "hue-words",
)
#: Topics, and the number of tokens that a picture's codewords count for (blobs: their own number). For ``pictures`` it
#: was chosen from 10, 30, 100 and 300 tokens, by validation at 25 %.
SETTINGS: dict[str, dict[str, Any]] = {
    "blobs": {"n_topics": 100, "n_tokens": 0},
    "pictures": {"n_topics": 50, "n_tokens": 30},
}


def read(name: str, folder: Path, cache: Path) -> Dataset:
    """Pictures with two features: ``words`` and ``looks``."""
    if name == "blobs":
        data = research_data.load("corel5k-blobs", folder)
        X = {"words": data.X, "looks": data.X}
    else:
        data = load_pictures("corel5k", folder, "tagging", cache=cache)
        words = sparse.csr_array(sparse.hstack([data.X[feature] for feature in WORDS]), dtype=np.float32)
        X = {"words": words, "looks": looks(data.X)}
    return Dataset(name, X, data.y, data.class_names, data.tags, data.tag_names, data.splits)


def looks(X: Any) -> np.ndarray:
    """200 principal components, uncentred, of all features, each of unit length."""
    from sklearn.preprocessing import normalize
    from sklearn.utils.extmath import randomized_svd

    centred = X["gist"] - X["gist"].mean(axis=0)
    parts = [sparse.csr_array(normalize(centred))]
    parts += [sparse.csr_array(normalize(sparse.csr_array(X[name], dtype=np.float32).sqrt())) for name in HISTOGRAMS]
    left, values, _ = randomized_svd(sparse.csr_matrix(sparse.hstack(parts)), 200, random_state=0)
    return np.ascontiguousarray(left * values, np.float32)


def methods(topics: dict[str, Any], seed: int) -> dict[str, Any]:
    """Estimators by name; an estimator of one feature with the name of that feature."""
    topics = topics | {"random_state": seed, "n_restarts": 1, "max_iter": 40}
    mixture = UnigramMixture(**topics)
    graph = PictureGraph(10)
    return {
        "tag-frequency": ("words", registry.get("tag-frequency").create()),
        "unigram-mixture": ("words", registry.get("unigram-mixture").create(**topics)),
        "graph-mixture": (
            None,
            GraphRegularized(mixture, graph, model_feature="words", graph_feature="looks", random_state=seed),
        ),
        "label-propagation": ("looks", registry.get("label-propagation").create(metric="cosine", random_state=seed)),
        "knn-tags": ("looks", registry.get("knn-tags").create(metric="cosine")),
        "ccd2": ("looks", registry.get("ccd2").create()),
        "ridge-tags": ("looks", registry.get("ridge-tags").create()),
        "tagprop-rare": ("looks", registry.get("tagprop-rare").create(metric={"x": "cosine"})),
    }


def carry_out(data: Dataset, asked: np.ndarray, train: np.ndarray, chosen: list[str]) -> dict[str, Any]:
    """Every measure of every method at every share and draw: {method: {share: [[values, seconds], ...]}}."""
    found: dict[str, Any] = defaultdict(lambda: defaultdict(list))
    for share in SHARES:
        for draw in range(1 if share == 1 else DRAWS):
            order = np.random.default_rng(draw).permutation(train)
            tagged = order[: max(1, round(share * len(train)))]
            untagged = np.setdiff1d(np.arange(len(data)), tagged)
            known = data.without_labels(untagged)
            frequencies = np.asarray(known.tags.sum(axis=0)).ravel()
            for name, (feature, estimator) in methods(SETTINGS[data.name], draw).items():
                if name not in chosen:
                    continue
                began = time.process_time()
                X = data.X if feature is None else data.X[feature]
                estimator.fit(X, known.tags)
                test = {key: matrix[asked] for key, matrix in data.X.items()}
                scores = estimator.score_tags(test if feature is None else test[feature])
                seconds = time.process_time() - began
                values = [measure(data.tags[asked], scores, frequencies=frequencies) for measure in MEASURES]
                found[name][share].append([*values, seconds])
                print(data.name, share, draw, name, *(f"{value:.3f}" for value in [*values, seconds]), flush=True)
    return found


def table(found: dict[str, Any]) -> str:
    """Means over draws, in Markdown."""
    heads = ["method", *(f"{share:.0%}" for share in SHARES)]
    lines = []
    titles = ("Accuracy, %", "Complete Length", "word F@5, %", "mean AP of words, %", "processor seconds")
    for column, title in enumerate(titles):
        factor = 100 if title.endswith("%") else 1
        lines += [f"\n**{title}**\n\n", f"| {' | '.join(heads)} |\n", f"|{'---|' * len(heads)}\n"]
        for name, by_share in found.items():
            cells = []
            for share in SHARES:
                values = factor * np.array(by_share[share])[:, column]
                cells.append(f"{values.mean():.1f}" + (f" ± {values.std(ddof=1):.1f}" if len(values) > 1 else ""))
            lines.append(f"| {' | '.join([name, *cells])} |\n")
    return "".join(lines)


def plot(found: dict[str, Any], file: Path) -> None:
    """Accuracy and mean AP of words against the share of tagged pictures."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    for axis, column, title in zip(axes, (0, 3), ("Accuracy", "mean AP of words"), strict=True):
        for method, by_share in found.items():
            means = [np.mean(by_share[share], axis=0)[column] for share in SHARES]
            axis.plot([100 * share for share in SHARES], means, marker="o", label=method)
        axis.set(xscale="log", xlabel="% of training pictures tagged", ylabel=title)
        axis.set_xticks([100 * share for share in SHARES], [f"{share:.0%}" for share in SHARES])
        axis.grid(alpha=0.3)
    axes[0].legend(fontsize=7)
    figure.savefig(file, dpi=80)


def main() -> None:
    """Run, then write the tables and the plot."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path("results/features"))
    parser.add_argument("--set", nargs="+", choices=list(SETTINGS), default=list(SETTINGS))
    parser.add_argument("--methods", nargs="+", default=list(methods({}, 0)))
    parser.add_argument("--validation", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("results"))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.set:
        data = read(name, arguments.data, arguments.cache)
        train, asked = np.flatnonzero(~data.is_test), np.flatnonzero(data.is_test)
        if arguments.validation:
            order = np.random.default_rng(0).permutation(len(train))
            train, asked = np.sort(train[order[500:]]), np.sort(train[order[:500]])
        found = carry_out(data, asked, train, arguments.methods)
        stem = arguments.out / f"corel5k_shares_{name}{'_validation' if arguments.validation else ''}"
        stem.with_suffix(".md").write_text(table(found), encoding="utf-8")
        plot(found, stem.with_suffix(".png"))
        print(table(found))


if __name__ == "__main__":
    main()
