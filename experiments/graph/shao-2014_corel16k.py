"""Corel with a quarter of the pictures tagged: Figures 3 and 4 of Shao et al. 2014, Accuracy and Complete Length.

    python experiments/graph/shao-2014_corel16k.py --data FOLDER [--draws 2] [--topics 10 20 ...] [--out results]

A subset is one of the samples of Barnard et al. (about 7,000 pictures, 150 to 164 words, about ten region clusters per
picture). A random quarter of it keeps its tags; the others are to be tagged. Methods learn from all pictures, except
those that learn from tagged pictures only (pLSA-Words, neighbours). Strength and reach are chosen in each subset on a
fifth of its tagged pictures. Finished runs are kept in results/shao-2014_corel16k.csv and not repeated; ``--samples``
lets several processes share the work.
Its plot needs ``pip install 'visterm[plots]'``.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from visterm import registry
from visterm.learn import Dataset
from visterm.learn.engine import splits
from visterm.measures import CompleteLength, TagAccuracy
from visterm.research import research_data

SAMPLES = ("corel16k002", "corel16k003", "corel16k004", "corel16k006")
#: Methods without topics and methods with topics, by their name in the table.
PLAIN: dict[str, tuple[str, dict[str, Any]]] = {
    "tag frequency": ("tag-frequency", {}),
    "neighbours": ("knn-tags", {"n_neighbors": 50, "metric": "cosine"}),
    "CCD2 + neighbours": ("ccd2", {}),
    "label propagation": ("label-propagation", {"metric": "cosine"}),
}
TOPICS: dict[str, tuple[str, dict[str, Any]]] = {
    "mixture": ("unigram-mixture", {"n_tokens": 0}),
    "pLSA-Words": ("plsa-words", {"n_tokens": 0}),
    "Link-LDA": ("link-lda", {"n_tokens": 0}),
    "mixture over graph (LapVar1)": ("graph-mixture", {"n_tokens": 0}),
    "mixture over graph (LapVar2)": ("graph-mixture", {"n_tokens": 0, "method": "lapvar2"}),
}
COLUMNS = ("sample", "draw", "method", "topics", "accuracy", "complete length", "strength", "seconds")


def subsets(samples: list[str], n_draws: int, folder: Path) -> Iterator[tuple[str, int, Dataset, splits.Split]]:
    """The pictures of each sample, without those of other CDs, and which of them are tagged."""
    for sample in samples:
        data = research_data.load(sample, folder)
        data = data.select(np.flatnonzero(np.array(data.splits) != "second test"))
        for draw in range(n_draws):
            yield sample, draw, data, splits.share_tagged(data.tags, 0.25, draw)


def measure(name: str, parameters: dict[str, Any], data: Dataset, split: splits.Split) -> tuple[float, ...]:
    """Accuracy, complete length, the strength chosen and processor seconds."""
    rows = np.union1d(split.train, split.test)
    train = data.without_labels(split.test).select(rows)
    began = time.process_time()
    estimator = registry.get(name).create(**parameters).fit(train.X, train.tags)
    scores = estimator.score_tags(data.X[split.test])
    seconds = time.process_time() - began
    frequencies = np.asarray(train.tags.sum(axis=0)).ravel()
    values = [m(data.tags[split.test], scores, frequencies=frequencies) for m in (TagAccuracy(), CompleteLength())]
    strength = estimator.tagger_.strength_ if name == "graph-mixture" else getattr(estimator, "alpha_", np.nan)
    return *values, np.nan if np.ndim(strength) else strength, seconds


def carry_out(arguments: argparse.Namespace, file: Path) -> None:
    """Run everything that is not yet in ``file``."""
    done = set()
    if file.exists():
        with file.open(encoding="utf-8") as stream:
            done = {tuple(row[:4]) for row in csv.reader(stream)}
    for sample, draw, data, split in subsets(arguments.samples, arguments.draws, arguments.data):
        runs = [(label, "", *PLAIN[label]) for label in PLAIN]
        runs += [
            (label, str(k), method, {**settings, "n_topics": k, "random_state": draw})
            for k in arguments.topics
            for label, (method, settings) in TOPICS.items()
        ]
        for label, k, method, settings in runs:
            key = (sample, str(draw), label, k)
            if key in done:
                continue
            row = [*key, *(f"{value:.5g}" for value in measure(method, settings, data, split))]
            with file.open("a", encoding="utf-8", newline="") as stream:
                csv.writer(stream).writerow(row)
            print(*row, flush=True)


def read(file: Path) -> dict[tuple[str, str], np.ndarray]:
    """(n_subsets, 4) accuracy, length, strength and seconds, by method and topics."""
    found = defaultdict(list)
    with file.open(encoding="utf-8") as stream:
        for row in csv.reader(stream):
            found[row[2], row[3]].append([float(value) for value in row[4:]])
    return {key: np.array(values) for key, values in found.items()}


def table(found: dict[tuple[str, str], np.ndarray], topics: list[int]) -> str:
    """Mean and deviation over subsets, in Markdown: accuracy in %, then complete length."""
    heads = ["method", *map(str, topics), "seconds"]
    lines = []
    for column, title, factor in ((0, "Accuracy, %", 100), (1, "Complete Length", 1)):
        lines += [f"\n**{title}** by number of topics\n", " | ".join(heads), " | ".join(["---"] * len(heads))]
        for label in (*PLAIN, *TOPICS):
            keys = [(label, str(k) if label in TOPICS else "") for k in topics]
            cells = [_cell(found.get(key), column, factor) for key in (keys if label in TOPICS else keys[:1])]
            cells += [""] * (len(topics) - len(cells))
            seconds = [found[key][:, 3].mean() for key in keys if key in found]
            lines.append(" | ".join([label, *cells, f"{min(seconds):.1f} - {max(seconds):.1f}" if seconds else ""]))
    return "".join(f"| {line} |\n" if " | " in line else f"{line}\n" for line in lines)


def _cell(values: np.ndarray | None, column: int, factor: float) -> str:
    if values is None:
        return "-"
    deviation = values[:, column].std(ddof=1) if len(values) > 1 else 0.0
    return f"{factor * values[:, column].mean():.1f} ± {factor * deviation:.1f}"


def plot(found: dict[tuple[str, str], np.ndarray], topics: list[int], file: Path) -> None:
    """The two measures against the number of topics."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(13, 4), layout="constrained")
    for axis, column, name in zip(axes, (0, 1), ("Accuracy", "Complete Length (lower is better)"), strict=True):
        for label in TOPICS:
            ks = [k for k in topics if (label, str(k)) in found]
            values = [found[label, str(k)][:, column] for k in ks]
            axis.errorbar(ks, [v.mean() for v in values], [v.std() for v in values], label=label, capsize=3, marker="o")
        for label, style in zip(PLAIN, (":", "-.", "--", (0, (5, 1))), strict=True):
            if (label, "") in found and not (column and "neighbours" in label):  # far away: they rank few words
                axis.axhline(found[label, ""][:, column].mean(), color="grey", linestyle=style, label=label)
        axis.set(xlabel="topics", ylabel=name)
        axis.grid(alpha=0.3)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right upper", fontsize=8)
    figure.savefig(file, dpi=80)


def main() -> None:
    """Run, then write the table and the plot."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--samples", nargs="+", default=list(SAMPLES))
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--topics", nargs="+", type=int, default=[10, 20, 30, 50, 70, 100])
    parser.add_argument("--out", type=Path, default=Path("results"))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    file = arguments.out / "shao-2014_corel16k.csv"
    carry_out(arguments, file)
    found = read(file)
    text = table(found, arguments.topics)
    (arguments.out / "shao-2014_corel16k.md").write_text(text, encoding="utf-8")
    plot(found, arguments.topics, arguments.out / "shao-2014_corel16k.png")
    print(text)


if __name__ == "__main__":
    main()
