"""Figure 2 of Wang, Blei, Fei-Fei (CVPR 2009): accuracy against the number of topics, for topic models that classify.

Also the F-measure of five tags if the data have tags, and bound and accuracy at every iteration. The split is the given
one; every figure is the mean over seeds. Every method runs with its default settings. ``--choose`` uses the training
pictures only: it cross-validates refined sLDA, three times in five folds, and names the number of topics with the
highest mean accuracy.

Run: python experiments/slda/wang-2009_topics.py --data FOLDER [--set corel5k-blobs] [--topics 20 60 100] [--seeds 5]
     python experiments/slda/wang-2009_topics.py --data FOLDER --choose --topics 20 40 60 80 100
Writes results/wang-2009_topics_SET.md and .png, or results/wang-2009_topics_SET_choice.md. Rows measured before, kept
in results/wang-2009_topics_SET.json, stay in the table and the plot; delete that file to start again. ``--methods``
measures only some methods; the plot is drawn if the paper's own model is among them.
Its plot needs ``pip install 'visterm[plots]'``.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from visterm.contracts import take
from visterm.learn import Dataset
from visterm.learn.engine import splits
from visterm.measures import Accuracy, PictureF, evaluate
from visterm.research import research_data
from visterm.storage import write_text_atomically
from visterm.topics import (
    LDA,
    CorrLDA,
    RefinedCorrLDA,
    RefinedSupervisedLDA,
    SupervisedLDA,
    ThemeLDA,
    TopicCommittee,
    TopicNeighbours,
    roots,
)

SETS = ("labelme8", "corel5k-blobs")
TRACED = "sLDA of the paper"
ITERATIONS = (1, 2, 3, 5, 8, 12, 20, 30)
N_FOLDS, N_REPEATS = 5, 3
RIDGE = 0.6  # per topic, as in refinement

Fit = Callable[[Dataset, int, int], Any]
Row = tuple[str, int, dict[str, list[float]]]  # method, topics, every measure of every seed


def methods(has_tags: bool) -> dict[str, Fit]:
    """The methods compared, by name."""

    def supervised(tags: bool, **parameters: Any) -> Fit:
        def fit(data: Dataset, n_topics: int, seed: int) -> Any:
            kind = RefinedSupervisedLDA if "refine" in parameters else SupervisedLDA
            model = kind(n_topics, random_state=seed, **parameters)
            return model.fit(data.X, data.y, data.tags if tags else None)

        return fit

    def described(**parameters: Any) -> Fit:
        kind = RefinedCorrLDA if "refine" in parameters else CorrLDA
        return lambda data, k, seed: kind(k, random_state=seed, **parameters).fit(data.X, data.tags)

    chosen: dict[str, Fit] = {
        "sLDA refined": supervised(tags=False, refine=25),
        "committee of five": lambda data, k, seed: TopicCommittee(k, random_state=seed).fit(data.X, data.y),
        "Fei-Fei and Perona 2005": lambda data, k, seed: ThemeLDA(k, random_state=seed).fit(data.X, data.y),
        "Bosch et al. 2006": lambda data, k, seed: TopicNeighbours(k, random_state=seed).fit(data.X, data.y),
        TRACED: supervised(tags=False),
        "LDA, regression on roots": lambda data, k, seed: regression(k, seed).fit(data.X, data.y),
        # Before the first M step, class coefficients are zero: one iteration of EM is one of plain LDA.
        "LDA, refined": supervised(tags=False, refine=25, max_iter=1),
    }
    if has_tags:
        chosen |= {
            "sLDA refined with tags": supervised(tags=True, refine=25),
            "corr-LDA refined": described(refine=25),
            "corr-LDA": described(),
            "sLDA of the paper with tags": supervised(tags=True),
        }
    return chosen


def regression(n_topics: int, seed: int) -> Any:
    """Topics of plain LDA, learned as those that sLDA starts from, and softmax regression on their roots."""
    return make_pipeline(
        LDA(n_topics, alpha=1.0, max_iter=80, tol=0, random_state=seed),
        FunctionTransformer(roots),
        StandardScaler(),
        LogisticRegression(C=1 / (RIDGE * n_topics), max_iter=1000),
    )


def measure(model: Any, test: Dataset, counts: Any) -> dict[str, float]:
    """Accuracy and F-measure, as far as the model predicts classes and tags."""
    found: dict[str, float] = {}
    if len(getattr(model, "classes_", ())):
        known = np.flatnonzero(test.has_class)
        found["accuracy"] = next(
            iter(evaluate([Accuracy()], test.y[known], model.predict(take(test.X, known))).values())
        )
    if getattr(model, "topic_tags_", np.empty((0, 0))).shape[1]:
        tagged = np.flatnonzero(test.has_tags)
        scores = model.score_tags(take(test.X, tagged))
        found["F@5"] = next(iter(evaluate([PictureF(5)], test.tags[tagged], scores, frequencies=counts).values()))
    return found


def main() -> None:
    """Measure, write the table, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", default="labelme8", choices=SETS)
    parser.add_argument("--topics", type=int, nargs="+", default=[20, 60, 100])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--methods", nargs="+", help="only these methods, by name")
    parser.add_argument("--choose", action="store_true", help="choose the number of topics on the training pictures")
    parser.add_argument("--results", type=Path, default=Path("results"))
    asked = parser.parse_args()
    data = research_data.load(asked.set, asked.data)
    split = splits.given(data.splits)
    train, test = data.select(split.train), data.select(split.test)
    asked.results.mkdir(parents=True, exist_ok=True)
    stem = f"wang-2009_topics_{asked.set}"
    if asked.choose:
        write_text_atomically(asked.results / f"{stem}_choice.md", choice(train, asked.topics))
        return
    counts = np.bincount(train.tags.indices, minlength=train.tags.shape[1])
    compared = methods(has_tags=bool(data.tags.nnz))
    kept = asked.results / f"{stem}.json"
    for name in asked.methods or compared:
        for n_topics in asked.topics:
            values: dict[str, list[float]] = {}
            for seed in range(asked.seeds):
                started = time.process_time()
                model = compared[name](train, n_topics, seed)
                found = {"CPU seconds": time.process_time() - started} | measure(model, test, counts)
                for key, value in found.items():
                    values.setdefault(key, []).append(value)
            rows = keep((name, n_topics, values), kept)
            print(table(rows[-1:]).splitlines()[-1], flush=True)
    rows.sort(key=lambda row: (list(compared).index(row[0]), row[1]))
    write_text_atomically(asked.results / f"{stem}.md", table(rows))
    if TRACED in (asked.methods or compared):
        draw(rows, trace(train, test, counts, asked.topics[0]), asked.results / f"{stem}.png")


def keep(row: Row, file: Path) -> list[Row]:
    """Write a row to the file, replacing that of the same method and topics; all rows of the file, this one last."""
    rows: list[Row] = [tuple(other) for other in json.loads(file.read_text("utf-8"))] if file.exists() else []
    rows = [other for other in rows if other[:2] != row[:2]] + [row]
    write_text_atomically(file, json.dumps(rows))
    return rows


def choice(train: Dataset, topics: list[int]) -> str:
    """Accuracy on held-out training pictures for every number of topics, in Markdown, and the best number."""
    lines, means = ["| topics | accuracy, mean ± deviation of the repeats |", "| --- | --- |"], {}
    for n_topics in topics:
        repeats = []
        for seed in range(N_REPEATS):
            right = 0.0
            for fold in splits.k_fold(train.y, N_FOLDS, seed):
                learned, held = train.select(fold.train), train.select(fold.test)
                model = RefinedSupervisedLDA(n_topics, refine=25, random_state=seed).fit(learned.X, learned.y)
                right += float((model.predict(held.X) == held.y).sum())
            repeats.append(right / len(train))
        means[n_topics] = float(np.mean(repeats))
        lines.append(f"| {n_topics} | {means[n_topics]:.4f} ± {np.std(repeats):.4f} |")
        print(lines[-1], flush=True)
    lines.append(f"\nChosen: {max(means, key=means.__getitem__)} topics")
    print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


def trace(train: Dataset, test: Dataset, counts: Any, n_topics: int) -> list[tuple[int, float, float]]:
    """Iteration, bound and test accuracy of the paper's model; for one seed, more iterations repeat the first ones."""
    points = []
    for n in ITERATIONS:
        model = SupervisedLDA(n_topics, max_iter=n, tol=0, random_state=0).fit(train.X, train.y)
        points.append((n, float(model.objective_[-1]), measure(model, test, counts)["accuracy"]))
    return points


def table(rows: list[Row]) -> str:
    """The figures in Markdown, mean ± standard deviation."""
    lines = ["| method | topics | accuracy | F@5 | CPU seconds |", "| --- | --- | --- | --- | --- |"]
    for name, n_topics, values in rows:
        cells = [
            f"{np.mean(values[key]):.3f} ± {np.std(values[key]):.3f}" if key in values else "-"
            for key in ("accuracy", "F@5", "CPU seconds")
        ]
        lines.append(f"| {name} | {n_topics} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def draw(rows: list[Row], points: list[tuple[int, float, float]], file: Path) -> None:
    """Accuracy against topics; bound and accuracy against iterations."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    for name in dict.fromkeys(row[0] for row in rows):
        line = [(k, np.mean(values["accuracy"])) for other, k, values in rows if other == name and "accuracy" in values]
        if line:
            left.plot(*zip(*line, strict=True), marker="o", label=name)
    left.set(xlabel="topics", ylabel="accuracy", title="Accuracy against the number of topics")
    left.legend(fontsize="small")
    iterations, bounds, accuracies = zip(*points, strict=True)
    right.plot(iterations, bounds, marker="o", color="C0")
    right.set(xlabel="iteration of EM", ylabel="objective", title="The paper's model at every iteration")
    other = right.twinx()
    other.plot(iterations, accuracies, marker="s", color="C1")
    other.set_ylabel("accuracy", color="C1")
    figure.savefig(file, dpi=120)


if __name__ == "__main__":
    main()
