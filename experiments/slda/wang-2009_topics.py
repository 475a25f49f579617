"""Figure 2 of Wang, Blei, Fei-Fei (CVPR 2009): accuracy against the number of topics, for topic models that classify.

Also the F-measure of five tags where the data have tags, and bound and accuracy at every iteration. Pictures train and
test as given; every figure is the mean over seeds.

Run: python experiments/slda/wang-2009_topics.py --data FOLDER [--set corel5k-blobs] [--topics 20 60 100] [--seeds 5]
Writes results/wang-2009_topics_SET.md and .png.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from visterm.collection.atomic import write_text_atomically
from visterm.contracts import take
from visterm.evaluate import research_data, splits
from visterm.evaluate.dataset import Dataset
from visterm.evaluate.measures import Accuracy, PictureF, evaluate
from visterm.topics.corr_lda import CorrLDA
from visterm.topics.slda import SupervisedLDA
from visterm.topics.theme_lda import ThemeLDA
from visterm.topics.topic_neighbours import TopicNeighbours

#: Pictures of LabelMe have 2401 codewords, those of Corel5K about nine, so that a weaker prior suits them.
ALPHA = {"labelme8": 1.0, "corel5k-blobs": 0.1}
ITERATIONS = (1, 2, 3, 5, 8, 12, 20, 30)

Fit = Callable[[Dataset, int, int, float], Any]


def methods(has_tags: bool) -> dict[str, Fit]:
    """The methods compared, by name."""

    def supervised(tags: bool, **parameters: Any) -> Fit:
        def fit(data: Dataset, n_topics: int, seed: int, alpha: float) -> Any:
            model = SupervisedLDA(n_topics, alpha=alpha, random_state=seed, **parameters)
            return model.fit(data.X, data.y, data.tags if tags else None)

        return fit

    chosen: dict[str, Fit] = {
        "sLDA of the paper": supervised(tags=False, refine=0),
        "sLDA refined": supervised(tags=False),
    }
    if has_tags:
        chosen |= {
            "sLDA of the paper with tags": supervised(tags=True, refine=0),
            "sLDA refined with tags": supervised(tags=True),
            "corr-LDA": lambda data, k, seed, a: CorrLDA(k, alpha=a, refine=0, random_state=seed).fit(
                data.X, data.tags
            ),
            "corr-LDA refined": lambda data, k, seed, a: CorrLDA(k, alpha=a, random_state=seed).fit(data.X, data.tags),
        }
    return chosen | {
        "Fei-Fei and Perona 2005": lambda data, k, seed, _: ThemeLDA(k, random_state=seed).fit(data.X, data.y),
        "Bosch et al. 2006": lambda data, k, seed, _: TopicNeighbours(k, random_state=seed).fit(data.X, data.y),
    }


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
    parser.add_argument("--set", default="labelme8", choices=sorted(ALPHA))
    parser.add_argument("--topics", type=int, nargs="+", default=[20, 60, 100])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--results", type=Path, default=Path("results"))
    asked = parser.parse_args()
    data = research_data.load(asked.set, asked.data)
    split = splits.given(data.splits)
    train, test = data.select(split.train), data.select(split.test)
    counts = np.bincount(train.tags.indices, minlength=train.tags.shape[1])
    alpha = ALPHA[asked.set]
    rows: list[tuple[str, int, dict[str, list[float]]]] = []
    for n_topics in asked.topics:
        for name, fit in methods(has_tags=bool(data.tags.nnz)).items():
            values: dict[str, list[float]] = {}
            for seed in range(asked.seeds):
                started = time.process_time()
                model = fit(train, n_topics, seed, alpha)
                found = {"CPU seconds": time.process_time() - started} | measure(model, test, counts)
                for key, value in found.items():
                    values.setdefault(key, []).append(value)
            rows.append((name, n_topics, values))
            print(table(rows[-1:]).splitlines()[-1], flush=True)
    asked.results.mkdir(parents=True, exist_ok=True)
    stem = f"wang-2009_topics_{asked.set}"
    write_text_atomically(asked.results / f"{stem}.md", table(rows))
    draw(rows, trace(train, test, counts, asked.topics[0], alpha), asked.results / f"{stem}.png")


def trace(train: Dataset, test: Dataset, counts: Any, n_topics: int, alpha: float) -> list[tuple[int, float, float]]:
    """Iteration, bound and test accuracy of the paper's model: a seed's iterations are the same however many follow."""
    points = []
    for n in ITERATIONS:
        model = SupervisedLDA(n_topics, alpha=alpha, max_iter=n, tol=0, refine=0, random_state=0).fit(train.X, train.y)
        points.append((n, float(model.objective_[-1]), measure(model, test, counts)["accuracy"]))
    return points


def table(rows: list[tuple[str, int, dict[str, list[float]]]]) -> str:
    """The figures in Markdown, mean ± standard deviation."""
    lines = ["| method | topics | accuracy | F@5 | CPU seconds |", "| --- | --- | --- | --- | --- |"]
    for name, n_topics, values in rows:
        cells = [
            f"{np.mean(values[key]):.3f} ± {np.std(values[key]):.3f}" if key in values else "-"
            for key in ("accuracy", "F@5", "CPU seconds")
        ]
        lines.append(f"| {name} | {n_topics} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def draw(
    rows: list[tuple[str, int, dict[str, list[float]]]], points: list[tuple[int, float, float]], file: Path
) -> None:
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
