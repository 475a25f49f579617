"""Are the probabilities of suggested tags right? Corel5K, every annotator, network features.

    python experiments/calibration/corel5k_probabilities.py --data FOLDER [--validation] [METHOD ...]

Each method learns from the 4,500 training pictures, as ``visterm train METHOD`` does: probabilities and thresholds come
from a quarter of them, held out of another fit. They are judged on the 499 test pictures; with ``--validation`` on 500
training pictures instead, which are left out of everything.

The expected calibration error is the mean distance between probability and share of right tags over 15 bins of equal
width, weighted by the number of pairs of a picture and a tag. Bands are tags by their number of training pictures.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from scipy.special import expit

from visterm import registry
from visterm.contracts import Task, word_scores
from visterm.features import one_or_several
from visterm.learn import Dataset, tag_probabilities, train_method
from visterm.research import load_pictures

BANDS = ((1, 5), (5, 20), (20, 100), (100, 10_000))
N_BINS = 15
PRECISION = 0.8


def main() -> None:
    """Print a row for each method."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*", help="annotators (default: all)")
    parser.add_argument("--data", type=Path, required=True, help="the folder with the research data")
    parser.add_argument("--cache", type=Path, default=Path("experiment-cache"), help="where features are kept")
    parser.add_argument("--validation", action="store_true", help="judge 500 training pictures, not the test pictures")
    asked = parser.parse_args()
    chosen = [registry.get(name) for name in asked.methods] or registry.methods(Task.ANNOTATE)
    heads = ["method", "log loss", "of frequencies", "error", *(f"{low}-{high}" for low, high in BANDS)]
    print("| " + " | ".join([*heads, "right at 80 %", "found", "seconds"]) + " |")
    print("|" + "---|" * (len(heads) + 3))
    for method in chosen:
        if Task.ANNOTATE in method.tasks:
            print("| " + " | ".join(row(method, pictures(asked, method.recipe))) + " |", flush=True)


def pictures(asked: argparse.Namespace, recipe: str) -> Dataset:
    """Corel5K with the features of a recipe; for validation, 500 training pictures stand in for the test pictures."""
    data = load_pictures("corel5k", asked.data, recipe, cache=asked.cache)
    data = Dataset(
        data.name, one_or_several(dict(data.X)), data.y, data.class_names, data.tags, data.tag_names, data.splits
    )
    if not asked.validation:
        return data
    train = np.flatnonzero(~data.is_test)
    held_out = set(np.random.default_rng(0).choice(train, 500, replace=False).tolist())
    kept = data.select(train)
    parts = tuple("test" if int(row) in held_out else "train" for row in train)
    return Dataset(kept.name, kept.X, kept.y, kept.class_names, kept.tags, kept.tag_names, parts)


def row(method: registry.Method, data: Dataset) -> list[str]:
    """The figures of one method."""
    started = time.perf_counter()
    trained = train_method(method, data)
    held_out = trained.held_out
    if held_out is None:
        raise SystemExit(f"{method.name}: no picture was held out")
    learned = tag_probabilities(held_out.scored.scores, held_out.tags, held_out.train_tags)
    test = data.select(trained.test)
    p = expit(learned.log_odds(word_scores(trained.estimator, test.X)).astype(np.float64))
    truth = test.tags.toarray() > 0
    counts = trained.own().tag_counts
    known = counts > 0
    frequency = np.broadcast_to((counts + 0.5) / (trained.own().has_tags.sum() + 1), p.shape)
    suggested = p >= learned.thresholds(PRECISION)
    seconds = time.perf_counter() - started
    errors = [calibration_error(p[:, band], truth[:, band]) for band in bands(counts)]
    return [
        f"`{method.name}`",
        f"{log_loss(p[:, known], truth[:, known]):.4f}",
        f"{log_loss(frequency[:, known], truth[:, known]):.4f}",
        f"{calibration_error(p[:, known], truth[:, known]):.4f}",
        *(f"{error:.4f}" for error in errors),
        f"{truth[suggested].mean():.2f} of {suggested.sum()}" if suggested.any() else "-",
        f"{suggested[truth].mean():.2f}",
        f"{seconds:.0f}",
    ]


def bands(counts: np.ndarray) -> list[np.ndarray]:
    """The tags of each band."""
    return [np.flatnonzero((counts >= low) & (counts < high)) for low, high in BANDS]


def log_loss(p: np.ndarray, truth: np.ndarray) -> float:
    """The mean of -log of the probability of what is true."""
    return float(-np.log(np.clip(np.where(truth, p, 1 - p), 1e-9, 1)).mean())


def calibration_error(p: np.ndarray, truth: np.ndarray) -> float:
    """The expected calibration error."""
    bins = np.minimum((p * N_BINS).astype(int), N_BINS - 1)
    return float(
        sum(
            abs(p[members].mean() - truth[members].mean()) * members.mean()
            for b in range(N_BINS)
            if (members := bins == b).any()
        )
    )


if __name__ == "__main__":
    main()
